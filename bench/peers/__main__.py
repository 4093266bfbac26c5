"""Run the real programs of others beside Recollect on the sets of the repository.

python -m bench.peers [SET …] [options]       default: company household

Every program indexes a copy of the notes with its default settings and answers the same questions;
`sh bench/speed/peers.sh` installs them. Those that embed over HTTP get the vectors of Recollect's
default model from a server on loopback. A document counts once, at the rank of its best hit.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.peers.programs.registry import NOTES, PROGRAMS, WITHOUT_VECTORS, environment_of
from bench.peers.vectors import Vectors
from bench.speed.__main__ import HOME, commit
from bench.speed.embedding_server import serve
from bench.speed.meter import ROOT, WorkerError, run

sys.path.insert(0, str(Path(__file__).parents[1]))  # bench/run.py is a script beside bench/sets.py

from run import marks
from sets import AUTHORED, load_set

from recollect.evaluate.metrics import difference_interval, mean_interval
from recollect.providers.options import ProviderOptions
from recollect.providers.registry import open_provider

if TYPE_CHECKING:
    from sets import Scoped

    from recollect.evaluate.metrics import Interval

STEPS = ("prefix", "first", "sync")
"""What is measured besides the answers: those without the prefix, a new process, a sync."""
_COLUMNS = ("nDCG@10", "Recollect minus this", "without the prefix", "a search", "first answer")


@dataclass(frozen=True, slots=True)
class Server:
    """Where programs get their vectors."""

    vectors: Vectors
    url: str


def documents_of(paths: list[str], scoped: Scoped) -> list[str]:
    """Return the documents of hits, each once, at the rank of its best hit."""
    return list(dict.fromkeys(scoped.documents[path] for path in paths if path in scoped.documents))


def measure(
    name: str, scoped: Scoped, server: Server, *, python: Path, steps: list[str]
) -> dict[str, object]:
    """Return what one program does on one set."""
    vectors = server.vectors
    questions = [question for question in scoped.questions if question.grades]
    with tempfile.TemporaryDirectory(prefix="recollect-peers-") as folder:
        workspace, index = Path(folder) / "notes", Path(folder) / "index"
        shutil.copytree(scoped.workspace, workspace)
        index.mkdir()

        def done(task: str) -> dict[str, object]:
            return run(
                python,
                {
                    "task": task,
                    "program": name,
                    "workspace": str(workspace),
                    "folder": str(index),
                    "url": server.url,
                    "questions": [question.text for question in questions],
                },
                source=ROOT / "src" if name == "recollect" else None,
                module="bench.peers.worker",
            )

        def asked(*, with_prefix: bool) -> tuple[dict[str, object], list[float]]:
            vectors.with_prefix = with_prefix
            answer = done("ask")
            found: list[list[str]] = answer.pop("found")  # type: ignore[assignment]
            return answer, [
                marks(question, documents_of(paths, scoped)).ndcg
                for question, paths in zip(questions, found, strict=True)
            ]

        result: dict[str, object] = {"build": done("build")}
        vectors.recognised.clear()
        result["ask"], result["ndcg"] = asked(with_prefix=True)
        if name not in ("recollect", *WITHOUT_VECTORS):
            _check(vectors, len({question.text for question in questions}))
            if "prefix" in steps:
                _, result["ndcg without prefix"] = asked(with_prefix=False)
        result |= {step: done(step) for step in ("first", "sync") if step in steps}
    return result


def _check(vectors: Vectors, asked: int) -> None:
    if len(vectors.recognised) != asked:
        raise WorkerError(f"{len(vectors.recognised)} of {asked} questions were embedded as asked")


def table(name: str, results: dict[str, dict[str, object]]) -> str:
    """Return the results of a set as one Markdown table."""
    rows = [
        f"| {name} | {' | '.join(_COLUMNS)} | sync with nothing to do |",
        "| --- |" + " --- |" * (len(_COLUMNS) + 1),
    ]
    own: list[float] = results.get("recollect", {}).get("ndcg", [])  # type: ignore[assignment]
    for program, result in results.items():
        if "failed" in result:
            rows.append(f"| {program} | failed: {str(result['failed']).splitlines()[-1]} |")
            continue
        scores: list[float] = result["ndcg"]  # type: ignore[assignment]
        plain: list[float] = result.get("ndcg without prefix", [])  # type: ignore[assignment]
        asked: dict[str, float] = result["ask"]  # type: ignore[assignment]
        first: dict[str, float] = result.get("first", {})  # type: ignore[assignment]
        sync: dict[str, object] = result.get("sync", {})  # type: ignore[assignment]
        cells = (
            f"{100 * mean_interval(scores).mean:.1f}",
            _points(difference_interval(own, scores)) if own and program != "recollect" else "",
            f"{100 * mean_interval(plain).mean:.1f}" if plain else "",
            f"{asked['cpu']:.1f} ms",
            f"{first['process_cpu']:.2f} s" if first else "",
            f"{sync['cpu']:.0f} ms" if "cpu" in sync else str(sync.get("unsupported", "")),
        )
        rows.append(f"| {program} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _points(interval: Interval) -> str:
    return f"{100 * interval.mean:.1f} [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


def main() -> None:
    """Measure, print tables, and write every number to a file."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("sets", nargs="*", default=AUTHORED)
    parser.add_argument("--only", nargs="*", choices=PROGRAMS, default=list(PROGRAMS))
    parser.add_argument("--steps", nargs="*", choices=STEPS, default=STEPS, help="besides asking")
    parser.add_argument("--peers-folder", type=Path, default=HOME / "peers")
    parser.add_argument("--out", type=Path, default=HOME / "peers.json")
    given = parser.parse_args()
    loaded = {name: load_set(name)[0] for name in given.sets}
    provider = open_provider("local", ProviderOptions())
    provider.prepare()
    asked = [question.text for scoped in loaded.values() for question in scoped.questions]
    vectors = Vectors(provider, asked)
    server = Server(vectors, f"http://127.0.0.1:{serve(vectors.of).server_port}/v1")
    results: dict[str, dict[str, dict[str, object]]] = {}
    for name, scoped in loaded.items():
        of_set = results.setdefault(name, {})
        for program in given.only:
            python = Path(sys.executable)
            if program != "recollect":
                python = given.peers_folder / environment_of(program) / "bin" / "python"
            if not python.exists():
                print(f"{program} is not installed: sh bench/speed/peers.sh", file=sys.stderr)
                continue
            try:
                of_set[program] = measure(program, scoped, server, python=python, steps=given.steps)
            except WorkerError as error:
                of_set[program] = {"failed": str(error)}
            print(f"{name}: {program}", of_set[program].get("failed", ""), file=sys.stderr)
        print(table(name, of_set), end="\n\n")
    print("\n".join(f"- {program}: {note}." for program, note in NOTES.items()))
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps({"commit": commit(), "sets": results}), encoding="utf-8")


if __name__ == "__main__":
    main()
