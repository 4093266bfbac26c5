"""The sample workspace, embedded once by the real model for all tests and workers of a run."""

from __future__ import annotations

import fcntl
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from recollect import Memory

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent.parent
SAMPLE = ROOT / "examples" / "workspace"


def embed_sample(shared: Path) -> Callable[[Path], None]:
    """Return a function that puts the sample's vectors into the cache of a home.

    Args:
        shared: a folder that all workers of the run share.

    """
    home = shared / "embedded-sample"
    with (shared / "embedded-sample.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the first worker embeds, the others wait
        if not home.exists():
            environ = {"RECOLLECT_HOME": str(home), "HOME": str(home)}
            with Memory.open(SAMPLE, environ=environ) as memory:
                memory.sync()

    def fill(other: Path) -> None:
        shutil.copytree(home / "cache", other / "cache")

    return fill
