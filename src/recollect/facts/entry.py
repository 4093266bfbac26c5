"""Formats one fact as one Markdown bullet or as one line of JSON, and parses it back.

    - Ada prefers dark mode <!-- f-06e5p3v8m1q0z entity=Ada key=theme value=dark by=owner -->
    - ~~Ada prefers light mode~~ <!-- f-06e5p3v8m1q0y superseded-by=f-06e5p3v8m1q0z by=owner -->

The record is a comment on the line, so that moving, deleting or copying the line affects both. What
could end line or comment is written as an HTML reference (`&#10;`), which Markdown renders.

Importing JSON is strict: one wrong line rejects all, because half an import is worse than none.
"""

from __future__ import annotations

import re
from dataclasses import fields
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from recollect.errors import UsageError
from recollect.facts.record import (
    ID_PATTERN,
    NO_SUCCESSOR,
    DecayClass,
    Fact,
    Provenance,
    is_id,
    member_of,
    moment_of,
    moment_text,
)
from recollect.facts.scope import parse_scope
from recollect.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Attributes = tuple[tuple[str, str], ...]

BULLET = re.compile(r"( {0,3})[-*+][ \t]+(?=[^ \t\r\n])")

_BLANK = " \t\r\n"
"""Spaces around a text; other white space of Unicode may begin one."""
_STRIKE = "~~"
_FIELDS = {
    {"provenance": "by"}.get(each.name) or each.name.replace("_", "-"): each
    for each in fields(Fact)
    if each.name not in {"id", "text"}
}
"""The fields of a fact by the names of their attributes, in the order of a record."""
_RECORD = re.compile(
    rf"<!--\s*(?=f-|(?:{'|'.join(_FIELDS)})=)(?P<body>(?:(?!<!--|-->).)*)-->", re.DOTALL
)
"""Begins with an id or, if a person wrote it, with an attribute."""
_RECORD_START = re.compile(r"<!--\s*f-")
_LOOSE_ID = re.compile(rf"(?<![\w-]){ID_PATTERN}(?![\w-])")
_ATTRIBUTE = re.compile(r"\s+([a-z][a-z0-9-]*)=(?:\"([^\"]*)\"|([^\s\"]*))(?=\s|\Z)")
_NESTED = re.compile(r"[-*+][ \t]|[0-9]{1,9}[.)][ \t]")
_REFERENCE = re.compile(r"&#(?:[xX]([0-9a-fA-F]{1,6})|([0-9]{1,7}));")
_LAST_CODE_POINT = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)  # halves of characters, which no file can hold

_UNSEEN = (
    "\x00-\x1f\x7f-\x9f\xad\u034f\u180e\u200b\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f"
)
"""Characters that break the line, that editors reject, or that disguise the text."""
_IN_TEXT = re.compile(rf"[{_UNSEEN}]|&(?=#)|<(?=!--)|^ |^~|^`(?=``)| $|~$")
_IN_VALUE = re.compile(rf"[{_UNSEEN}\"<>]|&(?=#)")
_BARE = re.compile(r"[^\s\"&]+")


_REMAINS = re.compile(rf"<!--|(?<![\w-]){ID_PATTERN}(?![\w-])")
_LIMITED = re.compile(r"scope|user:|agent:|session:|superseded|valid-|expires", re.IGNORECASE)


class EntryError(Exception):
    """A bullet whose record cannot be read. It is reported and kept; never leaves the ledger."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A bullet that is a fact."""

    fact: Fact
    extra: Attributes = ()
    """Unknown attributes of the record, kept for whoever wrote them."""
    has_record: bool = True
    """False for a bullet without an id; it is derived from its words."""
    first: int = 0
    """Its first line in the file, 0-based."""
    end: int = 0
    """First line after it."""


def parse_entry(raw: str, *, category: str, derive: Callable[[str], str]) -> Entry:
    """Return the fact of a bullet, or raise EntryError; `derive` makes an id if it has none."""
    records = list(_RECORD.finditer(raw))
    if len(records) > 1:
        raise EntryError("has two records: two bullets may have been joined")
    shown = _shown(raw, records[0] if records else None)
    if not records and _has_broken_record(raw):
        raise EntryError("has a broken record")
    fact_id, attributes = _attributes(records[0]["body"]) if records else ("", {})
    text, is_struck = _text(shown, is_superseded="superseded-by" in attributes)
    if not text.strip():
        raise EntryError("has no text")
    if is_struck:
        attributes.setdefault("superseded-by", NO_SUCCESSOR)
    attributes.setdefault("category", category)
    try:
        given = {
            field.name: _READERS.get(name, str)(attributes[name])
            for name, field in _FIELDS.items()
            if name in attributes
        }
        # Each reader returns the type of its field.
        fact = Fact(fact_id or derive(text), text, **given)  # type: ignore[arg-type]
    except UsageError as error:
        raise EntryError(f"cannot be read: {error.message} {error.action}") from error
    extra = tuple((name, value) for name, value in attributes.items() if name not in _FIELDS)
    return Entry(fact, extra, has_record=bool(fact_id))


def plain_entry(raw: str, *, category: str, derive: Callable[[str], str]) -> Entry | None:
    """Return what a bullet with a broken record says; None if that record may have limited it."""
    begin = BULLET.match(raw)
    shown = raw[begin.end() if begin else 0 :]
    broken = _REMAINS.search(shown)
    if broken is None or _LIMITED.search(shown, broken.start()) or shown.count("<!--") > 1:
        return None
    text, is_struck = _text(shown[: broken.start()].rstrip(_BLANK), is_superseded=False)
    if not text.strip():
        return None
    successor = NO_SUCCESSOR if is_struck else ""
    fact = Fact(id=derive(text), text=text, category=category, superseded_by=successor)
    return Entry(fact, has_record=False)


def format_entry(fact: Fact, *, category: str, extra: Attributes = (), bullet: str = "- ") -> str:
    """Return the line of a fact, without a line end; the category of the file is not repeated."""
    text = _IN_TEXT.sub(_reference, fact.text)
    if fact.is_superseded:
        text = f"{_STRIKE}{text}{_STRIKE}"
    return f"{bullet}{text} {_record(fact, category=category, extra=extra)}"


def rewritten(raw: str, entry: Entry, fact: Fact, *, category: str) -> str:
    """Return the entry with a changed fact of the same id; unchanged parts stay as written."""
    begin = BULLET.match(raw)
    bullet = begin[0] if begin else "- "
    fresh = format_entry(fact, category=category, extra=entry.extra, bullet=bullet)
    if fact.text != entry.fact.text:
        return fresh
    record = _record(fact, category=category, extra=entry.extra)
    found = _RECORD.search(raw)
    if fact.is_superseded != entry.fact.is_superseded:
        shown = _shown(raw, found)
        shown = f"{_STRIKE}{shown}{_STRIKE}" if fact.is_superseded else _bare(shown)
        kept = f"{bullet}{shown} {record}"
    elif found:
        kept = f"{raw[: found.start()]}{record}{raw[found.end() :]}"
    else:
        kept = f"{raw.rstrip(_BLANK)} {record}"
    return kept if _reads_as(kept, fact, category=category) else fresh


def _reads_as(raw: str, fact: Fact, *, category: str) -> bool:
    try:
        return parse_entry(raw, category=category, derive=lambda _text: fact.id).fact == fact
    except EntryError:
        return False


def _has_broken_record(raw: str) -> bool:
    """Return whether a bullet has only the beginning or the end of a record."""
    loose = _LOOSE_ID.search(raw)
    return bool(_RECORD_START.search(raw)) or (loose is not None and "-->" in raw[loose.end() :])


def _shown(raw: str, record: re.Match[str] | None) -> str:
    """Return the visible part of an entry, with its line breaks."""
    begin = BULLET.match(raw)
    start = begin.end() if begin else 0
    if record is None:
        return raw[start:].rstrip(_BLANK)
    before = raw[start : record.start()].rstrip(_BLANK)
    after = raw[record.end() :].rstrip(_BLANK)
    # A person who types at the end of the line types after the record.
    return f"{before}{after if after[:1].isspace() else ' ' + after}" if after else before


def _text(shown: str, *, is_superseded: bool) -> tuple[str, bool]:
    """Return the text of the visible part, and whether all of it is struck out."""
    text = ""
    for line in shown.split("\n"):
        part = line.strip(_BLANK)
        gap = "\n" if _NESTED.match(part) else " "
        text = f"{text}{gap}{part}" if text else part
    bare = _bare(text)
    is_struck = bare != text and (is_superseded or _STRIKE not in bare)
    return _REFERENCE.sub(_character, bare if is_struck else text), is_struck


def _bare(text: str) -> str:
    is_struck = text.startswith(_STRIKE) and text.endswith(_STRIKE)
    inner = text[len(_STRIKE) : -len(_STRIKE)]
    return inner if is_struck and inner else text


def _attributes(body: str) -> tuple[str, dict[str, str]]:
    """Return the id of a record, empty if it has none, and its attributes."""
    has_id = body.startswith("f-")
    fact_id = body.split(maxsplit=1)[0] if has_id else ""
    if has_id and not is_id(fact_id):
        raise EntryError(f"has {fact_id!r} as its id")
    body = body if has_id else f" {body}"
    found: dict[str, str] = {}
    at = len(fact_id)
    while body[at:].strip():
        attribute = _ATTRIBUTE.match(body, at)
        if attribute is None:
            # Do not quote it: it may be a fact that the reader of the message must not see.
            raise EntryError(f"has a broken record, after {next(reversed(found), 'its beginning')}")
        name, quoted, bare = attribute.groups()
        if name in found:
            raise EntryError(f"has {name!r} twice in its record")
        found[name] = _REFERENCE.sub(_character, bare if quoted is None else quoted)
        at = attribute.end()
    return fact_id, found


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(
            f"The confidence {text!r} is not a number.", action="Use a number from 0 to 1."
        ) from None


def _record(fact: Fact, *, category: str, extra: Attributes) -> str:
    """Return the comment: what differs from the defaults, and who stated the fact."""
    parts = [fact.id]
    for name, field in _FIELDS.items():
        value = _written(getattr(fact, field.name))
        usual = category if name == "category" else _written(field.default)
        if value != usual or name == "by":
            parts.append(f"{name}={_value(value)}")
    parts += [f"{name}={_value(value)}" for name, value in extra]
    return f"<!-- {' '.join(parts)} -->"


def _written(value: object) -> str:
    match value:
        case None:
            return ""
        case tuple():
            return ",".join(value)
        case datetime():
            return moment_text(value)
        case float():
            return repr(float(value))
        case _:
            return str(value)


def _moment(text: str) -> datetime | None:
    return moment_of(text) if text else None


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split(",") if part)


_READERS: Mapping[str, Callable[[str], object]] = {
    "tags": _listed,
    "scope": parse_scope,
    "decay": partial(member_of, DecayClass),
    "confidence": _number,
    "valid-from": _moment,
    "valid-until": _moment,
    "expires": _moment,
    "supersedes": _listed,
    "by": partial(member_of, Provenance),
    "created": _moment,
}
"""Attributes that are not texts."""


def _value(value: str) -> str:
    written = _IN_VALUE.sub(_reference, value)
    return written if _BARE.fullmatch(written) else f'"{written}"'


def _reference(found: re.Match[str]) -> str:
    return f"&#{ord(found[0])};"


def _character(reference: re.Match[str]) -> str:
    number = int(reference[1], 16) if reference[1] else int(reference[2])
    is_character = number <= _LAST_CODE_POINT and number not in _SURROGATES
    return chr(number) if is_character else reference[0]
