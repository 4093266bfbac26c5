"""What claude-mem noted, imported from its database: searched, masked, never written."""

from __future__ import annotations

import struct
from contextlib import closing
from typing import TYPE_CHECKING

import apsw
import pytest
from tests.support.claude_mem import MORNING, OBSERVED, SESSION, make_database

from recollect import Memory
from recollect.errors import UsageError
from recollect.sessions.openclaw_database import read_database
from recollect.sessions.rows import MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PATH = f"sessions/claude-mem/{SESSION}.jsonl"
ENDLESS = """
    ALTER TABLE observations RENAME TO o;
    CREATE VIEW observations AS
    WITH RECURSIVE r AS (SELECT * FROM o UNION ALL SELECT * FROM r) SELECT * FROM r
"""


@pytest.fixture
def memory(workspace: Path, environ: dict[str, str]) -> Iterator[Memory]:
    settings = {"sources": ["memory", "sessions"], "provider": "none"}
    with Memory.open(workspace, environ=environ, settings=settings) as memory:
        yield memory


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return make_database(tmp_path / ".claude-mem")


def test_observations_and_summaries_are_found_by_project_and_day(
    memory: Memory, database: Path
) -> None:
    before = {each: each.read_bytes() for each in database.parent.iterdir()}
    imported = memory.sessions.import_transcripts([str(database.parent)])
    again = memory.sessions.import_transcripts([str(database)])
    hit = memory.search("wick").hits[0]
    text = memory.get(PATH).text

    assert ([PATH], []) == (imported, again)
    assert (PATH, "2026-01-01", ("lighthouse",)) == (hit.path, str(hit.date), hit.heading)
    for told in ("The lamp", "- The tank holds forty litres.", "Next steps: Trim the wick."):
        assert told in text
    assert before == {each: each.read_bytes() for each in database.parent.iterdir()}
    assert ["lighthouse"] == [each.title for each in memory.sessions.all()[0]]


def test_secrets_are_masked_before_anything_is_kept(memory: Memory, database: Path) -> None:
    memory.sessions.import_transcripts([str(database)])
    (copy,) = memory._session_places.archive.rglob("*.jsonl")

    assert b"forty litres" in copy.read_bytes()
    assert b"a1B2a1B2" not in copy.read_bytes()


def test_what_was_noted_later_replaces_the_earlier_state(memory: Memory, database: Path) -> None:
    memory.sessions.import_transcripts([str(database)])
    with closing(apsw.Connection(str(database))) as connection:
        later = (SESSION, "The foghorn", None, "It needs a new reed.", MORNING + 120_000)
        connection.execute(OBSERVED, later)

        assert [PATH] == memory.sessions.import_transcripts([str(database)])
    assert PATH == memory.search("reed").hits[0].path
    assert 1 == len(memory.sessions.all()[0])


@pytest.mark.parametrize(
    "spoil",
    [
        "DROP TABLE session_summaries",
        "ALTER TABLE observations DROP COLUMN narrative",
        ENDLESS,
        "ALTER TABLE observations ADD COLUMN more GENERATED ALWAYS AS (hex(zeroblob(9)))",
        "DELETE FROM observations; DELETE FROM session_summaries",
    ],
)
def test_another_database_is_refused(memory: Memory, database: Path, spoil: str) -> None:
    with closing(apsw.Connection(str(database))) as connection:
        connection.execute(spoil)

    with pytest.raises(UsageError):
        memory.sessions.import_transcripts([str(database)])


def test_values_of_other_types_and_ids_that_are_none_are_left_out(
    memory: Memory, database: Path
) -> None:
    with closing(apsw.Connection(str(database))) as connection:
        connection.execute(OBSERVED, ("../../evil", "x", None, "y", MORNING))
        connection.execute(OBSERVED, (SESSION, b"\x00\xff", "[1, {", 7, "no time"))
    notices: list[str] = []

    assert [PATH] == memory.sessions.import_transcripts([str(database)], on_notice=notices.append)
    assert ["../../evil" in notice for notice in notices] == [True]


def test_a_database_that_holds_too_much_is_refused(
    memory: Memory, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.sessions.openclaw_database._ROW_BYTES", MAX_BYTES // 2)

    with pytest.raises(UsageError, match="it holds more than 512 MiB"):
        memory.sessions.import_transcripts([str(database)])


def test_a_text_that_is_not_utf8_costs_its_row_only(memory: Memory, database: Path) -> None:
    with closing(apsw.Connection(str(database))) as connection:
        connection.execute("UPDATE observations SET narrative = CAST(x'ff' AS TEXT)")

    assert [PATH] == memory.sessions.import_transcripts([str(database)])
    assert "Colza is best." in memory.get(PATH).text


def test_pages_that_name_each_other_end(
    memory: Memory, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.sessions.openclaw_database._MOST_LOOKS", 20_000)
    with closing(apsw.Connection(str(database))) as connection:
        connection.pragma("wal_checkpoint(truncate)")
        connection.pragma("journal_mode", "delete")
        tables = "SELECT rootpage FROM sqlite_schema WHERE name = 'observations'"
        root, size = connection.execute(tables).get, connection.pragma("page_size")
    content = bytearray(database.read_bytes())
    leaf = content[(root - 1) * size : root * size]
    first = len(content) // size + 1
    for page in range(first, first + 12):  # 60 cells, and all of them name the next page
        cells = [size - 5 * (number + 1) for number in range(60)]
        header = struct.pack(">BHHHBI", 5, 0, 60, cells[-1], 0, page + 1)
        pointers = struct.pack(">60H", *cells)
        body = struct.pack(">IB", page + 1, 1) * 60
        content += header + pointers + bytes(size - 12 - 120 - 300) + body
    content += leaf
    content[(root - 1) * size : root * size] = content[(first - 1) * size : first * size]
    content[28:32] = struct.pack(">I", len(content) // size)
    database.write_bytes(content)

    with pytest.raises(UsageError, match="more steps or memory") as raised:
        memory.sessions.import_transcripts([str(database)])
    assert "Name an intact one." == raised.value.action


def test_what_a_database_computes_is_limited(database: Path) -> None:
    with pytest.raises(OSError, match="too big"):
        read_database(
            database, lambda opened: opened.execute("SELECT hex(zeroblob(400000000))").get
        )


def test_what_a_database_sorts_is_limited(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.sessions.openclaw_database.MAX_BYTES", 64 * 1024**2)
    sort = """
        WITH RECURSIVE r (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r LIMIT 9999)
        SELECT x, zeroblob(999999 + x) AS y FROM r ORDER BY hex(substr(y, 1, 9)), x
    """
    with pytest.raises(OSError, match="more steps or memory"):
        read_database(database, lambda opened: opened.execute(sort).fetchone())
