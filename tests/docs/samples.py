"""Compares what the samples of a page print with what the page shows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.docs.pages import Block
    from tests.docs.terminal import Terminal

CHANGING = {
    r"\bf-[0-9a-z]{13}\b": "ID",
    r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z": "MOMENT",
    r"\bsince \d{4}-\d\d-\d\d": "since DAY",
    r"^0\.\d{3}(?= )": "SCORE",
}
"""What is another at every run: ids and moments of facts, days on which they began, scores."""
FACT_ID = re.compile(r"\bf-[0-9a-z]{13}\b")


def shaped(text: str) -> str:
    for pattern, name in CHANGING.items():
        text = re.sub(pattern, name, text, flags=re.MULTILINE)
    return "\n".join(line.rstrip() for line in text.strip("\n").split("\n"))


def matches(told: str, *, printed: str) -> bool:
    """Tell whether that was printed; `…` alone on a line is any lines, within one anything."""
    lines = [
        r"[\s\S]*" if line == "…" else re.escape(line).replace("…", ".*") + r"\n"
        for line in told.strip("\n").split("\n")
    ]
    return re.fullmatch("".join(lines), printed.rstrip("\n") + "\n") is not None


def run_console(block: Block, *, terminal: Terminal, ids: dict[str, str]) -> None:
    """Type what stands behind `$`, and compare all that is shown up to the next one.

    Args:
        block: commands and what they show.
        terminal: to type into.
        ids: of facts, as the page has them and as they were really given.

    """
    for step in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, told = step.partition("\n")
        typed = FACT_ID.sub(lambda found: ids.get(found[0], found[0]), command)

        printed = terminal.run(typed, with_messages=True)

        where = f"line {block.line} of {block.page}: {command}"
        assert shaped(told) == shaped(printed), where
        pairs = zip(FACT_ID.findall(told), FACT_ID.findall(printed), strict=True)
        for named, given in pairs:
            assert given == ids.setdefault(named, given), where
