"""Choosing settings: no case judges what it helped to choose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from recollect import Memory
from recollect.errors import UsageError
from recollect.evaluate.cases import Case, Expected
from recollect.evaluate.run import CaseAnswer
from recollect.evaluate.tune import FOLDS, _held_out, candidates, fold_of, quality, tune
from recollect.types import Mode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

WORDS = ("anchor", "basil", "copper", "dahlia", "ember", "fennel", "garnet", "heron", "indigo",
         "juniper", "kelp", "larch", "marble", "nettle", "onyx", "poplar", "quartz", "raven",
         "sable", "thistle", "umber", "violet")  # fmt: skip


@pytest.fixture
def memory(
    workspace: Path, write: Callable[[str, str], Path], tmp_path: Path
) -> Iterator[Callable[..., Memory]]:
    opened = []

    def open_memory(**settings: object) -> Memory:
        for word in WORDS:
            write(f"memory/{word}.md", f"The {word} was moved to the shed by the river.\n")
        memory = Memory.open(
            workspace,
            environ={"HOME": str(tmp_path), "RECOLLECT_HOME": str(tmp_path / "home")},
            settings={"provider": "none", **settings},
        )
        memory.sync()
        opened.append(memory)
        return memory

    yield open_memory
    for memory in opened:
        memory.close()


def cases() -> list[Case]:
    return [
        Case(f"who moved the {word} and why, and what for", (Expected(f"memory/{word}.md"),))
        for word in WORDS
    ]


def test_the_fold_of_a_question_never_changes() -> None:
    # The digests of "a" and "b" begin with ca978112 and 3e23e816.
    assert [0xCA978112 % FOLDS, 0x3E23E816 % FOLDS] == [fold_of(Case(q, ())) for q in ("a", "b")]


def test_each_fold_is_judged_by_the_candidate_that_is_best_on_the_others() -> None:
    scores = [
        [0.5, 0.5, 0.5, 0.5],  # present
        [1.0, 1.0, 0.0, 0.0],  # good on fold 0 only: chosen for fold 1 alone
    ]

    # fold 0 is judged by the best on fold 1: present (1.0 against 0.0); fold 1 by the other.
    assert [0.5, 0.5, 0.0, 0.0] == _held_out(scores, folds=[0, 0, 1, 1])


def test_on_a_tie_the_present_settings_stay() -> None:
    assert [0.5, 0.5] == _held_out([[0.5, 0.5], [0.5, 0.5]], folds=[0, 1])


@pytest.mark.parametrize(("hits", "expected"), [((), 1.0), (("something",), 0.0)])
def test_a_question_without_answer_is_worth_one_when_nothing_is_shown(
    hits: tuple[str, ...], expected: float
) -> None:
    answer = CaseAnswer(
        case=Case("q", ()),
        hits=hits,  # type: ignore[arg-type]  # only whether there are any is looked at
        mode=Mode.HYBRID,
        confident=False,
        ranks=(),
        marks=None,
        degraded=None,
    )

    assert expected == quality(answer)


def test_what_is_tried_differs_from_the_settings_in_force(memory: Callable[..., Memory]) -> None:
    names = [variant.name for variant in candidates(memory(), has_absent=False)]

    assert [
        "present",
        "weighted 0.3",
        "weighted 0.5",
        "weighted 0.7",
        "weighted 0.9",
        "rrf 0.3",
        "rrf 0.5",
        "rrf 0.7",
    ] == names


def test_floors_are_tried_only_where_a_question_has_no_answer(
    memory: Callable[..., Memory],
) -> None:
    names = [variant.name for variant in candidates(memory(), has_absent=True)]

    floors = [f"calibrated, floor {floor}" for floor in (0.1, 0.2, 0.3)]
    assert floors == names[-3:]


def test_a_floor_that_hides_the_answers_is_found_out(memory: Callable[..., Memory]) -> None:
    tuning = tune(memory(min_score=0.99), cases())

    assert tuning.present.mean == 0.0
    assert tuning.gain.low > 0
    assert {"min_score": 0.0} == tuning.changes
    assert {"min_score": "arguments"} == tuning.overridden


def test_settings_that_cannot_be_bettered_stay(memory: Callable[..., Memory]) -> None:
    tuning = tune(memory(), cases())

    assert (1.0, 0.0) == (tuning.present.mean, tuning.gain.mean)
    assert {} == tuning.changes
    assert "present" == tuning.best


def test_few_cases_are_refused(memory: Callable[..., Memory]) -> None:
    with pytest.raises(UsageError, match="19 cases: too few"):
        tune(memory(), cases()[:19])
