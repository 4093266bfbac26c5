"""What the front matter of a note says about it: its type, its day, and when it expires."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from recollect import Memory
from recollect.types import SearchRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Write = Callable[[str, str], Path]

TODAY = datetime.now(tz=UTC).date()
PAST, COMING = TODAY - timedelta(days=9), TODAY + timedelta(days=9)


@pytest.fixture
def memory(workspace: Path, environ: dict[str, str]) -> Iterator[Memory]:
    with Memory.open(workspace, settings={"provider": "none"}, environ=environ) as opened:
        yield opened


def found(memory: Memory, question: str, **how: object) -> list[str]:
    return [hit.path for hit in memory.answer(SearchRequest(question, **how)).hits]  # type: ignore[arg-type]


@pytest.mark.parametrize("key", ["valid_until", "expires"])
def test_an_expired_note_is_left_out_unless_it_is_asked_for(
    memory: Memory, write: Write, key: str
) -> None:
    write("memory/old.md", f"---\n{key}: {PAST}\n---\nThe wifi key is swordfish.\n")
    write("memory/new.md", f"---\n{key}: {COMING}\n---\nThe wifi key is trout.\n")

    assert ["memory/new.md"] == found(memory, "wifi key")
    assert 2 == len(found(memory, "wifi key", include_superseded=True))
    assert 2 == len(found(memory, "wifi key", as_of=PAST))
    assert 2 == memory.overview.documents().total + 1


def test_a_note_is_valid_until_the_end_of_its_last_day(memory: Memory, write: Write) -> None:
    today = datetime.now().astimezone().date()
    write("memory/a.md", f"---\nexpires: {today}\n---\nThe wifi key is trout.\n")

    assert ["memory/a.md"] == found(memory, "wifi key")


def test_an_end_that_is_not_a_day_is_reported(memory: Memory, write: Write) -> None:
    write("memory/a.md", "---\nexpires: soon\n---\nThe wifi key is trout.\n")
    (failure,) = memory.sync().failed

    assert "not a day such as 2026-12-31" in failure.reason
    assert ["memory/a.md"] == found(memory, "wifi key")


def test_the_lines_of_a_hit_have_what_it_shows_of_the_front_matter(
    memory: Memory, write: Write
) -> None:
    write("memory/ines.md", "---\nbirthday: 1989-07-14\n---\n\n# Ines\n\nPlays the cello.\n")
    (asked,) = memory.search("birthday of Ines").hits
    (other,) = memory.search("cello").hits

    assert "- birthday: 1989-07-14" in asked.snippet
    assert (1, "memory/ines.md#L1-L7") == (asked.start_line, asked.citation)
    assert (5, "memory/ines.md#L5-L7") == (other.start_line, other.citation)


def test_notes_are_found_by_their_type(memory: Memory, write: Write) -> None:
    write("memory/a.md", "---\ntype: Meeting Note\n---\nThe boat is red.\n")
    write("memory/b.md", "---\ntype: person\n---\nAda has a boat.\n")
    write("memory/c.md", "A boat. #person\n")

    assert ["memory/a.md"] == found(memory, "boat", type="meeting note")
    assert ["memory/a.md"] == found(memory, "boat", type="Meeting-Note")
    assert ["memory/b.md"] == found(memory, "boat type:person")
    assert 1 == memory.overview.documents(type="person").total


def test_a_type_that_no_note_has_is_named(memory: Memory, write: Write) -> None:
    write("memory/a.md", "A boat.\n")

    assert ("No note has the type person.",) == memory.search("boat", type="person").notices


def test_the_timestamp_and_description_of_open_knowledge_format_are_read(
    memory: Memory, write: Write
) -> None:
    write(
        "memory/orders.md",
        "---\ntype: table\ntitle: Orders\ndescription: every purchase of a customer\n"
        "timestamp: 2026-02-01T10:00:00Z\n---\nOne row per order.\n",
    )
    (hit,) = memory.search("purchase").hits

    assert (date(2026, 2, 1), ("Orders",)) == (hit.date, hit.heading)
    assert "every purchase of a customer" in hit.snippet
