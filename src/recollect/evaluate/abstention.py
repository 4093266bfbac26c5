"""Does the search know what it does not know? Confidence on what is there and on what is not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recollect.evaluate.bootstrap import Interval, mean_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.evaluate.run import Answer


@dataclass(frozen=True, slots=True)
class Abstention:
    """How confidence fell on questions with an answer in memory and on those without."""

    trusted: Interval | None
    """Part of the answerable questions answered with `confident` true; None without any."""
    refused: Interval | None
    """Part of the others answered with `confident` false; None without any."""
    auroc: float | None
    """Chance that an answerable question's best score exceeds that of one that is not."""


def abstention_of(answers: Sequence[Answer]) -> Abstention:
    """Return how well confidence and the best score tell the two sorts of question apart."""
    answerable = [answer for answer in answers if answer.case.is_answerable]
    absent = [answer for answer in answers if not answer.case.is_answerable]
    return Abstention(
        trusted=mean_interval([answer.confident for answer in answerable]) if answerable else None,
        refused=mean_interval([not answer.confident for answer in absent]) if absent else None,
        auroc=auroc(
            [answer.best_score for answer in answerable], [answer.best_score for answer in absent]
        ),
    )


def auroc(higher: Sequence[float], lower: Sequence[float]) -> float | None:
    """Return the chance that one of `higher` exceeds one of `lower`, ties counting half."""
    if not higher or not lower:
        return None
    differences = np.subtract.outer(np.asarray(higher), np.asarray(lower))
    return float((differences > 0).mean() + (differences == 0).mean() / 2)
