from __future__ import annotations

import numpy as np
import pytest

from recollect.search.factors import weigh_importance
from recollect.types import SUPERSEDED


@pytest.mark.parametrize(
    ("importance", "factor"), [(SUPERSEDED, 0.75), (1, 0.8), (5, 1.0), (10, 1.25), (None, 1.0)]
)
def test_the_factor_is_three_quarters_and_a_twentieth_for_each_step(
    importance: int | None, factor: float
) -> None:
    weighed = weigh_importance(np.array([0.4]), importance=[importance])

    assert pytest.approx(0.4 * factor) == weighed[0]


def test_no_score_exceeds_one_and_an_unmarked_one_stays_to_the_last_bit() -> None:
    scores = np.array([0.9, 0.1 + 0.2])

    assert [1.0, 0.1 + 0.2] == weigh_importance(scores, importance=[10, None]).tolist()
