"""The documentation as tests see it: pages, their code blocks and links.

A line `<!-- not run: why -->` above a block says that it cannot be run here. A line
`<!-- prints -->` above a text block says that it is what the block before it prints, `…` standing
for anything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
_BLOCK = re.compile(
    r"^(?:<!-- (?P<mark>[^\n]*?) -->\n)?```(?P<language>[^\n]*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_PROSE_ONLY = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_NOT_RUN = "not run: "
_PRINTS = "prints"


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block."""

    page: Path
    line: int
    language: str
    text: str
    mark: str

    @property
    def excuse(self) -> str | None:
        """Why it is not run; None where it is."""
        return self.mark.removeprefix(_NOT_RUN) if self.mark.startswith(_NOT_RUN) else None

    @property
    def is_output(self) -> bool:
        """Whether it is what the block before it prints."""
        return self.mark == _PRINTS


def pages() -> list[Path]:
    """Return every page that users read, without those about how the project is made."""
    return [
        ROOT / "README.md",
        ROOT / "examples" / "README.md",
        *sorted(page for page in (ROOT / "docs").rglob("*.md") if "decisions" not in page.parts),
    ]


def name_of(page: Path) -> str:
    """Return how a page is called in a test's report."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    """Return the page's blocks in their order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            page,
            text.count("\n", 0, found.start()) + 1,
            found["language"],
            found["text"],
            found["mark"] or "",
        )
        for found in _BLOCK.finditer(text)
    ]


def links(page: Path) -> list[tuple[str, str]]:
    """Return path and anchor of every link that stays inside the project."""
    prose = _PROSE_ONLY.sub("", page.read_text(encoding="utf-8"))
    targets = re.findall(r"\]\((?!https?:)([^)\s]+)\)", prose)
    return [(path, anchor) for path, _, anchor in (each.partition("#") for each in targets)]


def anchors(page: Path) -> set[str]:
    """Return the anchors that a forge gives to the page's headings."""
    text = re.sub(
        r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}
