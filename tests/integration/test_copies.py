"""Notes that repeat a superseded fact, through the façade: whom the mark concerns, and when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from recollect import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Write = Callable[[str, str], Path]

BEGINS = datetime(2026, 1, 1, tzinfo=UTC)
LATER = BEGINS + timedelta(days=60)


@pytest.fixture
def memory(workspace: Path, environ: dict[str, str], each_store: str) -> Iterator[Memory]:
    settings = {"provider": "none", "store": each_store}
    with Memory.open(workspace, environ=environ, settings=settings) as opened:
        yield opened


def remember(memory: Memory, city: str, begins: datetime, *, scope: str = "global") -> str:
    remembered = memory.facts.remember(
        f"The office is in {city}",
        entity="office",
        key="city",
        value=city,
        valid_from=begins,
        scope=scope,
    )
    return remembered.fact.id


def mark(memory: Memory, **options: object) -> str | None:
    hits = memory.search("office city", source="memory", **options).hits  # type: ignore[arg-type]
    return next(hit.superseded_by for hit in hits if hit.path == "memory/move.md")


def test_a_note_that_says_the_old_claim_in_another_order_is_marked(
    memory: Memory, write: Write
) -> None:
    write("memory/move.md", "# Places\n\nWe had lunch. Porto is the city of our office.\n")
    remember(memory, "Porto", BEGINS)
    new = remember(memory, "Lisbon", LATER)

    assert new == mark(memory)


def test_a_note_is_not_marked_by_what_only_others_may_know(memory: Memory, write: Write) -> None:
    write("memory/move.md", "We had lunch. The office is in Porto.\n")
    remember(memory, "Porto", BEGINS, scope="user:ann")
    new = remember(memory, "Lisbon", LATER, scope="user:ann")

    assert mark(memory) is None
    assert new == mark(memory, scopes=["user:ann"])


def test_a_look_back_does_not_mark_what_still_held_then(memory: Memory, write: Write) -> None:
    write("memory/move.md", "We had lunch. The office is in Porto.\n")
    remember(memory, "Porto", BEGINS)
    new = remember(memory, "Lisbon", LATER)

    assert mark(memory, as_of=LATER - timedelta(days=1)) is None
    assert new == mark(memory, as_of=LATER)


def test_a_note_is_no_longer_marked_when_the_old_claim_holds_again(
    memory: Memory, write: Write
) -> None:
    write("memory/move.md", "We had lunch. The office is in Porto.\n")
    remember(memory, "Porto", BEGINS)
    new = remember(memory, "Lisbon", LATER)
    before = mark(memory)
    remember(memory, "Porto", LATER + timedelta(days=60))

    assert new == before
    assert mark(memory) is None


def test_recall_leaves_out_what_a_newer_fact_replaced_and_says_so(
    memory: Memory, write: Write
) -> None:
    for number in range(30):
        write(f"memory/{number}.md", f"Something else happened {number} times.\n")
    write("memory/move.md", "We had lunch. The office is in Porto.\n")
    remember(memory, "Porto", BEGINS)
    remember(memory, "Lisbon", LATER)

    recalled = memory.recall("the office", budget_tokens=400)

    assert "The office is in Lisbon" in recalled.block
    assert "Porto" not in recalled.block
    assert "memory/move.md" in [hit.path for hit in recalled.results.hits]
    assert "a newer fact replaced what they say: 1 of the hits." in recalled.results.notices[-1]


def test_a_note_that_only_repeats_a_superseded_fact_is_left_out_and_takes_no_place(
    memory: Memory, write: Write
) -> None:
    write("memory/move.md", "# Office\n\nThe office is in Porto.\n")
    remember(memory, "Porto", BEGINS)
    remember(memory, "Lisbon", LATER)

    usual = memory.search("is the office in Porto", max_results=1)
    every = memory.search("is the office in Porto", include_superseded=True)

    assert ["The office is in Lisbon"] == [hit.snippet for hit in usual.hits]
    assert "1 note was left out" in usual.notices[-1]
    assert "memory/move.md" in [hit.path for hit in every.hits]
