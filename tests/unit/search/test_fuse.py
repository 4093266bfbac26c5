"""The arithmetic of fusion, stated in numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recollect.search.confidence import CONFIDENT_FROM, answer_probability, leg_probability
from recollect.search.fuse import (
    FUSIONS,
    by_minmax,
    by_rank,
    by_sigmoid,
    fuse,
)
from recollect.search.options import FusionOptions
from recollect.search.scores import DATE, KEYWORD, VECTOR, KeywordScores, LegScores, VectorScores
from recollect.search.select import is_tail
from recollect.types import Background, Leg

if TYPE_CHECKING:
    from collections.abc import Mapping

BACKGROUND = Background(mean=0.2, deviation=0.1)


def keyword(*raw: float, bound: float = 10.0) -> KeywordScores:
    values = np.array(raw)
    return KeywordScores(raw=values, present=values > 0, bound=bound)


def vector(*raw: float) -> VectorScores:
    values = np.array(raw)
    return VectorScores(raw=values, present=values > -1, background=BACKGROUND)


def test_rrf_sums_weight_over_k_plus_rank_and_divides_by_the_best_possible() -> None:
    legs = {KEYWORD: keyword(9.0, 0.0, 3.0), VECTOR: vector(0.1, 0.9, 0.5)}

    scores = fuse(legs, options=FusionOptions(fusion="rrf")).scores

    best = 0.3 / 61 + 0.7 / 61
    assert [
        (0.3 / (60 + 1) + 0.7 / (60 + 3)) / best,
        (0.7 / (60 + 1)) / best,
        (0.3 / (60 + 2) + 0.7 / (60 + 2)) / best,
    ] == pytest.approx(scores.tolist(), abs=1e-12)


def test_rrf_of_one_leg_alone_starts_at_one() -> None:
    scores = fuse({VECTOR: vector(0.9, 0.1)}, options=FusionOptions(fusion="rrf")).scores

    assert [1.0, 61 / 62] == pytest.approx(scores.tolist())


def test_weighted_blends_cosine_and_rank_text_by_seventy_to_thirty() -> None:
    legs = {KEYWORD: keyword(9.0, 3.0), VECTOR: vector(0.4, 0.8)}

    scores = fuse(legs, options=FusionOptions(fusion="weighted")).scores

    assert [0.7 * 0.4 + 0.3 * 1.0, 0.7 * 0.8 + 0.3 * 0.5] == pytest.approx(scores.tolist())


def test_weights_that_do_not_add_up_to_one_are_normalised() -> None:
    legs = {KEYWORD: keyword(9.0), VECTOR: vector(0.5)}
    options = FusionOptions(fusion="weighted", vector_weight=0.2, text_weight=0.6)

    assert [(0.2 * 0.5 + 0.6 * 1.0) / 0.8] == pytest.approx(
        fuse(legs, options=options).scores.tolist()
    )


def test_a_leg_that_did_not_run_drops_out_and_the_weights_renormalise() -> None:
    fused = fuse({VECTOR: vector(0.45)}, options=FusionOptions(fusion="weighted"))

    assert [0.45] == pytest.approx(fused.scores.tolist())
    assert fused.eligible.all()


def test_a_vector_hit_at_045_survives_a_keyword_leg_that_missed_it() -> None:
    legs = {KEYWORD: keyword(5.0, 0.0), VECTOR: vector(0.1, 0.45)}

    fused = fuse(legs, options=FusionOptions(fusion="weighted"))

    assert 0.7 * 0.45 < 0.35
    assert [True, True] == fused.eligible.tolist()


@pytest.mark.parametrize("cosines", [None, (0.1, 0.1, 0.1, 0.1)])
def test_the_floor_of_the_blend_drops_no_keyword_match(cosines: tuple[float, ...] | None) -> None:
    legs: dict[Leg, LegScores] = {KEYWORD: keyword(9.0, 7.0, 5.0, 0.0)}
    if cosines is not None:
        legs[VECTOR] = vector(*cosines)

    fused = fuse(legs, options=FusionOptions(fusion="weighted"))

    assert [True, True, True, False] == fused.eligible.tolist()


def test_rank_text_scores_are_one_half_third() -> None:
    leg = keyword(*range(24, 0, -1))

    scores = by_rank(leg).tolist()

    assert [1.0, 0.5, 0.333, 0.25] == pytest.approx(scores[:4], abs=1e-3)
    assert (0.125, 0.042) == pytest.approx((scores[7], scores[23]), abs=1e-3)


def test_sigmoid_text_scores_follow_the_table() -> None:
    scores = by_sigmoid(keyword(8.5, 3.2, 0.5))

    assert [0.998, 0.769, 0.182] == pytest.approx(scores.tolist(), abs=1e-3)


def test_minmax_text_scores_span_the_result_set() -> None:
    assert [1.0, 0.5, 0.0] == pytest.approx(by_minmax(keyword(6.0, 4.0, 2.0)).tolist())
    assert [1.0] == by_minmax(keyword(4.2)).tolist()


def test_three_keyword_matches_get_three_scores_in_the_right_order() -> None:
    for normaliser in ("rank", "sigmoid", "minmax"):
        options = FusionOptions(fusion="weighted", text_normaliser=normaliser)
        scores = fuse({KEYWORD: keyword(4.2, 2.1, 0.5)}, options=options).scores.tolist()

        assert sorted(scores, reverse=True) == scores
        assert 3 == len(set(scores))


def test_calibrated_evidence_of_both_legs_adds_up() -> None:
    legs = {KEYWORD: keyword(4.0, bound=10.0), VECTOR: vector(0.5)}

    fused = fuse(legs, options=FusionOptions())

    deviations = (0.5 - 0.2) / 0.1
    evidence = (4.0 / 10.0) ** 1.5 + 0.04 * math.log(1 + math.exp(deviations))
    assert [1 - math.exp(-3.0 * evidence)] == pytest.approx(fused.scores.tolist())


def test_a_cosine_below_that_of_unrelated_texts_fades_away() -> None:
    legs: dict[Leg, LegScores] = {VECTOR: vector(0.2, 0.1, -0.3)}
    fused = fuse(legs, options=FusionOptions())

    assert 0.15 > fused.scores[0] > fused.scores[1] > fused.scores[2]
    assert [True, True, False] == fused.eligible.tolist()
    assert leg_probability(legs) < CONFIDENT_FROM


@pytest.mark.parametrize(
    ("legs", "confident"),
    [
        ({KEYWORD: keyword(2.5), VECTOR: vector(0.2)}, True),
        ({KEYWORD: keyword(2.2), VECTOR: vector(0.2)}, False),
        ({KEYWORD: keyword(0.0), VECTOR: vector(0.42)}, True),
        ({KEYWORD: keyword(0.0), VECTOR: vector(0.38)}, False),
        ({KEYWORD: keyword(1.5), VECTOR: vector(0.35)}, True),
        ({KEYWORD: keyword(2.5)}, True),
        ({KEYWORD: keyword(2.4)}, False),
    ],
    ids=[
        "much keyword",
        "some keyword",
        "much vector",
        "some vector",
        "some of both",
        "a quarter of the words, no vectors",
        "less than that",
    ],
)
def test_confidence_takes_much_of_one_leg_or_some_of_both(
    legs: dict[Leg, LegScores],
    confident: bool,  # noqa: FBT001 - what is expected
) -> None:

    assert confident is (leg_probability(legs) >= CONFIDENT_FROM)


def test_the_odds_of_an_answer_add_up() -> None:
    evidence = {
        KEYWORD: np.array([0.1, 0.0, 0.2, 0.0]),
        VECTOR: np.array([0.3, 0.1, 0.0, 0.05]),
        DATE: np.array([0.15, 0.0, 0.15, 0.15]),
    }

    odds = math.exp(
        -2.0 + 4.0 * 0.2 + 10.5 * 0.3 + 8.0 * 0.15 - 4.1 * (0.2 + 0.1 + 0.05) / 5 - 2.1 * 0.5
    )
    assert odds / (1 + odds) == pytest.approx(
        answer_probability(evidence, unknown=0.5, words_compared=True)
    )


@given(
    best=st.floats(0.0, 1.0),
    others=st.lists(st.floats(0.0, 1.0), max_size=8),
    unknown=st.floats(0.0, 1.0),
)
def test_rivals_and_unknown_words_never_make_an_answer_more_probable(
    best: float, others: list[float], unknown: float
) -> None:
    def probability(vector: list[float], share: float) -> float:
        evidence = {KEYWORD: np.zeros(len(vector)), VECTOR: np.array(vector)}
        return answer_probability(evidence, unknown=share, words_compared=True)

    alone = probability([best], 0.0)
    assert probability([best, *(best * other for other in others)], unknown) <= alone + 1e-12


def test_nothing_found_answers_nothing() -> None:
    nothing = {KEYWORD: np.zeros(0)}

    assert 0.0 == answer_probability(nothing, unknown=0.0, words_compared=False)


def test_what_the_model_cannot_read_is_no_evidence() -> None:
    read = vector(0.6, 0.6)
    half = VectorScores(
        raw=read.raw,
        present=read.present,
        background=read.background,
        trust=np.array([1.0, 0.0]),
    )

    scores = fuse({VECTOR: half}, options=FusionOptions()).scores

    assert 0 == scores[1] < scores[0]


@pytest.mark.parametrize("name", FUSIONS)
def test_contributions_add_up_to_the_score(name: str) -> None:
    legs = {KEYWORD: keyword(4.0, 0.0, 1.0), VECTOR: vector(0.5, 0.9, 0.2)}

    fused = fuse(legs, options=FusionOptions(fusion=name))

    total = np.sum(list(fused.contributions.values()), axis=0)
    assert fused.scores.tolist() == pytest.approx(total.tolist())


@pytest.mark.parametrize("name", FUSIONS)
def test_scores_stay_between_zero_and_one(name: str) -> None:
    legs = {KEYWORD: keyword(99.0, 0.0, 1e-9), VECTOR: vector(1.0, -0.4, 0.2)}

    scores = fuse(legs, options=FusionOptions(fusion=name)).scores

    assert ((scores >= 0) & (scores <= 1)).all()


@pytest.mark.parametrize("name", FUSIONS)
def test_silence_of_the_other_leg_costs_nothing(name: str) -> None:
    options = FusionOptions(fusion=name)
    alone = fuse({VECTOR: vector(0.7, 0.3)}, options=options)
    beside = fuse({KEYWORD: keyword(0.0, 0.0), VECTOR: vector(0.7, 0.3)}, options=options)

    assert alone.scores.argsort().tolist() == beside.scores.argsort().tolist()
    assert alone.eligible.tolist() == beside.eligible.tolist()


def test_in_calibrated_fusion_a_silent_leg_leaves_the_score_as_it_is() -> None:
    alone = fuse({VECTOR: vector(0.7)}, options=FusionOptions())
    beside = fuse({KEYWORD: keyword(0.0), VECTOR: vector(0.7)}, options=FusionOptions())

    assert alone.scores.tolist() == beside.scores.tolist()


def worded(raw: list[float], words: list[float]) -> VectorScores:
    return replace(
        vector(*raw), words=np.array(words), word_background=Background(mean=0.5, deviation=0.05)
    )


def test_words_that_match_better_are_evidence_beside_the_cosine() -> None:
    leg = worded([0.4, 0.4, 0.4], [0.5, 0.7, math.nan])

    alike, better, unseen = fuse({VECTOR: leg}, options=FusionOptions()).normalised[VECTOR]

    near = 0.03 * math.log1p(math.exp(2.0))
    assert [near + 0.06 * math.log(2), near + 0.06 * math.log1p(math.exp(4.0)), near] == (
        pytest.approx([alike, better, unseen])
    )


def test_a_long_message_is_weighed_like_a_question_about_one_of_its_things() -> None:
    long = keyword(21.0, bound=140.0)

    compared = fuse({KEYWORD: long, VECTOR: worded([0.4], [0.5])}, options=FusionOptions())
    not_compared = fuse({KEYWORD: long, VECTOR: vector(0.4)}, options=FusionOptions())

    assert [(21 / 70) ** 1.5 - 0.01] == pytest.approx(compared.normalised[KEYWORD].tolist())
    assert [(21 / 140) ** 1.5] == pytest.approx(not_compared.normalised[KEYWORD].tolist())


def test_as_little_as_any_texts_share_is_no_evidence_if_words_were_compared() -> None:
    little = keyword(0.4)  # to the power of 1.5, 0.008 of what was asked

    compared = fuse({KEYWORD: little, VECTOR: worded([0.4], [0.5])}, options=FusionOptions())
    not_compared = fuse({KEYWORD: little, VECTOR: vector(0.4)}, options=FusionOptions())

    assert 0.0 == compared.normalised[KEYWORD]
    assert 0.04**1.5 == pytest.approx(not_compared.normalised[KEYWORD])


def test_what_a_chunk_has_in_common_with_all_candidates_is_no_evidence_for_it() -> None:
    leg = replace(worded([0.5, 0.4], [0.5, 0.5]), commonness=np.array([0.2, -0.1]))

    common, own = fuse({VECTOR: leg}, options=FusionOptions()).normalised[VECTOR]
    unseen = fuse({VECTOR: replace(leg, words=None)}, options=FusionOptions()).normalised[VECTOR]

    matched = 0.06 * math.log(2)
    near = [0.03 * math.log1p(math.exp(deviations)) for deviations in (1.0, 3.0)]
    assert [near[0] + matched, near[1] + matched] == pytest.approx([common, own])
    assert unseen[0] > unseen[1], "it was measured with words compared only"


def is_pushed_down(legs: Mapping[Leg, LegScores], *, fusion: str) -> bool:
    """Tell whether a hit is not first that one leg alone puts first by more than the other says."""
    evidence = fuse(legs, options=FusionOptions()).normalised
    together = fuse(legs, options=FusionOptions(fusion=fusion)).scores
    for name, other in ((VECTOR, KEYWORD), (KEYWORD, VECTOR)):
        ahead = np.sort(evidence[name])[::-1]
        alone = fuse({name: legs[name]}, options=FusionOptions()).scores
        if ahead[0] - ahead[1] > np.ptp(evidence[other]) + 1e-9:
            return int(np.argmax(together)) != int(np.argmax(alone))
    return False


VECTOR_CLEAR = ([1.0, 0.0, 0.5, 0.2], [0.2, 1.0, 0.2, 0.2])
KEYWORD_CLEAR = ([0.0, 9.0, 0.5, 1.0], [0.3, 0.2, 0.25, 0.2])


@given(
    shared=st.lists(st.floats(0.0, 10.0), min_size=4, max_size=4),
    cosines=st.lists(st.floats(-0.2, 1.0), min_size=4, max_size=4),
)
@example(*VECTOR_CLEAR)
@example(*KEYWORD_CLEAR)
def test_a_weak_leg_never_pushes_down_the_clear_best_hit_of_the_other(
    shared: list[float], cosines: list[float]
) -> None:
    for leg in (vector(*cosines), worded(cosines, cosines)):
        assert not is_pushed_down({KEYWORD: keyword(*shared), VECTOR: leg}, fusion="calibrated")


@pytest.mark.parametrize(("shared", "cosines"), [VECTOR_CLEAR, KEYWORD_CLEAR])
def test_ranks_alone_let_a_weak_leg_push_it_down(shared: list[float], cosines: list[float]) -> None:
    """The property is one of the calibrated fusion, and can be violated."""
    legs = {KEYWORD: keyword(*shared), VECTOR: vector(*cosines)}

    assert is_pushed_down(legs, fusion="rrf")


def test_the_tail_has_less_than_a_fixed_share_of_the_best_hits_evidence() -> None:
    evidence = np.array([1.0, 0.31, 0.29, 0.0])
    scores = 1 - np.exp(-3 * evidence)

    assert [False, False, True, True] == is_tail(scores).tolist()


def test_behind_an_exact_match_comes_only_what_is_nearly_as_good() -> None:
    scores = np.array([1.0, 0.995, 0.81, 0.78])

    assert [False, False, False, True] == is_tail(scores).tolist()
