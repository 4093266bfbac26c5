"""Operations on facts: list, show, remember, supersede, restore, forget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import Path, Query
from pydantic import Field

from recollect.errors import NotFoundError, SecretError, UsageError
from recollect.facts.record import (
    CATEGORIES,
    DEFAULT_CATEGORY,
    ID_PATTERN,
    MOST_FACT_CHARS,
    SAVE_PLACE,
)
from recollect.facts.rules import Verdict
from recollect.shape import json_of
from recollect.shells.http.errors import JsonResponse, RequestError
from recollect.shells.http.parameters import BodyParameters, Day, Parameters, ScopeName, must_be
from recollect.shells.http.state import State
from recollect.shells.render import facts as render_facts
from recollect.text.days import end_of, start_of
from recollect.types import GLOBAL

if TYPE_CHECKING:
    from starlette.responses import Response

    from recollect.parts import MemoryParts
    from recollect.shells.render.facts import (
        FactHistory,
        FactList,
        ForgottenFact,
        RememberedFact,
        ReplacingFact,
        RestoredFact,
    )
    from recollect.shells.scopes import VisibleScopes

_MAX_NAME_CHARS = 500


FactId = Annotated[
    str, Field(max_length=15, pattern=f"^{ID_PATTERN}$"), must_be("the id of a fact")
]
NamedId = Annotated[FactId, Path(alias="id", description="The id of the fact.")]
Category = Annotated[Literal[CATEGORIES], must_be(f"one of {', '.join(CATEGORIES)}")]  # type: ignore[valid-type]
Name = Annotated[str, Field(max_length=_MAX_NAME_CHARS)]


class ListParameters(Parameters):
    """Parameters of GET /api/facts."""

    text: Name = Field("", description="Only facts with these words.")
    category: Name = Field("", description="Only facts of this category.")
    entity: Name = Field("", description="Only facts about this person or thing.")
    tag: list[Name] = Field([], max_length=20, description="Only facts with this tag.")
    scope: list[ScopeName] = Field(
        [], max_length=20, description="Also facts of this scope, such as user:ada."
    )
    as_of: Day | None = Field(None, description="Facts that were valid on this day.")
    include_superseded: bool = Field(default=False, description="Also superseded facts.")


class SupersedeParameters(BodyParameters):
    """Parameters of POST /api/facts/{id}/supersede."""

    by: FactId = Field(description="The id of the fact that replaces it.")


class RestoreParameters(BodyParameters):
    """Parameters of POST /api/facts/{id}/restore."""

    entry: str = Field(
        "", max_length=10 * MOST_FACT_CHARS, description="What forgetting the fact returned."
    )


class RememberParameters(BodyParameters):
    """Parameters of POST /api/facts."""

    text: Annotated[
        str,
        Field(min_length=1, max_length=MOST_FACT_CHARS, pattern=r"[^\s\x00]"),
        must_be(f"non-blank text of 1 to {MOST_FACT_CHARS} characters"),
    ] = Field(description="The statement.")
    category: Category = Field(DEFAULT_CATEGORY, description="The kind of fact.")
    entity: Name = Field("", description="The person or thing it is about.")
    key: Name = Field("", description="The property of the entity.")
    value: Name = Field("", description="The value of the property.")
    tags: list[Annotated[str, Field(min_length=1, max_length=100)]] = Field(
        [], max_length=50, description="Words to find it by."
    )
    scope: ScopeName | None = Field(None, description="For whom it is valid; default global.")
    valid_from: Day | None = Field(None, description="The day it became valid.")
    supersedes: list[FactId] = Field(
        [], max_length=50, description="The ids of facts that it replaces."
    )
    force: bool = Field(default=False, description="Store it even if it contains a secret.")


async def facts(state: State, given: Annotated[ListParameters, Query()]) -> FactList:
    """List the facts that are valid."""
    from recollect.facts.book import FactFilter  # noqa: PLC0415 - only where facts are asked for

    scopes = state.scopes.resolve(given.scope)
    if state.scopes.names is not None and not given.scope:
        scopes = (GLOBAL, *scopes)
    wanted = FactFilter(
        scopes=scopes,
        category=given.category,
        entity=given.entity,
        tags=tuple(given.tag),
        text=given.text,
    )
    listing = await state.memory.read(
        lambda memory: memory.facts.listed(
            wanted, as_of=end_of(given.as_of), include_superseded=given.include_superseded
        )
    )
    return render_facts.listed(listing)


async def fact(state: State, fact_id: NamedId) -> FactHistory:
    """Show a fact with the facts before and after it, oldest first."""
    history = await state.memory.read(lambda memory: state.scopes.history(memory, fact_id))
    return render_facts.FactHistory(history)


async def remember(state: State, given: RememberParameters) -> Response:
    """Remember a fact, unless it is already known."""
    scope = given.scope or GLOBAL
    state.scopes.resolve([scope])

    def work(memory: MemoryParts) -> RememberedFact:
        for each in given.supersedes:
            _check_scope(memory, each, scope=scope, scopes=state.scopes)
        remembered = memory.facts.remember(
            **given.model_dump(exclude={"scope", "valid_from"}),
            scope=scope,
            valid_from=start_of(given.valid_from),
        )
        return render_facts.remembered_fact(remembered, program=state.program)

    try:
        shown = await state.memory.read(work)
    except SecretError as error:
        action = f'{SAVE_PLACE} To save it anyway, send "force": true.'
        raise SecretError(error.message, action=action) from error
    if shown.verdict is Verdict.FORGOTTEN:
        return JsonResponse(json_of(shown), status=201)
    state.note_write()
    place = f"{state.root}/facts/{shown.fact.id}"
    return JsonResponse(json_of(shown), status=201, headers={"Location": place})


async def supersede(state: State, fact_id: NamedId, given: SupersedeParameters) -> ReplacingFact:
    """Mark a fact as superseded by another of the same scope."""

    def work(memory: MemoryParts) -> ReplacingFact:
        history = state.scopes.history(memory, fact_id)
        [old] = [each for each in history if each.id == fact_id]
        _check_scope(memory, given.by, scope=old.scope, scopes=state.scopes)
        try:
            done = memory.facts.supersede(fact_id, by=given.by)
        except UsageError as error:  # a circle: the parameters are valid, the stored facts object
            raise RequestError(409, "conflict", error.message, action=error.action) from error
        return render_facts.replacing_fact(done, program=state.program)

    shown = await state.memory.read(work)
    state.note_write()
    return shown


async def restore(state: State, fact_id: NamedId, given: RestoreParameters) -> RestoredFact:
    """Make a superseded fact valid again, or bring a forgotten one back."""
    from recollect.facts.book import fact_in  # noqa: PLC0415 - only where facts are asked for

    back = fact_in(given.entry) if given.entry else None
    if back is not None:
        state.scopes.resolve([back.scope])

    def work(memory: MemoryParts) -> RestoredFact:
        try:
            if back is not None:
                done = memory.facts.unforget(back)
            else:
                state.scopes.history(memory, fact_id)
                done = memory.facts.restore(fact_id)
        except UsageError as error:  # it is valid: the parameters are, too
            raise RequestError(409, "conflict", error.message, action=error.action) from error
        return render_facts.restored_fact(done, memory.facts.listed())

    shown = await state.memory.read(work)
    state.note_write()
    return shown


async def forget(state: State, fact_id: NamedId) -> ForgottenFact:
    """Remove a fact permanently; a fact that it superseded is valid again."""

    def work(memory: MemoryParts) -> ForgottenFact:
        state.scopes.history(memory, fact_id)
        before = {each.id for each in memory.facts.all()}
        forgotten = memory.facts.forget(fact_id)
        after = memory.facts.all(scopes=state.scopes.all)
        restored = [each for each in after if each.id not in before]
        return render_facts.forgotten_fact(forgotten, restored)

    shown = await state.memory.read(work)
    state.note_write()
    return shown


def _check_scope(memory: MemoryParts, fact_id: str, *, scope: str, scopes: VisibleScopes) -> None:
    """Check that a fact exists and has this scope."""
    try:
        history = scopes.history(memory, fact_id)
    except NotFoundError as error:
        raise RequestError(409, "conflict", error.message, action=error.action) from error
    if any(each.id == fact_id and each.scope != scope for each in history):
        raise RequestError(
            409,
            "conflict",
            f"{fact_id} does not have the scope {scope}.",
            action="A fact can only supersede facts of its own scope.",
        )
