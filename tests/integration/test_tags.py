"""Narrowing a search to tags: of front matter, of the text, of facts; and what has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from recollect import Memory
from recollect.errors import QueryError
from recollect.stores.sqlite.rows import is_tagged

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

    with pytest.raises(QueryError, match="21 tags are too many"):
        memory.search("eggs", tags=["a"] * 21)

    assert not nothing.hits
    assert ("No note has the tag #nowhere.",) == nothing.notices


def test_a_tag_may_be_in_any_script_and_links_are_none(
    memory: Memory, write: Callable[[str, str], Path]
) -> None:
    write("memory/party.md", "Eggs for the party. #🎉 (#हिन्दी)\n")
    write("memory/contents.md", 'Eggs: [all](#all), `#code`, <a href="#link">\n')

    for tag in ("🎉", "हिन्दी"):
        assert ["memory/party.md"] == [hit.path for hit in memory.search("eggs", tags=tag)]
    for tag in ("all", "code", "link"):
        assert () == memory.search("eggs", tags=tag).hits


def test_a_tag_that_no_note_has_is_looked_for_once_per_chunk(
    workspace: Path,
    environ: dict[str, str],
    write: Callable[[str, str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sections = 60
    looks: list[object] = []

    def counted(*arguments: object) -> bool:
        looks.append(arguments)
        return is_tagged(*arguments)

    monkeypatch.setattr("recollect.stores.sqlite.connect.is_tagged", counted)
    long = "\n".join(
        f"# Section {each}\n\nSome words, eggs and more.\n" for each in range(sections)
    )
    write("memory/long.md", long)
    with Memory.open(workspace, environ=environ, settings={"provider": "none"}) as opened:
        assert opened.search("eggs", tags="nowhere").notices
        chunks = opened.status().store.chunks

    assert chunks <= len(looks) <= 4 * chunks
