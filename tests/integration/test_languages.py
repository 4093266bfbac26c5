"""Notes in several languages: two models embed them into one space."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from recollect import Memory
from recollect.ingest import embed
from recollect.providers import local
from recollect.providers.local import LocalProvider
from recollect.providers.models import files
from recollect.search import options
from recollect.types import Leg, Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from recollect.providers.models.manifest import Manifest

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


def test_all_texts_have_a_vector_in_one_space(memory: Memory) -> None:
    report = memory.sync()

    assert (4, 4, 0, ()) == (report.chunks, report.embedded, report.pending, report.notices)
    store = memory.parts.store
    [space] = store.spaces()
    assert "recollect-embedder" == space.model
    coded = store.word_codes(space, keys=store.embedded(space, scope=Scope()).tolist())
    assert 1 == len(coded)  # the English note


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


def test_a_memory_in_english_does_not_load_the_other_model(
    monkeypatch: pytest.MonkeyPatch,
    workspace: Path,
    environ: dict[str, str],
    write: Callable[[str, str], Path],
) -> None:
    loaded: list[str] = []

    def noted(manifest: Manifest, folder: Path | None) -> Mapping[str, bytes]:
        loaded.append(manifest.id)
        return files.read_model(manifest, folder)

    monkeypatch.setattr(local, "read_model", noted)
    write("memory/ferry.md", NOTES["memory/ferry.md"])
    with Memory.open(workspace, environ=environ) as memory:
        memory.sync()
        memory.search("When does the boat depart?")
        before = list(loaded)
        memory.search("Когда отходит паром на остров?")

    assert ["recollect-embedder"] == before
    assert ["recollect-embedder", "recollect-multilingual"] == loaded


def test_what_was_embedded_once_is_reused_in_any_language(
    workspace: Path, environ: dict[str, str], write_notes: None
) -> None:
    del write_notes
    with Memory.open(workspace, environ=environ) as memory:
        memory.sync()
        memory.parts.store.clear()
        again = memory.sync()

    assert (0, 4, 0) == (again.embedded, again.reused, again.pending)


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


def test_related_notes_and_the_map_are_there_for_all_languages(
    memory: Memory, write: Callable[[str, str], Path]
) -> None:
    write("memory/花生.md", "花生酱和花生油都会引起过敏反应。\n")
    memory.sync()

    related = memory.overview.related("memory/过敏.md")

    assert "memory/花生.md" == related.notes[0].path
    drawn = memory.overview.map()
    assert {*NOTES, "memory/花生.md"} == {point.path for point in drawn.points}


def test_texts_that_an_english_model_cannot_read_are_reported_and_found_by_keyword(
    monkeypatch: pytest.MonkeyPatch, memory: Memory
) -> None:
    monkeypatch.setattr(local, "MULTILINGUAL", None)

    report = memory.sync()
    again = memory.sync()

    assert (2, 2, 2) == (report.embedded, report.pending, report.refused)
    [told] = report.notices
    assert told.startswith("The model does not read the script of some texts (2)")
    assert (0, (told,)) == (again.embedded, again.notices)
    found = memory.search("花生过敏")
    assert ["memory/过敏.md"] == [hit.path for hit in found.hits]
    assert not any("not embedded yet" in notice for notice in found.notices)
    assert found.degraded is not None
    assert "about a hundred languages" in found.degraded[Leg.VECTOR].action


def test_no_space_is_filled_while_its_background_is_not_known(
    monkeypatch: pytest.MonkeyPatch, memory: Memory
) -> None:
    """Without it, no search can tell what a vector's nearness means."""
    with monkeypatch.context() as patched:
        without = property(
            lambda _provider: None, lambda provider, known: vars(provider).update(background=known)
        )
        patched.setattr(LocalProvider, "background", without, raising=False)
        patched.setattr(embed, "measured", lambda *_given: None)  # out of time
        before = memory.sync()
        spaces = list(memory.parts.store.spaces())
    after = memory.sync()

    assert (0, 4, []) == (before.embedded, before.pending, spaces)
    assert (4, 0) == (after.embedded, after.pending)
