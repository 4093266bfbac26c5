"""One memory on two machines: real clones diverge and are merged by real git."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.support.commands import recollect_command

from recollect import Memory
from recollect.facts.book import FactFilter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Make = Callable[..., tuple["Machine", "Machine"]]

LEDGER = "memory/facts/other.md"
UNION = "memory/facts/*.md merge=union\nmemory/facts/.forgotten merge=union\n"
"""As docs/how-to/machines.md says."""
MARKERS = ("<<<<<<<", "=======", ">>>>>>>")


class Machine:
    """A clone of the shared repository with a home of its own."""

    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        self.folder = folder
        self.environ = {
            **environ,
            "RECOLLECT_HOME": f"{folder}-home",
            "RECOLLECT_PROVIDER": "none",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
        }

    def git(self, *arguments: str, fails: bool = False) -> str:
        person = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        done = subprocess.run(
            ["git", *person, *arguments],
            cwd=self.folder,
            env=self.environ,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        assert fails == (done.returncode != 0), done.stdout + done.stderr
        return done.stdout

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*recollect_command(), *arguments, "-w", str(self.folder)],
            env=self.environ,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )

    def open(self) -> Memory:
        return Memory.open(self.folder, environ=self.environ)

    def remember(self, text: str, **more: str) -> str:
        with self.open() as memory:
            return memory.facts.remember(text, **more).fact.id  # type: ignore[arg-type] # texts

    def write(self, path: str, text: str) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def read(self, path: str) -> str:
        return (self.folder / path).read_text("utf-8")

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "Notes")

    def push(self) -> None:
        self.commit()
        self.git("push", "-q", "origin", "HEAD:main")

    def merge(self, *options: str, conflicts: bool = False) -> None:
        self.commit()
        self.git("fetch", "-q", "origin")
        self.git(*options, "merge", "-q", "-m", "Merge", "origin/main", fails=conflicts)

    @property
    def texts(self) -> list[str]:
        with self.open() as memory:
            return sorted(fact.text for fact in memory.facts.all())

    @property
    def problems(self) -> list[tuple[str, str]]:
        with self.open() as memory:
            found = memory.facts.listed(FactFilter()).problems
        return [(each.path, each.reason) for each in found]

    def finds(self, words: str) -> list[str]:
        with self.open() as memory:
            return [hit.snippet for hit in memory.search(words).hits]


@pytest.fixture
def machines(tmp_path: Path, environ: dict[str, str]) -> Make:
    def make(*, union: bool, known: str = "The kettle is blue") -> tuple[Machine, Machine]:
        subprocess.run(
            ["git", "init", "-q", "--bare", "-b", "main", str(tmp_path / "shared.git")], check=True
        )
        both = [Machine(tmp_path / name, environ) for name in ("desk", "laptop")]
        desk, laptop = both
        for each in both:
            each.folder.mkdir()
            each.git("init", "-q", "-b", "main")
            each.git("remote", "add", "origin", "../shared.git")
        desk.write("MEMORY.md", "# Memory\n")
        if known:
            desk.remember(known)
        if union:
            desk.write(".gitattributes", UNION)
        desk.push()
        laptop.git("pull", "-q", "origin", "main")
        return desk, laptop

    return make


def test_facts_of_two_machines_merge_without_loss(machines: Make) -> None:
    desk, laptop = machines(union=True)
    given = [(each.remember(text), text) for each, text in (
        (desk, "Ada lives in Lisbon"), (desk, "The printer is in room 4"),
        (laptop, "The gate code changes in May"), (laptop, "Ben is allergic to nuts"),
    )]  # fmt: skip
    desk.push()

    laptop.merge()

    assert sorted(["The kettle is blue", *(text for _, text in given)]) == laptop.texts
    assert [] == laptop.problems
    with laptop.open() as memory:
        ids = {fact.id: fact.text for fact in memory.facts.all()}
    assert [(fact_id, ids[fact_id]) for fact_id, _ in given] == given
    assert ["Ada lives in Lisbon"] == laptop.finds("Lisbon")


def test_a_ledger_that_both_machines_began_is_one_afterwards(machines: Make) -> None:
    desk, laptop = machines(union=True, known="")
    desk.remember("Ada lives in Lisbon")
    laptop.remember("Ben is allergic to nuts")
    desk.push()

    laptop.merge()

    assert ["Ada lives in Lisbon", "Ben is allergic to nuts"] == laptop.texts
    assert [] == laptop.problems


def test_a_supersede_on_one_machine_meets_a_new_fact_on_the_other(machines: Make) -> None:
    desk, laptop = machines(union=True)
    with desk.open() as memory:
        [old] = memory.facts.all()
        newer = memory.facts.remember("The kettle is red", supersedes=[old.id]).fact
    laptop.remember("Ben is allergic to nuts")
    desk.push()

    laptop.merge()

    assert 2 == laptop.read(LEDGER).count(f"<!-- {old.id} ")  # both versions of the line
    assert ["Ben is allergic to nuts", "The kettle is red"] == laptop.texts
    assert [] == laptop.problems
    with laptop.open() as memory:
        assert [old.id, newer.id] == [each.id for each in memory.facts.history(newer.id)]


def test_what_is_done_to_a_fact_afterwards_is_done_to_all_its_lines(machines: Make) -> None:
    desk, laptop = machines(union=True)
    with desk.open() as memory:
        [old] = memory.facts.all()
        memory.facts.remember("The kettle is red", supersedes=[old.id])
    laptop.remember("Ben is allergic to nuts")
    desk.push()
    laptop.merge()

    with laptop.open() as memory:
        memory.facts.restore(old.id)
        restored = sorted(fact.text for fact in memory.facts.all())
        lines = laptop.read(LEDGER).count(f"<!-- {old.id} ")
        memory.facts.forget(old.id)

    assert ["Ben is allergic to nuts", "The kettle is blue", "The kettle is red"] == restored
    assert 1 == lines
    assert "blue" not in laptop.read(LEDGER)


def test_the_same_fact_on_both_machines_keeps_ids_that_are_unique(machines: Make) -> None:
    desk, laptop = machines(union=True)
    ids = {each.remember("Ada lives in Lisbon") for each in (desk, laptop)}
    desk.push()

    laptop.merge()

    with laptop.open() as memory:
        found = [fact.id for fact in memory.facts.all() if fact.text == "Ada lives in Lisbon"]
    assert ids == set(found)
    assert len(ids) == len(found)
    assert [] == laptop.problems


def test_values_that_contradict_each_other_are_reported_as_on_one_machine(
    machines: Make,
) -> None:
    desk, laptop = machines(union=True)
    subject = {"entity": "Ada", "key": "city"}
    one = desk.remember("Ada lives in Lisbon", value="Lisbon", **subject)
    other = laptop.remember("Ada lives in Porto", value="Porto", **subject)
    desk.push()

    laptop.merge()

    with laptop.open() as memory:
        listing = memory.facts.listed(FactFilter())
    assert {one, other} == set(listing.contradicting)
    assert "Ada lives in Porto" in laptop.run("facts", "list").stdout


def test_a_line_that_both_edited_stays_in_both_forms_and_is_reported(machines: Make) -> None:
    desk, laptop = machines(union=True)
    for each, colour in ((desk, "green"), (laptop, "white")):
        each.write(LEDGER, each.read(LEDGER).replace("blue", colour))
    desk.push()

    laptop.merge()

    assert ["The kettle is green", "The kettle is white"] == laptop.texts
    [(place, reason)] = laptop.problems
    assert place.startswith(f"{LEDGER}:")
    assert reason.endswith("but a different text; both are kept")
    assert ["The kettle is green"] == laptop.finds("green")
    assert ["The kettle is white"] == laptop.finds("white")


def test_an_edited_line_that_the_other_superseded_is_valid_and_contradicts(machines: Make) -> None:
    desk, laptop = machines(union=True, known="")
    subject = {"entity": "dentist", "key": "name"}
    old = desk.remember("The dentist is Dr Holmm", value="Holmm", **subject)
    desk.push()
    laptop.git("pull", "-q", "origin", "main")
    newer = laptop.remember("The dentist is Dr Ek", value="Ek", **subject)
    laptop.push()
    desk.write(LEDGER, desk.read(LEDGER).replace("Holmm", "Holm"))

    desk.merge()

    assert ["The dentist is Dr Ek", "The dentist is Dr Holm"] == desk.texts
    assert "The dentist is Dr Holm" in desk.finds("dentist Holm")
    with desk.open() as memory:
        listing = memory.facts.listed(FactFilter())
        history = memory.facts.history(newer)
    edited = next(fact.id for fact in listing.facts if fact.value == "Holm")
    assert {edited, newer} == set(listing.contradicting)
    assert [(old, "Holmm"), (newer, "Ek")] == [(fact.id, fact.value) for fact in history]
    [(_, reason)] = desk.problems
    assert reason.endswith("but a different text; both are kept")
    with desk.open() as memory:
        memory.facts.supersede(edited, by=newer)
    assert ["The dentist is Dr Ek"] == desk.texts
    assert [] == desk.problems


def test_a_fact_that_one_forgot_and_the_other_repeated_comes_back_if_it_is_said_again(
    machines: Make,
) -> None:
    desk, laptop = machines(union=True)
    with desk.open() as memory:
        [known] = memory.facts.all()
        memory.facts.forget(known.id)
    desk.push()
    laptop.remember("The kettle is blue", entity="kettle")

    laptop.merge()

    assert [] == laptop.texts
    laptop.remember("The kettle is blue")
    assert ["The kettle is blue"] == laptop.texts
    assert ["The kettle is blue"] == laptop.finds("kettle")


def test_a_forgotten_fact_does_not_come_back_with_a_merge(machines: Make) -> None:
    desk, laptop = machines(union=True)
    with desk.open() as memory:
        [known] = memory.facts.all()
        memory.facts.forget(known.id)
        memory.facts.remember("Ada lives in Lisbon")
    laptop.remember("Ben is allergic to nuts")
    desk.push()

    laptop.merge()

    assert ["Ada lives in Lisbon", "Ben is allergic to nuts"] == laptop.texts
    assert [] == laptop.finds("kettle")
    assert "kettle" in laptop.read(LEDGER)  # git brings the line back; it no longer counts
    assert ["was forgotten, so it is not read"] == [reason for _, reason in laptop.problems]


def test_facts_forgotten_on_both_machines_are_forgotten_on_both(machines: Make) -> None:
    desk, laptop = machines(union=True)
    for each, text in ((desk, "Ada lives in Lisbon"), (laptop, "Ben is allergic to nuts")):
        fact_id = each.remember(text)
        with each.open() as memory:
            memory.facts.forget(fact_id)
    desk.push()

    laptop.merge()

    assert 4 == len(laptop.read("memory/facts/.forgotten").split())
    assert ["The kettle is blue"] == laptop.texts


@pytest.mark.parametrize("style", ["merge", "diff3", "zdiff3"])
def test_without_the_attribute_both_sides_of_a_conflict_are_found_and_it_is_reported(
    machines: Make, style: str
) -> None:
    desk, laptop = machines(union=False)
    desk.remember("Ada lives in Lisbon")
    laptop.remember("Ben is allergic to nuts")
    desk.push()

    laptop.merge("-c", f"merge.conflictStyle={style}", conflicts=True)

    line = laptop.read(LEDGER).splitlines().index("<<<<<<< HEAD") + 1
    expected = ["Ada lives in Lisbon", "Ben is allergic to nuts", "The kettle is blue"]
    assert expected == laptop.texts
    [(place, reason)] = laptop.problems
    assert (f"{LEDGER}:{line}", True) == (place, reason.startswith("begins a merge conflict"))
    assert ["Ada lives in Lisbon"] == laptop.finds("Lisbon")
    assert ["Ben is allergic to nuts"] == laptop.finds("nuts")
    assert [] == laptop.finds("HEAD origin")


def test_every_command_names_the_conflicts_until_they_are_resolved(machines: Make) -> None:
    desk, laptop = machines(union=False)
    desk.remember("Ada lives in Lisbon")
    desk.write("MEMORY.md", "# Memory\n\nThe zebra lives in the barn.\n")
    laptop.remember("Ben is allergic to nuts")
    laptop.write("MEMORY.md", "# Memory\n\nThe zebra moved to the meadow.\n")
    desk.push()
    laptop.merge(conflicts=True)
    note = "MEMORY.md:3"
    fact = f"{LEDGER}:{laptop.read(LEDGER).splitlines().index('<<<<<<< HEAD') + 1}"

    for command in (["index"], ["index"], ["search", "zebra"], ["status"], ["doctor"]):
        said = laptop.run(*command)
        assert note in said.stdout + said.stderr, command
        assert fact in said.stdout + said.stderr, command
        assert ("doctor" in command) == (said.returncode != 0)
    assert fact in laptop.run("facts", "list").stderr
    found = json.loads(laptop.run("search", "zebra", "--json").stdout)
    [hit] = found["results"]
    assert ("barn" in hit["snippet"], "meadow" in hit["snippet"]) == (True, True)
    assert not any(mark in hit["snippet"] for mark in ("<<<<", "====", ">>>>"))

    for path in ("MEMORY.md", LEDGER):
        kept = [line for line in laptop.read(path).splitlines() if line[:7] not in MARKERS]
        laptop.write(path, "\n".join(kept) + "\n")
    for command in (["index"], ["search", "zebra"], ["facts", "list"]):
        said = laptop.run(*command)
        assert "conflict" not in said.stdout + said.stderr
    assert ["Ada lives in Lisbon", "Ben is allergic to nuts", "The kettle is blue"] == laptop.texts


def test_remembering_a_fact_leaves_a_merge_conflict_in_its_file_unchanged(machines: Make) -> None:
    desk, laptop = machines(union=False)
    desk.remember("Ada lives in Lisbon")
    laptop.remember("Ben is allergic to nuts")
    desk.push()
    laptop.merge(conflicts=True)
    before = laptop.read(LEDGER)

    laptop.remember("The gate code changes in May")

    assert laptop.read(LEDGER).startswith(before)
    assert "The gate code changes in May" in laptop.texts
