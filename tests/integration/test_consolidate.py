"""Facts in other words: known if sure, else stored, proposed as duplicates, merged on demand."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from typing import TYPE_CHECKING, Any

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


def test_words_of_one_meaning_make_no_second_fact_but_another_number_does(memory: Memory) -> None:
    memory.facts.remember("The NAS is reachable at nas.local port 5001.")

    memory.facts.remember("The NAS can be reached at nas.local on port 5001.")
    memory.facts.remember("The NAS can be reached at nas.local on port 5000.")

    assert [
        "The NAS is reachable at nas.local port 5001.",
        "The NAS can be reached at nas.local on port 5000.",
    ] == valid(memory)


def test_words_alone_do_not_make_a_duplicate_if_the_meaning_is_far(memory: Memory) -> None:
    memory.facts.remember("Custom fields are exported")

    second = memory.facts.remember("Customer fields are exported")

    assert () == second.decision.duplicates


def test_consolidating_keeps_what_was_said_on_purpose_and_can_be_undone(memory: Memory) -> None:
    extracted = memory.facts.remember(REWORDED, provenance=Provenance.INGEST).fact
    said = memory.facts.remember(KNOWN).fact
    planned = memory.facts.duplicates()
    both = valid(memory)

    [group] = map(memory.facts.merge, memory.facts.duplicates())

    assert [REWORDED, KNOWN] == both
    assert [(said.id, [extracted.id], False)] == [
        (each.kept.id, [other.fact.id for other in each.duplicates], each.is_merged)
        for each in planned
    ]
    assert group.is_merged
    assert [KNOWN] == valid(memory)
    assert [extracted.id, said.id] == [fact.id for fact in memory.facts.history(said.id)]
    assert () == memory.facts.duplicates()

    memory.facts.restore(extracted.id)
    assert [REWORDED, KNOWN] == valid(memory)


def test_scopes_are_never_mixed(memory: Memory) -> None:
    memory.facts.remember(KNOWN)
    other = memory.facts.remember(REWORDED, scope="user:ada")

    assert () == other.decision.duplicates
    assert () == memory.facts.duplicates()


def test_a_group_of_which_a_fact_changed_meanwhile_is_left_alone(memory: Memory) -> None:
    memory.facts.remember(KNOWN)
    gone = memory.facts.remember(REWORDED).fact
    [group] = memory.facts.duplicates()
    memory.facts.forget(gone.id)

    assert not memory.facts.merge(group).is_merged
    assert [KNOWN] == valid(memory)


def test_a_note_that_repeats_a_merged_fact_is_not_outdated(memory: Memory, write: Write) -> None:
    write("memory/a.md", "The project is called Heron.\n")
    memory.facts.remember("The name of the project is Heron")
    memory.facts.remember("The project is called Heron")
    [_] = map(memory.facts.merge, memory.facts.duplicates())

    [hit] = memory.search("what is the project called", source="memory").hits

    assert hit.superseded_by is None


def test_remember_proposes_the_command_that_merges(run: Run) -> None:
    run("remember", KNOWN)
    shown = run("remember", REWORDED)
    known = json.loads(run("remember", "Every deploy happens on Friday", "--json").stdout)

    assert "but it may repeat this fact (the same words in another form or order):" in shown.stdout
    assert {KNOWN, REWORDED} == {each["text"] for each in known["duplicates"]}
    assert {each["command"] for each in known["duplicates"]} <= {*known["commands"]}

    [command] = re.findall(r"→ `([^`]+)` merges them", shown.stdout)
    assert 0 == run(*shlex.split(command)[3:]).returncode
    left = json.loads(run("facts", "list", "--json").stdout)["facts"]
    assert [KNOWN, "Every deploy happens on Friday"] == [fact["text"] for fact in left]


def test_consolidate_shows_then_merges_and_says_how_to_undo(run: Run) -> None:
    for text in (KNOWN, REWORDED, "Lunch is at 12:30", "Lunch is at 13:30"):
        run("remember", text)

    asked = run("facts", "consolidate")
    planned = run("facts", "consolidate", "--dry-run")
    before: dict[str, Any] = json.loads(run("facts", "consolidate", "--dry-run", "--json").stdout)
    merged = run("facts", "consolidate", "--yes")
    after = json.loads(run("facts", "consolidate", "--yes", "--json").stdout)

    assert 2 == asked.returncode
    assert "add --yes, or --dry-run" in asked.stderr
    [group] = before["groups"]
    assert KNOWN == group["kept"]["text"]
    assert [REWORDED] == [each["text"] for each in group["duplicates"]]
    assert not group["merged"]
    assert "would replace" in planned.stdout
    assert "facts consolidate --yes` merges them all" in planned.stdout
    assert {"dryRun": False, "groups": []} == after

    [undo] = re.findall(r"→ `([^`]+)` undoes that", merged.stdout)
    assert 0 == run(*shlex.split(undo)[3:]).returncode
    assert 4 == len(json.loads(run("facts", "list", "--json").stdout)["facts"])
