"""A lock between processes: held on a file that stays, released by the system if its holder dies.

The file is never deleted: a process that waits for it would then hold a lock on nothing.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from recollect.errors import StoreBusyError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_ASK_AGAIN_SECONDS = 0.01
_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)

if sys.platform == "win32":
    import msvcrt

    def _try(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def _release(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _release(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


@contextmanager
def held(file: Path, *, wait_seconds: float) -> Iterator[None]:
    """Hold the lock on a file, made if missing.

    Raises:
        StoreBusyError: another process, or thread, held it for all of the time.
        OSError: the file cannot be made or opened.

    """
    descriptor = os.open(file, _FLAGS, 0o666)
    try:
        _wait(descriptor, file, wait_seconds=wait_seconds)
        try:
            yield
        finally:
            _release(descriptor)
    finally:
        os.close(descriptor)


def _wait(descriptor: int, file: Path, *, wait_seconds: float) -> None:
    until = time.monotonic() + wait_seconds
    while True:
        try:
            _try(descriptor)
        except (BlockingIOError, PermissionError):  # the latter is Windows' word for it
            if time.monotonic() >= until:
                raise StoreBusyError(
                    f"Another program is writing facts: it held {file} for {wait_seconds:g} s.",
                    action="Try again; the lock is released when that program ends.",
                ) from None
            time.sleep(_ASK_AGAIN_SECONDS)
        else:
            return
