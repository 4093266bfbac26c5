"""Which notes a hit links to, which link to it, and a short form of hits for agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.support.commands import Cli

from recollect import Memory
from recollect.text.size import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Write = Callable[[str, str], Path]


@pytest.fixture
def memory(workspace: Path, environ: dict[str, str]) -> Iterator[Memory]:
    with Memory.open(workspace, settings={"provider": "none"}, environ=environ) as opened:
        yield opened


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("[[Ada Lovelace]]", "memory/people/Ada Lovelace.md"),
        ("[[ada lovelace#Work|Ada]]", "memory/people/Ada Lovelace.md"),
        ("[[people/Ada Lovelace]]", "memory/people/Ada Lovelace.md"),
        ("[Ada](people/Ada%20Lovelace.md#work)", "memory/people/Ada Lovelace.md"),
        ('[Ada](<people/Ada Lovelace.md> "her page")', "memory/people/Ada Lovelace.md"),
        ("[Ada](/memory/people/Ada%20Lovelace.md)", "memory/people/Ada Lovelace.md"),
        ("[old](../MEMORY.md)", "MEMORY.md"),
    ],
)
def test_a_hit_names_what_its_note_links_to_and_what_links_to_it(
    memory: Memory, write: Write, link: str, target: str
) -> None:
    write("memory/people/Ada Lovelace.md", "She wrote the first program.\n")
    write("MEMORY.md", "- The first program is old.\n")
    write("memory/boats.md", f"A boat, see {link}.\n")
    (boat,) = memory.search("boat", links=True).hits
    found = {hit.path: hit for hit in memory.search("first program", links=True).hits}

    assert (target,) == boat.links
    assert ("memory/boats.md",) == found[target].backlinks


@pytest.mark.parametrize(
    "name",
    ["Kiln Notes", "kiln notes", "kiln-notes", "The Oven", "oven (old)", "Master Kiln", "k7"],
)
def test_a_link_names_a_note_by_its_file_title_alias_or_name(
    memory: Memory, write: Write, name: str
) -> None:
    top = "title: The Oven\nname: Master Kiln\naliases: [k7, other]"
    write("memory/shed/kiln-notes.md", f"---\n{top}\n---\nFire it slowly.\n\n## Glazes\n")
    write("memory/oven-(old).md", "Sold.\n")
    write("memory/boats.md", f"A boat, see [[{name}]].\n")
    (boat,) = memory.search("boat", links=True).hits
    listed = memory.overview.documents(path=f"[[{name}]]").documents

    assert boat.links == tuple(each.path for each in listed)
    assert ("memory/oven-(old).md" if "old" in name else "memory/shed/kiln-notes.md",) == boat.links


@pytest.mark.parametrize(
    "text", ["`[[other]]`", "```\n[[other]]\n```", "[x](https://a.example/other.md)", "[x](#other)"]
)
def test_what_is_in_code_or_elsewhere_is_no_link(memory: Memory, write: Write, text: str) -> None:
    write("memory/other.md", "Another note.\n")
    write("memory/boats.md", f"A boat.\n\n{text}\n")
    (hit,) = memory.search("boat", links=True).hits

    assert () == hit.links


def test_links_are_named_only_if_they_are_asked_for(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write("memory/other.md", "Another note.\n")
    write("memory/boats.md", "A boat, see [[other]].\n")
    cli = Cli(workspace, environ)
    (plain,) = cli.json("search", "boat")["results"]
    (linked,) = cli.json("search", "boat", "--links")["results"]
    shown = cli("search", "boat", "--links").stdout

    assert "links" not in plain
    assert ["memory/other.md"] == linked["links"]
    assert "links to memory/other.md" in shown


def test_the_compact_form_of_a_hit_is_one_line_of_fifty_tokens(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    body = " ".join(f"The {number}th thing is long and says little." for number in range(60))
    write("memory/boats.md", f"# Boats\n\n## Hulls\n\n{body} The hull is red.\n")
    (line,) = Cli(workspace, environ)("search", "red hull", "--compact").stdout.splitlines()

    assert "memory/boats.md:" in line
    assert "Hulls" in line
    assert estimate_tokens(line) <= 50
