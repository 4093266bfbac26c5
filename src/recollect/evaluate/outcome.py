"""From answers to numbers: per kind of question, over all, and against the settings in force."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.evaluate.abstention import Abstention, abstention_of
from recollect.evaluate.bootstrap import Interval, difference_interval, mean_interval
from recollect.evaluate.metrics import MARKS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from recollect.evaluate.metrics import Marks
    from recollect.evaluate.run import Run


@dataclass(frozen=True, slots=True)
class Summary:
    """The means of some cases' marks."""

    cases: int
    marks: Mapping[str, Interval]
    """By the names in MARKS."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one way of searching achieved."""

    run: Run
    overall: Summary | None
    """Over the answerable cases; None when there are none, or when no leg ran."""
    kinds: Mapping[str, Summary]
    gain: Interval | None
    """nDCG@10 over that of the settings in force, case by case; None for those themselves."""
    abstention: Abstention


def outcomes_of(runs: Sequence[Run]) -> tuple[Outcome, ...]:
    """Return the outcome of each run; the first is that of the settings in force."""
    return tuple(_outcome(run, configured=runs[0]) for run in runs)


def best_first(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return the outcomes by nDCG@10, those that have none last."""
    return sorted(
        outcomes,
        key=lambda outcome: -outcome.overall.marks["ndcg"].mean if outcome.overall else 1.0,
    )


def _outcome(run: Run, *, configured: Run) -> Outcome:
    marked = _marked(run) if run.ran else []
    kinds = dict.fromkeys(kind for kind, _ in marked)
    return Outcome(
        run=run,
        overall=_summary([marks for _, marks in marked]) if marked else None,
        kinds={name: _summary([marks for kind, marks in marked if kind == name]) for name in kinds},
        gain=None if run is configured or not marked else _gain(run, configured),
        abstention=abstention_of(run.answers),
    )


def _marked(run: Run) -> list[tuple[str, Marks]]:
    return [(answer.case.kind, answer.marks) for answer in run.answers if answer.marks is not None]


def _summary(marks: Sequence[Marks]) -> Summary:
    return Summary(
        cases=len(marks),
        marks={name: mean_interval([getattr(mark, name) for mark in marks]) for name in MARKS},
    )


def _gain(run: Run, configured: Run) -> Interval:
    return difference_interval(
        [marks.ndcg for _, marks in _marked(run)], [marks.ndcg for _, marks in _marked(configured)]
    )
