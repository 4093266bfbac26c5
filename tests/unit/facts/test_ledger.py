from __future__ import annotations

import multiprocessing
import os
import stat
import threading
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from tests.support.waiting import PATIENCE_SECONDS

from recollect.errors import NotFoundError, StoreBusyError, StoreError, UsageError
from recollect.facts import draft as drafts
from recollect.facts import state as states
from recollect.facts.draft import remember, supersede
from recollect.facts.files import FORGOTTEN, LOCK, FolderFiles, lock
from recollect.facts.ledger import Ledger
from recollect.facts.record import Fact, Provenance, derive_id, mint_id, next_id
from recollect.facts.rules import Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from recollect.facts.draft import Draft

NOW = datetime(2026, 2, 1, 10, tzinfo=UTC)
ID = mint_id(NOW, random_bits=1)
OTHER = mint_id(NOW, random_bits=2)
FACT = Fact(id=ID, text="Ada prefers dark mode", category="preference", created=NOW)
RECORD = f"<!-- {ID} by=owner created=2026-02-01T10:00:00Z -->"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "memory" / "facts"


def add(ledger: Ledger, *facts: Fact) -> Fact:
    """Add facts and return the last one as it was stored."""
    return ledger.edit(lambda draft: [draft.add(fact) for fact in facts])[-1]


def change(ledger: Ledger, fact_id: str, **fields: object) -> None:
    ledger.edit(lambda draft: draft.put(replace(draft.fact(fact_id), **fields)))  # type: ignore[arg-type]  # as named


def written(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_bytes(text.encode("utf-8"))
    return file


def test_a_ledger_that_is_not_there_holds_nothing_and_is_not_made_by_reading(folder: Path) -> None:
    state = Ledger(FolderFiles(folder)).read()

    assert {} == state.facts
    assert () == state.problems
    assert not folder.exists()


def test_a_fact_goes_to_the_file_of_its_category_and_comes_back(folder: Path) -> None:
    add(Ledger(FolderFiles(folder)), FACT)

    state = Ledger(FolderFiles(folder)).read()
    assert {ID: FACT} == state.facts
    assert states.Place("preference.md", 6, 6, is_plain=False) == state.places[ID]
    lines = (folder / "preference.md").read_text(encoding="utf-8").split("\n")
    assert "# Facts: preference" == lines[0]
    assert [f"- Ada prefers dark mode {RECORD}", ""] == lines[5:]


def test_a_category_of_ones_own_goes_to_the_others_and_keeps_its_name(folder: Path) -> None:
    add(Ledger(FolderFiles(folder)), replace(FACT, category="recipe"))

    state = Ledger(FolderFiles(folder)).read()
    assert "other.md" == state.places[ID].file
    assert "recipe" == state.facts[ID].category


def test_a_full_file_is_followed_by_another_and_nothing_moves(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drafts, "MAX_FILE_FACTS", 2)
    facts = [replace(FACT, id=mint_id(NOW, random_bits=chance)) for chance in range(5)]
    ledger = Ledger(FolderFiles(folder))

    add(ledger, *facts[:3])
    add(ledger, *facts[3:])

    places = ledger.read().places
    expected = ["preference.md"] * 2 + ["preference-2.md"] * 2 + ["preference-3.md"]
    assert expected == [places[fact.id].file for fact in facts]
    assert {"preference"} == {fact.category for fact in ledger.read().facts.values()}


def test_what_a_person_wrote_is_read_and_never_touched(folder: Path) -> None:
    text = (
        "---\ntags:\n- not a fact\n---\n\n# About Ada\n\nSome prose.\n\n"
        "* Ada lives in London\n"
        f"- Ada prefers light mode {RECORD}\n"
        "\n```sh\n- code\n```\n\n<!--\n- commented out\n-->\n\n"
        f"- broken <!-- {OTHER} by=owner\n"
        "- Ada drinks tea"
    )
    file = written(folder, "preference.md", text)
    ledger = Ledger(FolderFiles(folder))

    add(ledger, replace(FACT, id=OTHER, text="Ada is left-handed"))

    assert f"{text}\n- Ada is left-handed {RECORD.replace(ID, OTHER)}\n" == file.read_text("utf-8")
    state = ledger.read()
    assert ["Ada lives in London", "Ada prefers light mode", "broken", "Ada drinks tea"] == [
        fact.text for fact in state.facts.values()
    ][:4]
    assert [
        ("preference.md", 8, "is not a fact, so searches do not find it"),
        ("preference.md", 21, "has a broken record"),
    ] == [(problem.file, problem.line, problem.reason) for problem in state.problems]


def test_an_edit_of_the_text_keeps_the_id(folder: Path) -> None:
    ledger = Ledger(FolderFiles(folder))
    add(ledger, FACT)
    file = folder / "preference.md"
    file.write_text(file.read_text("utf-8").replace("dark", "light"), encoding="utf-8")

    assert {ID: replace(FACT, text="Ada prefers light mode")} == ledger.read().facts


def test_a_plain_bullet_keeps_its_derived_id_when_it_is_written(folder: Path) -> None:
    file = written(folder, "person.md", "- Ada lives in London\n- Bob lives in Rome\n")
    ledger = Ledger(FolderFiles(folder))
    plain = derive_id("Ada lives in London")

    change(ledger, plain, tags=("home",))

    expected = f"- Ada lives in London <!-- {plain} tags=home by=owner -->\n- Bob lives in Rome\n"
    assert expected == file.read_text("utf-8")
    assert [plain, derive_id("Bob lives in Rome")] == list(ledger.read().facts)


def test_equal_plain_bullets_are_two_facts(folder: Path) -> None:
    written(folder, "fact.md", "- Tea is hot\n")
    written(folder, "person.md", "- tea is hot.\n")

    assert [derive_id("tea is hot"), derive_id("tea is hot", ordinal=1)] == list(
        Ledger(FolderFiles(folder)).read().facts
    )


def test_the_first_of_two_entries_with_one_id_counts_and_the_second_is_reported(
    folder: Path,
) -> None:
    written(folder, "fact.md", f"- one {RECORD}\n- two {RECORD}\n")

    state = Ledger(FolderFiles(folder)).read()

    assert "one" == state.facts[ID].text
    assert [("fact.md", 2)] == [(problem.file, problem.line) for problem in state.problems]


def test_of_an_id_in_two_scopes_both_facts_are_kept(folder: Path) -> None:
    own = RECORD.replace(" by=", " scope=user:ada by=")
    written(folder, "fact.md", f"- one {RECORD}\n- one {own}\n- ~~two~~ {RECORD}\n")

    facts = Ledger(FolderFiles(folder)).read().facts

    assert [("two", "global"), ("one", "global"), ("one", "user:ada")] == [
        (fact.text, str(fact.scope)) for fact in facts.values()
    ]
    assert "two" == facts[ID].text  # the superseded one keeps the id


def test_an_open_fence_or_comment_hides_nothing(folder: Path) -> None:
    written(folder, "fact.md", f"```\n- one {RECORD}\n<!-- open\n- two\n- three <!-- x -->\n")

    state = Ledger(FolderFiles(folder)).read()

    assert ["one", "two", "three <!-- x -->"] == [fact.text for fact in state.facts.values()]
    assert [1, 3] == [problem.line for problem in state.problems]


def test_an_id_that_is_taken_becomes_the_next_one(folder: Path) -> None:
    ledger = Ledger(FolderFiles(folder))
    add(ledger, FACT)

    added = add(ledger, replace(FACT, text="Ada drinks tea"))
    said = replace(FACT, text="Ada is left-handed")
    stated = ledger.edit(lambda draft: remember(draft, said, now=NOW)).fact

    assert (next_id(ID), next_id(added.id)) == (added.id, stated.id)
    assert {ID: FACT, added.id: added, stated.id: stated} == ledger.read().facts


def test_changing_and_removing_touch_one_line(folder: Path) -> None:
    file = written(folder, "preference.md", f"- one {RECORD}\r\n\r\n## Two\r\n- two\r\n")
    ledger = Ledger(FolderFiles(folder))

    change(ledger, ID, text="uno")
    assert f"- uno {RECORD}\r\n\r\n## Two\r\n- two\r\n".encode() == file.read_bytes()

    removed = ledger.edit(lambda draft: draft.remove(ID))
    assert b"\r\n## Two\r\n- two\r\n" == file.read_bytes()
    assert "uno" == removed.text


def test_a_change_that_changes_nothing_writes_nothing(folder: Path) -> None:
    file = written(folder, "fact.md", "- two  words\n")
    before = file.stat().st_ino

    change(Ledger(FolderFiles(folder)), derive_id("two words"))

    assert before == file.stat().st_ino


def test_an_unknown_id_is_told(folder: Path) -> None:
    ledger = Ledger(FolderFiles(folder))
    with pytest.raises(NotFoundError, match=ID):
        ledger.edit(lambda draft: draft.remove(ID))
    with pytest.raises(NotFoundError, match=ID):
        ledger.edit(lambda draft: draft.put(FACT))


def test_a_failure_in_the_middle_writes_nothing(folder: Path) -> None:
    def work(draft: Draft) -> None:
        draft.add(FACT)
        draft.remove(OTHER)

    with pytest.raises(NotFoundError):
        Ledger(FolderFiles(folder)).edit(work)

    assert {} == Ledger(FolderFiles(folder)).read().facts


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_encoding_mode_and_line_ends_are_kept(folder: Path, encoding: str) -> None:
    file = written(folder, "preference.md", "")
    file.write_bytes("- Zoë\r\n".encode(encoding))
    file.chmod(0o640)

    add(Ledger(FolderFiles(folder)), FACT)

    expected = f"- Zoë\r\n- Ada prefers dark mode {RECORD}\r\n"
    assert expected.encode(encoding) == file.read_bytes()
    assert 0o640 == stat.S_IMODE(file.stat().st_mode)


def test_a_file_that_is_not_text_is_reported_and_left_unchanged(folder: Path) -> None:
    written(folder, "preference.md", "").write_bytes(b"\xff\xfa")
    ledger = Ledger(FolderFiles(folder))

    assert ["is not valid UTF-8 (at byte 0)"] == [each.reason for each in ledger.read().problems]
    with pytest.raises(StoreError, match="is not valid UTF-8"):
        add(ledger, FACT)
    assert b"\xff\xfa" == (folder / "preference.md").read_bytes()


def test_a_linked_file_is_neither_read_nor_written(folder: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("- the password\n", encoding="utf-8")
    folder.mkdir(parents=True)
    (folder / "preference.md").symlink_to(secret)
    ledger = Ledger(FolderFiles(folder))

    state = ledger.read()

    assert {} == state.facts
    assert ["is a link"] == [problem.reason for problem in state.problems]
    with pytest.raises(StoreError, match="is a link"):
        add(ledger, FACT)
    assert "- the password\n" == secret.read_text("utf-8")


def test_a_linked_lock_or_a_pipe_is_not_followed(folder: Path, tmp_path: Path) -> None:
    folder.mkdir(parents=True)
    (folder / LOCK).symlink_to(tmp_path / "elsewhere")
    os.mkfifo(folder / "fact.md")

    with pytest.raises(StoreError, match="is a link"):
        add(Ledger(FolderFiles(folder)), FACT)
    assert ["is not a regular file"] == [
        each.reason for each in Ledger(FolderFiles(folder)).read().problems
    ]
    assert not (tmp_path / "elsewhere").exists()


def test_readme_and_hidden_files_hold_no_facts(folder: Path) -> None:
    for name in ("README.md", ".draft.md", "notes.txt"):
        written(folder, name, "- no fact\n")

    assert {} == Ledger(FolderFiles(folder)).read().facts


def test_a_lock_that_is_held_is_named_when_time_is_up(folder: Path) -> None:
    folder.mkdir(parents=True)
    with (
        lock(folder / LOCK, wait_seconds=0),
        pytest.raises(StoreBusyError, match=r"\.lock for 0\.05 s"),
    ):
        add(Ledger(FolderFiles(folder, wait_seconds=0.05)), FACT)

    assert FACT == add(Ledger(FolderFiles(folder)), FACT)


def test_what_a_killed_process_left_half_written_is_removed(folder: Path) -> None:
    leftover = written(folder, ".preference.md.7-8.tmp", "- half of a fact")

    add(Ledger(FolderFiles(folder)), FACT)

    assert not leftover.exists()


def test_a_persons_save_while_facts_are_written_is_not_lost(folder: Path) -> None:
    file = written(folder, "preference.md", "- before\n")
    saves = iter(["- saved meanwhile\n"])

    def work(draft: Draft) -> None:
        draft.add(FACT)
        if text := next(saves, ""):
            file.write_text(text, encoding="utf-8")

    Ledger(FolderFiles(folder)).edit(work)

    assert f"- saved meanwhile\n- Ada prefers dark mode {RECORD}\n" == file.read_text("utf-8")


def test_a_file_that_never_rests_is_told(folder: Path) -> None:
    file = written(folder, "preference.md", "")

    def work(draft: Draft) -> None:
        draft.add(FACT)
        file.write_text(f"{file.read_text('utf-8')}- more\n", encoding="utf-8")

    with pytest.raises(StoreBusyError, match="keep changing"):
        Ledger(FolderFiles(folder)).edit(work)

    assert "- more\n" * 5 == file.read_text("utf-8")


def test_what_is_forgotten_leaves_no_text_and_does_not_come_back(folder: Path) -> None:
    ledger = Ledger(FolderFiles(folder))
    add(ledger, FACT)
    ledger.edit(lambda draft: draft.forget(ID))

    assert not any(b"dark mode" in file.read_bytes() for file in folder.iterdir())
    assert [64, len(ID)] == [len(line) for line in (folder / FORGOTTEN).read_text("utf-8").split()]
    said = replace(FACT, text="ada prefers DARK mode.")
    extracted = replace(said, provenance=Provenance.INGEST)
    again = ledger.edit(lambda draft: remember(draft, extracted, now=NOW))
    on_purpose = ledger.edit(lambda draft: remember(draft, said, now=NOW))

    assert Verdict.FORGOTTEN == again.decision.verdict
    assert Verdict.ADD == on_purpose.decision.verdict


def test_forgetting_that_was_cut_short_is_completed_by_the_next_edit(folder: Path) -> None:
    ledger = Ledger(FolderFiles(folder))
    add(ledger, FACT)
    ledger.edit(lambda draft: draft.forget(ID))
    written = (folder / FORGOTTEN).read_text("utf-8")
    cut_short = folder / f".{FORGOTTEN}.1-1.tmp"
    (folder / FORGOTTEN).rename(cut_short)
    (folder / f".{FORGOTTEN}.2-1.tmp").write_text("neither digest nor id\n", encoding="utf-8")

    add(ledger, replace(FACT, id=OTHER, text="Ada likes tea"))

    assert written == (folder / FORGOTTEN).read_text("utf-8")
    assert not cut_short.exists()


def test_a_fact_that_is_still_there_does_not_count_as_forgotten(folder: Path) -> None:
    ledger = Ledger(FolderFiles(folder))
    add(ledger, FACT)
    (folder / f".{FORGOTTEN}.1-1.tmp").write_text(f"{ID}\n", encoding="utf-8")

    add(ledger, replace(FACT, id=OTHER, text="Ada likes tea"))

    assert {ID, OTHER} == set(ledger.read().facts)
    assert not (folder / FORGOTTEN).exists()


def test_superseding_marks_the_old_fact_where_it_stands(folder: Path) -> None:
    ledger = Ledger(FolderFiles(folder))
    add(ledger, FACT)
    newer = replace(
        FACT, id=OTHER, text="Ada prefers light mode", supersedes=(ID,), category="rule"
    )

    ledger.edit(lambda draft: remember(draft, newer, now=NOW))

    assert "- ~~Ada prefers dark mode~~ " in (folder / "preference.md").read_text("utf-8")
    facts = ledger.read().facts
    assert OTHER == facts[ID].superseded_by
    assert NOW == facts[ID].valid_until
    assert newer == facts[OTHER]


def test_two_stored_facts_can_be_linked_afterwards(folder: Path) -> None:
    written(folder, "fact.md", "- old\n- new\n")
    ledger = Ledger(FolderFiles(folder))
    old, new = ledger.read().facts

    ledger.edit(lambda draft: supersede(draft, old, by_id=new))

    facts = ledger.read().facts
    assert new == facts[old].superseded_by
    assert (old,) == facts[new].supersedes
    with pytest.raises(UsageError, match="cannot supersede"):
        ledger.edit(lambda draft: supersede(draft, new, by_id=old))


@pytest.mark.parametrize("unwritten", ["fact.md", "rule.md"])
def test_a_link_of_which_one_half_was_written_is_completed(folder: Path, unwritten: str) -> None:
    before = {"fact.md": "- Ada works on Friday\n", "rule.md": "- Ada is off on Friday\n"}
    for name, text in before.items():
        written(folder, name, text)
    ledger = Ledger(FolderFiles(folder))
    old, new = ledger.read().facts
    ledger.edit(lambda draft: supersede(draft, old, by_id=new))
    linked = {name: (folder / name).read_text("utf-8") for name in before}
    written(folder, unwritten, before[unwritten])

    ledger.edit(lambda draft: supersede(draft, old, by_id=new))

    assert linked == {name: (folder / name).read_text("utf-8") for name in before}


WRITERS = 5
FACTS_EACH = 20


def _add_many(folder: Path, writer: int) -> None:
    ledger = Ledger(FolderFiles(folder, wait_seconds=PATIENCE_SECONDS))
    for number in range(FACTS_EACH):
        # The same id from every process: the ledger must tell them apart.
        add(
            ledger,
            replace(FACT, text=f"fact {writer}/{number}", id=mint_id(NOW, random_bits=number)),
        )


def test_processes_that_write_at_once_lose_nothing(folder: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=_add_many, args=(folder, writer)) for writer in range(WRITERS)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(PATIENCE_SECONDS)

    state = Ledger(FolderFiles(folder)).read()

    assert [0] * WRITERS == [writer.exitcode for writer in writers]
    expected = sorted(
        f"fact {writer}/{number}" for writer in range(WRITERS) for number in range(FACTS_EACH)
    )
    assert expected == sorted(fact.text for fact in state.facts.values())
    assert () == state.problems
    assert ["preference.md"] == [file.name for file in folder.iterdir() if file.name[0] != "."]
    assert (folder / LOCK).exists()


def test_the_same_said_twice_at_once_is_stored_once(folder: Path) -> None:
    ledger = Ledger(FolderFiles(folder))
    facts = [replace(FACT, id=mint_id(NOW, random_bits=chance)) for chance in range(8)]

    def say(fact: Fact) -> None:
        ledger.edit(lambda draft: remember(draft, fact, now=NOW))

    threads = [threading.Thread(target=say, args=(fact,)) for fact in facts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert 1 == len(ledger.read().facts)
