"""Other programs read the index with SQL: words with FTS5, vectors with sqlite-vec."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import apsw
import numpy as np
import pytest
import sqlite_vec
from tests.support.contents import index_file

from recollect import Memory
from recollect.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Write = Callable[[str, str], Path]

WORDS = "SELECT source_file, rank FROM memory_fts WHERE content MATCH ? ORDER BY rank LIMIT 24"


@pytest.fixture
def memory(workspace: Path, environ: dict[str, str], write: Write) -> Iterator[Memory]:
    write("memory/auth.md", "# Auth\n\nJWT validation uses RS256. The token expires.\n")
    write("memory/session.md", "# Session\n\nAuth keeps the session for an hour.\n")
    write("memory/parser.md", "# Parser\n\nDChar is a type, and DChar is read by validation.\n")
    write("memory/boats.md", "# Boats\n\nThe Petrel sails past the lighthouse.\n\n## Two\n\nTea.\n")
    with Memory.open(workspace, environ=environ, settings={"provider": "local"}) as opened:
        opened.sync()
        yield opened


@pytest.fixture
def index(memory: Memory, environ: dict[str, str], tmp_path: Path) -> Path:
    assert memory.status().index.chunks
    assert environ["RECOLLECT_HOME"] == str(tmp_path / "home")
    return index_file(tmp_path / "home")


def rows(index: Path, sql: str, *bindings: object) -> list[tuple[object, ...]]:
    """Return what Python's own SQLite reads."""
    with closing(sqlite3.connect(f"file:{index}?mode=ro", uri=True)) as connection:
        return connection.execute(sql, bindings).fetchall()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("JWT validation RS256", ["memory/auth.md"]),
        ('"JWT validation"', ["memory/auth.md"]),
        ('"validation JWT"', []),
        ("auth AND (token OR session)", ["memory/auth.md", "memory/session.md"]),
        ("validate", ["memory/auth.md", "memory/parser.md"]),  # by its stem
    ],
)
def test_words_are_matched_as_fts5_does(index: Path, words: str, expected: list[str]) -> None:
    assert expected == sorted(str(row[0]) for row in rows(index, WORDS, words))


def test_bm25_is_negative_and_smaller_for_a_better_match(index: Path) -> None:
    statement = """
        SELECT c.source_file, c.content, bm25(memory_fts) AS rank
        FROM memory_fts f JOIN memory_embeddings c ON c.id = f.rowid
        WHERE memory_fts MATCH '"DChar" OR validation' ORDER BY rank
    """
    (first, content, best), (_, _, second) = rows(index, statement)

    assert "memory/parser.md" == first
    assert "DChar" in str(content)
    assert float(str(best)) < float(str(second)) < 0


def test_cosines_are_computed_in_sql(index: Path, memory: Memory) -> None:
    connection = apsw.Connection(str(index), flags=apsw.SQLITE_OPEN_READONLY)
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec.loadable_path())
    vector = connection.execute(
        "SELECT embedding FROM memory_embeddings WHERE source_file = 'memory/boats.md' LIMIT 1"
    ).get
    statement = """
        SELECT id, source_file, 1 - vec_distance_cosine(embedding, :asked) AS vector_score
        FROM memory_embeddings ORDER BY vector_score DESC LIMIT 24
    """
    found = list(connection.execute(statement, {"asked": vector}))
    embedded = dict(connection.execute("SELECT id, embedding FROM memory_embeddings"))
    connection.close()

    own = np.frombuffer(vector, dtype=np.float32)
    cosines = {key: float(np.frombuffer(each, np.float32) @ own) for key, each in embedded.items()}
    assert memory.status().index.chunks == len(found)
    assert "memory/boats.md" == found[0][1]
    assert [pytest.approx(cosines[row[0]], abs=1e-5) for row in found] == [row[2] for row in found]


def test_a_row_tells_where_its_chunk_is_from(index: Path, workspace: Path) -> None:
    statement = "SELECT chunk_index, created_at, model_name FROM memory_embeddings e WHERE "
    stored = rows(index, f"{statement} source_file = 'memory/boats.md' ORDER BY id")

    assert list(range(len(stored))) == [row[0] for row in stored]
    assert {int((workspace / "memory" / "boats.md").stat().st_mtime)} == {row[1] for row in stored}
    assert all(str(row[2]).startswith("local/") for row in stored)


def test_changes_reach_the_words_and_the_vectors_at_once(
    memory: Memory, index: Path, workspace: Path, write: Write
) -> None:
    write("memory/boats.md", "# Boats\n\nThe Petrel was sold to a baker.\n")
    (workspace / "memory" / "parser.md").unlink()
    memory.sync()

    assert [] == rows(index, WORDS, "lighthouse OR DChar")
    assert ["memory/boats.md"] == [row[0] for row in rows(index, WORDS, "bakers")]
    paths = {row[0] for row in rows(index, "SELECT source_file FROM memory_embeddings")}
    assert {"memory/auth.md", "memory/boats.md", "memory/session.md"} == paths
    [intact] = rows(index, "PRAGMA integrity_check")
    assert ("ok",) == intact


def test_verify_notices_words_that_are_missing(memory: Memory, index: Path) -> None:
    with SqliteStore.open(index) as store:
        key, text = store._connection.execute("SELECT id, text FROM chunks LIMIT 1").get
        store._connection.execute(
            "INSERT INTO memory_fts (memory_fts, rowid, content) VALUES ('delete', ?, ?)",
            (key, text),
        )

    said = [str(each) for each in memory.verify().differences]

    assert any("memory_fts" in each for each in said), said
