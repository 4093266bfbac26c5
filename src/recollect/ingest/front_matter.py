"""The front matter of a note, YAML between two `---`: a title, and words to find the note by."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING

from recollect.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from recollect.types import Document

_OPENER, _CLOSERS = "---", ("---", "...")
_FIELD = re.compile(r"([^\s#:&*!|>%@\[\]{},\"'`?-][^:]{0,39}?)\s*:(?:\s+(.*))?$")
_NESTED = re.compile(r" +\S|- |-$")
_COMMENT = re.compile(r"(?:^|\s)#.*")
_QUOTED_OR_COMMENT = re.compile(
    r"""(?P<quoted>(?<![^\s\[{,:])(?:"[^"]*"|'[^']*'))|(?<!\S)#(?!\S).*"""
)
"""A comment is `# text`: people write `tags: #draft` and `about: issue #12`, to be found by."""
_TAGS = ("tags", "tag", "keywords")
_ALIASES = ("aliases", "alias")
_SUPERSEDED_BY = ("superseded_by", "superseded-by", "replaced_by", "replaced-by")
_NOTHING = frozenset({"", "null", "~", "false", "no", "none", "n/a", "-"})
"""Values of the successor that mean none: templates have the key in every note."""
_EXPIRES = ("valid_until", "valid-until", "expires", "expiry")
_OUTDATED = frozenset({"superseded", "replaced", "obsolete", "outdated", "deprecated"})
"""Values of `status` of a note that no longer holds."""
_MAX_NAMES = 5
_MAX_NAMES_CHARS = 200
"""Names are repeated with every chunk, so they must stay short."""
_NAME_WEIGHT = 3
"""The words of a title are mostly in its first heading and its path as well."""
_QUOTES = "\"'[]{} \t"
_SAYS_NOTHING = re.compile(r"true|false|null|~", re.IGNORECASE)
DATE_KEYS = ("date", "day", "created", "timestamp")
"""The keys of the day that a note is about."""
_KEPT_BY_PROGRAMS = (*DATE_KEYS, "updated", "modified", "id", "uid", "uuid")
"""Keys that programs write into every note: only their values are words to find it by."""
_NO_DAY = "has an end of validity that is not a day such as 2026-12-31, so it is searched forever"
_LIST = re.compile(r"[^\s#:][^:]*:[ \t]*[\[{]")
_CLOSED = re.compile(r"[\]}]")
_UNCLOSED = "has front matter with a list that is not closed"
_BROKEN = "has front matter with no end or with a line that is not `key: value`: it is read as text"
_MAX_TAGS = 200
_MAX_WORDS_CHARS = 2000
"""Characters of aliases, and of other values; more is another program's data."""
SHORTEN = "Correct or shorten the front matter."
"""What to do about front matter of which something is left out."""


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The fields at the top of a file."""

    fields: Mapping[str, str]
    """Values by lower-case key; the first of a repeated key wins."""
    body_line: int
    """First line (1-based) that is not front matter."""


@dataclass(frozen=True, slots=True)
class Described:
    """What front matter says."""

    title: str = ""
    names: str = ""
    """Title and aliases, to embed in front of every chunk; empty without aliases."""
    words: str = ""
    """Its other values; tags come first, as `#tag`, then a line for each `key: value`."""
    left_out: str = ""
    """What of it is not searched, after the path; empty if everything is."""
    is_superseded: bool = False
    """Whether another note replaces this one."""
    until: date | None = None
    """The last day on which it is valid; None if it does not expire."""


def front_matter(text: str) -> FrontMatter:
    """Return the fields at the top of a text: flat `key: value` lines.

    This is not a YAML parser: nested values are skipped. Anything that does not look like front
    matter from its first line to its last is body: metadata may be ignored, text may not be lost.
    """
    absent = FrontMatter({}, 1)
    if not text.startswith(_OPENER):
        return absent
    lines = text.split("\n")
    if lines[0].rstrip() != _OPENER:
        return absent
    end = next((at for at, line in enumerate(lines) if at and line.rstrip() in _CLOSERS), None)
    fields = None if end is None else _fields(lines[1:end])
    return absent if end is None or fields is None else FrontMatter(fields, end + 2)


def describe(document: Document, lines: Sequence[str]) -> Described:
    """Return what the front matter of a document says, given the document's lines."""
    from recollect.ingest.markdown import MAX_TITLE_CHARS  # noqa: PLC0415 - to read needs none
    from recollect.text.tags import MAX_TAG_CHARS, declared, names_in  # noqa: PLC0415 - to read needs none

    inside = lines[1 : max(document.body_line - 2, 1)]
    if (
        document.body_line == 1
        and lines[0].rstrip() == _OPENER
        and _FIELD.match("".join(lines[1:2]))
    ):
        return Described(left_out=_BROKEN)
    title = ""
    tags: list[str] = []
    aliases: list[str] = []
    words: list[str] = []
    fields: dict[str, list[str]] = {}
    is_superseded = False
    ends = ""
    for is_top, key, value in _values(inside):
        if key == "title" and not title:
            title = value[:MAX_TITLE_CHARS]
            words.append(value[MAX_TITLE_CHARS:])
        elif key in _SUPERSEDED_BY:
            # Its successor's name is not a word to find it by.
            is_superseded |= is_top and _plain(value).lower() not in _NOTHING
        elif key in _ALIASES:
            aliases.append(value)
        elif key in _TAGS:
            tags += names_in(value)
        elif not _SAYS_NOTHING.fullmatch(value):
            is_superseded |= is_top and key == "status" and _plain(value).lower() in _OUTDATED
            ends = value if is_top and key in _EXPIRES else ends
            if key and key not in _KEPT_BY_PROGRAMS:
                fields.setdefault(key, []).append(value)
            elif not value[:4].isdigit():
                words.append(value)
    kept = [tag for tag in tags[:_MAX_TAGS] if len(tag) <= MAX_TAG_CHARS]
    lines = "".join(f"\n{key}: {', '.join(values)}" for key, values in fields.items())
    texts = " ".join(aliases), " ".join(filter(None, words)) + lines
    named, others = (text[:_MAX_WORDS_CHARS] for text in texts)
    until = _day(ends)
    searched = declared(kept), *[named] * _NAME_WEIGHT, others
    return Described(
        title,
        _names(title, aliases),
        " ".join(filter(None, searched)),
        _NO_DAY
        if ends and until is None
        else _left_out(len(tags) - len(kept), sum(map(len, texts)) - len(named) - len(others))
        or (_UNCLOSED if _has_open_list(inside) else ""),
        is_superseded,
        until,
    )


def _day(value: str) -> date | None:
    try:
        return date.fromisoformat(_plain(value)[:10])
    except ValueError:
        return None


def _names(title: str, aliases: Sequence[str]) -> str:
    other = ", ".join(aliases[:_MAX_NAMES])
    both = f"{title} ({other})" if title and other else other
    return both[:_MAX_NAMES_CHARS]


def _has_open_list(lines: Sequence[str]) -> bool:
    """Return whether a field, with the lines below that belong to it, has a list without an end."""
    fields = re.split(r"\n(?=\S)", "\n".join(lines))
    return any(_LIST.match(each) and not _CLOSED.search(each) for each in fields)


def _left_out(tags: int, chars: int) -> str:
    parts = []
    if tags:
        parts.append(f"{tags} tags (after the first {_MAX_TAGS}, or too long)")
    if chars:
        parts.append(f"{chars} characters (after the first {_MAX_WORDS_CHARS})")
    return f"has front matter that is not searched: {' and '.join(parts)}" if parts else ""


def _fields(lines: Iterable[str]) -> dict[str, str] | None:
    fields: dict[str, str] = {}
    for line in lines:
        if found := _FIELD.match(line):
            fields.setdefault(found[1].lower(), _plain(found[2] or ""))
        elif line.strip() and not line.startswith("#") and not (fields and _NESTED.match(line)):
            return None
    return fields


def _plain(value: str) -> str:
    value = value.strip()
    quote = value[:1]
    if quote and quote in "\"'" and (end := value.find(quote, 1)) > 0:
        return value[1:end]
    return _COMMENT.sub("", value).strip()


def _values(lines: Sequence[str]) -> Iterator[tuple[bool, str, str]]:
    """Yield each value with its key, and whether that is a key of the note, not of a nested value.

    Those of a list are yielded one by one, and each line of a text that follows `|` or `>`.
    """
    key, is_top = "", False
    block_indent: int | None = None
    for line in lines:
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        indent = len(line) - len(line.lstrip())
        if block_indent is not None and indent > block_indent:
            yield is_top, key, text
            continue
        text = _QUOTED_OR_COMMENT.sub(r"\g<quoted>", text.removeprefix("- ")).strip()
        block_indent = None
        if found := _FIELD.match(text):
            key, text = found[1].lower(), (found[2] or "").strip()
            is_top = line.startswith(found[1])
            if text.startswith(("|", ">")):
                block_indent = indent
                continue
        if text.startswith("["):
            parts = text.strip(" \t[]").split(",")
        else:
            # Tags of one line are separated by commas or else by spaces.
            parts = text.split() if found and key in _TAGS and "," not in text else [text]
        for part in parts:
            if value := part.strip(_QUOTES):
                yield is_top, key, value
