"""The flat `key: value` lines between two `---` at the top of a Markdown file.

It is no YAML parser: nested values are passed over. What does not look like front matter from
its first line to its last is left to be body, because metadata may be ignored but text may not
be lost.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_FENCE = "---"
_CLOSERS = ("---", "...")
_FIELD = re.compile(r"([^\W\d][\w.-]*)\s*:(?:\s+(.*))?$")
_NESTED = re.compile(r" +\S|- |-$")
_COMMENT = re.compile(r"(?:^|\s)#.*")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What the top of a file says of the rest."""

    fields: Mapping[str, str]
    """Values by lower-case key; the first of a repeated key counts."""
    body_line: int
    """First line (1-based) that is not front matter."""


def front_matter(text: str) -> FrontMatter:
    """Return the front matter of a text, empty when there is none to be trusted."""
    absent = FrontMatter({}, 1)
    if not text.startswith(_FENCE):
        return absent
    fields: dict[str, str] = {}
    lines = iter(text.split("\n"))
    if next(lines).rstrip() != _FENCE:
        return absent
    for number, line in enumerate(lines, 2):
        if line.rstrip() in _CLOSERS:
            return FrontMatter(fields, number + 1)
        if found := _FIELD.match(line):
            fields.setdefault(found[1].lower(), _plain(found[2] or ""))
        elif not _is_passed_over(line, is_after_field=bool(fields)):
            return absent
    return absent


def _is_passed_over(line: str, *, is_after_field: bool) -> bool:
    if not line.strip() or line.startswith("#"):
        return True
    return is_after_field and _NESTED.match(line) is not None


def _plain(value: str) -> str:
    value = value.strip()
    quote = value[:1]
    if quote and quote in "\"'" and (end := value.find(quote, 1)) > 0:
        return value[1:end]
    return _COMMENT.sub("", value).strip()
