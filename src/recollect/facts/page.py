"""One file of the ledger: which of its lines are facts, and its text with some of them changed.

Bullets are facts. All else stays unchanged, line ends included; text that searches do not find is
reported. A fence or comment that never closes is taken to end where it began, so that one typo
cannot hide the facts below. Of a merge conflict both sides are read.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.facts.entry import (
    BULLET,
    Entry,
    EntryError,
    format_entry,
    parse_entry,
    plain_entry,
    rewritten,
)
from recollect.facts.record import CATEGORIES, DEFAULT_CATEGORY, derive_id
from recollect.facts.scope import is_visible, parse_scope
from recollect.records import dataclass
from recollect.reports import Failure
from recollect.text.merge_conflicts import RESOLVE, find_conflicts, without_markers
from recollect.text.scripts import normalised

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from recollect.facts.record import Fact

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_PART = re.compile(r"-[0-9]+\Z")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_CONTINUED = re.compile(r"(?:  | ?\t)[ \t]*[^ \t\r\n]")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
_BREAK = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:_[ \t]*){3,}|(?:\*[ \t]*){3,})$")
_RULE = "---"
_NESTED_INDENT = 2
"""Columns from which a bullet belongs to the one above."""
_FIX = "Correct the line, or remove the comment to make it a plain bullet."
_CLOSE = "Close it."
_ABOUT = (
    "<!-- One bullet is one fact: edit, move, delete or add bullets. The comment after a text",
    "is what Recollect knows about it; a bullet without one is a fact as well. -->",
)
_PROSE = (
    "is not a fact, so searches do not find it",
    "Begin it with `- `, indent it if it continues the fact above, or move it to a note.",
)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in the ledger that cannot be used. It stays in the file unchanged."""

    file: str
    line: int
    """1-based; 0 for the whole file."""
    reason: str
    action: str

    def as_failure(self, *, folder: str) -> Failure:
        """Return the problem as a report on a file in a folder of the workspace."""
        place = f"{folder}/{self.file}" + (f":{self.line}" if self.line else "")
        return Failure(place, self.reason.rstrip("."), self.action, is_entry=self.line > 0)


@dataclass(frozen=True, slots=True)
class Page:
    """A parsed file."""

    name: str
    lines: tuple[str, ...]
    """Lines with their line ends."""
    entries: tuple[Entry, ...]
    problems: tuple[Problem, ...]

    @property
    def category(self) -> str:
        """Category of the facts that do not name one."""
        return category_of_file(self.name)


class BulletIds:
    """Derives the ids of plain bullets: equal words give the same id, a repetition the next."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def __call__(self, text: str) -> str:
        """Return the id of the next plain bullet with this text."""
        words = normalised(text)
        ordinal = self._seen.get(words, 0)
        self._seen[words] = ordinal + 1
        return derive_id(text, ordinal=ordinal)


def category_of_file(name: str) -> str:
    """Return the category in a file's name, or the default one."""
    stem = _PART.sub("", name.removesuffix(".md").lower())
    return stem if stem in CATEGORIES else DEFAULT_CATEGORY


def parse_page(name: str, text: str, *, derive: Callable[[str], str]) -> Page:
    """Return the facts of a file, and what could not be read; the name tells the category."""
    lines = tuple(_LINE.findall(text))
    conflicts = find_conflicts(lines)
    entries: list[Entry] = []
    problems = [Problem(name, each.start, each.reason, RESOLVE) for each in conflicts]
    for first, end, flaw in _spans(without_markers(lines, conflicts)):
        if flaw is not None:
            problems.append(Problem(name, first + 1, *flaw))
            continue
        raw, category = "".join(lines[first:end]), category_of_file(name)
        entry: Entry | None
        try:
            entry = parse_entry(raw, category=category, derive=derive)
        except EntryError as error:
            problems.append(Problem(name, first + 1, str(error), _FIX))
            entry = plain_entry(raw, category=category, derive=derive)
        if entry is not None:
            entries.append(replace(entry, first=first, end=end))
    return Page(name, lines, tuple(entries), tuple(problems))


def visible_text(name: str, text: str, *, scopes: Iterable[str]) -> str:
    """Return the text of a file with every line blanked that a reader must not see.

    Threat: an agent that may see one user's facts reads their file, which also contains those of
    other users. Only the lines of visible facts are kept: anything else may be somebody's fact,
    struck out or misspelt. Line numbers do not change, and nothing follows the last visible fact.
    """
    allowed = frozenset(map(parse_scope, scopes))
    page = parse_page(name, text, derive=BulletIds())
    kept = {
        line
        for entry in page.entries
        if is_visible(entry.fact.scope, scopes=allowed)
        for line in range(entry.first, entry.end)
    }
    return "".join(
        line if number in kept else line[len(line.rstrip("\r\n")) :]
        for number, line in enumerate(page.lines[: max(kept, default=-1) + 1])
    )


def edited(page: Page, *, changed: Mapping[int, Fact | None], added: Sequence[Fact]) -> str:
    """Return the text with entries `changed` by their first lines, None to remove, and added."""
    lines = list(page.lines)
    first = lines[0] if lines else ""
    ending = next((end for end in ("\r\n", "\n", "\r") if first.endswith(end)), "\n")
    for entry in reversed(page.entries):
        if entry.first in changed:
            fact = changed[entry.first]
            lines[entry.first : entry.end] = (
                [] if fact is None else [_line(page, entry, fact, ending=ending)]
            )
    if added and lines:
        if not lines[-1].endswith(("\n", "\r")):
            lines[-1] += ending
        if not _is_below_bullet(lines):
            lines.append(ending)
    elif added:
        heading = (f"# Facts: {page.category}", "", *_ABOUT, "")
        lines += [line + ending for line in heading]
    lines += [format_entry(fact, category=page.category) + ending for fact in added]
    return "".join(lines)


def _line(page: Page, entry: Entry, fact: Fact, *, ending: str) -> str:
    raw = "".join(page.lines[entry.first : entry.end])
    body = raw.rstrip("\r\n")
    own_ending = raw[len(body) :]
    written = rewritten(body, entry, fact, category=page.category)
    is_last = entry.end == len(page.lines)
    return written + (own_ending or ("" if is_last else ending))


def _is_below_bullet(lines: Sequence[str]) -> bool:
    """Return whether a bullet appended to the lines is separate from the text above it."""
    last = lines[-1]
    return not last.strip() or BULLET.match(last) is not None or _CONTINUED.match(last) is not None


def _spans(lines: Sequence[str]) -> Iterator[tuple[int, int, tuple[str, str] | None]]:
    """Yield first and end line of every bullet, or the line of a flaw with reason and action."""
    at = _after_front_matter(lines)
    unclosed: dict[str, int] = {}  # shortest fence of each mark that nothing below closes
    reported = -1  # the line below a reported flaw: its continuation is not reported again
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
                reported = at + 1
                yield at, at, ("opens a code block that is never closed", _CLOSE)
        elif "<!--" in line:
            end = _comment_end(lines, at)
            if end == at:
                reported = at + 1
                yield at, at, ("opens a comment that is never closed", _CLOSE)
            elif _is_prose(lines, at):
                yield at, at, _PROSE
        else:
            end = at + 1
            if _is_prose(lines, at):
                if reported != at:
                    yield at, at, _PROSE
                reported = end
        at = max(end, at + 1)


def _is_prose(lines: Sequence[str], at: int) -> bool:
    """Return whether a line has text outside of facts, headings and comments."""
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
    """Return the line below a comment; its own line if another comment begins before it ends."""
    rest = lines[at].rpartition("<!--")[2]
    if "-->" in rest:
        return at + 1
    for end in range(at + 1, len(lines)):
        if "<!--" in lines[end]:
            return at
        if "-->" in lines[end]:
            return end + 1
    return at
