"""Feeds every parser inputs that a fuzzer finds by watching which code they reach.

usage: python -m tests.campaigns.fuzz [--inputs N] [--only NAME] [--seconds S] [--folder F]

Each target runs in a process of its own, with atheris (libFuzzer for Python) and a corpus that is
kept in the folder, so that a later run continues. An input that raises what its caller would not
catch is written to the folder's `crashes`; copy it to tests/fixtures/fuzz/TARGET, where the tests
replay it. The exit code is 1 if there were any.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import time
import traceback
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).parent.parent.parent
FIXTURES = ROOT / "tests" / "fixtures" / "fuzz"
_INPUTS = 10_000_000
_MAX_BYTES = 192
_FIRST_INPUTS = 64
_TIMEOUT_SECONDS = 20  # of one input: beyond it, its time is not proportional to its size
_MEMORY_MB = 2048
_STATE = re.compile(rb"^#(\d+)\s+\w+\s+cov: (\d+) ft: (\d+) corp: (\d+)", re.MULTILINE)


def main() -> int:
    """Run all targets one after the other, and print one line of figures for each."""
    options = parsed_options()
    if options.worker:
        run_worker(options.worker, options.folder, options.inputs, options.seconds)
        return 0
    from tests.support.fuzz_targets import TARGETS  # noqa: PLC0415 - takes a while

    chosen = {name: each for name, each in TARGETS.items() if options.only in (None, name)}
    shares = sum(each.share for each in chosen.values())
    print(f"{'target':24} {'inputs':>10} {'branches':>9} {'features':>9} crashes  seconds")
    total, crashes = 0, 0
    for name, each in sorted(chosen.items(), key=lambda pair: -pair[1].share):
        count = max(1, options.inputs * each.share // shares)
        figures = run_target(name, count, options.folder, options.seconds)
        total += figures["inputs"]
        crashes += figures["crashes"]
        print(
            f"{name:24} {figures['inputs']:10,} {figures['branches']:9,} "
            f"{figures['features']:9,} {figures['crashes']:7} {figures['seconds']:8}",
            flush=True,
        )
        with (options.folder / "figures.jsonl").open("a", encoding="utf-8") as log:
            log.write(json.dumps({"target": name, **figures}) + "\n")
    print(f"{'in all':24} {total:10,} {'':9} {'':9} {crashes:7}")
    return 1 if crashes else 0


def parsed_options() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=_INPUTS, help="of all targets together")
    parser.add_argument("--seconds", type=int, default=0, help="most seconds per target")
    parser.add_argument("--only", help="one target")
    parser.add_argument("--folder", type=Path, default=ROOT / ".fuzz")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    return parser.parse_args()


def run_target(name: str, count: int, folder: Path, seconds: int) -> dict[str, int]:
    """Run one target in a process of its own; start it again after a hang, which is a crash."""
    known = set(crashes_of(folder, name))
    inputs = branches = features = hangs = 0
    started = time.monotonic()
    while inputs < count:
        worker = subprocess.run(
            [
                sys.executable, "-m", "tests.campaigns.fuzz", "--worker", name, "--folder",
                str(folder), "--inputs", str(count - inputs), "--seconds", str(seconds),
            ],
            cwd=ROOT,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            check=False,
        )  # fmt: skip
        states = _STATE.findall(worker.stderr)
        if states:
            inputs += int(states[-1][0])
            branches, features = (
                max(branches, int(states[-1][1])),
                max(features, int(states[-1][2])),
            )
        if worker.returncode == 0:
            break
        hangs += 1
        (folder / f"{name}.log").write_bytes(worker.stderr)
        if hangs > 5 or not states:
            break
    return {
        "inputs": inputs,
        "branches": branches,
        "features": features,
        "crashes": len(set(crashes_of(folder, name)) - known) + hangs,
        "seconds": round(time.monotonic() - started),
    }


def crashes_of(folder: Path, name: str) -> list[Path]:
    """Return the inputs of a target that raised something."""
    return sorted((folder / "crashes" / name).glob("*.bin"))


def run_worker(name: str, folder: Path, count: int, seconds: int) -> None:
    """Fuzz one target until it had its inputs. Does not return: libFuzzer ends the process."""
    import atheris  # type: ignore[import-untyped]  # noqa: PLC0415 - needed here only
    from tests.support.fuzz_targets import TARGETS  # noqa: PLC0415
    from tests.support.fuzzing import random_inputs  # noqa: PLC0415

    target = TARGETS[name]
    for function in functions_of(target.places):
        atheris.instrument_func(function)
    crashes = folder / "crashes" / name
    corpus = folder / "corpus" / name
    seeds = FIXTURES / name
    for each in (crashes, corpus):
        each.mkdir(parents=True, exist_ok=True)
    if not any(corpus.iterdir()):
        for number, content in enumerate(random_inputs(0, (), _FIRST_INPUTS)):
            (corpus / f"first-{number}").write_bytes(content)
    seen: set[str] = set()

    def feed(content: bytes) -> None:
        try:
            target.feed(content)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what we look for
            frames = traceback.extract_tb(error.__traceback__)
            place = f"{type(error).__name__} {frames[-1].filename}:{frames[-1].lineno}"
            if place not in seen:
                seen.add(place)
                mark = hashlib.sha256(place.encode()).hexdigest()[:12]
                (crashes / f"{mark}.bin").write_bytes(content)
                (crashes / f"{mark}.txt").write_text(
                    "".join(traceback.format_exception(error)), encoding="utf-8", errors="replace"
                )

    arguments = [
        sys.argv[0], f"-runs={count}", f"-max_total_time={seconds}", f"-max_len={_MAX_BYTES}",
        f"-timeout={_TIMEOUT_SECONDS}", f"-rss_limit_mb={_MEMORY_MB}", "-len_control=0",
        f"-artifact_prefix={crashes}/", str(corpus), *([str(seeds)] if seeds.is_dir() else []),
    ]  # fmt: skip
    atheris.Setup(arguments, feed)
    atheris.Fuzz()


def functions_of(places: Iterable[str]) -> Iterator[FunctionType]:
    """Yield the functions of modules and packages: what is watched for new code."""
    for module in list(sys.modules.values()):
        name = module.__name__.replace(".", "/").removeprefix("recollect/")
        if any(f"{name}.py" == place or f"{name}/".startswith(f"{place}/") for place in places):
            for value in vars(module).values():
                members = vars(value).values() if isinstance(value, type) else [value]
                for each in members:
                    inner = getattr(each, "fget", None) or getattr(each, "__func__", each)
                    if isinstance(inner, FunctionType) and inner.__module__ == module.__name__:
                        yield inner


if __name__ == "__main__":
    sys.exit(main())
