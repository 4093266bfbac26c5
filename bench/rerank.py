"""What does the second look gain, and what does it cost?

usage: python bench/rerank.py [SET …]      the sets of docs/decisions/ranking.md by default

At most 150 of each set's odd-numbered questions, because the weight was chosen on even-numbered
ones, on the indexes that bench/run.py has made. The interval is that of the gain, 95 %.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
from typing import TYPE_CHECKING

from run import marks
from sets import load_set

from recollect import Memory
from recollect.evaluate.metrics import difference_interval

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sets import Question, Scoped

SETS = (
    "locomo_turns",
    "locomo_sessions",
    "longmemeval_sessions",
    "scifact",
    "cranfield",
    "xquad_es",
    "xquad_zh",
)
MOST_QUESTIONS = 150
SHOWN = 30
RERANK = (False, True)
AMPLE_MS = 60_000  # what is measured is the opinion, not the budget


def measure(name: str) -> str:
    """Return one row: nDCG@10 and CPU milliseconds a question, without and with rerank."""
    ndcg: dict[bool, list[float]] = {rerank: [] for rerank in RERANK}
    cost: dict[bool, list[float]] = {rerank: [] for rerank in RERANK}
    for scoped, questions in asked(load_set(name)):
        for rerank in RERANK:
            with Memory.open(scoped.workspace, settings={"rerank.budget_ms": AMPLE_MS}) as memory:
                memory.search("load the models", rerank=rerank)
                for question in questions:
                    began = time.process_time()
                    hits = memory.search(
                        question.text,
                        max_results=SHOWN,
                        tail=True,
                        today=question.day,
                        rerank=rerank,
                    ).hits
                    cost[rerank].append((time.process_time() - began) * 1000)
                    found = list(dict.fromkeys(scoped.documents[hit.path] for hit in hits))
                    ndcg[rerank].append(marks(question, found).ndcg)
    gain = difference_interval(ndcg[True], ndcg[False])
    quality = " | ".join(f"{100 * statistics.mean(found):.1f}" for found in ndcg.values())
    spent = " | ".join(f"{statistics.mean(times):.0f}" for times in cost.values())
    interval = f"{100 * gain.low:+.1f} to {100 * gain.high:+.1f}"
    return f"| {name} | {len(ndcg[False])} | {quality} | {interval} | {spent} |"


def asked(scopes: list[Scoped]) -> Iterator[tuple[Scoped, list[Question]]]:
    """Yield each scope with its share of the questions."""
    step = 2 * math.ceil(sum(len(scoped.questions) for scoped in scopes) / 2 / MOST_QUESTIONS)
    number = 0
    for scoped in scopes:
        yield scoped, scoped.questions[(1 - number) % step :: step]
        number += len(scoped.questions)


def main() -> None:
    """Print the table."""
    print("| set | questions | without | with | gain | without, CPU ms | with, CPU ms |")
    for name in sys.argv[1:] or SETS:
        print(measure(name), flush=True)


if __name__ == "__main__":
    main()
