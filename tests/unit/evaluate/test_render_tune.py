"""What `eval --tune` says when it proposes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.evaluate.metrics import Interval
from recollect.evaluate.tune import Tuning
from recollect.shells.render.evaluate import tuning_text

FILE = Path("cases.jsonl")


def tuning(**trials: float) -> Tuning:
    interval = Interval(0.01, -0.01, 0.03)
    return Tuning(
        cases=20,
        trials=trials,
        present=interval,
        chosen=interval,
        gain=interval,
        best="rrf",
        changes={},
        file=Path("config.toml"),
        overridden={},
        without_vector=0,
    )


@pytest.mark.parametrize(("rrf", "is_said"), [(0.6, True), (0.5, False), (0.4, False)])
def test_a_better_row_that_is_not_proposed_is_explained(*, rrf: float, is_said: bool) -> None:
    lines = tuning_text(tuning(present=0.5, rrf=rrf), diff=None, cases_file=FILE, write=False)

    assert is_said == any("their gain may be chance" in line for line, _ in lines)


@pytest.mark.parametrize("write", [True, False])
def test_only_who_asked_to_write_is_told_that_nothing_was(*, write: bool) -> None:
    lines = tuning_text(tuning(present=0.5), diff=None, cases_file=FILE, write=write)

    assert write == (("Nothing was written.", "") in list(lines))
