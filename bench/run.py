"""Measure search on the labelled sets, as real workspaces, through the public API.

usage: python bench/run.py [--documents N] [--questions N] [SET …]

All sets by default. With --documents a workspace has at most so many documents besides those that
answer a question, with --questions a set at most so many questions, evenly chosen.

Embeddings are kept under bench/.cache, so only the first run is slow. The numbers go to
bench/results/<commit>.json and into the table of bench/README.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

HERE = Path(__file__).parent
os.environ["RECOLLECT_HOME"] = str(HERE / ".cache" / "home")

from sets import ASKED_IN_PASSING, NAMES, Limits, load_set  # noqa: E402 - the home must be set before anything is opened

from recollect import Memory  # noqa: E402
from recollect.evaluate.cases import Expected  # noqa: E402
from recollect.evaluate.metrics import (  # noqa: E402
    Marks,
    auroc,
    difference_interval,
    marks_of,
    mean_interval,
)
from recollect.types import SearchRequest  # noqa: E402

if TYPE_CHECKING:
    from sets import Question, Scoped

    from recollect import Results
    from recollect.evaluate.metrics import Interval

VARIANTS: dict[str, dict[str, object]] = {
    "calibrated": {},
    "weighted": {"fusion": "weighted"},
    "rrf": {"fusion": "rrf"},
    "keyword": {"legs": ["keyword"]},
    "vector": {"legs": ["vector"]},
    "no reader": {"rerank": False},
}
SHOWN = 40  # hits asked for, so that ten different documents are among them
FIRST = 5
ANSWER = 6  # hits of a search by default
BEGIN, END = "<!-- generated: results -->", "<!-- end -->"


def answer(memory: Memory, question: Question, scoped: Scoped, variant: str) -> list[str]:
    """Return the documents found, best first, each once."""
    is_later = scoped.name.startswith(ASKED_IN_PASSING)
    hits = memory.search(
        question.text,
        max_results=SHOWN,
        tail=True,
        today=question.day,
        before=question.day if is_later else None,
        sync=False,
        **VARIANTS[variant],  # type: ignore[arg-type]
    ).hits
    return list(dict.fromkeys(scoped.documents[hit.path] for hit in hits))


def marks(question: Question, found: list[str]) -> Marks:
    """Return how good an answer is, documents being the units."""
    expected = [Expected(name, grade=grade) for name, grade in question.grades.items()]
    ranks = [found.index(name) + 1 if name in found else None for name in question.grades]
    return marks_of(expected, ranks, k=FIRST)


def measure(name: str, limits: Limits) -> dict[str, object]:
    """Return the numbers of one set: per variant nDCG@10 and all@5, with intervals."""
    scopes = load_set(name, limits)
    got: dict[str, list[Marks]] = {variant: [] for variant in VARIANTS}
    kinds: list[str] = []
    answered: list[bool] = []
    own: list[Results] = []
    foreign: list[Results] = []
    for number, scoped in enumerate(scopes):
        others = scopes[(number + 1) % len(scopes)].questions if len(scopes) > 1 else []
        with Memory.open(scoped.workspace) as memory:
            memory.sync()
            for question in scoped.questions:
                results = shown(memory, question, scoped)
                if not question.grades:
                    foreign.append(results)
                    continue
                own.append(results)
                answered.append(
                    any(scoped.documents[hit.path] in question.grades for hit in results.hits)
                )
                kinds.append("" if name in ASKED_IN_PASSING else question.kind)
                for variant, collected in got.items():
                    collected.append(marks(question, answer(memory, question, scoped, variant)))
            foreign += [shown(memory, question, scoped) for question in others]
    default = [mark.ndcg for mark in got["calibrated"]]
    return {
        "questions": len(default),
        "variants": {
            variant: {
                "ndcg": percent(mean_interval([mark.ndcg for mark in collected])),
                "all5": percent(mean_interval([mark.all for mark in collected])),
                "halves": [
                    percent(mean_interval([mark.ndcg for mark in collected[half::2]]))["mean"]
                    for half in (0, 1)
                ],
                "default minus this": percent(
                    difference_interval(default, [mark.ndcg for mark in collected])
                ),
            }
            for variant, collected in got.items()
        },
        "kinds": by_kind(kinds, got, answered),
        "answered": share(answered),
        "confident": share([each.confident for each in own]),
        "wrongly confident": share([each.confident for each in foreign]),
        "auroc": auroc([each.confidence for each in own], [each.confidence for each in foreign]),
    }


def shown(memory: Memory, question: Question, scoped: Scoped) -> Results:
    """Return what a search shows: six hits at most, without the tail."""
    is_later = scoped.name.startswith(ASKED_IN_PASSING)
    request = SearchRequest(
        question.text,
        max_results=ANSWER,
        today=question.day,
        before=question.day if is_later else None,
        sync=False,
        tail=False,
    )
    return memory.answer(request)


def share(held: list[bool]) -> float | None:
    """Return in how many of a hundred cases it held; None without any."""
    return round(100 * sum(held) / len(held), 1) if held else None


def by_kind(
    kinds: list[str], got: dict[str, list[Marks]], answered: list[bool]
) -> dict[str, dict[str, float]]:
    """Return for each kind of question how many there are, and nDCG@10 of every variant."""
    found: dict[str, dict[str, float]] = {}
    for kind in sorted(set(kinds) - {""}):
        rows = [row for row, each in enumerate(kinds) if each == kind]
        found[kind] = {"questions": len(rows)} | {
            variant: round(100 * sum(marked[row].ndcg for row in rows) / len(rows), 1)
            for variant, marked in got.items()
        }
        found[kind]["answered"] = round(100 * sum(answered[row] for row in rows) / len(rows), 1)
    return found


def percent(interval: Interval) -> dict[str, float]:
    """Return an interval in points of a hundred."""
    return {name: round(100 * getattr(interval, name), 1) for name in ("mean", "low", "high")}


def table(results: dict[str, dict[str, object]]) -> str:
    """Return the results as one Markdown table."""
    names = list(VARIANTS)
    rows = [
        "| set | questions | "
        + " | ".join(names)
        + " | all@5 | answered | confident | wrongly | AUROC |",
        "| --- | --- |" + " --- |" * (len(names) + 5),
    ]
    for name, result in results.items():
        variants = result["variants"]
        best = max(numbers["ndcg"]["mean"] for numbers in variants.values())  # type: ignore[attr-defined]
        cells = []
        for variant in names:
            numbers = variants[variant]  # type: ignore[index]
            mean = f"{numbers['ndcg']['mean']:.1f}"
            lost = numbers["default minus this"]["high"] < 0
            bold = variant == "calibrated" and numbers["ndcg"]["mean"] < best
            cells.append(f"**{mean}**" if bold else f"{mean}{' ▲' if lost else ''}")
        area = "" if result["auroc"] is None else f"{result['auroc']:.3f}"
        wrongly = "" if result["auroc"] is None else result["wrongly confident"]
        all5 = variants["calibrated"]["all5"]["mean"]  # type: ignore[index]
        rows.append(
            f"| {name} | {result['questions']} | {' | '.join(cells)} | {all5:.1f} | "
            f"{result['answered']} | {result['confident']} | {wrongly} | {area} |"
        )
    return "\n".join(rows)


def kinds_table(results: dict[str, dict[str, object]]) -> str:
    """Return the results by kind of question as one Markdown table."""
    names = list(VARIANTS)
    rows = [
        "| set | kind | questions | " + " | ".join(names) + " | answered |",
        "| --- | --- | --- |" + " --- |" * (len(names) + 1),
    ]
    for name, result in results.items():
        kinds: dict[str, dict[str, float]] = result.get("kinds", {})  # type: ignore[assignment]
        for kind, numbers in kinds.items():
            best = max(numbers[variant] for variant in names)
            cells = [
                f"**{numbers[variant]:.1f}**"
                if variant == "calibrated" and numbers[variant] < best
                else f"{numbers[variant]:.1f}"
                for variant in names
            ]
            cells.append(f"{numbers['answered']:.1f}")
            rows.append(f"| {name} | {kind} | {numbers['questions']} | {' | '.join(cells)} |")
    return "\n".join(rows)


def main() -> None:
    """Measure, write the result file, renew the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", nargs="*", default=NAMES)
    parser.add_argument("--documents", type=int)
    parser.add_argument("--questions", type=int)
    asked = parser.parse_args()
    limits = Limits(asked.documents, asked.questions)
    commit = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"],  # noqa: S607
        cwd=HERE,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    file = HERE / "results" / f"{commit}.json"
    file.parent.mkdir(exist_ok=True)
    results = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    for name in asked.sets:
        results[name] = measure(name, limits)
        file.write_text(json.dumps(results, indent=1), encoding="utf-8")
        numbers = results[name]["variants"]
        print(name, {each: numbers[each]["ndcg"]["mean"] for each in numbers}, flush=True)
    page = HERE / "README.md"
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    tables = f"{table(results)}\n\n{kinds_table(results)}"
    body = f"{BEGIN}\n\nCommit {commit}.\n\n{tables}\n\n{END}"
    page.write_text(f"{before}{body}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
