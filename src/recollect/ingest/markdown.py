"""The block structure of Markdown lines (CommonMark, GFM tables) as far as chunking needs it.

Blocks are never regrouped by what follows them, so that appending to a file cannot change how its
start was read: a Setext heading is one line long, and a table inside a paragraph starts at its
first `|`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from recollect.text.graphemes import boundary_before

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAX_INDENT = 3
"""Deeper than this a line is code, not a heading or a fence."""
_MAX_MARKER_GAP = 4
"""A list entry's text that starts further right is code."""

_RULE_MARKS = 3

_HEADING = re.compile(r"(#{1,6})(?:[ \t]+(.*))?$", re.DOTALL)
_UNDERLINE = re.compile(r"(?:=+|--+)$")
_NO_TITLE = re.compile(r"[><|]|\[[^\]]*\]:")
_FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_MARKER = re.compile(r"(?:[-+*]|([0-9]{1,9})[.)])(?=[ \t]|$)")
_RAW_HTML = re.compile(r"<(?:(!--)|(pre|script|style|textarea)(?=[\s>]|$))", re.IGNORECASE)
_BEGINNING = re.compile(
    r"(?P<heading>#{1,6}(?:[ \t]|$))"
    r"|(?P<fence>`{3,}[^`]*$|~{3,})"
    r"|(?P<html><(?:!--|(?:pre|script|style|textarea)(?:[\s>]|$)))"
    r"|(?P<table>\|)"
    r"|(?P<bullet>(?:[-+*]|[0-9]{1,9}[.)])(?:[ \t]|$))",
    re.IGNORECASE,
)
"""What an unindented line starts, by the name of its BlockKind."""


class BlockKind(StrEnum):
    """What a block is."""

    HEADING = "heading"
    FENCE = "fence"
    BULLET = "bullet"
    """One list entry, numbered or not: its first paragraph."""
    TABLE = "table"
    """The head of a table with its first row."""
    ROW = "row"
    HTML = "html"
    RULE = "rule"
    TEXT = "text"


_KINDS = {kind.value: kind for kind in BlockKind}
_TEXT, _BULLET = BlockKind.TEXT, BlockKind.BULLET  # looked up for every line
_STARTERS = frozenset("#`~<|-+*_0123456789")
"""The first characters of lines that may start anything but text."""


class Block(NamedTuple):
    """Adjacent lines that belong together; blank lines between blocks belong to none."""

    kind: BlockKind
    start: int
    """First line, 1-based."""
    end: int
    """Last line that is not blank."""
    depth: int = 0
    """How many list entries or tables the block is inside of."""
    level: int = 0
    """Level of a heading: 1 to 6."""
    title: str = ""


def blocks(lines: Sequence[str], *, first: int = 1) -> list[Block]:
    """Return the blocks of the lines from line `first` (1-based) on, in order."""
    reader = _BlockReader(lines)
    for number in range(first, len(lines) + 1):
        reader.read(number)
    return reader.close()


class _BlockReader:
    """Reads lines one by one, and knows what is open at each."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._done: list[Block] = []
        self._open: Block | None = None
        self._end = 0  # last line of the open block
        self._offsets: list[int] = []  # columns where the text of the open list entries begins
        self._closer = ""  # what ends the fence or raw HTML the line is inside of
        self._is_text = False  # a plain line would go on with the open block
        self._is_gap = False
        self._is_ruled = False  # the table has its `|---|` line

    def close(self) -> list[Block]:
        """Return everything read."""
        if self._open:
            is_line = self._open.end == self._end
            self._done.append(self._open if is_line else self._open._replace(end=self._end))
            self._open = None
        return self._done

    def read(self, number: int) -> None:
        """Read the next line."""
        line = self._lines[number - 1]
        text = line.strip()
        if not text:
            self._is_gap = True
            return
        is_gap, self._is_gap = self._is_gap, False
        column = _column(line)
        goes_on = self._closer and self._stays_inside(text, column)
        goes_on = goes_on or (not is_gap and self._continues(number, text, column))
        if not goes_on:
            self._begin(number, text, column)
        self._end = number
        # An empty line of a quotation separates paragraphs like a blank line.
        self._is_gap = not self._closer and not text.strip("> ")

    def _stays_inside(self, text: str, column: int) -> bool:
        inner = self._offsets[-1] if self._offsets else 0
        if column < inner:  # leaving a list entry ends the fence inside it
            self._closer = ""
            return False
        if self._closer[0] in "`~":
            is_end = text.startswith(self._closer) and not text.strip(self._closer[0])
            is_end = is_end and column - inner <= _MAX_INDENT
        else:
            is_end = self._closer in text.lower()
        if is_end:
            self._closer = ""
        return True

    def _continues(self, number: int, text: str, column: int) -> bool:
        """Return whether the line belongs to the block directly above it."""
        if self._open is None:
            return False
        if not self._is_text:
            is_table = self._open.kind in {BlockKind.TABLE, BlockKind.ROW}
            return is_table and self._continues_table(self._open, number, text, column)
        if self._is_underline(self._open, text, column):
            self._is_text = False
            title = title_of(self._lines[self._open.start - 1])
            level = 1 if text[0] == "=" else 2
            self._open = self._open._replace(kind=BlockKind.HEADING, level=level, title=title)
            return True
        return not self._interrupts(text, column)

    def _continues_table(self, table: Block, number: int, text: str, column: int) -> bool:
        if "|" not in text or (self._offsets and column < self._offsets[-1]):
            return False
        is_head = table.kind is BlockKind.TABLE
        if is_head and number == table.start + 1 and _is_table_rule(text):
            self._is_ruled = True
            return True
        # Once ruled, rows need no `|` in front, but must not be anything else either.
        if text[0] != "|" and (not self._is_ruled or self._interrupts(text, column)):
            return False
        if not is_head or not self._is_ruled or number != table.start + 2:
            self._push(Block(BlockKind.ROW, number, number, table.depth + is_head))
        return True

    def _is_underline(self, above: Block, text: str, column: int) -> bool:
        line = self._lines[above.start - 1]
        return (
            text[0] in "=-"
            and above.kind is _TEXT
            and above.depth == 0
            and above.start == self._end
            and column <= _MAX_INDENT
            and _UNDERLINE.match(text) is not None
            and _column(line) <= _MAX_INDENT
            and len(line) <= MAX_TITLE_CHARS
            and not _NO_TITLE.match(line.lstrip())
        )

    def _interrupts(self, text: str, column: int) -> bool:
        """Return whether the line starts a block although it is directly below a paragraph."""
        kind = self._kind(text, column)
        if kind is not _BULLET:
            return kind is not _TEXT
        marker = _MARKER.match(text)
        # Otherwise a sentence that happens to wrap before "1984." would become a list.
        return (
            marker is not None
            and len(text) > marker.end()
            and (bool(self._offsets) or marker[1] in {None, "1"})
        )

    def _kind(self, text: str, column: int) -> BlockKind:
        if text[0] not in _STARTERS:
            return _TEXT
        inside = bisect_right(self._offsets, column)
        indent = column - (self._offsets[inside - 1] if inside else 0)
        if indent > _MAX_INDENT:
            # Inside lists people indent by feel; a marker there is meant as one.
            return _BULLET if inside and _MARKER.match(text) else _TEXT
        kind = _kind(text)
        return _TEXT if kind is BlockKind.HEADING and inside else kind

    def _begin(self, number: int, text: str, column: int) -> None:
        kind = self._kind(text, column)
        while self._offsets and column < self._offsets[-1]:
            self._offsets.pop()
        if kind is _TEXT and self._is_table_head(number, text):
            kind = BlockKind.TABLE
        block = Block(kind, number, number, len(self._offsets))
        self._is_text = kind is _TEXT or kind is _BULLET
        self._is_ruled = False
        if kind is _TEXT:
            pass
        elif kind is BlockKind.HEADING and (heading := _HEADING.match(text)):
            block = block._replace(level=len(heading[1]), title=title_of(heading[2] or ""))
        elif kind is _BULLET and (marker := _MARKER.match(text)):
            self._begin_bullet(text[marker.end() :], column + marker.end())
        elif kind in {BlockKind.FENCE, BlockKind.HTML}:
            self._closer = _closer(text)
        self._push(block)

    def _begin_bullet(self, rest: str, column: int) -> None:
        gap = _column(rest, start=column) - column if rest else 1
        self._offsets.append(column + (gap if gap <= _MAX_MARKER_GAP else 1))
        rest = rest.lstrip()
        if _FENCE.match(rest):
            self._closer = _closer(rest)
            self._is_text = False

    def _push(self, block: Block) -> None:
        self.close()
        self._open = block

    def _is_table_head(self, number: int, text: str) -> bool:
        if "|" not in text or number >= len(self._lines):
            return False
        below = self._lines[number].strip()
        return "|" in below and _is_table_rule(below)


def _column(line: str, *, start: int = 0) -> int:
    """Return the column of the first character, for a line that starts at column `start`."""
    if line[0] not in " \t":
        return start
    indent = line[: len(line) - len(line.lstrip(" \t"))]
    if "\t" in indent:
        return len((" " * start + indent).expandtabs(4))
    return start + len(indent)


def _kind(text: str) -> BlockKind:
    """Return what an unindented line starts."""
    mark = text[0]
    if mark in "-*_" and not text.strip(f"{mark} \t") and text.count(mark) >= _RULE_MARKS:
        return BlockKind.RULE
    found = _BEGINNING.match(text)
    return _KINDS[found.lastgroup] if found and found.lastgroup else _TEXT


def _is_table_rule(text: str) -> bool:
    return "-" in text and not text.strip("|-: \t")


def _closer(text: str) -> str:
    """Return what ends the fence or raw HTML that starts with this line, "" if it ended."""
    if fence := _FENCE.match(text):
        return fence[1] or fence[2]
    tag = _RAW_HTML.match(text)
    if tag is None:
        return ""
    closer = "-->" if tag[1] else f"</{tag[2].lower()}>"
    return "" if closer in text.lower() else closer


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
    """Return a heading's text without markup, given what follows the opening `#`."""
    # Cut before the patterns run: some of them are quadratic.
    title = _CLOSING_HASHES.sub("", heading.strip()[: 4 * MAX_TITLE_CHARS])
    for markup, words in _MARKUP:
        title = markup.sub(words, title)
    title = title.strip()
    return title[: boundary_before(title, MAX_TITLE_CHARS)]
