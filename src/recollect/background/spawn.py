"""Finishes an index in a separate process, after the command that started it has ended."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def spawn(arguments: Sequence[str], *, environ: Mapping[str, str]) -> int:
    """Start `recollect` with these arguments, detached; return its process id.

    Keys travel in the environment, never in the arguments that a process list shows. `-P` keeps
    the current folder off the module path: it may be someone else's workspace with a `click.py`.
    """
    started = subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-P", "-m", "recollect", *arguments],
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # the end of this terminal is not its end
        close_fds=True,
    )
    # It outlives this process; without this the interpreter would warn that nothing waited for it.
    started.returncode = 0
    if os.name != "nt":
        # If this process outlives it, as a server does, something has to collect its exit status.
        threading.Thread(
            target=_reap, args=(started.pid,), name="recollect-spawned", daemon=True
        ).start()
    return started.pid


def _reap(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
