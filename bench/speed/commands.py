"""What a cold command of Recollect costs: a fresh interpreter, as a shell or a hook starts it."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from bench.speed.meter import ROOT, environment

if TYPE_CHECKING:
    from pathlib import Path

    from bench.speed.engines.base import Place

_QUESTION = "how do we roll back a deploy"


def command_costs(
    python: Path, source: Path | None, place: Place, *, runs: int
) -> dict[str, object]:
    """Return the least CPU milliseconds of some commands."""
    given = {
        **environment(source),
        "RECOLLECT_HOME": str(place.folder),
        "RECOLLECT_PROVIDER": "none",
        "RECOLLECT_CACHE_MAX_MEGABYTES": "0",
    }
    workspace = ["-w", str(place.workspace)]
    return {
        "--version": _least(python, ["--version"], given, runs=runs),
        "search, keyword only": _least(python, [*workspace, "search", _QUESTION], given, runs=runs),
        "search, keyword only, no look at the files": _least(
            python, [*workspace, "search", "--no-sync", _QUESTION], given, runs=runs
        ),
    }


def _least(
    python: Path, arguments: list[str], environ: dict[str, str], *, runs: int
) -> float | str:
    used = []
    for _ in range(runs + 1):
        child = subprocess.Popen(  # noqa: S603 - our own command
            [python, "-m", "recollect", *arguments],
            env=environ,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            return f"ended with {child.returncode}"
        used.append(usage.ru_utime + usage.ru_stime)
    return round(min(used[1:]) * 1000, 1)
