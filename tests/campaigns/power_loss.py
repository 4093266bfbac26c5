"""Cuts the power at any change of a series of commands, and looks at what is left.

usage: python -m tests.campaigns.power_loss [--count 1000] [--seed 1]

The states are built from a journal of all changes; see tests/support/power_loss.py. Whatever a
command had acknowledged is there; a file is as before or as after the command that was running.
Then `index`, `facts list` and `search` work, and the index equals a rebuilt one. Exits 1 on any
difference.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.support.faults import opened
from tests.support.power_cuts import COMMANDS, PowerCuts, syncs


def main() -> int:
    """Run it and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    began = time.monotonic()
    failures = 0
    with tempfile.TemporaryDirectory(prefix="recollect-power-") as name:
        folder = Path(name)
        with opened(folder) as faults:
            power = PowerCuts(faults, folder)
            changes, synced = len(power.changes), syncs(power.changes)
            print(f"{len(COMMANDS)} commands, {changes} changes, {synced} of them syncs")
            for cut in power.cuts(given.count, seed=given.seed):
                for wrong in power.attempt(cut):
                    failures += 1
                    print(f"FAILED   {cut}: {wrong}", flush=True)
    took = time.monotonic() - began
    print(f"{given.count:,} cuts in {took:.0f} s, seed {given.seed}: {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
