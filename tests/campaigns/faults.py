"""Fails every call of every operation in turn, in the ways a disk can fail.

usage: python -m tests.campaigns.faults [--share 1.0] [--kinds 1] [--seed 1] [--only OPERATION]
                                         [--kind NAME] [--start OPERATION]

A call is what Python or SQLite asks of the system for a file of the workspace, the home or the
user's folder; see tests/support/faulty_disk.c. Each fails in as many ways as `--kinds` says, chosen
at random; 0 is all. `--share` tries fewer calls, `--kind` one way to fail, `--start` leaves out the
operations before. Then the command is run with little memory. After
each fault the command is run again if it failed, then `index`, both without a fault. Checked are:
the user is told, with a next step; the exit code is 0 only if it was done; files are as before or
as wanted; the index equals a rebuilt one; nothing is left behind. Exits 1 on any difference.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.fault_kinds import KINDS
from tests.support.fault_operations import OPERATIONS
from tests.support.faults import Fault, Faults, opened

if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> int:
    """Run it and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--share", type=float, default=1.0, help="of the calls, at random")
    parser.add_argument("--kinds", type=int, default=1, help="of faults for each call; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="one operation")
    parser.add_argument("--kind", default="", help="one kind of fault")
    parser.add_argument("--start", default="", help="go on from this operation")
    given = parser.parse_args()
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="recollect-faults-") as folder,
        opened(Path(folder)) as faults,
    ):
        chosen = partial(
            _chosen, share=given.share, most=given.kinds, chance=random.Random(given.seed)
        )
        kinds, failures = _run(faults, chosen=chosen, given=given)
    count = kinds.total()
    print("\n| kind of fault | faults |\n| --- | ---: |")
    for kind in KINDS:
        print(f"| {kind.name} | {kinds.pop(kind.name, 0):,} |")
    print(f"| limits of memory | {kinds.total():,} |")
    took = time.monotonic() - began
    print(f"\n{count:,} faults in {took:.0f} s, seed {given.seed}: {failures} failures")
    return 1 if failures else 0


def _run(
    faults: Faults, *, chosen: Callable[[list[Fault]], list[Fault]], given: argparse.Namespace
) -> tuple[Counter[str], int]:
    """Let calls fail; return how many of each kind, and how much is wrong."""
    kinds: Counter[str] = Counter()
    failures = 0
    print("| operation | calls | faults | wrong |\n| --- | ---: | ---: | ---: |")
    names = [operation.name for operation in OPERATIONS]
    for operation in OPERATIONS[names.index(given.start or names[0]) :]:
        if given.only not in ("", operation.name):
            continue
        found = faults.of(operation)
        possible = (found, faults.limits())
        tried = [
            each
            for part in possible
            for each in chosen([every for every in part if given.kind in ("", every.kind.name)])
        ]
        wrong = [
            f"{operation.name}: {fault.title}: {sentence}"
            for fault in tried
            for sentence in faults.attempt(operation, fault)
        ]
        for line in wrong:
            print(f"FAILED   {line}")
        calls = max((fault.number for fault in found), default=0)
        print(f"| {operation.name} | {calls} | {len(tried):,} | {len(wrong)} |", flush=True)
        kinds.update(fault.kind.name for fault in tried)
        failures += len(wrong)
    return kinds, failures


def _chosen(found: list[Fault], *, share: float, most: int, chance: random.Random) -> list[Fault]:
    """Return at most so many faults of each call, or limit of memory, of this share of them."""
    tried: list[Fault] = []
    for _, each in groupby(found, key=lambda fault: fault.number or fault.kind):
        kinds = list(each)
        if chance.random() < share:
            tried += chance.sample(kinds, min(most or len(kinds), len(kinds)))
    return tried


if __name__ == "__main__":
    sys.exit(main())
