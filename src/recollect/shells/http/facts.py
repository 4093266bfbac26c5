"""Writing facts over HTTP: remember, supersede, forget. Looking them up is in views.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.errors import NotFoundError, UsageError
from recollect.facts.identity import ID_PATTERN
from recollect.facts.record import CATEGORIES, DEFAULT_CATEGORY, MOST_FACT_CHARS
from recollect.facts.rules import Verdict
from recollect.shells.dates import start_of
from recollect.shells.http.answer import JsonAnswer
from recollect.shells.http.kinds import choice, day, several, text
from recollect.shells.http.operation import (
    Call,
    Operation,
    Where,
    defaulted,
    optional,
    repeated,
    required,
)
from recollect.shells.http.refuse import RequestError
from recollect.shells.http.searching import SCOPE_NAME
from recollect.shells.http.shapes import NUMBER, TEXT, array, nullable, shape
from recollect.shells.render import facts as render_facts

if TYPE_CHECKING:
    from starlette.responses import Response

    from recollect.memory import Memory
    from recollect.shells.render.search import Json
    from recollect.shells.scopes import Held

FACT_ID = text(most=15, pattern=f"^{ID_PATTERN}$", says="the id of a fact")
_SHORT = text(most=500)

ID = required("id", FACT_ID, "Of the fact.", where=Where.PATH)
BY = required("by", FACT_ID, "Id of the fact that takes its place.", where=Where.BODY)
STATEMENT = required(
    "text",
    text(least=1, most=MOST_FACT_CHARS, pattern=r"[^\s\x00]", says="more than blanks"),
    "The statement.",
    where=Where.BODY,
)
CATEGORY = defaulted(
    "category",
    choice(*CATEGORIES),
    "What kind of fact.",
    default=DEFAULT_CATEGORY,
    where=Where.BODY,
)
ENTITY = defaulted("entity", _SHORT, "Whom or what it is about.", default="", where=Where.BODY)
KEY = defaulted("key", _SHORT, "Which property of it.", default="", where=Where.BODY)
VALUE = defaulted("value", _SHORT, "The property's value.", default="", where=Where.BODY)
TAGS = repeated(
    "tags", several(text(least=1, most=100), most=50), "Words to find it by.", where=Where.BODY
)
SCOPE = optional("scope", SCOPE_NAME, "For whom it holds; else global.", where=Where.BODY)
VALID_FROM = optional("validFrom", day(), "Since when it holds.", where=Where.BODY)
SUPERSEDES = repeated(
    "supersedes", several(FACT_ID, most=50), "Ids of facts that it replaces.", where=Where.BODY
)


async def remember(call: Call) -> Response:
    """Write a fact down, or find that it is known, and say which."""
    scope = call[SCOPE] or "global"
    held = call.served.held
    held.seen([scope])

    def work(memory: Memory) -> Json:
        for each in call[SUPERSEDES]:
            _fitting(memory, each, scope=scope, held=held)
        remembered = memory.facts.remember(
            call[STATEMENT],
            category=call[CATEGORY],
            entity=call[ENTITY],
            key=call[KEY],
            value=call[VALUE],
            tags=call[TAGS],
            scope=scope,
            valid_from=start_of(call[VALID_FROM]),
            supersedes=call[SUPERSEDES],
        )
        return render_facts.remembered_json(remembered, program=call.served.program)

    shown = await call.memory.run(work)
    if shown["verdict"] == Verdict.FORGOTTEN:
        return JsonAnswer(shown, status=201)
    call.served.note_written()
    return JsonAnswer(shown, status=201, headers={"Location": f"/api/facts/{shown['id']}"})


async def supersede(call: Call) -> Json:
    """Mark a fact as superseded by another."""

    def work(memory: Memory) -> Json:
        held = call.served.held
        [old] = [each for each in held.history(memory, call[ID]) if each.id == call[ID]]
        _fitting(memory, call[BY], scope=str(old.scope), held=held)
        try:
            done = memory.facts.supersede(call[ID], by=call[BY])
        except UsageError as error:  # a circle: it depends on what is written down, not on the call
            raise RequestError(409, "conflict", error.message, action=error.action) from error
        return render_facts.superseded_json(done, program=call.served.program)

    shown = await call.memory.run(work)
    call.served.note_written()
    return shown


async def forget(call: Call) -> Json:
    """Remove a fact for good."""

    def work(memory: Memory) -> Json:
        call.served.held.history(memory, call[ID])
        before = {fact.id for fact in memory.facts.all()}
        fact = memory.facts.forget(call[ID])
        restored = [each for each in memory.facts.all() if each.id not in before]
        return render_facts.forgotten_json(fact, restored)

    shown = await call.memory.run(work)
    call.served.note_written()
    return shown


def _fitting(memory: Memory, fact_id: str, *, scope: str, held: Held) -> None:
    """Refuse to join a fact with one that does not exist or holds for others.

    Raises:
        RequestError: it does not, or it does.

    """
    try:
        history = held.history(memory, fact_id)
    except NotFoundError as error:
        raise RequestError(409, "conflict", error.message, action=error.action) from error
    if any(fact.id == fact_id and str(fact.scope) != scope for fact in history):
        raise RequestError(
            409,
            "conflict",
            f"{fact_id} does not hold for {scope}.",
            action="Only facts of one scope can supersede each other.",
        )


FACT_MEMBERS: dict[str, Json] = {
    "id": TEXT,
    "text": TEXT,
    "category": TEXT,
    "entity": TEXT,
    "key": TEXT,
    "value": TEXT,
    "tags": array(TEXT),
    "scope": TEXT,
    "decayClass": TEXT,
    "confidence": NUMBER,
    "validFrom": nullable(TEXT),
    "validUntil": nullable(TEXT),
    "expires": nullable(TEXT),
    "supersedes": array(TEXT),
    "supersededBy": nullable(TEXT),
    "provenance": TEXT,
    "source": TEXT,
    "created": nullable(TEXT),
}
"""A fact as every answer shows it."""
FACT = shape(FACT_MEMBERS)
_TOLD = {
    "verdict": TEXT,
    "reason": nullable(TEXT),
    "others": array(TEXT),
    "commands": array(TEXT),
    "notices": array(TEXT),
}

OPERATIONS = (
    Operation(
        "POST",
        "/api/facts",
        remember,
        "Write a fact down, or find that it is known.",
        params=(
            STATEMENT,
            CATEGORY,
            ENTITY,
            KEY,
            VALUE,
            TAGS,
            SCOPE,
            VALID_FROM,
            SUPERSEDES,
        ),
        answer=shape({**FACT_MEMBERS, **_TOLD}),
        status=201,
        errors=(409,),
        writes=True,
    ),
    Operation(
        "POST",
        "/api/facts/{id}/supersede",
        supersede,
        "Mark a fact as superseded by another of its scope.",
        params=(ID, BY),
        answer=shape({**FACT_MEMBERS, "superseded": FACT, "commands": array(TEXT)}),
        errors=(404, 409),
        writes=True,
    ),
    Operation(
        "DELETE",
        "/api/facts/{id}",
        forget,
        "Remove a fact for good; what it had replaced holds again.",
        params=(ID,),
        answer=shape({"forgotten": FACT, "restored": array(FACT)}),
        errors=(404,),
        writes=True,
    ),
)
