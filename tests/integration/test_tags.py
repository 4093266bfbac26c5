"""Narrowing a search to tags: of front matter, of the text, of facts; and what has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from recollect import Memory
from recollect.errors import QueryError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

NOTES = {
    "memory/noodles.md": "---\ntags: [recipe, dinner]\n---\n# Noodles\n\nFlour and eggs.\n\n"
    "## Serving\n\nEggs on top.\n",
    "memory/bread.md": "---\nkeywords:\n  - Recipe\n---\nFlour and eggs, no yeast.\n",
    "memory/shop.md": "Buy eggs. #errands/weekly\n",
    "memory/hens.md": "The hens laid nine eggs, no recipe for that.\n",
}


@pytest.fixture
def memory(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path]
) -> Iterator[Memory]:
    for path, text in NOTES.items():
        write(path, text)
    with Memory.open(workspace, environ=environ, settings={"provider": "none"}) as opened:
        yield opened


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("recipe", {"noodles", "bread"}),
        (["recipe", "dinner"], {"noodles"}),
        (["#errands"], {"shop"}),
        ([], {"noodles", "bread", "shop", "hens"}),
    ],
)
def test_only_notes_with_all_of_the_tags_are_found(
    memory: Memory, tags: str | list[str], expected: set[str]
) -> None:
    found = memory.search("eggs", tags=tags, max_results=10)

    assert expected == {hit.path.removeprefix("memory/")[:-3] for hit in found}


def test_every_part_of_a_tagged_note_is_found(memory: Memory) -> None:
    (hit,) = memory.search("serving on top", tags="dinner", max_results=1)

    assert ("Noodles", "Serving") == hit.heading
    assert ("recipe", "dinner") == memory.overview.tags_of(hit)


def test_a_fact_is_found_by_its_tag_and_by_the_word(memory: Memory) -> None:
    memory.facts.remember("Ines avoids eggs", tags=["diet"])
    memory.facts.remember("Tom likes eggs")
    (tagged,) = memory.search("eggs", tags="diet")
    (named,) = memory.search("diet")

    assert "Ines avoids eggs" == tagged.text == named.text
    assert ("diet",) == memory.overview.tags_of(tagged)


def test_a_tag_that_no_note_has_is_named_and_one_that_cannot_be_is_refused(
    memory: Memory,
) -> None:
    nothing = memory.search("eggs", tags="nowhere")
    with pytest.raises(QueryError, match="'two words' is not a tag"):
        memory.search("eggs", tags="two words")

    assert not nothing.hits
    assert ("No note has the tag #nowhere.",) == nothing.notices
