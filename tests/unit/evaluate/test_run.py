"""Asking the cases: every variant reaches the search as it was meant."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import pytest

from recollect import Memory
from recollect.errors import QueryError
from recollect.evaluate.cases import Case, Expected
from recollect.evaluate.run import (
    Variant,
    run_cases,
    variants_of,
)
from recollect.types import Leg, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def memory(
    workspace: Path, write: Callable[[str, str], Path], environ: dict[str, str]
) -> Iterator[Memory]:
    write("memory/2026-02-01.md", "Use the blue button to roll back a release.\n")
    write("memory/tea.md", "Green tea is brewed at eighty degrees.\n")
    with Memory.open(workspace, environ=environ) as memory:
        memory.sync()
        yield memory


def test_the_settings_in_force_come_first_and_every_other_way_once(memory: Memory) -> None:
    names = [variant.name for variant in variants_of(memory)]

    assert ["calibrated", "weighted", "rrf", "keyword alone", "vector alone"] == names


def test_every_variant_asks_every_case_and_reports_progress(memory: Memory) -> None:
    case = Case("blue button", (Expected("memory/2026-02-01.md"),))
    steps: list[Step] = []

    runs = run_cases(
        memory,
        [case, case],
        variants=[Variant("together"), Variant("meaning", legs=(Leg.VECTOR,))],
        k=1,
        progress=steps.append,
    )

    assert [(1, 4), (2, 4), (3, 4), (4, 4)] == [(step.done, step.total) for step in steps]
    assert [((1,), 1.0)] * 4 == [
        (answer.ranks, answer.marks and answer.marks.hit) for run in runs for answer in run.answers
    ]
    together, meaning = (run.answers[0].hits[0] for run in runs)
    assert together.text_score is not None
    assert meaning.text_score is None


def test_what_a_search_does_not_show_is_not_found(memory: Memory) -> None:
    text = "Use the blue button to roll back a release"
    case = Case(text, (Expected("memory/tea.md"),))

    (run,) = run_cases(memory, [case], variants=variants_of(memory)[:1], k=6)

    assert "memory/tea.md" in [hit.path for hit in memory.search(text, tail=True).hits]
    assert (None,) == run.answers[0].ranks


def test_a_case_narrows_the_search_by_its_own_days(memory: Memory) -> None:
    case = Case("green tea", (), since=date(2026, 1, 1), before=date(2026, 3, 1))

    (run,) = run_cases(memory, [case], variants=variants_of(memory)[:1], k=6)

    assert {"memory/2026-02-01.md"} >= {hit.path for hit in run.answers[0].hits}


def test_the_weight_of_a_variant_is_the_vector_legs_part_of_the_score(memory: Memory) -> None:
    alone = memory.search("blue button", fusion="weighted", vector_weight=1.0, rerank=False).hits[0]
    half = memory.search("blue button", fusion="weighted", vector_weight=0.5, rerank=False).hits[0]

    assert alone.vector_score == pytest.approx(alone.score)
    assert half.vector_score is not None
    assert 0.5 * half.vector_score + 0.5 * 1.0 == pytest.approx(half.score)  # first by keyword


def test_a_weight_outside_its_range_is_refused(memory: Memory) -> None:
    with pytest.raises(QueryError, match="vector weight"):
        memory.search("blue button", vector_weight=1.5)


def test_a_leg_that_cannot_run_leaves_no_marks(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path]
) -> None:
    write("memory/tea.md", "Green tea is brewed at eighty degrees.\n")
    case = Case("green tea", (Expected("memory/tea.md"),))

    with Memory.open(workspace, environ=environ, settings={"provider": "none"}) as memory:
        memory.sync()
        found = run_cases(memory, [case], variants=variants_of(memory), k=6)

    outcomes = {outcome.variant.name: outcome for outcome in found}
    assert outcomes["vector alone"].overall is None
    assert outcomes["keyword alone"].overall is not None
    assert 1 == outcomes["calibrated"].without_vector
    assert 0 == outcomes["keyword alone"].without_vector
