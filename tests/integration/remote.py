"""Indexing through a vendor's server: a key, notes to embed, and the command line."""

from __future__ import annotations

import random
import subprocess
from typing import TYPE_CHECKING

from tests.support.commands import recollect_command
from tests.support.waiting import PATIENCE_SECONDS

from recollect.providers.calibrate import NOTES, QUESTIONS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.vendors.server import VendorServer

KEY = "sk-live-0123456789abcdefghij"
WORDS = (
    "harbour", "violin", "ledger", "cactus", "turbine",
    "meadow", "proposal", "lantern", "router", "biscuit",
)  # fmt: skip
CALIBRATION = {*NOTES, *QUESTIONS}


def write_notes(workspace: Path, count: int, *, words: int = 12) -> None:
    chance = random.Random(7)
    for number in range(count):
        body = " ".join(chance.choice(WORDS) for _ in range(words))
        (workspace / "memory" / f"note-{number:04}.md").write_text(
            f"Note {number}: {body}\n", encoding="utf-8"
        )


def notes_of(server: VendorServer) -> dict[str, int]:
    """Return how often each text of the workspace was embedded."""
    return {text: times for text, times in server.embedded.items() if text not in CALIBRATION}


def command(
    workspace: Path, environ: dict[str, str], *arguments: str, stdin: str | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*recollect_command(), "-w", str(workspace), *arguments],
        env=environ,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
