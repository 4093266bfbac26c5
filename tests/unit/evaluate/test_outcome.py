"""From answers to means: per kind, over all, and against the settings in force."""

from __future__ import annotations

import pytest

from recollect.evaluate.cases import Case, Expected
from recollect.evaluate.metrics import Marks
from recollect.evaluate.run import CaseAnswer, Variant, best_first, outcome_of
from recollect.types import Mode


def answers(*ndcgs: tuple[str, float]) -> list[CaseAnswer]:
    return [
        CaseAnswer(
            case=Case("q", (Expected("a.md"),), kind=kind),
            hits=(),
            mode=Mode.HYBRID,
            confident=True,
            ranks=(1,),
            marks=Marks(1.0, 1.0, 1.0, 1.0, ndcg),
            degraded=None,
        )
        for kind, ndcg in ndcgs
    ]


def test_means_are_taken_per_kind_and_over_all() -> None:
    mine = answers(("vague", 0.2), ("direct", 1.0), ("vague", 0.6))
    outcome = outcome_of(Variant("mine"), mine, present=None)

    assert outcome.overall is not None
    assert 3 == outcome.overall.cases
    assert 0.6 == pytest.approx(outcome.overall.marks["ndcg"].mean)
    assert {"vague": pytest.approx(0.4), "direct": 1.0} == {
        kind: summary.marks["ndcg"].mean for kind, summary in outcome.kinds.items()
    }
    assert outcome.gain is None


def test_the_gain_is_over_the_first_case_by_case() -> None:
    present = answers(("q", 0.2), ("q", 0.9))

    mine = outcome_of(Variant("mine"), present, present=None)
    other = outcome_of(Variant("other"), answers(("q", 0.4), ("q", 1.0)), present=present)

    gain = other.gain
    assert gain is not None
    assert 0.15 == pytest.approx(gain.mean)  # (0.2 + 0.1) / 2
    assert gain.low == pytest.approx(0.1)
    assert ["other", "mine"] == [each.variant.name for each in best_first([mine, other])]
