"""The default fusion: each leg's number becomes evidence on an absolute scale, and adds up.

A silent leg is zero evidence, so it takes nothing away. Chosen by measurement:
docs/decisions/ranking.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recollect.search.scale import score_of
from recollect.search.scores import Fused, evidence_of_legs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recollect.search.options import FusionOptions
    from recollect.search.scores import LegScores
    from recollect.types import Leg

FLOOR = 0.02
"""The least score that is shown; drops under one percent of the relevant hits."""
FLOOR_BY_WORDS = 0.03
"""Least score shown where the words were compared, which adds evidence to all."""


def calibrated(legs: Mapping[Leg, LegScores], *, options: FusionOptions) -> Fused:
    """Return the score of the evidence of all legs that ran together."""
    del options  # it has no weights
    evidence = evidence_of_legs(legs)
    total = np.sum(list(evidence.values()), axis=0)
    scores = score_of(total)
    shares = scores / np.where(total > 0, total, 1.0)
    by_words = any(leg.compares_words for leg in legs.values())
    return Fused(
        scores=scores,
        normalised=evidence,
        contributions={name: own * shares for name, own in evidence.items()},
        eligible=scores >= (FLOOR_BY_WORDS if by_words else FLOOR),
    )
