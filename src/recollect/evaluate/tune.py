"""Better settings for one's own questions, by cross-validation; none without proof of a gain.

Every candidate answers every case once. Then, fold by fold, the candidate that is best on the
other folds is judged on this one, so that no case takes part in choosing what it judges. Only if
the gain over the present settings, case by case, is above zero with 95 % confidence, is the
candidate that is best on all cases proposed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.config.edit import write_settings
from recollect.config.load import ARGUMENTS, ENVIRONMENT
from recollect.errors import UsageError
from recollect.evaluate.bootstrap import Interval, difference_interval, mean_interval
from recollect.evaluate.case import counted
from recollect.evaluate.metrics import DEPTH
from recollect.evaluate.run import Variant, run_cases
from recollect.types import digest_of, silent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from recollect.evaluate.case import Case
    from recollect.evaluate.run import Answer, Run
    from recollect.memory import Memory
    from recollect.types import Progress

FOLDS = 5
LEAST_CASES = 20
"""Four a fold: with fewer, one lucky question decides."""
WEIGHTED = (0.3, 0.5, 0.7, 0.9)
RRF = (0.3, 0.5, 0.7)
NO_FLOOR = 0.0
"""Weighted always goes without: its own floor suits the cosines of some models only."""
FLOORS = (0.1, 0.2, 0.3)
"""Only of calibrated, whose scores mean the same for every question; only a question that memory
cannot answer can gain by them."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """What was tried, and what is proposed."""

    cases: int
    trials: Mapping[str, float]
    """Mean worth on all cases, by candidate; the settings in force come first."""
    present: Interval
    """Worth of the settings in force."""
    chosen: Interval
    """Worth of the settings chosen without the cases that judge them."""
    gain: Interval
    """Of these over those, case by case."""
    best: str
    """The candidate that is best on all cases."""
    changes: Mapping[str, str | float]
    """The settings proposed; empty when those in force are as good."""
    file: Path
    """The user's settings file, where they belong."""
    overridden: Mapping[str, str]
    """Of the settings proposed, those set where they win over that file, and where."""
    without_vector: int
    """Cases in which the vector leg did not run."""


def candidates(memory: Memory, *, has_absent: bool) -> tuple[Variant, ...]:
    """Return the settings in force, then all that is tried against them."""
    values = memory.config.values
    # A floor that was set belongs to the scale of the fusion it was set for.
    own_floor = None if values["min_score"] is None else NO_FLOOR
    tried = [
        Variant("calibrated", fusion="calibrated", min_score=own_floor),
        *(_weighed("weighted", weight, min_score=NO_FLOOR) for weight in WEIGHTED),
        *(_weighed("rrf", weight, min_score=own_floor) for weight in RRF),
    ]
    if has_absent:
        tried += [
            Variant(f"calibrated, floor {floor}", fusion="calibrated", min_score=floor)
            for floor in FLOORS
        ]
    different = [variant for variant in tried if _changes(variant, values)]
    return (Variant("present"), *different)


def tune(memory: Memory, cases: Sequence[Case], *, progress: Progress = silent) -> Tuning:
    """Try the candidates on the cases; the index is searched as it is.

    Raises:
        UsageError: the cases are too few to tell anything.

    """
    if len(cases) < LEAST_CASES:
        raise UsageError(
            f"{counted(cases)}: too few to choose settings by.",
            action=f"Collect {LEAST_CASES} or more with `recollect eval add QUERY`.",
        )
    has_absent = not all(case.is_answerable for case in cases)
    variants = candidates(memory, has_absent=has_absent)
    runs = run_cases(memory, cases, variants=variants, k=DEPTH, progress=progress)
    worths = [_worths(run) for run in runs]
    present, held_out = worths[0], _held_out(worths, folds=[fold_of(case) for case in cases])
    gain = difference_interval(held_out, present)
    best = variants[_best(worths, range(len(cases)))]
    changes = _changes(best, memory.config.values) if gain.low > 0 else {}
    return Tuning(
        cases=len(cases),
        trials={
            variant.name: sum(own) / len(own) for variant, own in zip(variants, worths, strict=True)
        },
        present=mean_interval(present),
        chosen=mean_interval(held_out),
        gain=gain,
        best=best.name,
        changes=changes,
        file=memory.config.user_file,
        overridden={
            key: origin
            for key, origin in memory.config.origins.items()
            if key in changes and origin in (ENVIRONMENT, ARGUMENTS)
        },
        without_vector=len(runs[0].without_vector),
    )


def write_proposal(tuning: Tuning) -> str:
    """Write what is proposed into the user's settings file; return the diff.

    Raises:
        ConfigError: the file cannot be edited; it is left as it was.

    """
    return write_settings(tuning.file, tuning.changes)


def fold_of(case: Case) -> int:
    """Return the fold of a case: the same in every file, run and release."""
    return int(digest_of(case.query.encode("utf-8", "surrogatepass"))[:8], 16) % FOLDS


def worth(answer: Answer) -> float:
    """Return nDCG@10; for a question that memory cannot answer, 1 if nothing is shown, else 0."""
    return float(not answer.hits) if answer.marks is None else answer.marks.ndcg


def _worths(run: Run) -> list[float]:
    return [worth(answer) for answer in run.answers]


def _held_out(worths: Sequence[Sequence[float]], *, folds: Sequence[int]) -> list[float]:
    """Return each case's worth under the candidate that is best on the other folds."""
    best = {
        fold: _best(worths, [place for place, own in enumerate(folds) if own != fold])
        for fold in set(folds)
    }
    return [worths[best[fold]][place] for place, fold in enumerate(folds)]


def _best(worths: Sequence[Sequence[float]], places: Sequence[int]) -> int:
    """Return the candidate with the highest sum; the earlier one, the present first, on a tie."""
    sums = [sum(own[place] for place in places) for own in worths]
    return sums.index(max(sums))


def _weighed(fusion: str, vector_weight: float, *, min_score: float | None) -> Variant:
    name = f"{fusion} {vector_weight}"
    return Variant(name, fusion=fusion, vector_weight=vector_weight, min_score=min_score)


def _changes(variant: Variant, values: Mapping[str, object]) -> dict[str, str | float]:
    """Return the settings in which a candidate differs from those in force."""
    weight = variant.vector_weight
    asked = {
        "fusion": variant.fusion,
        "vector_weight": weight,
        "text_weight": None if weight is None else round(1 - weight, 6),
        "min_score": variant.min_score,
    }
    return {
        key: value for key, value in asked.items() if value is not None and value != values[key]
    }
