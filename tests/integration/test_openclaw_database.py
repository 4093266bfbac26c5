"""Conversations in OpenClaw's own database, which the real program wrote (tests/fixtures)."""

from __future__ import annotations

import gzip
import json
import subprocess
from contextlib import closing
from pathlib import Path
from queue import Queue
from typing import TYPE_CHECKING

import apsw
import pytest
from tests.support.commands import recollect_command

from recollect import Memory, RecollectError
from recollect.reports import Report

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FIXTURE = Path(__file__).parents[1] / "fixtures" / "openclaw" / "agent-23.sqlite.gz"
BOTH = {"sources": ["memory", "sessions"], "provider": "none"}
BOAT, PARTY = "sessions/main/boat.jsonl", "sessions/main/party.jsonl"
VIEW = (
    "CREATE VIEW session_windows (session_id, session_key, transcript_updated_at) AS SELECT 1, 2, 3"
)
QUESTION = "Where does the spare key of the boat house hang?"


@pytest.fixture
def database(environ: dict[str, str]) -> Path:
    file = Path(environ["HOME"]) / ".openclaw/agents/main/agent/openclaw-agent.sqlite"
    file.parent.mkdir(parents=True)
    file.write_bytes(gzip.decompress(FIXTURE.read_bytes()))
    return file


@pytest.fixture
def memory(database: Path, workspace: Path, environ: dict[str, str]) -> Iterator[Memory]:
    assert database.is_file()
    with Memory.open(workspace, agent="main", settings=BOTH, environ=environ) as opened:
        yield opened


def change(database: Path, sql: str, values: Sequence[apsw.SQLiteValue] = ()) -> None:
    with closing(apsw.Connection(str(database))) as connection:
        connection.execute(sql, values)


def say(database: Path, text: str, *, at_ms: int = 1_900_000_000_000) -> None:
    """Add what OpenClaw would to the conversation `boat`."""
    event = {"type": "message", "message": {"role": "user", "content": text, "timestamp": at_ms}}
    change(
        database,
        "INSERT INTO transcript_events (session_id, seq, event_json, created_at) "
        "SELECT 'boat', max(seq) + 1, ?, ? FROM transcript_events WHERE session_id = 'boat'",
        (json.dumps(event), at_ms),
    )


def paths_of(memory: Memory, question: str) -> list[str]:
    return [hit.path for hit in memory.search(question).hits]


def test_a_conversation_is_found_with_its_lines(memory: Memory) -> None:
    hit = memory.search(QUESTION).hits[0]
    excerpt = memory.get(BOAT, start_line=hit.start_line, lines=1)

    assert (BOAT, "sessions", "user,assistant") == (hit.path, hit.source, hit.speaker)
    assert "User: The spare key of the boat house hangs behind the blue barrel." == excerpt.text
    assert [PARTY] == paths_of(memory, "vegetarian birthday")


def test_rows_that_openclaw_compressed_are_read(memory: Memory, database: Path) -> None:
    with closing(apsw.Connection(str(database))) as connection:
        packed = connection.execute(
            "SELECT count(*) FROM transcript_events WHERE event_zstd IS NOT NULL"
        ).get

    assert packed
    assert [BOAT] == paths_of(memory, "lighthouse café")


def test_secrets_of_a_conversation_are_masked(memory: Memory) -> None:
    (hit, *_) = memory.search("my key for the harbour").hits

    assert "sk-abcdefghijklmnopqrstuvwx1234ABCD" not in memory.get(BOAT).text
    assert "sk-abc…ABCD" in hit.text


def test_reading_leaves_the_file_and_its_folder_as_they_were(
    memory: Memory, database: Path
) -> None:
    before = database.read_bytes()
    assert [BOAT] == paths_of(memory, QUESTION)
    assert memory.sessions.import_transcripts()
    memory.get(BOAT)

    assert before == database.read_bytes()
    assert [database] == list(database.parent.iterdir())


def test_openclaw_may_write_while_its_conversations_are_read(
    memory: Memory, database: Path
) -> None:
    with closing(apsw.Connection(str(database))) as openclaw:
        openclaw.pragma("wal_autocheckpoint", 0)
        say(database, "The oars lie under the jetty.")
        openclaw.execute("BEGIN IMMEDIATE")
        during = paths_of(memory, "Where are the oars?")
        openclaw.execute("UPDATE session_windows SET updated_at = updated_at + 1")
        openclaw.execute("COMMIT")

    assert [BOAT] == during


def test_a_conversation_that_goes_on_is_found_again(memory: Memory, database: Path) -> None:
    assert [] == paths_of(memory, "oars")

    say(database, "The oars lie under the jetty.")

    assert [BOAT] == paths_of(memory, "oars")


def test_a_watching_memory_notices_what_is_said(memory: Memory, database: Path) -> None:
    syncs: Queue[Report | RecollectError] = Queue()
    worker = memory.worker(on_sync=syncs.put, on_notice=pytest.fail)
    worker.start()
    try:
        first = syncs.get(timeout=60)
        say(database, "The oars lie under the jetty.")
        while not isinstance(report := syncs.get(timeout=60), Report) or not report.changed:
            pass
    finally:
        worker.stop()

    assert isinstance(first, Report)
    assert (2, 1) == (first.added, report.changed)


def test_a_conversation_belongs_to_the_workspace_it_was_held_in(
    database: Path, workspace: Path, environ: dict[str, str]
) -> None:
    change(
        database,
        "UPDATE transcript_events SET event_json = json_set(event_json, '$.cwd', ?) "
        "WHERE seq = 0 AND session_id = 'boat'",
        (str(workspace),),
    )
    with Memory.open(workspace, settings=BOTH, environ=environ) as memory:
        listed, failures = memory.sessions.all()

    assert ([BOAT], []) == ([each.path for each in listed], failures)
    assert str(database) == listed[0].file


def test_runs_that_no_person_held_and_forgotten_ones_are_left_out(
    memory: Memory, database: Path
) -> None:
    change(
        database,
        "UPDATE session_nodes SET spawned_by = 'agent:main:cron:daily:run:7' "
        "WHERE current_session_id = 'boat'",
    )
    change(database, "INSERT INTO memory_session_tombstones VALUES ('party', 'main', 'asked', 1)")
    listed, _ = memory.sessions.all()

    assert {
        BOAT: "is a scheduled run",
        PARTY: "was forgotten in OpenClaw",
    } == {each.path: each.excluded for each in listed}
    assert [] == paths_of(memory, QUESTION)
    assert [] == memory.sessions.import_transcripts()


def test_an_imported_conversation_outlives_the_database(memory: Memory, database: Path) -> None:
    assert [BOAT, PARTY] == memory.sessions.import_transcripts()
    assert [] == memory.sessions.import_transcripts()
    say(database, "The oars lie under the jetty.")
    assert [BOAT] == memory.sessions.import_transcripts()
    lines = memory.search(QUESTION).hits[0].start_line
    database.unlink()
    hit = memory.search(QUESTION).hits[0]

    assert (BOAT, lines) == (hit.path, hit.start_line)
    assert [BOAT] == paths_of(memory, "oars")


def test_a_conversation_is_forgotten_by_its_id_and_comes_back(memory: Memory) -> None:
    assert [BOAT] == paths_of(memory, QUESTION)
    assert [BOAT] == memory.sessions.forget(["boat"])
    assert [] == paths_of(memory, QUESTION)
    assert [BOAT] == memory.sessions.restore(["boat"])
    assert [BOAT] == paths_of(memory, QUESTION)


def test_a_row_that_is_not_utf8_costs_itself_only(database: Path, memory: Memory) -> None:
    say(database, "The foghorn needs a reed.")
    change(
        database,
        "INSERT INTO transcript_events (session_id, seq, event_json, created_at) "
        "SELECT 'boat', max(seq) + 1, CAST(x'ff' AS TEXT), 1 FROM transcript_events",
    )

    assert [BOAT] == paths_of(memory, "foghorn reed")


@pytest.mark.parametrize(
    ("sql", "schema"),
    [
        ("PRAGMA user_version = 24", "24"),
        ("ALTER TABLE transcript_events RENAME COLUMN event_json TO body", "23"),
        ("DROP TABLE session_windows", "23"),
        (f"DROP TABLE session_windows; {VIEW}", "23"),
    ],
)
def test_an_unknown_schema_is_refused_with_the_next_step(
    sql: str, schema: str, database: Path, workspace: Path, environ: dict[str, str]
) -> None:
    change(database, sql)
    done = subprocess.run(
        [*recollect_command(), "-w", workspace, "--agent", "main", "sessions", "list"],
        env={**environ, "RECOLLECT_SOURCES": "memory,sessions", "RECOLLECT_PROVIDER": "none"},
        capture_output=True,
        text=True,
        check=False,
    )

    told = done.stdout + done.stderr
    assert f"has schema {schema} of OpenClaw's agent database; this version reads 19 to 23" in told
    assert "Upgrade Recollect" in told


def test_what_was_indexed_stays_searchable_after_an_update_of_openclaw(
    memory: Memory, database: Path
) -> None:
    assert [BOAT] == paths_of(memory, QUESTION)

    change(database, "PRAGMA user_version = 24")

    assert [BOAT] == paths_of(memory, QUESTION)


def test_a_database_from_before_conversations_were_in_it_is_no_failure(
    memory: Memory, database: Path
) -> None:
    change(database, "DROP TABLE transcript_events")
    change(database, "PRAGMA user_version = 1")

    assert ([], []) == memory.sessions.all()


def test_a_transcript_that_openclaw_has_moved_into_the_database_counts_once(
    memory: Memory, database: Path
) -> None:
    old = database.parents[1] / "sessions" / "boat.jsonl"
    old.parent.mkdir()
    old.write_text('{"type": "session", "id": "boat", "version": 3}\n', encoding="utf-8")

    listed, failures = memory.sessions.all()

    assert ([BOAT, PARTY], []) == ([each.path for each in listed], failures)
    assert [BOAT] == paths_of(memory, QUESTION)
