"""The words of a heading without its markup.

It knows inline Markdown as far as headings use it, and nothing of lines or blocks.
"""

from __future__ import annotations

import re

from recollect.text.graphemes import boundary_before

MAX_TITLE_CHARS = 200
"""A title is repeated with every chunk below it, so it must stay short."""

_CLOSING_HASHES = re.compile(r"(?:^|[ \t])#+$")
_MARKUP = (
    (re.compile(r"<!--.*?-->"), ""),
    (re.compile(r"</?(?:a|b|i|br|em|sub|sup|kbd|img|code|span|strong)\b[^<>]*>"), ""),
    (re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])"), r"\1"),
    (re.compile(r"\{[#.][^{}]*\}\s*$"), ""),
    (re.compile(r"(\*{1,3})(?=\S)(.+?)(?<=\S)\1"), r"\2"),
    (re.compile(r"`+"), ""),
    (re.compile(r"\s+"), " "),
)


def title_of(heading: str) -> str:
    """Return what a heading says, given its text after the opening `#`."""
    # Cut before the patterns run: some of them are quadratic in what they see.
    title = _CLOSING_HASHES.sub("", heading.strip()[: 4 * MAX_TITLE_CHARS])
    for markup, words in _MARKUP:
        title = markup.sub(words, title)
    title = title.strip()
    return title[: boundary_before(title, MAX_TITLE_CHARS)]
