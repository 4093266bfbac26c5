"""What must hold after a soak: nothing lost, nothing invented, nothing left behind."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import apsw
from tests.support.contents import contents, differences, index_file
from tests.support.history import check, look_up
from tests.support.waiting import wait_for_descendants

from recollect.facts.files import FolderFiles
from recollect.facts.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.campaigns.soak.run import Soak

_LEFTOVERS = ("*.tmp", "*.damaged-*", "*-journal", "*.swp")


def conclude(soak: Soak) -> None:
    """Check everything, and report what does not hold."""
    soak.vendor.calm()
    _index_and_verify(soak)
    folder, calls = soak.workspace / "memory" / "facts", soak.calls.calls
    for failure in (
        *(str(violation) for violation in check([*calls, *look_up(folder, calls)])),
        *_problems(folder),
        *_rebuilt(soak),
        *_left_behind(soak),
    ):
        soak.fail(failure)
    soak.vendor.kill()


def _index_and_verify(soak: Soak) -> None:
    for arguments in (("index",), ("doctor", "--verify"), ("doctor",)):
        done = _run(soak, *arguments)
        if done.returncode or "Traceback" in done.stderr:
            soak.fail(f"the last {arguments[0]} ended with {done.returncode}: {done}")


def _run(soak: Soak, *arguments: str, home: Path | None = None) -> subprocess.CompletedProcess[str]:
    environ = {**soak.environ, **({"RECOLLECT_HOME": str(home)} if home else {})}
    done = subprocess.run(
        [sys.executable, "-m", "recollect", "-w", str(soak.workspace), *arguments, "--json"],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    wait_for_descendants(environ)
    return done


def _problems(folder: Path) -> Iterator[str]:
    for problem in Ledger(FolderFiles(folder)).read().problems:
        yield f"the ledger has a problem: {problem}"


def _rebuilt(soak: Soak) -> Iterator[str]:
    """Compare the index with one built from nothing, with the same imported transcripts."""
    scratch = soak.folder / "scratch"
    if (soak.home / "sessions").exists():
        shutil.copytree(soak.home / "sessions", scratch / "sessions")
    done = _run(soak, "index", home=scratch)
    if done.returncode:
        yield f"an index from nothing: {done}"
        return
    expected, actual = contents(index_file(scratch)), contents(index_file(soak.home))
    soak.counts["chunks at the end"] = len(expected["chunks"])
    soak.counts["vectors at the end"] = sum(row[-1] is not None for row in expected["vectors"])
    for difference in differences(expected, actual):
        yield f"the index differs from one built from nothing: {difference}"


def _left_behind(soak: Soak) -> Iterator[str]:
    for top in (soak.workspace, soak.home):
        for pattern in _LEFTOVERS:
            for file in top.rglob(pattern):
                yield f"{file} was left behind"
    connection = apsw.Connection(str(index_file(soak.home)))
    holders = list(connection.execute("SELECT * FROM leases"))
    connection.close()
    if holders:
        yield f"a lease was left behind: {json.dumps(holders, default=str)}"
