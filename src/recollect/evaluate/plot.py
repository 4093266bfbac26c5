"""Draws a comparison as one self-contained SVG file.

One bar per way of searching: its length is the mean nDCG@10, its whisker the 95 % interval.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from recollect.errors import UsageError
from recollect.evaluate.cases import count_text
from recollect.evaluate.run import best_first
from recollect.evaluate.write import check_folder, write_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from recollect.evaluate.metrics import Interval
    from recollect.evaluate.run import Outcome

SUFFIX = ".svg"
_OPTION = "--plot"  # names the file to draw
_WIDTH = 760
_LEFT = 170  # space for the names
_SCALE = 420  # pixels from 0 to 1
_ROW = 40
_BAR = 20
_TOP = 98
_BOTTOM = 48
_CAP = 5  # half the height of a whisker's end
_TICKS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
_INK, _QUIET, _GRID = "#1f2933", "#5f6c7b", "#e3e7ec"
_CONFIGURED, _OTHER, _WHISKER = "#5596dd", "#c3d6ea", "#1f2933"


def check_plot(file: Path) -> None:
    """Check the name and the folder of the file to draw.

    Raises:
        UsageError: the name does not end in .svg, or the folder does not exist.

    """
    if file.suffix.lower() != SUFFIX:
        raise UsageError(
            f"The comparison is an SVG picture; {file.name} is not an SVG file name.",
            action=f"Name a file that ends in {SUFFIX}.",
        )
    check_folder(file, option=_OPTION)


def write_plot(outcomes: Sequence[Outcome], *, file: Path, workspace: Path | None = None) -> None:
    """Draw the outcomes into a file; the first is that of the current settings.

    Args:
        outcomes: what to draw.
        file: its name ends in .svg.
        workspace: a file in this folder may not lead out of it; None trusts every file.

    Raises:
        UsageError: the name does not end in .svg, or the folder does not exist.
        RecollectError: the file cannot be written.

    """
    check_plot(file)
    write_file(file, plot(outcomes), workspace=workspace, option=_OPTION)


def plot(outcomes: Sequence[Outcome]) -> str:
    """Return the SVG of the outcomes, best first, without those that did not run."""
    rows = [outcome for outcome in best_first(outcomes) if outcome.overall is not None]
    height = _TOP + len(rows) * _ROW + _BOTTOM
    bars = [
        line
        for place, outcome in enumerate(rows)
        for line in _bar(outcome, top=_TOP + place * _ROW, is_configured=outcome is outcomes[0])
    ]
    return "\n".join([*_frame(outcomes[0], height=height), *_axis(height), *bars, "</svg>", ""])


def _frame(configured: Outcome, *, height: int) -> Iterator[str]:
    count = count_text([answer.case for answer in configured.run.answers])
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" font-family="system-ui, sans-serif" '
        f'font-size="14" fill="{_INK}">'
    )
    yield f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>'
    yield '<text x="20" y="32" font-size="18" font-weight="600">nDCG@10 on your questions</text>'
    legend = "Bars: means; whiskers: 95% intervals; darker bar: your settings."
    for y, line in ((54, f"{count}."), (74, legend)):  # in one line they would not fit
        yield f'<text x="20" y="{y}" fill="{_QUIET}">{line}</text>'


def _axis(height: int) -> Iterator[str]:
    bottom = height - _BOTTOM + 4
    for tick in _TICKS:
        x = _x(tick)
        yield f'<line x1="{x}" y1="{_TOP - 6}" x2="{x}" y2="{bottom}" stroke="{_GRID}"/>'
        where = f'x="{x}" y="{bottom + 20}" text-anchor="middle"'
        yield f'<text {where} fill="{_QUIET}">{tick:.1f}</text>'


def _bar(outcome: Outcome, *, top: int, is_configured: bool) -> Iterator[str]:
    assert outcome.overall is not None  # noqa: S101 - only those that ran are drawn
    interval = outcome.overall.marks["ndcg"]
    middle = top + _ROW // 2
    weight = ' font-weight="600"' if is_configured else ""
    name = escape(outcome.run.variant.name)
    yield f'<text x="{_LEFT - 12}" y="{middle + 5}" text-anchor="end"{weight}>{name}</text>'
    yield (
        f'<rect x="{_LEFT}" y="{middle - _BAR // 2}" width="{_SCALE * interval.mean:.1f}" '
        f'height="{_BAR}" rx="2" fill="{_CONFIGURED if is_configured else _OTHER}"/>'
    )
    yield from _whisker(interval, middle=middle)
    numbers = f"{interval.mean:.2f} [{interval.low:.2f}, {interval.high:.2f}]"
    yield f'<text x="{_LEFT + _SCALE + 16}" y="{middle + 5}"{weight}>{numbers}</text>'


def _whisker(interval: Interval, *, middle: int) -> Iterator[str]:
    low, high = _x(interval.low), _x(interval.high)
    lines = (
        (low, middle, high, middle),
        (low, middle - _CAP, low, middle + _CAP),
        (high, middle - _CAP, high, middle + _CAP),
    )
    for x1, y1, x2, y2 in lines:
        yield (
            f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" '
            f'stroke="{_WHISKER}" stroke-width="1.5"/>'
        )


def _x(value: float) -> str:
    return f"{_LEFT + _SCALE * value:.1f}"
