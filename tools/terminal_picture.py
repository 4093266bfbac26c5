"""Draws docs/images/terminal.svg: a search in the sample workspace, as a terminal shows it.

Run it with `python -m tools.terminal_picture`; it needs the model, so that the hits are those that
a user gets.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from recollect import Memory
from recollect.shells.render.search import results_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_ROOT = Path(__file__).parent.parent
_FILE = _ROOT / "docs" / "images" / "terminal.svg"
_QUESTIONS = (("how do we keep backups safe", 3), ("TCK-82152", 1))
_CELLS, _CELL, _LINE, _PAD = 84, 8.0, 19, 16
_STYLES = {"": "#d6deeb", "bold": "#ffffff", "cyan": "#7fdbca", "prompt": "#82aaff"}


def _lines() -> Iterator[list[tuple[str, str]]]:
    with Memory.open(_ROOT / "examples" / "workspace", settings={"store": "ram:"}) as memory:
        memory.sync()
        for question, count in _QUESTIONS:
            asked = (
                f'recollect search "{question}"'
                if " " in question
                else f"recollect search {question}"
            )
            yield [("$ ", "prompt"), (asked, "bold")]
            for text, style in results_text(
                memory.search(question, max_results=count), width=_CELLS
            ):
                yield [(text, style)] if isinstance(text, str) else list(text)
            yield []


def _row(parts: Sequence[tuple[str, str]], y: int) -> str:
    spans = "".join(_span(text, style) for text, style in parts if text)
    return f'<text x="{_PAD}" y="{y}" xml:space="preserve">{spans}</text>'


def _span(text: str, style: str) -> str:
    weight = ' font-weight="700"' if style == "bold" else ""
    return f'<tspan fill="{_STYLES[style]}"{weight}>{escape(text)}</tspan>'


def main() -> None:
    """Draw the picture."""
    lines = list(_lines())[:-1]
    width, height = _CELLS * _CELL + 2 * _PAD, len(lines) * _LINE + 2 * _PAD
    rows = [_row(parts, _PAD + _LINE * (at + 1) - 5) for at, parts in enumerate(lines)]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
        f'width="{width:.0f}" font-family="ui-monospace, Menlo, monospace" font-size="13">'
    )
    background = f'<rect width="{width:.0f}" height="{height}" rx="8" fill="#0b1622"/>'
    _FILE.write_text("\n".join([head, background, *rows, "</svg>", ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
