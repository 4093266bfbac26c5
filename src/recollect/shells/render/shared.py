"""What all reports share: their types, warnings, diffs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    Line = tuple[str, str]
    """A line of text and the name of its style."""
    MarkedLine = tuple[str | Sequence[Line], str]
    """A line, or a line of parts that have their own styles."""

_DIFF_STYLES = {"+": "green", "-": "red"}


def warning_lines(reason: str, action: str, *, indent: str = "") -> Iterator[Line]:
    """Yield what went wrong and, below it, what to do."""
    yield f"{indent}{reason}", "yellow"
    yield f"{indent}{'' if indent else '  '}→ {action}", "yellow"


def overridden_lines(overridden: Mapping[str, str], *, file: Path) -> Iterator[Line]:
    """Yield which settings of a file are overridden, and where."""
    for key, origin in overridden.items():
        yield f"`{key}` is also set in the {origin}, which overrides {file}.", "yellow"


def table(rows: Iterable[Sequence[str]]) -> list[Line]:
    """Return rows as lines with aligned columns."""
    cells = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    padded = ([cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in cells)
    return [("  ".join(row).rstrip(), "") for row in padded]


def plural(count: int, noun: str) -> str:
    """Return a count with its noun: 1 file, 2 files."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def diff_lines(diff: str, *, max_chars: int | None = None) -> Iterator[Line]:
    """Yield a diff in colours, its long lines cut."""
    for line in diff.splitlines():
        is_long = max_chars is not None and len(line) > max_chars
        yield f"{line[:max_chars]}…" if is_long else line, _DIFF_STYLES.get(line[:1], "")
