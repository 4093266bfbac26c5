"""Narrowing a search to tags: of front matter, of the text, of facts; and what has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from recollect import Memory
from recollect.errors import QueryError
from recollect.facts.book import FactFilter
from recollect.text.tags import has_tag

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


def test_a_note_comes_first_by_its_alias(memory: Memory, write: Callable[[str, str], Path]) -> None:
    write("memory/nowak.md", "---\ntitle: Tomasz Nowak\naliases: [Tomek]\n---\nAn engineer.\n")
    write("memory/lunch.md", "# Lunch\n\nTomek, Ana and Piotr. Tomek paid, and Tomek was late.\n")

    assert "memory/nowak.md" == memory.search("what do we know about Tomek")[0].path


def test_many_aliases_leave_room_for_other_front_matter(
    memory: Memory, write: Callable[[str, str], Path]
) -> None:
    aliases = ", ".join(f"alias number {each} of the project" for each in range(25))
    front = f"---\naliases: [{aliases}]\nsummary: the platypus ate breakfast\n---\n"
    write("memory/project.md", f"{front}Nothing.\n")

    assert "memory/project.md" == memory.search("platypus breakfast")[0].path


@pytest.mark.parametrize(
    ("front", "tags"),
    [
        ("tags:\n  - dark mode\n  - '#UI'", ("dark-mode", "UI")),
        ("tags: [dark mode, 'ui']", ("dark-mode", "ui")),
        ("tags: dark mode, ui", ("dark-mode", "ui")),
        ("tags: dark ui", ("dark", "ui")),
        ("tags: dark ui # primary", ("dark", "ui")),
        ("tags: [dark mode, 'ui'] # primary", ("dark-mode", "ui")),
        ("tags:\n  - dark mode # primary\n  - 'ui' # [other]", ("dark-mode", "ui")),
        ("tags: ['c # sharp', ui]", ("c-#-sharp", "ui")),
        ("tags: #dark #ui", ("dark", "ui")),
    ],
)
def test_a_tag_of_front_matter_may_be_written_with_a_space(
    memory: Memory, write: Callable[[str, str], Path], front: str, tags: tuple[str, ...]
) -> None:
    write("memory/theme.md", f"---\n{front}\n---\nEggs.\n")
    (hit,) = memory.search("eggs", tags=["ui", tags[0].replace("-", " ")])

    assert tags == memory.overview.tags_of(hit)


@pytest.mark.parametrize("name", ["c++", "Dark Mode", "#node.js", "2026", "fruit/fig"])
def test_a_fact_is_found_by_its_tag_as_it_was_given(memory: Memory, name: str) -> None:
    memory.facts.remember("Ines avoids eggs", tags=[name])
    listed = memory.facts.listed(FactFilter(tags=(name,)))

    assert ["Ines avoids eggs"] == [hit.text for hit in memory.search("eggs", tags=name)]
    assert ["Ines avoids eggs"] == [fact.text for fact in listed.facts]


def test_facts_below_a_tag_are_listed_with_it(memory: Memory) -> None:
    memory.facts.remember("Figs are ripe", tags=["fruit/fig"])

    assert [1, 0] == [
        len(memory.facts.listed(FactFilter(tags=(tag,))).facts) for tag in ("fruit", "fru")
    ]


@pytest.mark.parametrize(
    ("front", "expected"),
    [
        (f"---\ntags: [{', '.join(map(str, range(205)))}]\n---\n", "not searched: 5 tags (after"),
        (f"---\nabout: {'long ' * 500}\n---\n", "507 characters (after the first 2000)"),
        (f"---\naliases: [{'name, ' * 500}]\n---\n", ": 499 characters (after"),
        (
            f"---\ntags: [{', '.join(map(str, range(205)))}]\nabout: {'long ' * 500}\n---\n",
            "5 tags (after the first 200, or too long) and 507 characters",
        ),
    ],
)
def test_front_matter_that_is_not_searched_is_reported(
    memory: Memory, write: Callable[[str, str], Path], front: str, expected: str
) -> None:
    write("memory/odd.md", f"{front}Odd eggs.\n")

    for results in (memory.search("odd eggs"), memory.search("odd eggs")):
        assert expected in " ".join(results.notices)
    (flaw,) = memory.status().stale.failed
    assert "memory/odd.md:1" == flaw.path


def test_a_tag_that_no_note_has_is_named_and_one_that_cannot_be_is_refused(
    memory: Memory,
) -> None:
    nothing = memory.search("eggs", tags="nowhere")
    with pytest.raises(QueryError, match="'#' is not a tag"):
        memory.search("eggs", tags="#")

    with pytest.raises(QueryError, match="21 tags are too many"):
        memory.search("eggs", tags=[f"a{each}" for each in range(21)])

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


def test_code_that_is_longer_than_a_chunk_or_never_ends_has_no_tags(
    memory: Memory, write: Callable[[str, str], Path]
) -> None:
    code = "".join(f"#define EGGS_{each} (eggs * {each})\n" for each in range(200))
    write("memory/long.md", f"# Eggs\n\n```c\n{code}```\n\nEggs. #closed\n")
    write("memory/open.md", "# Log\n\nEggs. #safari\n\n```\n#include <eggs>\nmore\n")

    for tag, expected in {
        "closed": True,
        "safari": True,
        "define": False,
        "include": False,
    }.items():
        assert expected == bool(memory.search("eggs", tags=tag).hits), tag


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
        return has_tag(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("recollect.stores.sqlite.filters.has_tag", counted)
    long = "\n".join(
        f"# Section {each}\n\nSome words, eggs from nowhere.\n" for each in range(sections)
    )
    write("memory/long.md", long)
    with Memory.open(workspace, environ=environ, settings={"provider": "none"}) as opened:
        assert opened.search("eggs", tags="nowhere").notices
        chunks = opened.status().index.chunks

    assert chunks <= len(looks) <= 4 * chunks
