"""Starts the command line: as `recollect`, or as `python -m recollect`."""

from __future__ import annotations

import gc
import os
import sys

from recollect.version import SHOWN

_GARBAGE = 200_000  # objects after which Python looks for garbage: loading a command makes none


def start() -> None:
    """Run the command, and end the process at once: taking the interpreter apart takes 20 ms."""
    try:
        main()
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            _end_at_once(ended.code or 0)
        raise


def main() -> None:
    """Run the command and exit with its code."""
    if sys.argv[1:] == ["--version"]:
        sys.exit(print_version())
    gc.set_threshold(_GARBAGE)
    from recollect.shells.cli import main as run  # noqa: PLC0415 - loads much

    run()


def print_version() -> int:
    """Print the version, as the command line does, which takes longer to load."""
    sys.stdout.write(f"{SHOWN}\n")
    return 0


def _end_at_once(code: int) -> None:
    """End the process, unless a thread is at work, output is lost or somebody debugs its end."""
    threading = sys.modules.get("threading")
    if (threading is not None and threading.active_count() > 1) or sys.warnoptions:
        return
    import atexit  # noqa: PLC0415 - loaded by Python itself

    atexit._run_exitfuncs()  # noqa: SLF001 - as the interpreter does
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return  # the interpreter tries again, and tells
    os._exit(code)


if __name__ == "__main__":
    start()
