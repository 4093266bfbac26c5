"""Waiting for a condition, with a bound that only a hang reaches."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

PATIENCE_SECONDS = 180.0
"""Passes only when something hangs, however busy the machine is."""
_LOOK_AGAIN_SECONDS = 0.01


def wait_until(condition: Callable[[], object], /) -> None:
    """Wait until the condition holds, and fail if it never does."""
    ends_at = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < ends_at, "it did not happen"
        time.sleep(_LOOK_AGAIN_SECONDS)


def wait_for_descendants(environ: Mapping[str, str]) -> None:
    """Wait for background processes of a home. They have left their parent, so /proc is read."""
    mark = f"RECOLLECT_HOME={environ['RECOLLECT_HOME']}".encode()
    wait_until(lambda: not any(_runs_with(mark)))


def _runs_with(mark: bytes) -> Iterator[bool]:
    for place in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # it has ended, or belongs to someone else
            yield mark in place.read_bytes().split(b"\0")
