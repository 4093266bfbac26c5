"""Facts in other words: known if sure, else stored and proposed as duplicates."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.support.commands import recollect_command

from recollect import Memory
from recollect.facts.record import Provenance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Run = Callable[..., subprocess.CompletedProcess[str]]
    Write = Callable[[str, str], Path]

KNOWN = "Deploys run on Friday"
REWORDED = "On Friday we run the deploys"


@pytest.fixture
def memory(workspace: Path, environ: dict[str, str], each_store: str) -> Iterator[Memory]:
    with Memory.open(workspace, environ=environ, settings={"store": each_store}) as opened:
        yield opened


@pytest.fixture
def run(workspace: Path, environ: dict[str, str]) -> Run:
    def command(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*recollect_command(), "-w", str(workspace), *arguments],
            env={**environ, "RECOLLECT_PROVIDER": "none"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    return command


def valid(memory: Memory) -> list[str]:
    return [fact.text for fact in memory.facts.all()]


def test_the_same_words_in_another_form_are_known_before_any_index_was_written(
    memory: Memory,
) -> None:
    first = memory.facts.remember("The deploy runs on Friday")

    again = memory.facts.remember("Our deploys run on Friday.", tags=["ci"])

    assert first.fact.id == again.fact.id
    assert ("ci",) == again.fact.tags
    assert ["The deploy runs on Friday"] == valid(memory)


def test_a_second_wording_of_a_model_is_known(memory: Memory) -> None:
    first = memory.facts.remember(KNOWN, provenance=Provenance.INGEST)

    second = memory.facts.remember(REWORDED, provenance=Provenance.INGEST)

    assert first.fact == second.fact
    assert [KNOWN] == valid(memory)


def test_another_number_makes_another_fact(memory: Memory) -> None:
    memory.facts.remember("The NAS is reachable at nas.local port 5001.")

    memory.facts.remember("Our NAS is reachable at nas.local port 5001")
    memory.facts.remember("Our NAS is reachable at nas.local port 5000")

    assert [
        "The NAS is reachable at nas.local port 5001.",
        "Our NAS is reachable at nas.local port 5000",
    ] == valid(memory)


def test_scopes_are_never_mixed(memory: Memory) -> None:
    memory.facts.remember(KNOWN)
    other = memory.facts.remember(REWORDED, scope="user:ada")

    assert () == other.decision.duplicates


def test_a_note_that_repeats_a_merged_fact_is_not_outdated(memory: Memory, write: Write) -> None:
    write("memory/a.md", "The project is called Heron.\n")
    old = memory.facts.remember("The project is called Heron").fact
    new = memory.facts.remember("The name of the project is Heron").fact
    memory.facts.supersede(old.id, by=new.id)

    [hit] = memory.search("what is the project called", source="memory").hits

    assert hit.superseded_by is None


def test_remember_proposes_the_command_that_merges(run: Run) -> None:
    run("remember", KNOWN)
    shown = run("remember", REWORDED)
    known = json.loads(run("remember", "Every deploy happens on Friday", "--json").stdout)

    assert "but it may repeat this fact (the same words in another form or order):" in shown.stdout
    assert {KNOWN, REWORDED} == {each["text"] for each in known["duplicates"]}
    assert 2 == len(known["commands"])

    [command] = re.findall(r"→ `([^`]+)` merges them", shown.stdout)
    assert 0 == run(*shlex.split(command)[3:]).returncode
    left = json.loads(run("facts", "list", "--json").stdout)["facts"]
    assert [KNOWN, "Every deploy happens on Friday"] == [fact["text"] for fact in left]
