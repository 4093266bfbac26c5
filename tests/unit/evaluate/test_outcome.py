"""From answers to means: per kind, over all, and against the settings in force."""

from __future__ import annotations

import pytest

from recollect.evaluate.cases import Case, Expected
from recollect.evaluate.metrics import Marks
from recollect.evaluate.run import CaseAnswer, Variant, VariantRun, best_first, outcomes_of
from recollect.types import Mode


def run(name: str, *ndcgs: tuple[str, float]) -> VariantRun:
    return VariantRun(
        Variant(name),
        tuple(
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
        ),
    )


def test_means_are_taken_per_kind_and_over_all() -> None:
    (outcome,) = outcomes_of([run("mine", ("vague", 0.2), ("direct", 1.0), ("vague", 0.6))])

    assert outcome.overall is not None
    assert 3 == outcome.overall.cases
    assert 0.6 == pytest.approx(outcome.overall.marks["ndcg"].mean)
    assert {"vague": pytest.approx(0.4), "direct": 1.0} == {
        kind: summary.marks["ndcg"].mean for kind, summary in outcome.kinds.items()
    }
    assert outcome.gain is None


def test_the_gain_is_over_the_first_case_by_case() -> None:
    mine = run("mine", ("q", 0.2), ("q", 0.9))
    other = run("other", ("q", 0.4), ("q", 1.0))

    outcomes = outcomes_of([mine, other])

    gain = outcomes[1].gain
    assert gain is not None
    assert 0.15 == pytest.approx(gain.mean)  # (0.2 + 0.1) / 2
    assert gain.low == pytest.approx(0.1)
    assert ["other", "mine"] == [outcome.run.variant.name for outcome in best_first(outcomes)]
