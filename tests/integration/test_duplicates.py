"""Equal notes take one place in the results, and the others are listed with it."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.support.commands import recollect_command

from recollect import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Write = Callable[[str, str], Path]

NOTE = "# Backups\n\nThe backup runs at 3:00 on the NAS.\n"


@pytest.fixture
def copies(write: Write) -> None:
    write("memory/a.md", NOTE)
    write("memory/b.md", "Some words before.\n\n" + NOTE.replace("backup", "**backup**"))
    write("memory/c.md", NOTE)
    write("memory/other.md", "# Backups\n\nThe backup runs at 4:00 on the server.\n")


@pytest.fixture
def memory(workspace: Path, environ: dict[str, str], each_store: str) -> Iterator[Memory]:
    settings = {"provider": "none", "store": each_store}
    with Memory.open(workspace, environ=environ, settings=settings) as opened:
        yield opened


@pytest.mark.usefixtures("copies")
def test_copies_take_one_place_and_the_next_note_moves_up(memory: Memory) -> None:
    hits = memory.search("when does the backup run", max_results=2).hits

    places = {hits[0].path, *(each.path for each in hits[0].also_in)}
    assert {"memory/a.md", "memory/b.md", "memory/c.md"} == places
    assert "memory/other.md" == hits[1].path
    assert () == hits[1].also_in


@pytest.mark.usefixtures("copies")
def test_a_copy_outside_the_scope_of_a_search_is_not_named(memory: Memory) -> None:
    [hit] = memory.search("when does the backup run", path="memory/c.md").hits

    assert () == hit.also_in


def test_facts_that_say_what_a_note_says_keep_their_place(memory: Memory, write: Write) -> None:
    write("memory/a.md", "The backup runs at 3:00 on the NAS.\n")
    memory.facts.remember("The backup runs at 3:00 on the NAS")
    memory.facts.remember("The backup runs at 3:00 on the NAS", scope="user:ada")

    hits = memory.search("when does the backup run", scopes=["user:ada"]).hits

    assert ["facts", "facts", "memory"] == sorted(hit.source for hit in hits)


@pytest.mark.usefixtures("copies")
def test_the_command_names_where_else_it_is(workspace: Path, environ: dict[str, str]) -> None:
    def run(*arguments: str) -> str:
        return subprocess.run(
            [*recollect_command(), "-w", str(workspace), *arguments],
            env={**environ, "RECOLLECT_PROVIDER": "none"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    asked = ("search", "when does the backup run")
    shown = run(*asked)
    first, second = json.loads(run(*asked, "--no-rerank", "--json"))["results"]

    assert "memory/a.md" == first["path"]
    assert [
        {"path": "memory/b.md", "startLine": 3, "endLine": 5, "citation": "memory/b.md#L3-L5"},
        {"path": "memory/c.md", "startLine": 1, "endLine": 3, "citation": "memory/c.md#L1-L3"},
    ] == sorted(first["alsoIn"], key=lambda place: place["path"])
    assert "alsoIn" not in second
    assert re.search(r"\nalso in memory/[a-c].md:\d-\d, memory/[a-c].md:\d-\d\n", shown)


def test_a_block_says_it_once_and_names_another_place(
    sample: Path, environ: dict[str, str]
) -> None:
    environ = {**environ, "RECOLLECT_PROVIDER": "none"}
    with Memory.open(sample, environ=environ) as memory:
        best = memory.recall("how often is each set copied for backups", budget_tokens=400).hits[0]
        for name in ("one", "two"):
            (sample / "memory" / f"{name}.md").write_text(best.text, encoding="utf-8")

        recalled = memory.recall("how often is each set copied for backups", budget_tokens=400)

    first = next(hit for hit in recalled.hits if best.text == hit.text)
    assert 2 == len(first.also_in)
    assert f"[{first.citation}, also in {first.also_in[0].citation} and 1 more" in recalled.block
    assert 1 == recalled.block.count(best.snippet.splitlines()[-1])
