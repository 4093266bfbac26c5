from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from recollect.sessions.project import ProjectOptions, document_of, project
from recollect.sessions.transcript import Speaker, Transcript, Turn
from recollect.text.size import estimate_tokens
from recollect.types import Chunk, Document, SourceKind, Stat

MOMENT = datetime(2026, 2, 1, 23, 30, tzinfo=UTC)
PATH = "sessions/main/s-1.jsonl"
STAT = Stat(size_bytes=1, mtime_ns=0)


def turn(line: int, text: str, *, by: Speaker = Speaker.USER, minutes: int = 0) -> Turn:
    moment = MOMENT + timedelta(minutes=minutes)
    return Turn(line, by, text, moment)


def answer(line: int, text: str) -> Turn:
    return turn(line, text, by=Speaker.ASSISTANT)


def transcript(*turns: Turn, resets: tuple[int, ...] = (), title: str | None = None) -> Transcript:
    return Transcript(started=MOMENT, turns=turns, resets=resets, title=title)


def document(
    read: Transcript, *, path: str = PATH, options: ProjectOptions | None = None
) -> tuple[Document, list[Chunk]]:
    options = options or ProjectOptions()
    return document_of(read, path=path, stat=STAT, now_ns=10**18, options=options)


def test_a_conversation_becomes_a_document_with_dated_chunks() -> None:
    found, chunks = document(
        transcript(turn(2, "Prune the roses?"), answer(6, "In March."), title="Roses")
    )

    expected = Chunk(
        path=PATH,
        source=SourceKind.SESSIONS,
        start_line=2,
        end_line=6,
        text="User: Prune the roses?\nAssistant: In March.",
        heading=("Roses",),
        when=date(2026, 2, 1),
        speaker="user,assistant",
        moment="2026-02-01T23:30:00Z",
    )

    assert [expected] == chunks
    assert (PATH, SourceKind.SESSIONS, expected.text) == (found.path, found.source, found.text)
    assert (date(2026, 2, 1), STAT, True) == (found.when, found.stat, found.is_settled)


def test_the_day_is_that_of_the_users_calendar() -> None:
    options = ProjectOptions(zone=timezone(timedelta(hours=2)))

    found, chunks = document(transcript(turn(1, "Late")), options=options)

    assert date(2026, 2, 2) == found.when
    assert [date(2026, 2, 2)] == [chunk.when for chunk in chunks]


def test_a_conversation_without_times_has_the_day_of_its_name_or_none() -> None:
    silent = Transcript(turns=(Turn(1, Speaker.USER, "Hi", None),))

    archived, chunks = document(silent, path="sessions/a/s.jsonl.reset.2026-01-31T10-00-00.000Z")
    live, _ = document(silent)

    assert (date(2026, 1, 31), None) == (archived.when, live.when)
    assert [(date(2026, 1, 31), "")] == [(chunk.when, chunk.moment) for chunk in chunks]


def test_a_file_that_was_just_written_is_not_settled() -> None:
    read = transcript(turn(1, "Hi"))

    found, _ = document_of(read, path=PATH, stat=STAT, now_ns=10**9, options=ProjectOptions())

    assert not found.is_settled


def test_a_long_message_is_several_lines_of_one_line_of_the_transcript() -> None:
    projection = project(transcript(answer(7, "word " * 400 + "end")), options=ProjectOptions())

    assert [7, 7, 7] == [line.number for line in projection.lines]
    assert all(line.startswith("Assistant: word") for line in projection.text.split("\n"))
    assert all(len(line) <= 800 + len("Assistant: ") for line in projection.text.split("\n"))


def test_two_full_lines_fit_in_a_chunk() -> None:
    _, chunks = document(transcript(answer(1, "a" * 3200)))

    assert [1, 1] == [chunk.text.count("\n") for chunk in chunks]
    assert all(estimate_tokens(chunk.text) <= 406 for chunk in chunks)


def test_no_chunk_reaches_across_a_reset() -> None:
    _, chunks = document(
        transcript(turn(2, "before"), turn(3, "still"), turn(5, "after"), resets=(4,))
    )

    assert [(2, 3), (5, 5)] == [(chunk.start_line, chunk.end_line) for chunk in chunks]


def test_a_conversation_without_a_title_is_headed_by_its_first_words() -> None:
    _, chunks = document(
        transcript(turn(1, "Prune the roses, " + "then water them " * 60), answer(2, "x" * 1500))
    )

    opening = "Prune the roses, then water them then water them then water them then water them"

    assert [(opening,)] * 3 == [chunk.heading for chunk in chunks]


def test_each_generation_is_headed_by_its_own_first_words() -> None:
    _, chunks = document(transcript(turn(1, "Roses"), turn(3, "Taxes"), resets=(2,)))

    assert [("Roses",), ("Taxes",)] == [chunk.heading for chunk in chunks]


def test_words_do_not_head_what_was_said_before_them() -> None:
    _, chunks = document(transcript(answer(1, "a" * 3000), turn(2, "Late " + "b" * 700)))

    assert [(), (), ("Late",)] == [chunk.heading for chunk in chunks]


def test_a_title_that_comes_late_changes_no_vector() -> None:
    turns = [turn(number, "Water the beds " * 40) for number in range(1, 9)]

    _, untitled = document(transcript(*turns))
    _, titled = document(transcript(*turns, title="Garden"))

    assert [chunk.digest for chunk in untitled] == [chunk.digest for chunk in titled]


def test_a_title_is_not_longer_than_a_heading() -> None:
    projection = project(transcript(title="long words " * 50), options=ProjectOptions())

    assert 120 >= len(projection.title) > 100


def test_an_excluded_conversation_has_nothing_to_find() -> None:
    found, chunks = document(replace(transcript(turn(1, "Tick")), excluded="is a heartbeat"))

    assert ("", []) == (found.text, chunks)


@pytest.mark.parametrize(
    "changed",
    [
        transcript(turn(1, "Hi!"), answer(2, "Ho")),
        transcript(turn(1, "Hi"), answer(3, "Ho")),
        transcript(turn(1, "Hi", minutes=1), answer(2, "Ho")),
        transcript(turn(1, "Hi"), answer(2, "Ho"), resets=(2,)),
        transcript(turn(1, "Hi"), answer(2, "Ho"), title="Greetings"),
    ],
)
def test_the_digest_covers_all_that_is_stored(changed: Transcript) -> None:
    read = transcript(turn(1, "Hi"), answer(2, "Ho"))

    assert document(read)[0].digest != document(changed)[0].digest


def test_a_chunk_tells_who_speaks_and_since_when() -> None:
    silent = replace(answer(1, "Ho"), moment=None)
    _, [chunk] = document(transcript(silent, turn(2, "Hi")))

    assert ("user,assistant", "2026-02-01T23:30:00Z") == (chunk.speaker, chunk.moment)
