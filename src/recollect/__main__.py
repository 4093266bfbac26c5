"""Starts the command line: as `recollect`, or as `python -m recollect`."""

from __future__ import annotations

import sys

from recollect.version import __version__


def main() -> None:
    """Run the command, here or in the resident process, and exit with its code."""
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        sys.exit(print_version())
    from recollect.shells.resident.client import ask_resident  # noqa: PLC0415 - loads little

    code = ask_resident(arguments)
    if code is not None:
        sys.exit(code)
    from recollect.shells.cli import main as run_here  # noqa: PLC0415 - loads much

    run_here()


def print_version() -> int:
    """Print the version, as the command line does, which takes longer to load."""
    sys.stdout.write(f"recollect, version {__version__}\n")
    return 0


if __name__ == "__main__":
    main()
