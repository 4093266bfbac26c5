"""Exports and imports facts as JSON Lines: one fact per line, every field named.

Importing is strict: one wrong line rejects the whole file, and the error lists all wrong lines,
because half an import is worse than none. Ids are kept; a fact without one gets one by its words.
"""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING

from recollect.errors import UsageError
from recollect.facts.decay import DecayClass
from recollect.facts.history import active
from recollect.facts.record import (
    DEFAULT_CATEGORY,
    Fact,
    Provenance,
    derive_id,
    member_of,
    moment_of,
    moment_text,
)
from recollect.facts.scope import GLOBAL, FactScope
from recollect.records import dataclass
from recollect.shape import json_of
from recollect.text.scripts import normalised
from recollect.text.terminal import terminal_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime

_FIELDS = (
    "id", "text", "category", "entity", "key", "value", "tags", "scope", "decayClass", "confidence",
    "validFrom", "validUntil", "expires", "supersedes", "supersededBy", "provenance", "source",
    "created",
)  # fmt: skip
_MAX_NAMED = 10
"""Wrong lines listed in an error; the rest are counted."""


def exported(facts: Iterable[Fact]) -> Iterator[str]:
    """Yield a line of JSON for each fact, without a line end."""
    for fact in facts:
        yield terminal_json(json.dumps(json_of(fact), ensure_ascii=False))


def imported(lines: Iterable[str]) -> tuple[Fact, ...]:
    """Return the facts in exported lines, or in the one document `facts export --json` prints.

    Blank lines are skipped.

    Raises:
        UsageError: some lines are not facts; lists their numbers.

    """
    given = list(lines)
    document = _document(given)
    unit = "line" if document is None else "fact"
    facts: dict[str, Fact] = {}
    wrong: list[str] = []
    for number, each in enumerate(given if document is None else document, 1):
        if isinstance(each, str) and not each.strip():
            continue
        try:
            fact = _fact(_loaded(each) if isinstance(each, str) and document is None else each)
        except UsageError as error:
            wrong.append(f"{unit} {number}: {error.message}")
        except ValueError as error:
            wrong.append(f"{unit} {number}: {error}")
        else:
            if fact.id in facts:
                wrong.append(f"{unit} {number}: {fact.id} occurs twice")
            facts[fact.id] = fact
    if wrong:
        more = f"; and {len(wrong) - _MAX_NAMED} more" if len(wrong) > _MAX_NAMED else ""
        raise UsageError(
            f"The facts cannot be read: {'; '.join(wrong[:_MAX_NAMED])}{more}.",
            action=f"Correct the {unit}s and import again; nothing was imported.",
        )
    return tuple(facts.values())


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """What an import changes."""

    added: tuple[Fact, ...]
    same: tuple[Fact, ...]
    """Known by id, or by text and scope."""
    differing: tuple[Fact, ...]
    """Known by id, but with other content; the stored fact stays."""
    contradicting: tuple[tuple[Fact, tuple[Fact, ...]], ...] = ()
    """Added facts with the facts they contradict: a person has to decide."""


def import_plan(given: Iterable[Fact], facts: Mapping[str, Fact], *, now: datetime) -> ImportPlan:
    """Return what importing facts changes.

    Args:
        given: the facts to import.
        facts: the stored facts, by id.
        now: the current time: a text is known if a valid fact has it.

    """
    known = {(fact.scope, normalised(fact.text)) for fact in active(facts, now=now)}
    added: list[Fact] = []
    same: list[Fact] = []
    differing: list[Fact] = []
    for fact in given:
        if fact.id in facts:
            (same if facts[fact.id] == fact else differing).append(fact)
        elif not fact.is_superseded and (fact.scope, normalised(fact.text)) in known:
            same.append(fact)
        else:
            added.append(fact)
    return ImportPlan(tuple(added), tuple(same), tuple(differing))


def _document(lines: list[str]) -> list[object] | None:
    """Return the facts of a text that is one JSON document; None if it is not."""
    text = "\n".join(lines).strip()
    if not text.startswith("{"):
        return None
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return None
    facts = whole.get("facts")
    return facts if isinstance(facts, list) else None


def _loaded(line: str) -> object:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON ({error.msg} at column {error.colno})") from error
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _fact(fields: object) -> Fact:
    if not isinstance(fields, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004 - a line of a file, not an argument
    for name in fields:
        if name not in _FIELDS:
            near = difflib.get_close_matches(name, _FIELDS, n=1)
            raise ValueError(
                f"unknown field {name!r}" + (f"; did you mean {near[0]!r}?" if near else "")
            )
    read = _JsonFields(fields)
    text, scope = read.text("text"), FactScope.parse(read.text("scope", str(GLOBAL)))
    return Fact(
        id=read.text("id", "") or derive_id(f"imported {scope} {text}"),
        text=text,
        category=read.text("category", DEFAULT_CATEGORY),
        entity=read.text("entity", ""),
        key=read.text("key", ""),
        value=read.text("value", ""),
        tags=read.texts("tags"),
        scope=scope,
        decay=member_of(DecayClass, read.text("decayClass", DecayClass.PERMANENT)),
        confidence=read.number("confidence", 1.0),
        valid_from=read.moment("validFrom"),
        valid_until=read.moment("validUntil"),
        expires=read.moment("expires"),
        supersedes=read.texts("supersedes"),
        superseded_by=read.text("supersededBy", ""),
        provenance=member_of(Provenance, read.text("provenance", Provenance.OWNER)),
        source=read.text("source", ""),
        created=read.moment("created"),
    )


class _JsonFields:
    """Reads fields as the types they must have; null counts as missing."""

    def __init__(self, fields: Mapping[str, object]) -> None:
        self._fields = fields

    def text(self, name: str, default: str | None = None) -> str:
        value = self._fields.get(name)
        value = default if value is None else value
        if not isinstance(value, str):
            raise ValueError(f"{name!r} is {'missing' if value is None else 'not text'}")  # noqa: TRY004
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        value = self._fields.get(name)
        values: list[object] = [] if value is None else value if isinstance(value, list) else [None]
        texts = tuple(each for each in values if isinstance(each, str))
        if len(texts) != len(values):
            raise ValueError(f"{name!r} is not a list of texts")
        return texts

    def number(self, name: str, default: float) -> float:
        value = self._fields.get(name)
        value = default if value is None else value
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
            raise ValueError(f"{name!r} is not a number from 0 to 1")
        return float(value)

    def moment(self, name: str) -> datetime | None:
        return moment_of(self.text(name)) if self._fields.get(name) is not None else None


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else moment_text(moment)
