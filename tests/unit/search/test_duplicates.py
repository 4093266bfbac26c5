"""A note that says nothing but what a better hit says takes no place of its own."""

from __future__ import annotations

import pytest
from tests.unit.search.duplicate_pairs import DIFFERENT, REPEATS, Pair
from tests.unit.search.spans import spans_of

from recollect.types import Chunk, Repeat, SourceKind


def chunks(pair: Pair, source: SourceKind) -> list[Chunk]:
    texts = zip((pair.shown, pair.other), pair.headings, ("a", "b"), strict=True)
    return [
        Chunk(
            f"memory/{name}.md",
            source,
            1,
            9,
            text,
            heading=tuple(heading.split(" > ")) if heading else (),
            speaker=pair.speaker,
        )
        for text, heading, name in texts
    ]


def places(pair: Pair, source: SourceKind = SourceKind.MEMORY) -> int:
    return len(spans_of(chunks(pair, source), order=[0, 1], max_results=6))


@pytest.mark.parametrize("pair", REPEATS, ids=lambda pair: pair.name)
def test_what_says_the_same_takes_one_place(pair: Pair) -> None:
    source = SourceKind.SESSIONS if pair.speaker else SourceKind.MEMORY

    assert 1 == places(pair, source)


@pytest.mark.parametrize("pair", DIFFERENT, ids=lambda pair: pair.name)
def test_what_says_something_else_keeps_its_place(pair: Pair) -> None:
    source = SourceKind.SESSIONS if pair.speaker else SourceKind.MEMORY

    assert 2 == places(pair, source)


def test_a_long_note_that_says_more_shows_the_shorter_one_with_it() -> None:
    [pair] = [each for each in DIFFERENT if each.name == "says more"]

    assert 1 == places(pair._replace(shown=pair.other, other=pair.shown))


def test_facts_are_never_repeats() -> None:
    assert 2 == places(REPEATS[0], SourceKind.FACTS)


def test_repeats_free_their_places_and_are_listed_with_the_best() -> None:
    texts = ["Milk and eggs", "milk and eggs.", "Bread", "Milk, and eggs"]
    made = [
        Chunk(f"memory/{row}.md", SourceKind.MEMORY, 3, 4, text) for row, text in enumerate(texts)
    ]

    spans = spans_of(made, order=[1, 0, 2, 3], max_results=2)

    assert [1, 2] == [span.row for span in spans]
    assert (
        Repeat("memory/0.md", 3, 4, "memory/0.md#L3-L4"),
        Repeat("memory/3.md", 3, 4, "memory/3.md#L3-L4"),
    ) == spans[0].also_in


def test_overlapping_chunks_of_a_copy_are_one_place() -> None:
    parts = [
        ("a", 1, 10, "one two three"),
        ("a", 8, 20, "three four five"),
        ("b", 1, 10, "one two three"),
        ("b", 8, 20, "three four five"),
    ]
    made = [
        Chunk(f"memory/{name}.md", SourceKind.MEMORY, start, end, text)
        for name, start, end, text in parts
    ]

    [span] = spans_of(made, order=[0, 1, 2, 3], max_results=6)

    assert (1, 20) == (span.start_line, span.end_line)
    assert (Repeat("memory/b.md", 1, 20, "memory/b.md#L1-L20"),) == span.also_in
