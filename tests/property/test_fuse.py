"""What holds for the fusions with weights, whatever the weights and whichever legs ran."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pytest

from recollect.search.fuse import FUSIONS, fuse
from recollect.search.options import FusionOptions
from recollect.search.scores import (
    DATE,
    KEYWORD,
    VECTOR,
    DateScores,
    KeywordScores,
    LegScores,
    VectorScores,
    shares,
)
from recollect.types import Background, Leg

WEIGHTS = (0.0, 1e-9, 0.3, 0.7, 1.0)
ALL: dict[Leg, LegScores] = {
    KEYWORD: KeywordScores(raw=np.array([7.0, 2.0, 0.0]), present=np.array([True, True, False])),
    VECTOR: VectorScores(
        raw=np.array([0.2, 0.0, 0.9]),
        present=np.array([True, False, True]),
        background=Background(mean=0.1, deviation=0.1),
    ),
    DATE: DateScores(raw=np.array([0.0, 1.0, 0.0]), present=np.array([False, True, False])),
}
RAN = [(KEYWORD,), (VECTOR,), (KEYWORD, VECTOR), (KEYWORD, DATE), (VECTOR, DATE), tuple(ALL)]
COMBINATIONS = [
    pytest.param(name, ran, vector_weight, text_weight)
    for name, ran, vector_weight, text_weight in product(FUSIONS, RAN, WEIGHTS, WEIGHTS)
]


@pytest.mark.parametrize(("name", "ran", "vector_weight", "text_weight"), COMBINATIONS)
def test_whatever_the_weights_the_legs_that_ran_answer(
    name: str, ran: tuple[Leg, ...], vector_weight: float, text_weight: float
) -> None:
    legs = {leg: ALL[leg] for leg in ran}
    options = FusionOptions(fusion=name, vector_weight=vector_weight, text_weight=text_weight)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fused = fuse(legs, options=options)

    heard = shares(legs, options=options)
    found = np.any([legs[leg].present for leg in heard if heard[leg] > 0], axis=0)
    assert 1.0 == pytest.approx(sum(heard.values()))
    assert np.isfinite(fused.scores).all()
    assert ((fused.scores >= 0) & (fused.scores <= 1 + 1e-12)).all()
    assert (fused.scores[found] > 0).all()
    assert fused.scores == pytest.approx(np.sum(list(fused.contributions.values()), axis=0))


@pytest.mark.parametrize("name", ["weighted", "rrf"])
@pytest.mark.parametrize("leg", [KEYWORD, VECTOR])
def test_a_leg_alone_scores_the_same_with_any_weight(name: str, leg: Leg) -> None:
    scores = {
        tuple(
            fuse(
                {leg: ALL[leg]},
                options=FusionOptions(fusion=name, vector_weight=weight, text_weight=1 - weight),
            ).scores
        )
        for weight in (0.0, 0.5, 1.0)
    }

    assert 1 == len(scores)
