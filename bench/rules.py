"""Measure what each rule of the ranking earns: nDCG@10 with it, less that without it.

usage: python bench/rules.py [--questions N] [--rule NAME …] [SET …]

Each rule is switched off alone, everything else being as shipped. In brackets 95 % of a paired
bootstrap. What the reader says of a pair is computed once, so a further rule costs little.
"""

from __future__ import annotations

import argparse
import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

HERE = Path(__file__).parent
os.environ["RECOLLECT_HOME"] = str(HERE / ".cache" / "home")

from run import answer, marks, percent  # noqa: E402 - the home must be set before
from sets import AUTHORED, HELD_OUT, Limits, load_set  # noqa: E402

from recollect import Memory  # noqa: E402
from recollect.evaluate.metrics import difference_interval, mean_interval  # noqa: E402
from recollect.providers.cross_encoder import CrossEncoder  # noqa: E402
from recollect.search import interpret, nearness, options, propose, rank, scores, weigh  # noqa: E402
from recollect.stores import bm25  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence

    Change = tuple[object, str, object]
    """What is changed, its attribute, and what stands there instead."""

NAMES = (*AUTHORED, HELD_OUT, "locomo_turns", "locomo_sessions", "realmem_notes")
QUESTIONS = 300
RULES: dict[str, Sequence[Change]] = {
    "the reader": [(rank, "rerank", lambda _, *, standing, **__: rank.Reranked(standing.scores))],
    "words compared one by one": [(weigh, "_compare_words", lambda leg, *_, **__: leg)],
    "power 1.5 instead of 1": [(scores, "COINCIDENCE_POWER", 1.0)],
    "date words": [(interpret, "_days", lambda *_, **__: None)],
    "commonness": [(nearness, "commonness", lambda *_: None)],
    "length of a message": [(scores, "LONGEST_BOUND", float("inf"))],
    "keyword evidence for chance": [(scores, "COINCIDENCE", 0.0)],
    "document's mean cosine": [(scores, "CONTEXT_SHARE", 0.0)],
    "a quarter for function words": [(bm25, "STOP_WEIGHT", 1.0)],
    "known spelling": [(propose, "_READINGS", (propose._without_absent_phrases,))],  # noqa: SLF001
    "100 candidates of a leg, not 200": [(options, "_LEAST_POOL", 200)],
    "30 candidates compared, not 50": [(nearness, "COMPARED", 50)],
    "30 candidates compared, not 100": [(nearness, "COMPARED", 100)],
    "30 candidates compared, not 20": [(nearness, "COMPARED", 20)],
}


class RememberingReader(CrossEncoder):
    """The reader, which judges each pair once."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[tuple[str, str], float] = {}

    def score(
        self, question: str, passages: Sequence[str], *, deadline: float | None
    ) -> list[float]:
        """Return what is known, and ask for the rest without a limit of time."""
        del deadline
        unread = [each for each in dict.fromkeys(passages) if (question, each) not in self._known]
        judged = super().score(question, unread, deadline=None) if unread else []
        for passage, opinion in zip(unread, judged, strict=True):
            self._known[question, passage] = opinion
        return [self._known[question, each] for each in passages]


def measure(name: str, rules: Sequence[str], limits: Limits) -> dict[str, list[float]]:
    """Return nDCG@10 of every question, as shipped ("") and without each rule."""
    reader = RememberingReader()
    found: dict[str, list[float]] = {rule: [] for rule in ("", *rules)}
    for scoped in load_set(name, limits):
        with (
            patch("recollect.providers.cross_encoder.CrossEncoder", lambda: reader),
            Memory.open(scoped.workspace) as memory,
        ):
            memory.sync()
            for question in scoped.questions:
                if not question.grades:
                    continue
                for rule, collected in found.items():
                    with ExitStack() as changed:
                        for change in RULES.get(rule, ()):
                            changed.enter_context(patch.object(*change))
                        ranked = answer(memory, question, scoped, "calibrated")
                    collected.append(marks(question, ranked).ndcg)
    return found


def main() -> None:
    """Print a row per rule and set."""
    parser = argparse.ArgumentParser(prog="python bench/rules.py")
    parser.add_argument("sets", nargs="*", default=NAMES)
    parser.add_argument("--rule", nargs="+", choices=RULES, default=list(RULES))
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    given = parser.parse_args()
    print("| set | questions | rule | with | without | it earns |\n|" + " --- |" * 6)
    for name in given.sets:
        found = measure(name, given.rule, Limits(questions=given.questions))
        whole = percent(mean_interval(found[""]))["mean"]
        for rule in given.rule:
            without = percent(mean_interval(found[rule]))["mean"]
            earned = percent(difference_interval(found[""], found[rule]))
            told = f"{earned['mean']} [{earned['low']}, {earned['high']}]"
            print(
                f"| {name} | {len(found[''])} | {rule} | {whole} | {without} | {told} |", flush=True
            )


if __name__ == "__main__":
    main()
