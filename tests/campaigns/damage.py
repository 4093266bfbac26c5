"""Damages the files of an index in more than 100,000 ways and drives a memory over each.

usage: python -m tests.campaigns.damage [--every BYTES] [--others CASES] [--seed N] [--start CASE]

One bit of every byte is flipped, pages are overwritten, blocks zeroed, ends cut off, logs torn. See
tests/support/damaged_files.py for what has to hold. Prints its figures and every failure.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

from tests.support import hashing
from tests.support.damaged_files import Ground, Outcome, cases

_IN_RAM = Path("/dev/shm")  # noqa: S108 - files inside are made by tempfile
_REPORT_EVERY = 1000


def main() -> int:
    """Run the campaign; return 1 if a case failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="flip a bit of every so many bytes")
    parser.add_argument("--others", type=int, default=3000, help="cases of each other kind")
    parser.add_argument("--seed", type=int, default=14)
    parser.add_argument("--start", type=int, default=0, help="go on from this case")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    hashing.register()
    started = time.process_time()
    place = _IN_RAM if _IN_RAM.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="recollect-damage-", dir=place) as folder:
        ground = Ground(Path(folder))
        outcome = Outcome()
        with contextlib.suppress(KeyboardInterrupt):  # prints what there is so far
            all_cases = cases(ground, every=options.every, others=options.others, seed=options.seed)
            for case in islice(all_cases, options.start, None):
                for failure in outcome.add(case, ground):
                    print(failure, flush=True)
                if outcome.cases.total() % _REPORT_EVERY == 0:
                    print(f"case {case.number}: {len(outcome.failures)} failed", flush=True)
    _print(outcome, index_bytes=len(ground.sound[""]))
    print(f"{time.process_time() - started:.0f} s of CPU")
    return 1 if outcome.failures else 0


def _print(outcome: Outcome, *, index_bytes: int) -> None:
    print(f"An index of {index_bytes} bytes, damaged {outcome.cases.total()} times:")
    print("| damage | files | not in what was read | repaired | rebuilt | other answer | failed |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for kind, count in outcome.cases.items():
        failed = sum(failure.startswith(f"{kind} ") for failure in outcome.failures)
        repaired, rebuilt, misled = (
            part[kind] for part in (outcome.repaired, outcome.rebuilt, outcome.misled)
        )
        rest = count - repaired - rebuilt - misled - failed
        print(f"| {kind} | {count} | {rest} | {repaired} | {rebuilt} | {misled} | {failed} |")


if __name__ == "__main__":
    sys.exit(main())
