"""Measure what the confidence of an answer means: of those around 0.6, do 60 % hold an answer?

usage: python bench/reliability.py [SET …]

Every set is made into memories of 5, 40 and 400 documents and one of all. Each is asked questions
that it can answer, questions whose answering documents were left out, and, where a set has several
persons, those of a stranger. The legs' estimate was fitted on one half of the questions; the
diagram, docs/images/confidence.svg, is of the other one.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import zlib
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

HERE = Path(__file__).parent
os.environ["RECOLLECT_HOME"] = str(HERE / ".cache" / "home")

from sets import ASKED_IN_PASSING, CACHE, load_set  # noqa: E402 - the home must be set before

from recollect import Memory  # noqa: E402
from recollect.evaluate.metrics import auroc  # noqa: E402

if TYPE_CHECKING:
    from sets import Question, Scoped

NAMES = ("locomo_turns", "locomo_sessions", "realmem_notes", "longmemeval_sessions", "xquad_es")
SIZES = (5, 40, 400, None)
ASKED = 12  # questions of each kind that a memory is asked
BINS = 10
DIAGRAM = HERE.parent / "docs" / "images" / "confidence.svg"
NOT_EXPECTED = "adversarial"  # a kind of LoCoMo that is neither answerable nor not


@dataclass(frozen=True, slots=True)
class Answer:
    """How sure one answer was, and whether there was one to find."""

    group: tuple[str, str, int | None]
    """The set, the kind of question and the size of the memory."""
    confidence: float
    is_answerable: bool


def measure(name: str, *, seed: int = 7) -> list[Answer]:
    """Return the answers to the questions of one set that nothing was fitted on."""
    chance = random.Random(seed)  # noqa: S311 - a sample
    scopes = load_set(name)
    found: list[Answer] = []
    for size in SIZES:
        for number, scoped in enumerate(scopes):
            if size is not None and size >= len(scoped.documents):
                continue
            strangers = [
                each for other in scopes if other is not scoped for each in other.questions
            ]
            asked = sample(scoped, size=size, chance=chance)
            asked["stranger"] = chance.sample(strangers, min(ASKED, len(strangers)))
            workspace = write(scoped, asked, size=size, chance=chance, name=f"{name}-{number}")
            found += ask(workspace, asked, name=name, size=size)
    return found


def sample(scoped: Scoped, *, size: int | None, chance: random.Random) -> dict[str, list[Question]]:
    """Choose questions that the memory shall answer, and others whose answers are removed."""
    questions = [each for each in scoped.questions if each.kind != NOT_EXPECTED]
    chance.shuffle(questions)
    room = len(scoped.documents) if size is None else max(2, size // 2)
    kept: set[str] = set()
    chosen: dict[str, list[Question]] = {"answerable": [], "removed": []}
    for question in questions[::2]:
        together = kept | set(question.grades)
        if len(together) <= room and len(chosen["answerable"]) < ASKED:
            kept = together
            chosen["answerable"].append(question)
    for question in questions[1::2]:
        if not kept & set(question.grades) and len(chosen["removed"]) < ASKED:
            chosen["removed"].append(question)
    return chosen


def write(
    scoped: Scoped,
    asked: dict[str, list[Question]],
    *,
    size: int | None,
    chance: random.Random,
    name: str,
) -> Path:
    """Write a memory of some documents: those that answer, and others but those removed."""
    wanted = {document for question in asked["answerable"] for document in question.grades}
    removed = {document for question in asked["removed"] for document in question.grades}
    others = [each for each in scoped.documents.values() if each not in wanted | removed]
    chance.shuffle(others)
    wanted.update(others if size is None else others[: size - len(wanted)])
    workspace = CACHE / "reliability" / f"{name}-{size or 'all'}"
    shutil.rmtree(workspace, ignore_errors=True)
    (workspace / "memory").mkdir(parents=True)
    for path, document in scoped.documents.items():
        if document in wanted:
            shutil.copy(scoped.workspace / path, workspace / path)
    return workspace


def ask(
    workspace: Path, asked: dict[str, list[Question]], *, name: str, size: int | None
) -> list[Answer]:
    """Return how sure the memory is of each answer."""
    is_later = name in ASKED_IN_PASSING
    with Memory.open(workspace) as memory:
        memory.sync()
        return [
            Answer(
                (name, kind, size),
                memory.search(
                    question.text,
                    today=question.day,
                    before=question.day if is_later and kind != "stranger" else None,
                    sync=False,
                ).confidence,
                kind == "answerable",
            )
            for kind, questions in asked.items()
            for question in questions
            if zlib.crc32(f"{name}{question.id}".encode()) % 2
        ]


def weights(answers: list[Answer]) -> list[float]:
    """Weigh groups by the root of their size, and as much answerable as not."""
    counts = Counter(answer.group for answer in answers)
    raw = [counts[answer.group] ** -0.5 for answer in answers]
    totals: dict[bool, float] = defaultdict(float)
    for answer, weight in zip(answers, raw, strict=True):
        totals[answer.is_answerable] += weight
    return [
        weight / totals[answer.is_answerable] for answer, weight in zip(answers, raw, strict=True)
    ]


def bins(answers: list[Answer]) -> list[tuple[float, float, int]]:
    """Return mean confidence, share of answerable questions and count, for each tenth."""
    rows: dict[int, list[tuple[Answer, float]]] = defaultdict(list)
    for answer, weight in zip(answers, weights(answers), strict=True):
        rows[min(int(answer.confidence * BINS), BINS - 1)].append((answer, weight))
    found = []
    for _, row in sorted(rows.items()):
        total = sum(weight for _, weight in row)
        mean = sum(answer.confidence * weight for answer, weight in row) / total
        share = sum(weight for answer, weight in row if answer.is_answerable) / total
        found.append((mean, share, len(row)))
    return found


def diagram(rows: list[tuple[float, float, int]]) -> str:
    """Return the reliability diagram: a dot on the line means what it says."""
    side, edge = 320, 48
    whole = side + 2 * edge
    most = max(count for _, _, count in rows)
    frame = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole} {whole}" role="img" '
        'font-family="sans-serif" font-size="12" fill="#666">'
        "<title>Confidence against the share of questions with an answer</title>"
        f'<rect x="{edge}" y="{edge}" width="{side}" height="{side}" fill="none" stroke="#999"/>'
        f'<path d="M{edge} {edge + side}L{edge + side} {edge}" stroke="#999" '
        'stroke-dasharray="4"/>'
        f'<text x="{whole / 2}" y="{whole - 10}" text-anchor="middle">confidence</text>'
        f'<text x="{edge}" y="{edge - 16}">share of questions with an answer in memory</text>'
    )
    parts = [frame]
    for mean, share, count in rows:
        x, y = edge + side * mean, edge + side * (1 - share)
        radius = 3 + 7 * (count / most) ** 0.5
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="#3b7dd8"/>')
    for tick in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        x, y = edge + side * tick, edge + side * (1 - tick)
        parts.append(f'<text x="{x:.0f}" y="{edge + side + 18}" text-anchor="middle">{tick}</text>')
        parts.append(f'<text x="{edge - 8}" y="{y + 4:.0f}" text-anchor="end">{tick}</text>')
    return "\n".join([*parts, "</svg>\n"])


def main() -> None:
    """Measure, print the rows, draw the diagram."""
    answers: list[Answer] = []
    for name in sys.argv[1:] or NAMES:
        found = measure(name)
        answers += found
        own = [answer.confidence for answer in found if answer.is_answerable]
        for kind in ("stranger", "removed"):
            others = [answer.confidence for answer in found if answer.group[1] == kind]
            if own and others:
                print(
                    name, kind, len(own), len(others), f"AUROC {auroc(own, others):.3f}", flush=True
                )
    rows = bins(answers)
    for mean, share, count in rows:
        print(f"confidence {mean:.2f}: answerable {share:.2f} ({count})")
    DIAGRAM.write_text(diagram(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
