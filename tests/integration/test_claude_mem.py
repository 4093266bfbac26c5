"""What claude-mem noted, imported from its database: searched, masked, never written."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import apsw
import pytest
from tests.support.claude_mem import MORNING, OBSERVED, SESSION, make_database

from recollect import Memory
from recollect.errors import UsageError

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
        "UPDATE observations SET narrative = CAST(x'ff' AS TEXT)",
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
    monkeypatch.setattr("recollect.sessions.exported.MAX_BYTES", 50)

    with pytest.raises(UsageError, match="more than an export"):
        memory.sessions.import_transcripts([str(database)])
