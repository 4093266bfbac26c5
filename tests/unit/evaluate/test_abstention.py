"""Telling what is in memory from what is not."""

from __future__ import annotations

import pytest

from recollect.evaluate.cases import Case, Expected
from recollect.evaluate.metrics import auroc
from recollect.evaluate.run import CaseAnswer, abstention_of
from recollect.types import Mode


def answer(*, answerable: bool, confident: bool) -> CaseAnswer:
    expected = (Expected("a.md"),) if answerable else ()
    return CaseAnswer(
        case=Case("q", expected),
        hits=(),
        mode=Mode.HYBRID,
        confident=confident,
        ranks=(None,) * len(expected),
        marks=None,
        degraded=None,
    )


def test_auroc_counts_pairs_in_the_right_order_and_ties_half() -> None:
    # 0.9 beats both, 0.5 ties one and beats one, 0.1 loses to both: (2 + 1.5 + 0) / 6
    assert 3.5 / 6 == pytest.approx(auroc([0.9, 0.5, 0.1], [0.5, 0.2]))
    assert 1.0 == auroc([0.9, 0.8], [0.1])
    assert 0.0 == auroc([0.1], [0.9, 0.8])


def test_auroc_of_one_sort_of_question_is_unknown() -> None:
    assert auroc([0.9], []) is None
    assert auroc([], [0.1]) is None


def test_confidence_is_counted_on_each_sort_of_question() -> None:
    answers = [
        *(answer(answerable=True, confident=confident) for confident in (True, True, True, False)),
        *(answer(answerable=False, confident=confident) for confident in (False, True)),
    ]

    found = abstention_of(answers)

    assert found.trusted is not None
    assert found.refused is not None
    assert (3 / 4, 1 / 2, 0.5) == (found.trusted.mean, found.refused.mean, found.auroc)


def test_without_questions_that_have_no_answer_nothing_is_said_of_them() -> None:
    found = abstention_of([answer(answerable=True, confident=True)])

    assert found.refused is None
    assert found.auroc is None
