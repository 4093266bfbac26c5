"""Finds better settings for your own questions by cross-validation.

Every candidate answers every case once. Then, for each fold, the candidate that is best on the
other folds is scored on this one, so no case helps to choose the candidate it scores. The candidate
that is best on all cases is proposed only if the gain over the current settings, case by case, is
above zero with 95 % confidence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.config.edit import write_settings
from recollect.config.load import ARGUMENTS, ENVIRONMENT
from recollect.errors import UsageError
from recollect.evaluate.cases import count_text
from recollect.evaluate.metrics import DEPTH, Interval, difference_interval, mean_interval
from recollect.evaluate.run import Variant, run_cases
from recollect.records import dataclass
from recollect.shape import Shape
from recollect.types import digest_of, silent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from recollect.evaluate.cases import Case
    from recollect.evaluate.run import CaseAnswer, VariantRun
    from recollect.memory import Memory
    from recollect.types import Progress

FOLDS = 5
LEAST_CASES = 20
"""Four per fold; with fewer, one lucky question decides."""
WEIGHTED = (0.3, 0.5, 0.7, 0.9)
RRF = (0.3, 0.5, 0.7)
NO_FLOOR = 0.0
"""Used for `weighted`: its default floor fits the cosines of some models only."""
FLOORS = (0.1, 0.2, 0.3)
"""Only for `calibrated`, whose scores mean the same for every question. Floors can only help
questions that memory cannot answer."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """What was tried, and what is proposed."""

    shape = Shape({"changes": "proposal"}, null="changes")
    cases: int
    trials: Mapping[str, float]
    """Mean quality on all cases, by candidate; the current settings come first."""
    present: Interval
    """Quality of the current settings."""
    chosen: Interval
    """Quality of settings chosen without the cases that score them."""
    gain: Interval
    """Difference of the two, case by case."""
    best: str
    """The candidate that is best on all cases."""
    changes: Mapping[str, str | float]
    """The proposed settings; empty if the current ones are as good."""
    file: Path
    """The user's settings file, where they belong."""
    overridden: Mapping[str, str]
    """Proposed settings that something else overrides, and what does."""
    without_vector: int
    """Cases in which the vector leg did not run."""


def candidates(memory: Memory, *, has_absent: bool) -> tuple[Variant, ...]:
    """Return the current settings, then everything to compare with them."""
    values = memory.config.values
    # A configured floor fits only the fusion it was set for.
    own_floor = None if values["min_score"] is None else NO_FLOOR
    tried = [
        Variant("calibrated", fusion="calibrated", min_score=own_floor),
        *(_weighted("weighted", weight, min_score=NO_FLOOR) for weight in WEIGHTED),
        *(_weighted("rrf", weight, min_score=own_floor) for weight in RRF),
    ]
    if has_absent:
        tried += [
            Variant(f"calibrated, floor {floor}", fusion="calibrated", min_score=floor)
            for floor in FLOORS
        ]
    different = [variant for variant in tried if _changes(variant, values)]
    return (Variant("present"), *different)


def tune(memory: Memory, cases: Sequence[Case], *, progress: Progress = silent) -> Tuning:
    """Try the candidates on the cases, searching the index as it is.

    Raises:
        UsageError: there are too few cases.

    """
    if len(cases) < LEAST_CASES:
        raise UsageError(
            f"{count_text(cases)}: too few to choose settings.",
            action=f"Collect {LEAST_CASES} or more.",
        )
    has_absent = not all(case.is_answerable for case in cases)
    variants = candidates(memory, has_absent=has_absent)
    runs = run_cases(memory, cases, variants=variants, k=DEPTH, progress=progress)
    scores = [_qualities(run) for run in runs]
    present, held_out = scores[0], _held_out(scores, folds=[fold_of(case) for case in cases])
    gain = difference_interval(held_out, present)
    best = variants[_best(scores, range(len(cases)))]
    changes = _changes(best, memory.config.values) if gain.low > 0 else {}
    return Tuning(
        cases=len(cases),
        trials={
            variant.name: sum(own) / len(own) for variant, own in zip(variants, scores, strict=True)
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
    """Write the proposed settings into the user's settings file; return the diff.

    Raises:
        ConfigError: the file cannot be edited; it is unchanged.

    """
    return write_settings(tuning.file, tuning.changes)


def fold_of(case: Case) -> int:
    """Return the fold of a case, the same in every file, run and release."""
    return int(digest_of(case.query.encode("utf-8", "surrogatepass"))[:8], 16) % FOLDS


def quality(answer: CaseAnswer) -> float:
    """Return nDCG@10; for a question that memory cannot answer, 1 without hits, else 0."""
    return float(not answer.hits) if answer.marks is None else answer.marks.ndcg


def _qualities(run: VariantRun) -> list[float]:
    return [quality(answer) for answer in run.answers]


def _held_out(scores: Sequence[Sequence[float]], *, folds: Sequence[int]) -> list[float]:
    """Return each case's quality with the candidate that is best on the other folds."""
    best = {
        fold: _best(scores, [place for place, own in enumerate(folds) if own != fold])
        for fold in set(folds)
    }
    return [scores[best[fold]][place] for place, fold in enumerate(folds)]


def _best(scores: Sequence[Sequence[float]], places: Sequence[int]) -> int:
    """Return the candidate with the highest sum; the first one on a tie."""
    sums = [sum(own[place] for place in places) for own in scores]
    return sums.index(max(sums))


def _weighted(fusion: str, vector_weight: float, *, min_score: float | None) -> Variant:
    name = f"{fusion} {vector_weight}"
    return Variant(name, fusion=fusion, vector_weight=vector_weight, min_score=min_score)


def _changes(variant: Variant, values: Mapping[str, object]) -> dict[str, str | float]:
    """Return the settings in which a candidate differs from the current ones."""
    weight = variant.vector_weight
    wanted = {
        "fusion": variant.fusion,
        "vector_weight": weight,
        "text_weight": None if weight is None else round(1 - weight, 6),
        "min_score": variant.min_score,
    }
    return {
        key: value for key, value in wanted.items() if value is not None and value != values[key]
    }
