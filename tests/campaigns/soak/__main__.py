"""Runs servers, watchers and commands on one workspace for hours, with kills and provider faults.

usage: python -m tests.campaigns.soak [--minutes 120] [--seed 1] [--pace 1] [--keep FOLDER]

Two HTTP servers, three MCP servers (two over stdio, one over HTTP), two watchers and commands work
on one workspace while notes, facts and transcripts change. Servers, watchers and commands are
killed; the embedding server refuses, hangs and dies now and then. Memory, descriptors, threads,
files and the time of calls are sampled and compared: first third against last third.

In the end every answer about facts must be explained by a sequential model, every acknowledged fact
must be stored, the index must equal one built from nothing, and nothing may be left behind. Exits
1 otherwise.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from tests.campaigns.soak.conclude import conclude
from tests.campaigns.soak.run import Soak


def main() -> int:
    """Run it and print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pace", type=float, default=1.0, help="factor of all pauses")
    parser.add_argument("--keep", type=Path, help="folder for the samples and a failed history")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="recollect-soak-"))
    print(f"{given.minutes:g} minutes, seed {given.seed}, in {folder}", flush=True)
    soak = Soak(folder, seed=given.seed, pace=given.pace)
    soak.run(minutes=given.minutes)
    conclude(soak)
    for trend in soak.measures.trends(minutes=given.minutes):
        print(trend)
        if not trend.is_flat:
            soak.fail(f"{trend.name} grows: {trend.unit}")
    for line in soak.measures.latencies(minutes=given.minutes):
        print(line)
    for what, times in sorted(soak.counts.items()):
        print(f"{times:8} {what}")
    lost = sum(call.is_lost for call in soak.calls.calls)
    print(f"{len(soak.calls.calls):8} calls checked against the model, {lost} without an answer")
    for failure in soak.failures:
        print(f"FAILED   {failure}")
    print(f"{given.minutes:g} minutes, seed {given.seed}: {len(soak.failures)} failures")
    if given.keep:
        given.keep.mkdir(parents=True, exist_ok=True)
        shutil.copy(soak.measures.file, given.keep)
        shutil.copy(soak.history, given.keep)
    if soak.failures:
        print(f"everything is kept in {folder}")
    else:
        shutil.rmtree(folder)
    return 1 if soak.failures else 0


if __name__ == "__main__":
    sys.exit(main())
