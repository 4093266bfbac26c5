"""Drives every command through thousands of hostile clones, each made from its own seed.

usage: python -m tests.campaigns.hostile [--clones N] [--first SEED]

A command that opens or changes anything outside of its clone, hangs, grows or shows a traceback is
a fault, and its clone is left. The seed that is printed makes the same clone again.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.support.commands import ROOT
from tests.support.hostile import COMMANDS, Clone
from tests.support.traps import snapshot

DEFAULT_CLONES = 400
_FRESH_EVERY = 20
"""Every so many commands one is a new interpreter, not a fork of one that has loaded everything."""
_TOLD_EVERY = 5


def main() -> None:
    """Make clones and run commands; print what was done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clones", type=int, default=DEFAULT_CLONES)
    parser.add_argument("--first", type=int, default=1_000)
    given = parser.parse_args()
    runs, traps, faults, peak_kib, slowest = 0, 0, 0, 0, (0.0, "")
    started = time.monotonic()
    for number, seed in enumerate(range(given.first, given.first + given.clones), 1):
        with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
            clone, fault = drive(Path(folder) / "all", seed)
        runs, traps = runs + clone.runs, traps + len(clone.traps)
        peak_kib, slowest = max(peak_kib, clone.peak_kib), max(slowest, clone.slowest)
        if fault:
            faults += 1
            print(f"seed {seed}: {fault}", flush=True)
        if number % _TOLD_EVERY == 0 or number == given.clones:
            print(
                f"{number} clones, {traps:,} traps, {runs:,} commands, {faults} faults, "
                f"{time.monotonic() - started:,.0f} s; peak {peak_kib / 1024:,.0f} MiB; "
                f"slowest {slowest[0]:.1f} s of processor: {slowest[1]}",
                flush=True,
            )
    sys.exit(1 if faults else 0)


def drive(folder: Path, seed: int) -> tuple[Clone, str]:
    """Run every command on one clone, in a random order; return also what went wrong."""
    choose = random.Random(seed)
    fresh = [str(Path(sys.executable).with_name("recollect"))]
    with Clone(folder, choose) as clone:
        clone.make(traps=choose.choice([5, 25, 60]), in_settings=choose.random() < 0.25)
        before = snapshot(clone.user)
        runs = [(*name, *each) for name, variants in COMMANDS.items() for each in variants]
        try:
            for arguments in choose.sample(runs, k=len(runs)):
                is_fresh = choose.randrange(_FRESH_EVERY) == 0
                clone.run(*arguments, command=fresh if is_fresh else ())
            clone.run(command=[sys.executable, "-m", "tests.support.library_tour"], folder=ROOT)
            clone.check(before)
        except AssertionError as error:
            return clone, str(error)
    return clone, ""


if __name__ == "__main__":
    main()
