"""One file of the ledger: which of its lines are facts, and the text with some of them changed.

Bullets are facts; headings, code, front matter and commented-out lines are a person's own and stay
as they are, line ends included. So does other text, but nothing finds it, and that is told. A fence
or comment that never closes ends where it began, so that one slip of a person's hand cannot hide
the facts below it.

It knows texts, not files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.facts.entry import BULLET, Entry, EntryError, format_entry, parse_entry, rewritten
from recollect.facts.record import CATEGORIES, DEFAULT_CATEGORY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from recollect.facts.record import Fact

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_PART = re.compile(r"-[0-9]+\Z")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_CONTINUED = re.compile(r"(?: {2,}| ?\t)[ \t]*[^ \t\r\n]")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
_BREAK = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:_[ \t]*){3,}|(?:\*[ \t]*){3,})$")
_RULE = "---"
_NESTED_INDENT = 2
"""Columns from which a bullet belongs to the one above."""
_FIX = "Correct the line, or remove the comment to make it a plain bullet."
_CLOSE = "Close it."
_PROSE = (
    "is not a fact and is not found",
    "Begin it with `- `, indent it if it goes on with the fact above, or put it in a note.",
)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in the ledger that cannot be used. It stays in the file as it is."""

    file: str
    line: int
    """1-based; 0 for the whole file."""
    reason: str
    action: str


@dataclass(frozen=True, slots=True)
class Placed:
    """An entry, and the lines it takes."""

    entry: Entry
    first: int
    """0-based."""
    end: int
    """First line that is not its own."""


@dataclass(frozen=True, slots=True)
class Page:
    """A file's text, read."""

    name: str
    lines: tuple[str, ...]
    """With their ends."""
    entries: tuple[Placed, ...]
    problems: tuple[Problem, ...]

    @property
    def category(self) -> str:
        """What facts of the file are, that do not say."""
        return category_of_file(self.name)

    @property
    def text(self) -> str:
        """The text as it was read."""
        return "".join(self.lines)


def category_of_file(name: str) -> str:
    """Return the category a file stands for: that of its name, if there is one."""
    stem = _PART.sub("", name.removesuffix(".md").lower())
    return stem if stem in CATEGORIES else DEFAULT_CATEGORY


def parse_page(name: str, text: str, *, derive: Callable[[str], str]) -> Page:
    """Return the facts of a file and what could not be read.

    Args:
        name: of the file, which tells the category.
        text: of the file.
        derive: gives the id for the text of a plain bullet.

    """
    lines = tuple(_LINE.findall(text))
    entries: list[Placed] = []
    problems: list[Problem] = []
    for first, end, flaw in _spans(lines):
        if flaw is not None:
            problems.append(Problem(name, first + 1, *flaw))
            continue
        try:
            raw = "".join(lines[first:end])
            entry = parse_entry(raw, category=category_of_file(name), derive=derive)
        except EntryError as error:
            problems.append(Problem(name, first + 1, str(error), _FIX))
        else:
            entries.append(Placed(entry, first, end))
    return Page(name, lines, tuple(entries), tuple(problems))


def edited(page: Page, *, changed: Mapping[int, Fact | None], added: Sequence[Fact]) -> str:
    """Return the text with some entries changed, removed or added; every other line as it was.

    Args:
        page: as read.
        changed: what becomes of entries, by their first line; None removes the entry.
        added: facts that go to the end.

    """
    ending = _line_ending(page.lines)
    lines = list(page.lines)
    for placed in reversed(page.entries):
        if placed.first in changed:
            fact = changed[placed.first]
            lines[placed.first : placed.end] = (
                [] if fact is None else [_line(page, placed, fact, ending=ending)]
            )
    if added and lines:
        if not lines[-1].endswith(("\n", "\r")):
            lines[-1] += ending
        if not _is_below_bullet(lines):
            lines.append(ending)
    elif added:
        lines += [line + ending for line in _heading(page.category)]
    lines += [format_entry(fact, category=page.category) + ending for fact in added]
    return "".join(lines)


def _line(page: Page, placed: Placed, fact: Fact, *, ending: str) -> str:
    raw = "".join(page.lines[placed.first : placed.end])
    body = raw.rstrip("\r\n")
    own_ending = raw[len(body) :]
    written = rewritten(body, placed.entry, fact, category=page.category)
    is_last = placed.end == len(page.lines)
    return written + (own_ending or ("" if is_last else ending))


def _heading(category: str) -> tuple[str, ...]:
    return (
        f"# Facts: {category}",
        "",
        "<!-- One bullet is one fact: edit, move, delete or add bullets. The comment behind a text",
        "is what Recollect knows of it; a bullet without one is a fact as well. -->",
        "",
    )


def _line_ending(lines: Sequence[str]) -> str:
    first = lines[0] if lines else ""
    return next((end for end in ("\r\n", "\n", "\r") if first.endswith(end)), "\n")


def _is_below_bullet(lines: Sequence[str]) -> bool:
    """Tell whether a bullet appended to the lines would be set off from what is above it."""
    last = lines[-1]
    return not last.strip() or BULLET.match(last) is not None or _CONTINUED.match(last) is not None


def _spans(lines: Sequence[str]) -> Iterator[tuple[int, int, tuple[str, str] | None]]:
    """Yield first and end line of every bullet, or where a flaw is: what it is and what to do."""
    at = _after_front_matter(lines)
    unclosed: dict[str, int] = {}  # shortest fence of each mark that nothing below closes
    told = -1  # the line below a flaw that was told: what goes on there is not told again
    while at < len(lines):
        line = lines[at]
        if BULLET.match(line) and not _BREAK.match(line.rstrip("\r\n")):
            end = _entry_end(lines, at)
            yield at, end, None
        elif fence := _FENCE.match(line.rstrip("\r\n")):
            mark, length = fence[1][0], len(fence[1])
            is_closed = length < unclosed.get(mark, length + 1)
            end = _fence_end(lines, at, fence[1]) if is_closed else at
            if end == at:
                unclosed[mark] = min(length, unclosed.get(mark, length))
                told = at + 1
                yield at, at, ("opens a code block that is never closed", _CLOSE)
        elif "<!--" in line:
            end = _comment_end(lines, at)
            if end == at:
                told = at + 1
                yield at, at, ("opens a comment that is never closed", _CLOSE)
            elif _is_prose(lines, at):
                yield at, at, _PROSE
        else:
            end = at + 1
            if _is_prose(lines, at):
                if told != at:
                    yield at, at, _PROSE
                told = end
        at = max(end, at + 1)


def _is_prose(lines: Sequence[str], at: int) -> bool:
    """Tell whether a line says something outside of facts, headings and comments."""
    line = lines[at].partition("<!--")[0].rstrip()
    if not line or _HEADING.match(line) or _BREAK.match(line):
        return False
    is_underlined = at + 1 < len(lines) and _UNDERLINE.match(lines[at + 1].rstrip("\r\n"))
    return not is_underlined and not (at and _UNDERLINE.match(line))


def _after_front_matter(lines: Sequence[str]) -> int:
    if lines and lines[0].strip("\ufeff \t\r\n") == _RULE:
        for at, line in enumerate(lines[1:], 1):
            if line.rstrip() == _RULE:
                return at + 1
    return 0


def _entry_end(lines: Sequence[str], at: int) -> int:
    end = at + 1
    while end < len(lines):
        bullet = BULLET.match(lines[end])
        if bullet and len(bullet[1]) < _NESTED_INDENT:
            break
        if not _CONTINUED.match(lines[end]):
            break
        end += 1
    return end


def _fence_end(lines: Sequence[str], at: int, fence: str) -> int:
    for end in range(at + 1, len(lines)):
        text = lines[end].strip()
        if text.startswith(fence) and not text.strip(fence[0]):
            return end + 1
    return at


def _comment_end(lines: Sequence[str], at: int) -> int:
    """Return the line below a comment; the line itself if another begins first."""
    rest = lines[at].rpartition("<!--")[2]
    if "-->" in rest:
        return at + 1
    for end in range(at + 1, len(lines)):
        if "<!--" in lines[end]:
            return at
        if "-->" in lines[end]:
            return end + 1
    return at
