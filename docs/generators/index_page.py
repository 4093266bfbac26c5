"""docs/index.md: the list of decisions, inside a page written by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from generators.marks import filled

if TYPE_CHECKING:
    from pathlib import Path


def index_page(page: str, *, decisions: Path) -> str:
    """Return the page with every decision, by its title."""
    rows = [
        f"- [{_title(file)}]({decisions.name}/{file.name})"
        for file in sorted(decisions.glob("*.md"))
    ]
    return filled(page, "decisions", with_text="\n".join(rows))


def _title(file: Path) -> str:
    first, _, _ = file.read_text(encoding="utf-8").partition("\n")
    return first.removeprefix("# ")
