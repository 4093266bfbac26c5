"""What the front matter of a note says it is about: its title, aliases, tags and other values.

The keys are the same in every note and say nothing; the values are words to find the note by. The
title is a heading like any other, the rest belongs to the note's first chunk.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from recollect.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_FIELD = re.compile(r"([^\W\d][\w.-]*)\s*:(?:\s+|$)")
_TAGS = ("tags", "tag", "keywords")
_QUOTES = "\"'[]{} \t"
_DAY_OR_NUMBER = re.compile(r"[0-9][-0-9:.TZ+ ]*|true|false|null", re.IGNORECASE)
_MAX_CHARS = 2000
"""More is a drawing or another program's data."""


@dataclass(frozen=True, slots=True)
class Described:
    """What front matter says."""

    title: str = ""
    words: str = ""
    """Its other values; tags are written as in the text, `#tag`."""


def describe(lines: Sequence[str]) -> Described:
    """Return what the lines of a front matter say, without the fences around them."""
    title = ""
    words: list[str] = []
    for key, value in _values(lines):
        if key == "title" and not title:
            title = value
        elif key in _TAGS:
            words += (f"#{tag.lstrip('#')}" for tag in value.split())
        elif not _DAY_OR_NUMBER.fullmatch(value):
            words.append(value)
    return Described(title, " ".join(words)[:_MAX_CHARS])


def _values(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each value with its key: those of a list one by one, those of nested keys as well."""
    key = ""
    for line in lines:
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        text = text.removeprefix("- ")
        if found := _FIELD.match(text):
            key, text = found[1].lower(), text[found.end() :]
        parts = text.strip(" \t[]").split(",") if text.startswith("[") else [text]
        for part in parts:
            if value := part.strip(_QUOTES):
                yield key, value
