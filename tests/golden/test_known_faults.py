"""The faults that made users ask for a better memory search, as cases that must stay right.

Three of them compounded: keywords joined by AND, a silent leg counted as zero, and bm25's negative
numbers clamped to one value. Good hits fell below the threshold and were lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from recollect import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

NOTES = {
    "memory/falsification.md": "# Falsification-first reasoning protocol\n\nLook for the "
    "observation that would prove the belief wrong before collecting support for it.\n",
    "memory/tenacity.md": "# Tenacity\n\nFive more attempts from another angle before giving up; "
    "half of all dead ends were misread messages.\n",
    "memory/calibration.md": "# Audience calibration\n\nFormal with people met for the first time, "
    "relaxed with the family.\n",
    "memory/routing.md": "# Bots\n\nPages go to the red bot, digests to the blue one.\n",
    "memory/garden.md": "# Garden\n\nBeans, peas and the compost heap.\n",
}


@pytest.fixture(params=["calibrated", "weighted", "rrf"])
def memory(
    request: pytest.FixtureRequest,
    workspace: Path,
    environ: dict[str, str],
    write: Callable[[str, str], Path],
) -> Iterator[Memory]:
    for path, text in NOTES.items():
        write(path, text)
    settings = {"fusion": request.param}
    with Memory.open(workspace, environ=environ, settings=settings) as opened:
        opened.sync()
        yield opened


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("how should I evaluate if a claim is actually true", "memory/falsification.md"),
        ("what to do when a task seems impossible", "memory/tenacity.md"),
        ("tone adjustment strangers conversation style", "memory/calibration.md"),
        ("where to send urgent notifications", "memory/routing.md"),
    ],
)
def test_natural_questions_find_their_note(memory: Memory, query: str, path: str) -> None:
    assert path in [hit.path for hit in memory.search(query).hits[:3]]


def test_exact_terminology_is_found_first(memory: Memory) -> None:
    results = memory.search("falsification-first reasoning protocol")

    assert "memory/falsification.md" == results.hits[0].path
    assert results.confident


def test_a_keyword_leg_that_finds_nothing_suppresses_no_vector_hit(memory: Memory) -> None:
    query = "zyzzyva quokka"
    assert not memory.search(query, legs=["keyword"]).hits

    alone = memory.search(query, legs=["vector"]).hits
    together = memory.search(query).hits

    assert [hit.path for hit in alone] == [hit.path for hit in together]
    assert [hit.score for hit in alone] == pytest.approx([hit.score for hit in together])


def test_one_word_of_many_is_enough(memory: Memory) -> None:
    hits = memory.search("which of the beans shall we plant near a wall", legs=["keyword"]).hits

    assert ["memory/garden.md"] == [hit.path for hit in hits if hit.text_score][:1]


def test_keyword_matches_are_graded(memory: Memory, write: Callable[[str, str], Path]) -> None:
    write("memory/one.md", "compost\n")
    write("memory/two.md", "compost once, and then many other words about other things entirely\n")
    memory.sync()

    hits = memory.search("compost heap", legs=["keyword"], min_score=0.0).hits

    scores = [hit.text_score for hit in hits]
    assert 3 == len(set(scores)) == len(scores)
    assert "memory/garden.md" == hits[0].path


def test_an_old_note_is_not_dropped_for_its_age(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path]
) -> None:
    write("memory/2000-01-01.md", "The quokka escaped.\n")
    write("memory/2026-01-01.md", "Nothing happened.\n")
    settings = {"temporal_decay.enabled": True, "min_score": 0.4}
    with Memory.open(workspace, environ=environ, settings=settings) as memory:
        memory.sync()

        hits = memory.search("quokka").hits

    assert "memory/2000-01-01.md" == hits[0].path
    assert hits[0].score < 0.4


def test_first_hits_do_not_change_with_how_many_are_asked_for(memory: Memory) -> None:
    firsts = [memory.search("the compost heap", max_results=count).hits[0] for count in (1, 3, 50)]

    assert 1 == len({(hit.path, hit.score) for hit in firsts})


def test_nonsense_is_not_answered_with_confidence(memory: Memory) -> None:
    results = memory.search("quantum chromodynamics lagrangian", fusion="calibrated")

    assert not results.confident
    assert all(hit.score < 0.5 for hit in results.hits)
