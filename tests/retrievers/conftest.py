"""A memory of a few notes, open, for retrievers to ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from recollect import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def notes(workspace: Path, write: Callable[[str, str], Path]) -> Path:
    """A workspace with three notes."""
    write(
        "memory/2026-02-01.md",
        "# Server\n\n## Backups\n\nThe nightly copy goes to the vault in Basel.\n"
        + "".join(f"\n- Step {number} of the drill took a while.\n" for number in range(30)),
    )
    write("memory/pets.md", "# Pets\n\nMiso the cat is afraid of thunder.\n")
    write("memory/food.md", "# Food\n\nNo peanuts: Ada is allergic to them.\n")
    return workspace


@pytest.fixture
def memory(notes: Path, environ: dict[str, str]) -> Iterator[Memory]:
    """The memory of the notes."""
    with Memory.open(notes, environ=environ) as opened:
        yield opened
