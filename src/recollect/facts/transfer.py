"""Facts as JSON Lines, for moving them elsewhere and back: one fact a line, every field named.

Reading is strict: a file with one wrong line is refused as a whole, with every wrong line named,
because half an import is worse than none. Ids are kept.
"""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.errors import UsageError
from recollect.facts.decay import DecayClass
from recollect.facts.history import active
from recollect.facts.record import (
    DEFAULT_CATEGORY,
    Fact,
    Provenance,
    moment_of,
    moment_text,
    named_as,
)
from recollect.facts.scope import GLOBAL, FactScope
from recollect.text.scripts import normalised

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime

_FIELDS = (
    "id", "text", "category", "entity", "key", "value", "tags", "scope", "decayClass", "confidence",
    "validFrom", "validUntil", "expires", "supersedes", "supersededBy", "provenance", "source",
    "created",
)  # fmt: skip
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Would be taken for the end of a line, or cannot be encoded."""
_MAX_NAMED = 10
"""More wrong lines than this are only counted."""


def exported(facts: Iterable[Fact]) -> Iterator[str]:
    """Yield a line of JSON for each fact, without its end."""
    for fact in facts:
        line = json.dumps(as_fields(fact), ensure_ascii=False)
        yield _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", line)


def as_fields(fact: Fact) -> dict[str, object]:
    """Return a fact as the fields that programs read, always all of them."""
    return {
        "id": fact.id,
        "text": fact.text,
        "category": fact.category,
        "entity": fact.entity,
        "key": fact.key,
        "value": fact.value,
        "tags": list(fact.tags),
        "scope": str(fact.scope),
        "decayClass": str(fact.decay),
        "confidence": fact.confidence,
        "validFrom": _moment(fact.valid_from),
        "validUntil": _moment(fact.valid_until),
        "expires": _moment(fact.expires),
        "supersedes": list(fact.supersedes),
        "supersededBy": fact.superseded_by or None,
        "provenance": str(fact.provenance),
        "source": fact.source,
        "created": _moment(fact.created),
    }


def imported(lines: Iterable[str]) -> tuple[Fact, ...]:
    """Return the facts of exported lines, or of one document as `facts export --json` prints it.

    Blank lines are passed over.

    Raises:
        UsageError: lines that hold no fact, named by their numbers.

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
                wrong.append(f"{unit} {number}: {fact.id} was there before")
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
    """What importing does."""

    added: tuple[Fact, ...]
    same: tuple[Fact, ...]
    """Known by id, or by the same text in the same scope."""
    differing: tuple[Fact, ...]
    """Known by id, with another content: what is stored stands."""
    contradicting: tuple[tuple[Fact, tuple[Fact, ...]], ...] = ()
    """Of those added, each that contradicts others, with them: somebody has to decide."""


def import_plan(given: Iterable[Fact], facts: Mapping[str, Fact], *, now: datetime) -> ImportPlan:
    """Return what importing facts does to those that are stored.

    Args:
        given: to be imported.
        facts: that are stored, by id.
        now: the present: a text is known if it still holds.

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
    """Return the facts of a text that is one document; None for lines of their own."""
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
        raise ValueError(f"no JSON ({error.msg} at column {error.colno})") from error
    except RecursionError:
        raise ValueError("no JSON that could be a fact") from None


def _fact(fields: object) -> Fact:
    if not isinstance(fields, dict):
        raise ValueError("no JSON object")  # noqa: TRY004 - a line of a file, not an argument
    for name in fields:
        if name not in _FIELDS:
            near = difflib.get_close_matches(name, _FIELDS, n=1)
            raise ValueError(f"unknown field {name!r}" + (f", not {near[0]!r}?" if near else ""))
    read = _Reader(fields)
    return Fact(
        id=read.text("id"),
        text=read.text("text"),
        category=read.text("category", DEFAULT_CATEGORY),
        entity=read.text("entity", ""),
        key=read.text("key", ""),
        value=read.text("value", ""),
        tags=read.texts("tags"),
        scope=FactScope.parse(read.text("scope", str(GLOBAL))),
        decay=named_as(DecayClass, read.text("decayClass", DecayClass.PERMANENT)),
        confidence=read.number("confidence", 1.0),
        valid_from=read.moment("validFrom"),
        valid_until=read.moment("validUntil"),
        expires=read.moment("expires"),
        supersedes=read.texts("supersedes"),
        superseded_by=read.text("supersededBy", ""),
        provenance=named_as(Provenance, read.text("provenance", Provenance.OWNER)),
        source=read.text("source", ""),
        created=read.moment("created"),
    )


class _Reader:
    """Takes fields for what they must be; null is like not there."""

    def __init__(self, fields: Mapping[str, object]) -> None:
        self._fields = fields

    def text(self, name: str, default: str | None = None) -> str:
        value = self._fields.get(name)
        value = default if value is None else value
        if not isinstance(value, str):
            raise ValueError(f"{name!r} is {'missing' if value is None else 'no text'}")  # noqa: TRY004
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        value = self._fields.get(name)
        values: list[object] = [] if value is None else value if isinstance(value, list) else [None]
        texts = tuple(each for each in values if isinstance(each, str))
        if len(texts) != len(values):
            raise ValueError(f"{name!r} is no list of texts")
        return texts

    def number(self, name: str, default: float) -> float:
        value = self._fields.get(name)
        value = default if value is None else value
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
            raise ValueError(f"{name!r} is no number from 0 to 1")
        return float(value)

    def moment(self, name: str) -> datetime | None:
        return moment_of(self.text(name)) if self._fields.get(name) is not None else None


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else moment_text(moment)
