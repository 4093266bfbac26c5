"""The Python API: sync, search, get, status on real files with the real model."""

from __future__ import annotations

import os
import pydoc
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime
from typing import TYPE_CHECKING

import pytest

from recollect import (
    AsyncMemory,
    Memory,
    NotFoundError,
    QueryError,
    SourceKind,
    Step,
    WorkspaceError,
)
from recollect.hosting.host import PushedMemory
from recollect.providers import local
from recollect.providers.cross_encoder import CrossEncoder
from recollect.search.scores import COINCIDENCE
from recollect.types import Leg

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def memory(workspace: Path, environ: dict[str, str], each_store: str) -> Iterator[Memory]:
    with Memory.open(workspace, environ=environ, settings={"store": each_store}) as opened:
        yield opened


@pytest.fixture
def keyword_memory(workspace: Path, environ: dict[str, str], each_store: str) -> Iterator[Memory]:
    settings = {"provider": "none", "store": each_store}
    with Memory.open(workspace, environ=environ, settings=settings) as opened:
        yield opened


def test_an_edit_embeds_only_the_chunks_whose_text_changed(
    memory: Memory, write: Callable[[str, str], Path]
) -> None:
    sections = [f"## Part {number}\n\nSentence number {number}.\n" for number in range(10)]
    write("memory/a.md", "\n".join(sections))
    first = memory.sync()
    sections[4] = "## Part 4\n\nSomething else altogether.\n"
    write("memory/a.md", "\n".join(sections))

    second = memory.sync()

    assert (10, 10) == (first.chunks, first.embedded)
    assert (1, 10, 1) == (second.changed, second.chunks, second.embedded)


def test_a_moved_file_is_one_move_and_embeds_nothing(
    memory: Memory, write: Callable[[str, str], Path], workspace: Path
) -> None:
    file = write("memory/a.md", "The quick brown fox.\n")
    memory.sync()
    (workspace / "memory" / "deep").mkdir()
    file.rename(workspace / "memory" / "deep" / "b.md")

    report = memory.sync()

    assert (0, 1, 0, 0) == (report.added, report.moved, report.removed, report.embedded)
    assert ["memory/deep/b.md"] == [hit.path for hit in memory.search("brown fox").hits]


def test_a_deleted_file_is_found_no_more(memory: Memory, write: Callable[[str, str], Path]) -> None:
    file = write("memory/a.md", "The quick brown fox.\n")
    memory.sync()
    file.unlink()

    report = memory.sync()

    assert (1, 0) == (report.removed, report.chunks)
    assert () == memory.search("brown fox").hits


def test_an_unchanged_file_is_not_read_again(
    keyword_memory: Memory, write: Callable[[str, str], Path]
) -> None:
    file = write("memory/a.md", "apple\n")
    os.utime(file, (1_700_000_000, 1_700_000_000))
    keyword_memory.sync()
    seen: list[Step] = []

    report = keyword_memory.sync(progress=seen.append)

    assert 1 == report.unchanged
    assert [Step("read", 0, 0)] == seen


def test_a_change_that_leaves_size_and_time_is_seen_while_the_file_is_fresh(
    keyword_memory: Memory, write: Callable[[str, str], Path]
) -> None:
    file = write("memory/a.md", "apple\n")
    keyword_memory.sync()
    stat = file.stat()
    file.write_text("grape\n", encoding="utf-8")
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    report = keyword_memory.sync()

    assert 1 == report.changed
    assert keyword_memory.search("grape").hits


def test_force_reads_everything_again_and_embeds_nothing_twice(
    memory: Memory, write: Callable[[str, str], Path]
) -> None:
    write("memory/a.md", "apple\n")
    memory.sync()

    report = memory.sync(force=True)

    assert (1, 0, 0) == (report.unchanged, report.changed, report.embedded)


def test_other_chunk_settings_redo_the_documents(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path]
) -> None:
    write("memory/a.md", "\n\n".join(f"Paragraph {number} " * 20 for number in range(10)))
    none = {"provider": "none"}
    with Memory.open(workspace, environ=environ, settings=none) as memory:
        large = memory.sync().chunks
    small = {**none, "chunk.tokens": 64, "chunk.overlap": 8}
    with Memory.open(workspace, environ=environ, settings=small) as memory:
        report = memory.sync()

    assert 1 == report.changed
    assert report.chunks > large


def test_files_that_cannot_be_taken_in_are_reported_and_the_rest_is_indexed(
    keyword_memory: Memory, write: Callable[[str, str], Path], workspace: Path
) -> None:
    write("memory/good.md", "apple\n")
    (workspace / "memory" / "binary.md").write_bytes(b"\x00\x01\x02\xff" * 100)
    (workspace / "memory" / "latin1.md").write_bytes("Größe".encode("latin-1"))
    (workspace / "memory" / "folder.md").mkdir()
    write("memory/front.md", "---\nthis: [is: not\nyaml\n\nbanana stays\n")
    write("memory/line.md", "cherry " * 200_000)

    report = keyword_memory.sync()

    failed = {each.path for each in report.failed}
    assert {"memory/binary.md", "memory/latin1.md", "memory/front.md:1"} == failed
    assert all(each.action for each in report.failed)
    for word in ("apple", "banana", "cherry"):
        assert keyword_memory.search(word).hits, word


def test_a_file_that_turns_unreadable_keeps_what_was_known_of_it(
    keyword_memory: Memory, write: Callable[[str, str], Path]
) -> None:
    file = write("memory/a.md", "apple\n")
    keyword_memory.sync()
    file.write_bytes(b"\x00\xff\x00")

    report = keyword_memory.sync()

    assert ["memory/a.md"] == [each.path for each in report.failed]
    assert ["memory/a.md"] == [hit.path for hit in keyword_memory.search("apple").hits]


def test_a_note_that_shares_no_word_with_the_question_is_found(
    memory: Memory, write: Callable[[str, str], Path]
) -> None:
    write("memory/food.md", "Mika is allergic: peanuts and cashews cause a reaction.\n")
    write("memory/car.md", "Winter tyres were fitted on the van.\n")
    memory.sync()

    results = memory.search("which snacks should be avoided")

    assert "memory/food.md" == results.hits[0].path
    assert results.hits[0].text_score is None
    assert results.hits[0].vector_score is not None


def test_without_a_vector_leg_keyword_hits_keep_their_score(
    memory: Memory, keyword_memory: Memory, write: Callable[[str, str], Path]
) -> None:
    write("memory/a.md", "The zanzibar protocol.\n")
    memory.sync()

    hit = keyword_memory.search("zanzibar").hits[0]

    with_vectors = memory.search("zanzibar").hits[0]
    assert hit.vector_score is None
    assert with_vectors.text_score is not None
    assert hit.text_score == pytest.approx(with_vectors.text_score + COINCIDENCE)
    assert hit.score >= 0.5


def test_hits_of_keyword_only_search_say_so(
    keyword_memory: Memory, write: Callable[[str, str], Path]
) -> None:
    write("memory/a.md", "apple\n")
    keyword_memory.sync()

    results = keyword_memory.search("apple")

    assert ("keyword", None, None) == (results.mode, results.provider, results.degraded)


def test_a_model_that_cannot_be_had_degrades_to_keyword_and_says_why(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path], tmp_path: Path
) -> None:
    write("memory/a.md", "apple\n")
    (tmp_path / "wrong").mkdir()
    (tmp_path / "wrong" / "model.onnx").write_bytes(b"not a model")
    settings = {"local.model_path": str(tmp_path / "wrong")}
    with Memory.open(workspace, environ=environ, settings=settings) as memory:
        report = memory.sync()
        results = memory.search("apple")

    assert ["memory/a.md"] == [hit.path for hit in results.hits]
    assert "keyword" == results.mode
    assert results.degraded is not None
    assert "cannot be used: vocab.txt" in results.degraded["vector"].reason
    assert results.degraded["vector"].action
    assert (1, 1) == (report.chunks, report.pending)


def test_a_query_in_a_script_the_model_does_not_read_is_a_keyword_search_that_says_so(
    memory: Memory, write: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "MULTILINGUAL", None)
    write("memory/a.md", "The sign on the door of the server room says 数据库.\n")
    memory.sync()

    results = memory.search("数据库")

    assert ["memory/a.md"] == [hit.path for hit in results.hits]
    assert "keyword" == results.mode
    assert results.degraded is not None
    assert "does not support this writing system" in results.degraded["vector"].reason


def test_the_first_results_do_not_depend_on_how_many_are_asked_for(
    memory: Memory, write: Callable[[str, str], Path]
) -> None:
    for number in range(30):
        write(f"memory/{number}.md", f"Meeting {number} about the garden and topic {number % 5}.\n")
    memory.sync()

    firsts = {
        tuple(hit.path for hit in memory.search("garden meeting", max_results=count).hits[:1])
        for count in (1, 6, 20)
    }

    assert 1 == len(firsts)


def test_date_and_path_narrow_the_search(
    keyword_memory: Memory, write: Callable[[str, str], Path]
) -> None:
    write("memory/2026-01-10.md", "apple in January\n")
    write("memory/2026-02-10.md", "apple in February\n")
    write("memory/fruit/apple.md", "apple undated\n")
    keyword_memory.sync()

    def paths(**scope: object) -> list[str]:
        return sorted(hit.path for hit in keyword_memory.search("apple", tail=True, **scope).hits)  # type: ignore[arg-type]

    assert ["memory/2026-02-10.md"] == paths(since=date(2026, 2, 1))
    assert ["memory/2026-01-10.md"] == paths(before=date(2026, 2, 1))
    assert ["memory/fruit/apple.md"] == paths(path="memory/fruit/*")
    assert 3 == len(paths(source=SourceKind.MEMORY))
    assert [] == paths(source="sessions")


def test_an_identifier_is_first_whatever_its_age(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path]
) -> None:
    write("memory/2010-01-01.md", "Closed ticket TCK-82152 after the call.\n")
    for day in range(1, 20):
        write(f"memory/2026-09-{day:02}.md", f"Ticket TCK-82{day + 100} and the ticket queue.\n")
    settings = {"temporal_decay.enabled": True}
    with Memory.open(workspace, environ=environ, settings=settings) as memory:
        memory.sync()

        hits = memory.search("what happened with ticket TCK-82152 lately").hits

    assert "memory/2010-01-01.md" == hits[0].path
    assert sorted((hit.score for hit in hits), reverse=True) == [hit.score for hit in hits]


def test_sqlite_vec_and_numpy_give_the_same_answer(
    embedded_sample: Path, environ: dict[str, str]
) -> None:
    with Memory.open(embedded_sample, environ=environ) as memory:
        memory.sync()
        numpy = memory.search("who looks after the database", max_results=20).hits
    settings = {"vector.engine": "sqlite-vec"}
    with Memory.open(embedded_sample, environ=environ, settings=settings) as memory:
        vec = memory.search("who looks after the database", max_results=20).hits

    assert [hit.citation for hit in numpy] == [hit.citation for hit in vec]
    assert [hit.score for hit in numpy] == pytest.approx([hit.score for hit in vec], abs=1e-4)


def test_the_first_results_are_the_same_however_many_are_asked_for(
    embedded_sample: Path, environ: dict[str, str]
) -> None:
    with Memory.open(
        embedded_sample, environ=environ, settings={"rerank.enabled": False}
    ) as memory:
        memory.sync()
        found = [
            memory.search("who looks after the database", max_results=count, tail=True).hits
            for count in (10, 60, 100)
        ]

    assert 60 < len(found[-1])
    few, more, most = ([(hit.citation, hit.score) for hit in hits] for hits in found)
    assert few == more[:10]
    assert more == most[:60]


def test_an_exact_identifier_starts_no_reader(
    workspace: Path,
    environ: dict[str, str],
    write: Callable[[str, str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[str] = []
    monkeypatch.setattr(CrossEncoder, "prepare", lambda _: started.append("reader"))
    write("memory/ferry.md", "The timetable of the ferry hangs beside the door, code TCK-82152.\n")
    with Memory.open(workspace, environ=environ, settings={"provider": "none"}) as memory:
        memory.sync()

        exact = memory.search("where is TCK-82152")
        assert ([], True) == (started, exact.confident)

        memory.search("where is the timetable")

    assert ["reader"] == started


def test_bad_questions_are_refused(keyword_memory: Memory) -> None:
    for text, options in (
        ("  ", {}),
        ("x", {"max_results": 0}),
        ("x", {"max_results": -1}),
        ("x", {"min_score": 1.5}),
    ):
        with pytest.raises(QueryError):
            keyword_memory.search(text, **options)


def test_get_reads_what_search_cites(
    keyword_memory: Memory, write: Callable[[str, str], Path]
) -> None:
    write("memory/a.md", "intro\n\n# Head\n\nthe needle\n")
    keyword_memory.sync()
    hit = keyword_memory.search("needle").hits[0]

    excerpt = keyword_memory.get(
        hit.path, start_line=hit.start_line, lines=hit.end_line - hit.start_line + 1
    )

    assert hit.snippet == excerpt.text
    with pytest.raises(NotFoundError):
        keyword_memory.get("memory/none.md")


def test_a_link_that_leaves_the_workspace_is_neither_indexed_nor_read(
    keyword_memory: Memory, write: Callable[[str, str], Path], tmp_path: Path, workspace: Path
) -> None:
    write("memory/a.md", "apple\n")
    (tmp_path / "secret.md").write_text("classified\n", encoding="utf-8")
    (workspace / "memory" / "link.md").symlink_to(tmp_path / "secret.md")

    report = keyword_memory.sync()

    assert ["memory/link.md"] == [each.path for each in report.failed]
    assert () == keyword_memory.search("classified").hits
    with pytest.raises(NotFoundError):
        keyword_memory.get("memory/link.md")


def test_extra_paths_are_remembered_too(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path], tmp_path: Path
) -> None:
    write("docs/guide.md", "The lighthouse guide.\n")
    outside = tmp_path / "notes"
    outside.mkdir()
    (outside / "n.md").write_text("The lighthouse note.\n", encoding="utf-8")
    settings = {"provider": "none", "extra_paths": ["docs/**/*.md", str(outside)]}
    with Memory.open(workspace, environ=environ, settings=settings) as memory:
        memory.sync()

        paths = {hit.path for hit in memory.search("lighthouse").hits}

    assert {"docs/guide.md", "../notes/n.md"} == paths


def test_two_workspaces_never_share_an_index(tmp_path: Path, environ: dict[str, str]) -> None:
    agents = set()
    for parent in ("one", "two"):
        folder = tmp_path / parent / "same"
        (folder / "memory").mkdir(parents=True)
        (folder / "memory" / "a.md").write_text(f"word{parent}\n", encoding="utf-8")
        with Memory.open(folder, environ=environ, settings={"provider": "none"}) as memory:
            memory.sync()
            agents.add(memory.agent)
            assert 1 == memory.status().index.chunks

    assert 2 == len(agents)


def test_a_missing_workspace_is_an_error_and_makes_no_index(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    with pytest.raises(WorkspaceError):
        Memory.open(tmp_path / "nowhere", environ=environ)

    assert not (tmp_path / "home").exists()


def test_syncing_and_searching_change_no_file(sample: Path, environ: dict[str, str]) -> None:
    before = {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in sample.rglob("*.md")}
    with Memory.open(sample, environ=environ, settings={"provider": "none"}) as memory:
        memory.sync()
        memory.search("anything")

    after = {
        file: (file.read_bytes(), file.stat().st_mtime_ns)
        for file in sample.rglob("*")
        if file.is_file()
    }
    assert before == after


def test_each_leg_can_be_seen_alone(memory: Memory, write: Callable[[str, str], Path]) -> None:
    write("memory/food.md", "Mika is allergic to peanuts.\n")
    write("memory/car.md", "The van has winter tyres.\n")
    memory.sync()

    keyword = memory.search("is the van dangerous for people with an allergy", legs=["keyword"])
    vector = memory.search("is the van dangerous for people with an allergy", legs=["vector"])

    assert ("keyword", "vector") == (keyword.mode, vector.mode)
    assert {None} == {hit.vector_score for hit in keyword.hits}
    assert {None} == {hit.text_score for hit in vector.hits}
    assert keyword.degraded is vector.degraded is None


def test_days_named_in_the_question_favour_notes_of_those_days(
    memory: Memory, write: Callable[[str, str], Path]
) -> None:
    for number in range(1, 29):
        write(f"memory/2026-02-{number:02}.md", f"Lunch with guest {number} in the canteen.\n")
    memory.sync()
    question = "who did I have lunch with last Tuesday"

    hits = memory.search(question, today=date(2026, 2, 13), explain=True).hits
    without = memory.search(question, today=date(2026, 2, 13), legs=["keyword", "vector"]).hits

    assert "memory/2026-02-10.md" == hits[0].path
    assert hits[0].trace is not None
    assert hits[0].trace.legs[Leg.DATE].contribution > 0
    assert "memory/2026-02-10.md" != without[0].path
    assert memory.search(question, today=date(2026, 2, 13), fusion="weighted").hits
    assert memory.search(question, today=date(2026, 2, 13), fusion="rrf").hits


def test_a_question_for_a_day_alone_shows_no_notes_of_other_days(
    memory: Memory, write: Callable[[str, str], Path]
) -> None:
    for number in range(1, 29):
        write(f"memory/2026-02-{number:02}.md", f"What happened: guest {number} came.\n")
    memory.sync()

    def shown(question: str, *, tail: bool) -> set[date | None]:
        hits = memory.search(question, today=date(2026, 2, 13), tail=tail).hits
        return {hit.date for hit in hits}

    assert {date(2026, 2, 10)} == shown("what happened last Tuesday", tail=False)
    assert {date(2026, 2, 10)} < shown("what happened last Tuesday", tail=True)
    assert {date(2026, 2, 10)} < shown("which guest came last Tuesday", tail=False)


def test_a_chunk_is_read_in_the_light_of_its_document(
    memory: Memory, write: Callable[[str, str], Path]
) -> None:
    same = "## Detail\n\nIt is kept in the second drawer.\n"
    write("memory/tools.md", f"# Tools\n\nHammers, screwdrivers and saws.\n\n{same}")
    write("memory/tax.md", f"# Tax\n\nReceipts, invoices and the tax office.\n\n{same}")
    memory.sync()

    hits = memory.search("where do I find the hammer", legs=["vector"], max_results=4).hits

    details = [hit.path for hit in hits if hit.start_line == 5]
    assert "memory/tools.md" == details[0]


def test_a_question_about_days_without_notes_says_so(
    memory: Memory, write: Callable[[str, str], Path]
) -> None:
    write("memory/2026-02-01.md", "Lunch in the canteen.\n")
    memory.sync()

    empty = memory.search("what happened last week", today=date(2026, 8, 12))
    monday = memory.search("what happened this week", today=date(2026, 8, 10))
    month = memory.search("what is in June", today=date(2026, 8, 12))
    one = memory.search("what happened on 5 June", today=date(2026, 8, 12))
    filled = memory.search("what happened on 1 February 2026", today=date(2026, 8, 12))

    assert (
        "No hit is dated from 2026-08-03 to 2026-08-09, the days your question seems to mean.",
    ) == empty.notices
    assert (
        "No hit is dated from 2026-08-10 to 2026-08-16, the days your question seems to mean.",
    ) == monday.notices
    assert (
        "No hit is dated from 2026-06-01 to 2026-06-30, the days your question seems to mean.",
    ) == month.notices
    assert ("No hit is dated 2026-06-05, the day your question seems to mean.",) == one.notices
    assert () == filled.notices


def test_threads_may_share_one_memory(memory: Memory, write: Callable[[str, str], Path]) -> None:
    for number in range(20):
        write(
            f"memory/note-{number}.md", f"# Note {number}\n\nThe lamp number {number} is green.\n"
        )
    memory.sync()

    def ask(number: int) -> str:
        if number % 5 == 0:
            memory.sync()
        if number % 7 == 0:
            memory.facts.remember(f"The door number {number} is blue.")
        memory.overview.timeline()
        return memory.search(f"lamp number {number % 20}", legs=["keyword"]).hits[0].path

    with ThreadPoolExecutor(max_workers=6) as threads:
        found = list(threads.map(ask, range(60)))

    assert [f"memory/note-{number % 20}.md" for number in range(60)] == found


def test_a_source_that_does_not_exist_is_named(memory: Memory) -> None:
    with pytest.raises(QueryError, match="'diary' is not a valid source"):
        memory.search("lamp", source="diary")


def test_a_chinese_question_of_which_no_pair_of_characters_is_noted_finds_by_single_ones(
    keyword_memory: Memory, write: Callable[[str, str], Path]
) -> None:
    write("memory/cat.md", "猫的名字叫墨墨，它喜欢吃金枪鱼。\n")
    write("memory/key.md", "备用钥匙挂在锅炉后面。\n")
    keyword_memory.sync()

    asked = keyword_memory.search("猫叫什么")

    assert ["memory/cat.md"] == [hit.path for hit in asked.hits]
    assert not asked.confident
    assert () == keyword_memory.search("谁是总统").hits


def test_days_may_be_written_and_results_are_read_like_a_list(
    keyword_memory: Memory, write: Callable[[str, str], Path]
) -> None:
    write("memory/2026-01-05.md", "apple\n")
    write("memory/2026-02-07.md", "apple\n")

    found = keyword_memory.search("apple", since="2026-02-01", before=datetime(2026, 3, 1, 9))  # noqa: DTZ001

    assert ["memory/2026-02-07.md"] == [hit.path for hit in found]
    assert (1, "<Results of 'apple': 1 hits, keyword>") == (len(found), repr(found))
    assert (found.hits[0], found.hits) == (found[0], found[:1])
    assert "memory/2026-02-07.md#L1: 'apple'>" in repr(next(iter(found)))
    assert "apple" in keyword_memory.recall("apple").block
    with pytest.raises(QueryError, match="'soon' is not a day"):
        keyword_memory.search("apple", since="soon")
    with pytest.raises(QueryError, match="5 is not a day"):
        keyword_memory.overview.documents(since=5)  # type: ignore[arg-type]


def test_help_shows_the_methods_for_programs_and_the_parts_are_elsewhere() -> None:
    shown = pydoc.plain(pydoc.render_doc(Memory))

    assert type(Memory) is type
    assert "recall(" in shown
    assert "start_search" not in shown
    assert not issubclass(PushedMemory, Memory)


@pytest.mark.parametrize("thing", [Memory, AsyncMemory])
def test_help_shows_no_addresses(thing: type) -> None:
    assert " at 0x" not in pydoc.plain(pydoc.render_doc(thing))


def test_an_answer_is_unsure_if_most_of_its_question_was_respelled(
    memory: Memory, write: Callable[[str, str], Path]
) -> None:
    write("memory/a.md", "The restaurant Aurora grills sardines every Friday in summer.\n")
    write("memory/b.md", "The glazier came and put in the new pane.\n")

    texts = ("Aurora sardines Friday resturant", "resturant", "glazier resturant")
    asked = [memory.search(text) for text in texts]

    assert ["Searched for"] * 3 == [found.notices[0][:12] for found in asked]
    assert [True, False, False] == [found.confident for found in asked]


@pytest.mark.parametrize("asked", ["irigation", "irrigaton", "Lisbn", "trelis"])
def test_a_misspelled_word_alone_finds_its_note_by_keyword(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path], asked: str
) -> None:
    write("memory/a.md", "The irrigation of the trellis in Lisbon is broken.\n")
    write("memory/b.md", "The glazier came and put in the new pane.\n")

    with Memory.open(workspace, environ=environ, settings={"provider": "none"}) as memory:
        found = memory.search(asked)

    assert ["memory/a.md"] == [hit.path for hit in found.hits]


def test_a_respelled_word_next_to_another_word_of_the_question_is_not_a_guess(
    memory: Memory, write: Callable[[str, str], Path]
) -> None:
    write("memory/priya.md", "Priya is a data engineer. Her birthday is on 14 March.\n")
    write("memory/heron.md", "Priya wrote the whole import of Heron.\n")
    write("memory/dal.md", "Priya likes the dal with more cumin.\n")
    write("memory/glazier.md", "The glazier came and put in the new pane.\n")

    found = memory.search("priya birtday")

    assert ('Searched for "birthday", because "birtday" occurs nowhere.',) == found.notices
    assert "memory/priya.md" == found.hits[0].path
    assert found.confident


def test_what_is_near_to_an_identifier_that_occurs_nowhere_is_not_a_sure_answer(
    memory: Memory, write: Callable[[str, str], Path]
) -> None:
    write("memory/a.md", "The insurance paid claim SCH-2026-88213 for the broken window.\n")
    write("memory/2026-02-03.md", "The glazier came and put in the new pane.\n")

    asked = {name: memory.search(name) for name in ("SCH-2026-88213", "SCH-2026-88214")}
    part = memory.search("SCH-2026-8821")
    dated = memory.search("what happened on 2026-02-03")

    assert [True, False] == [found.confident for found in asked.values()]
    assert ("Nothing contains SCH-2026-88214.",) == asked["SCH-2026-88214"].notices
    assert ("Nothing contains SCH-2026-8821 except as part of a longer word.",) == part.notices
    assert () == dated.notices


def test_a_word_without_a_topic_is_no_question_that_memory_answers(
    memory: Memory, write: Callable[[str, str], Path]
) -> None:
    write("memory/note.md", "The ferry leaves at nine.\n")

    found = memory.search("the")

    assert found.hits
    assert not found.confident
