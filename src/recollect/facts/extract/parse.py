"""Reading a model's answer into drafts of facts: strict about each, forgiving about all of them.

One line that cannot be used costs that line, and is reported; nothing a model writes can raise.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from recollect.facts.extract.suspicion import suspicion_of
from recollect.facts.record import extracted_category, tags_of
from recollect.text.json_objects import UnreadableObject, objects_in
from recollect.text.scripts import normalised

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

INGEST_TAG = "ingest"
REPEATED = "repeats an earlier fact"

_LEAST_CHARS = 10  # of a text: what is shorter says nothing by itself
_MOST_CHARS = 1000  # of a text: one or two sentences were asked for
_READ_CHARS = 2 * _MOST_CHARS  # of any other field
_NAME_CHARS = 120  # of an entity or a key
_VALUE_CHARS = 200
_TAG_CHARS = 40
_MOST_TAGS = 8
_EXCERPT_CHARS = 80
_MOST_DRAFTS = 500
"""Of one answer: several times what a batch of the usual size can hold."""
_MOST_SKIPPED = 100
"""Told one by one; of the rest only the count."""
_JOINERS = "\u200c\u200d"  # part of words in Persian and Hindi, and of emoji
_KEY_BREAK = re.compile(r"[^\w.]+|(?<=[a-z])(?=[A-Z])")
_FACT_FIELDS = {"text", "fact", "category"}


@dataclass(frozen=True, slots=True)
class Draft:
    """A fact as a model worded it, not yet one."""

    category: str
    text: str
    entity: str = ""
    key: str = ""
    value: str = ""
    tags: tuple[str, ...] = (INGEST_TAG,)
    path: str = ""
    """The file it stands in; before it is placed, what the model says."""
    start_line: int = 0
    end_line: int = 0
    """Counted from 1; 0 is unknown."""
    is_suspicious: bool = False
    suspicion: str = ""
    """Why, in words."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """What an answer held that did not become a draft."""

    reason: str
    excerpt: str
    count: int = 1


def parse_facts(answer: str) -> tuple[list[Draft], list[Skipped]]:
    """Return the drafts in an answer, each text once, and what was left out."""
    drafts: dict[str, Draft] = {}
    skipped = _Heap()
    too_many = 0
    for read in objects_in(answer):
        if isinstance(read, UnreadableObject):
            skipped.add("is not JSON", read.excerpt)
            continue
        for fields in _facts_in(read):
            draft = _draft(fields)
            if isinstance(draft, Skipped):
                skipped.add(draft.reason, draft.excerpt)
            elif (identity := normalised(draft.text)) in drafts:
                skipped.add(REPEATED, draft.text)
            elif len(drafts) == _MOST_DRAFTS:
                too_many += 1
            else:
                drafts[identity] = draft
    if too_many:
        skipped.add(f"comes after the first {_MOST_DRAFTS} facts", "", count=too_many)
    return list(drafts.values()), skipped.listed()


def is_answer(answer: str) -> bool:
    """Tell whether the model kept to the form at all: `{}` is how it says that there is nothing."""
    return answer.strip() == "[]" or any(isinstance(read, dict) for read in objects_in(answer))


def suspected(draft: Draft, reason: str) -> Draft:
    """Return the draft marked, unless it is already."""
    if draft.is_suspicious or not reason:
        return draft
    return replace(draft, is_suspicious=True, suspicion=reason)


class _Heap:
    """What was left out, the first of it in full."""

    def __init__(self) -> None:
        self._first: list[Skipped] = []
        self._more = 0

    def add(self, reason: str, excerpt: str, *, count: int = 1) -> None:
        if len(self._first) < _MOST_SKIPPED or count > 1:
            self._first.append(Skipped(reason, excerpt[:_EXCERPT_CHARS], count))
        else:
            self._more += 1

    def listed(self) -> list[Skipped]:
        more = [Skipped("could not be used either", "", self._more)] if self._more else []
        return [*self._first, *more]


def _facts_in(read: dict[str, object]) -> Iterator[Mapping[str, object]]:
    """Return the object itself, or those in a list it wraps: `{"facts": [...]}`."""
    if not read:
        return
    inner = [
        part
        for value in read.values()
        if isinstance(value, list)
        for part in value
        if isinstance(part, dict)
    ]
    if inner and not _FACT_FIELDS & read.keys():
        yield from inner
    else:
        yield read


def _draft(fields: Mapping[str, object]) -> Draft | Skipped:
    raw = fields.get("text") or fields.get("fact")
    if not isinstance(raw, str):
        return Skipped("has no text", _line(str(fields)[:_EXCERPT_CHARS]))
    text = _line(raw)
    if len(text) < _LEAST_CHARS:
        return Skipped(f"has a text of under {_LEAST_CHARS} characters", text)
    if len(text) > _MOST_CHARS:
        return Skipped(f"has a text of over {_MOST_CHARS} characters", text)
    entity, key = _name(fields.get("entity")), _key(fields.get("key"))
    value = _word(fields.get("value"))[:_VALUE_CHARS]
    if not value and entity and key:
        value = text[:_VALUE_CHARS]
    path, line = _word(fields.get("file")), _number(fields.get("line"))
    reason = suspicion_of(raw, _text_of(fields.get("entity")), _text_of(fields.get("value")))
    draft = Draft(
        extracted_category(_word(fields.get("category"))),
        text,
        entity,
        key,
        value,
        _tags(fields.get("tags")),
        path,
        line,
        line,
    )
    return suspected(draft, reason)


def _text_of(value: object) -> str:
    """Return a text or a number as it was written; all else is none."""
    if isinstance(value, bool):
        return str(value).lower()
    return value[:_READ_CHARS] if isinstance(value, str) else ""


def _line(text: str) -> str:
    """Return the text on one line, without what is not seen."""
    seen = (char if char.isprintable() or char in _JOINERS else " " for char in text)
    return " ".join("".join(seen).split())


def _word(value: object) -> str:
    return _line(_text_of(value))


def _name(value: object) -> str:
    return _word(value)[:_NAME_CHARS].strip()


def _key(value: object) -> str:
    """Return the key in snake_case: `Base URL` and `baseUrl` are `base_url`."""
    parts = _KEY_BREAK.split(_name(value))
    return "_".join(part.lower() for part in parts if part)


def _number(value: object) -> int:
    """Return a line's number; 0 where there is none."""
    text = _word(value)
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= len("9999999") else 0


def _tags(value: object) -> tuple[str, ...]:
    words = value if isinstance(value, list) else [value]
    lines = [_line(word) for word in words[: 4 * _MOST_TAGS] if isinstance(word, str)]
    tags = [tag for tag in tags_of(lines) if len(tag) <= _TAG_CHARS and tag != INGEST_TAG]
    return (*tags[:_MOST_TAGS], INGEST_TAG)
