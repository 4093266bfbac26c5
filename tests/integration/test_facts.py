"""Facts from the command line and the façade: written, found, superseded, scoped, forgotten."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from tests.support.commands import recollect_command

from recollect import Memory
from recollect.facts.book import FactFilter
from recollect.facts.files import FolderFiles
from recollect.facts.record import Provenance
from recollect.facts.rules import Verdict
from recollect.facts.source import FactsSource
from recollect.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from recollect.facts.draft import RememberReport
    from recollect.ingest.folders import Found
    from recollect.ingest.source import Taken

A_DAY = 86_400


@pytest.fixture
def memory(workspace: Path, environ: dict[str, str], each_store: str) -> Iterator[Memory]:
    with Memory.open(workspace, environ=environ, settings={"store": each_store}) as opened:
        yield opened


def texts(memory: Memory, question: str, **options: object) -> list[str]:
    return [hit.snippet for hit in memory.search(question, **options).hits]  # type: ignore[arg-type]


def test_a_fact_is_written_as_markdown_and_found_at_once(memory: Memory, workspace: Path) -> None:
    remembered = memory.facts.remember(
        "Ada prefers dark mode", category="preference", entity="Ada", key="theme", value="dark"
    )

    [hit] = memory.search("which theme does Ada like").hits
    page = (workspace / "memory" / "facts" / "preference.md").read_text(encoding="utf-8")
    assert remembered.fact.id in page
    assert "- Ada prefers dark mode" in page
    assert ("facts", "memory/facts/preference.md") == (hit.source, hit.path)
    assert hit.fact is not None
    assert remembered.fact.id == hit.fact.id
    assert hit.vector_score is not None


def test_the_newest_truth_is_found_and_the_old_one_only_on_request(memory: Memory) -> None:
    said = {"entity": "api", "key": "port"}
    old = memory.facts.remember("The api listens on port 8080", value="8080", **said)  # type: ignore[arg-type]
    new = memory.facts.remember("The api listens on port 9090", value="9090", **said)  # type: ignore[arg-type]

    assert "supersede" == new.decision.verdict
    for legs in (("keyword", "vector"), ("keyword",), ("vector",)):
        assert ["The api listens on port 9090"] == texts(memory, "api port 8080", legs=legs)
    both = memory.search("api port 8080", include_superseded=True).hits
    assert {old.fact.id, new.fact.id} == {hit.fact.id for hit in both if hit.fact}
    assert {"", new.fact.id} == {hit.fact.superseded_by for hit in both if hit.fact}
    assert [new.fact.id] == [fact.id for fact in memory.facts.all()]
    assert [old.fact.id, new.fact.id] == [fact.id for fact in memory.facts.history(old.fact.id)]


def test_a_note_that_repeats_a_superseded_fact_says_so(memory: Memory, workspace: Path) -> None:
    (workspace / "memory" / "old.md").write_text(
        "# Ports\n\nNote: *the api listens on port 8080*, says Ada.\n", encoding="utf-8"
    )
    said = {"entity": "api", "key": "port"}
    memory.facts.remember("The api listens on port 8080", value="8080", **said)  # type: ignore[arg-type]
    new = memory.facts.remember("The api listens on port 9090", value="9090", **said)  # type: ignore[arg-type]

    hits = memory.search("api port 8080").hits

    by_path = {hit.path: hit.superseded_by for hit in hits}
    assert {"memory/old.md": new.fact.id, "memory/facts/other.md": None} == by_path


def test_a_fact_holds_from_its_day_on_and_the_past_can_be_asked_for(memory: Memory) -> None:
    begins = datetime(2026, 1, 1, tzinfo=UTC)
    memory.facts.remember(
        "The office is in Porto", entity="office", key="city", value="Porto", valid_from=begins
    )
    memory.facts.remember(
        "The office is in Lisbon",
        entity="office",
        key="city",
        value="Lisbon",
        valid_from=begins + timedelta(days=60),
    )

    then = begins + timedelta(days=30)
    assert ["The office is in Lisbon"] == texts(memory, "where is the office")
    assert ["The office is in Porto"] == texts(memory, "where is the office", as_of=then)
    assert [] == texts(memory, "where is the office", as_of=begins - timedelta(days=1))


def test_a_fact_of_one_user_is_seen_only_by_whoever_names_that_scope(memory: Memory) -> None:
    memory.facts.remember("Ann is allergic to walnuts", scope="user:ann")
    memory.facts.remember("Walnuts are kept in the pantry")

    assert ["Walnuts are kept in the pantry"] == texts(memory, "walnuts")
    assert 2 == len(texts(memory, "walnuts", scopes=["user:ann"]))
    assert 1 == len(texts(memory, "walnuts", scopes=["user:bob"]))


def test_the_same_said_again_is_known(memory: Memory) -> None:
    first = memory.facts.remember("The kettle is in the blue cupboard.")
    memory.search("kettle")
    same = memory.facts.remember("the kettle is in the  BLUE cupboard")

    assert "existing" == same.decision.verdict
    assert first.fact.id == same.fact.id
    assert 1 == len(memory.facts.all())


def test_what_is_extracted_does_not_replace_what_the_owner_said(memory: Memory) -> None:
    memory.facts.remember("The deploy day is Tuesday", entity="deploy", key="day", value="Tuesday")
    other = memory.facts.remember(
        "The deploy day is Friday",
        entity="deploy",
        key="day",
        value="Friday",
        provenance=Provenance.INGEST,
        source="TOOLS.md:3",
    )

    assert "contradicts" == other.decision.verdict
    assert 2 == len(memory.facts.all())


def test_an_edit_by_a_person_is_picked_up(memory: Memory, workspace: Path) -> None:
    memory.facts.remember("The spare key hangs in the hall", category="place")
    file = workspace / "memory" / "facts" / "place.md"
    page = file.read_text(encoding="utf-8").replace("the hall", "the shed")
    file.write_text(page + "- The ladder leans on the fence\n", encoding="utf-8")

    assert "The spare key hangs in the shed" == texts(memory, "spare key")[0]
    assert "The ladder leans on the fence" == texts(memory, "ladder fence")[0]
    assert () == memory.verify().differences


def test_a_forgotten_fact_is_gone_everywhere(memory: Memory, workspace: Path) -> None:
    remembered = memory.facts.remember("The safe opens with 4711")
    memory.search("safe")

    memory.facts.forget(remembered.fact.id)

    assert [] == texts(memory, "safe opens")
    for file in (workspace / "memory").rglob("*"):
        assert not file.is_file() or b"4711" not in file.read_bytes()


def test_a_fact_is_not_found_a_second_time_as_a_note(memory: Memory) -> None:
    memory.facts.remember("The boiler was serviced in May")

    assert 1 == len(memory.search("boiler").hits)
    assert 0 == len(memory.search("boiler", source="memory").hits)


def test_the_commands_remember_list_show_supersede_export_and_forget(
    workspace: Path, environ: dict[str, str]
) -> None:
    quiet = {**environ, "RECOLLECT_PROVIDER": "none"}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*recollect_command(), "-w", str(workspace), *arguments],
            env=quiet,
            capture_output=True,
            text=True,
            check=False,
        )

    one = json.loads(run("remember", "Tea", "is", "in", "the", "tin", "--json").stdout)
    two = json.loads(
        run("remember", "Tea is in the jar", "--supersedes", one["id"], "--json").stdout
    )
    listed = json.loads(run("facts", "list", "--json").stdout)["facts"]
    everything = json.loads(run("facts", "list", "--include-superseded", "--json").stdout)["facts"]
    history = json.loads(run("facts", "show", one["id"], "--json").stdout)["facts"]
    found = json.loads(run("search", "tea", "--json").stdout)["results"]
    export = run("facts", "export").stdout
    gone = run("facts", "forget", two["id"])
    unknown = run("facts", "show", "f-0000000000000")
    wrong = run("remember", "x", "--category", "preferense")

    assert [two["id"]] == [fact["id"] for fact in listed]
    assert [one["id"], two["id"]] == [fact["id"] for fact in everything]
    assert [one["id"], two["id"]] == [fact["id"] for fact in history]
    assert [two["id"]] == [hit["fact"]["id"] for hit in found]
    assert [one["id"], two["id"]] == [json.loads(line)["id"] for line in export.splitlines()]
    assert 0 == gone.returncode
    assert 1 == unknown.returncode
    assert 0 != wrong.returncode
    assert "preference" in wrong.stderr


def test_forgetting_the_newer_fact_lets_the_older_one_hold_again(memory: Memory) -> None:
    old = memory.facts.remember("The wifi is Alpha", entity="wifi", key="name", value="Alpha")
    new = memory.facts.remember("The wifi is Beta", entity="wifi", key="name", value="Beta")

    memory.facts.forget(new.fact.id)

    assert [old.fact.id] == [fact.id for fact in memory.facts.all()]
    assert ["The wifi is Alpha"] == texts(memory, "wifi")


def test_the_oldest_fact_of_a_chain_holds_again_when_all_that_replaced_it_are_forgotten(
    memory: Memory,
) -> None:
    def state(colour: str) -> str:
        text = f"The door is {colour}"
        return memory.facts.remember(text, entity="door", key="colour", value=colour).fact.id

    red, green, blue = map(state, ("red", "green", "blue"))

    memory.facts.forget(green)
    after_one = [fact.id for fact in memory.facts.all()]
    memory.facts.forget(blue)

    assert [blue] == after_one
    assert [red] == [fact.id for fact in memory.facts.all()]
    assert [red] == [hit.fact.id for hit in memory.search("door").hits if hit.fact]


def test_a_search_during_a_sync_of_two_files_sees_all_of_a_change_or_nothing(
    workspace: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []
    with (
        Memory.open(workspace, environ=environ) as memory,
        Memory.open(workspace, environ=environ) as other,
    ):
        memory.facts.remember(
            "Eve leads", category="person", entity="team", key="lead", value="Eve"
        )
        new = memory.facts.remember(
            "Bob leads", category="project", entity="team", key="lead", value="Bob"
        )
        memory.sync()
        memory.facts.forget(new.fact.id)
        written = SqliteStore._writing

        @contextmanager
        def write_and_look(store: SqliteStore) -> Iterator[object]:
            with written(store) as connection:
                yield connection
            seen.append(texts(other, "who leads", sync=False))

        monkeypatch.setattr(SqliteStore, "_writing", write_and_look)
        memory.sync()

    assert ["Eve leads"] == seen[-1]
    assert all(shown in (["Bob leads"], ["Eve leads"]) for shown in seen), seen


def test_an_index_never_mixes_files_of_facts_of_different_moments(
    workspace: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        Memory.open(workspace, environ=environ) as memory,
        Memory.open(workspace, environ=environ) as other,
    ):
        old = memory.facts.remember("Ada keeps the old lantern", category="project")
        memory.facts.remember("A heavy lantern hangs in the harbour", category="person")
        for file in (workspace / "memory" / "facts").glob("*.md"):
            os.utime(file, (A_DAY, A_DAY))  # long ago: a file that is not changed is not read
        memory.sync()
        memory.facts.remember(
            "Somebody lit the lantern at noon", category="project"
        )  # its file has to be read
        take = FactsSource.take

        def overtaken(source: FactsSource, found: Found) -> Taken:
            monkeypatch.setattr(FactsSource, "take", take)
            other.facts.remember("Bob painted his lantern green", category="person")
            other.facts.forget(old.fact.id)
            return take(source, found)

        monkeypatch.setattr(FactsSource, "take", overtaken)
        shown = texts(memory, "lantern")

    assert {
        "A heavy lantern hangs in the harbour",
        "Bob painted his lantern green",
        "Somebody lit the lantern at noon",
    } == set(shown)


def test_a_list_overtaken_by_a_change_of_two_files_shows_all_of_it_or_nothing(
    workspace: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory.open(workspace, environ=environ) as memory:
        memory.facts.remember(
            "Eve leads", category="person", entity="team", key="lead", value="Eve"
        )
        new = memory.facts.remember(
            "Bob leads", category="project", entity="team", key="lead", value="Bob"
        )
        read, overtaking = FolderFiles.content, iter([memory.facts.forget])

        def read_and_be_overtaken(files: FolderFiles, name: str) -> bytes:
            content = read(files, name)
            for forget in overtaking:  # after the first file, once
                forget(new.fact.id)
            return content

        monkeypatch.setattr(FolderFiles, "content", read_and_be_overtaken)
        listing = memory.facts.listed(FactFilter())

    assert ["Eve leads"] == [fact.text for fact in listing.facts]
    assert () == listing.problems


@pytest.mark.parametrize(
    ("value", "verdict", "left"),
    [("oak", Verdict.EXISTING, ["oak"]), ("elm", Verdict.SUPERSEDE, ["elm"])],
)
def test_a_fact_that_another_process_stored_meanwhile_is_known(
    workspace: Path, environ: dict[str, str], value: str, verdict: Verdict, left: list[str]
) -> None:
    def state(memory: Memory, value: str) -> RememberReport:
        text = f"The table is made of {value}"
        return memory.facts.remember(text, entity="table", key="wood", value=value)

    with (
        Memory.open(workspace, environ=environ) as memory,
        Memory.open(workspace, environ=environ) as other,
    ):
        clock, moments = memory.facts._now, iter([0])

        def look_and_be_overtaken() -> datetime:
            now = clock()
            if next(moments, None) is not None:
                state(other, "oak")
            return now

        memory.facts._now = look_and_be_overtaken

        assert verdict == state(memory, value).decision.verdict
        assert left == [fact.value for fact in memory.facts.all()]


def test_a_question_can_only_narrow_the_scopes_a_memory_was_opened_with(
    workspace: Path, environ: dict[str, str]
) -> None:
    with Memory.open(workspace, environ=environ) as owner:
        for name in ("ann", "bob"):
            owner.facts.remember(f"The locker of {name} is blue", scope=f"user:{name}")
        owner.sync()

    with Memory.open(workspace, environ=environ, scopes=["user:ann"]) as served:
        asked = [
            texts(served, "locker", scopes=scopes)
            for scopes in ([], ["user:ann"], ["user:bob"], ["user:ann", "user:bob"])
        ]

    ann = ["The locker of ann is blue"]
    assert [[], ann, [], ann] == asked
