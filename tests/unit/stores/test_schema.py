"""Index files of every released schema open with all they hold; see tests/fixtures/indexes."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import apsw
import numpy as np
import pytest
from tests.support.notes import vector_pool

from recollect import Memory
from recollect.errors import StoreReadOnlyError
from recollect.stores.sqlite import SqliteStore, open_file, schema
from recollect.stores.sqlite.schema import MIGRATIONS
from recollect.types import Fingerprint, Scope

INDEXES = Path(__file__).parent.parent.parent / "fixtures" / "indexes"
VERSIONS = range(1, len(MIGRATIONS) + 1)
EVERYONE = Scope(audience=frozenset({"global", "user:ada"}))
NOTES = 10
"""Chunks of the Markdown files. The index also holds a conversation, an image and facts."""
QUESTIONS = {
    "spare key": "MEMORY.md",
    "lantern-guest": "MEMORY.md",
    "INV-2207": "memory/2026-03-05.md",
    "architect": "memory/people.md",
    "compost heap": "memory/projects/garden.md",
    "发电机": "memory/zh/港口.md",
}
STEP = """
    CREATE TABLE moods (chunk INTEGER PRIMARY KEY, mood TEXT NOT NULL) STRICT;
    INSERT INTO moods SELECT id, 'calm' FROM chunks;
    ALTER TABLE documents ADD COLUMN colour TEXT NOT NULL DEFAULT 'teal';
"""


def rows_of(file: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return the rows of every table, read without any code of ours."""
    connection = apsw.Connection(str(file))
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    names = [str(name) for (name,) in tables]
    rows = {name: sorted(connection.execute(f"SELECT * FROM {name}"), key=repr) for name in names}  # noqa: S608
    connection.close()
    return rows


@pytest.fixture
def unpacked(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A copy of the index that was written with a schema version, by default the newest."""
    version = getattr(request, "param", VERSIONS[-1])
    file = tmp_path / "home" / "memory" / "old.sqlite"
    file.parent.mkdir(parents=True)
    file.write_bytes(gzip.decompress((INDEXES / f"v{version}.sqlite.gz").read_bytes()))
    return file


@pytest.fixture
def next_version(monkeypatch: pytest.MonkeyPatch) -> int:
    """The version of a program that has one more step."""
    monkeypatch.setattr(schema, "MIGRATIONS", (*MIGRATIONS, STEP))
    return len(MIGRATIONS) + 1


every_version = pytest.mark.parametrize("unpacked", VERSIONS, indirect=True)


def test_every_schema_version_has_an_index_that_was_written_with_it() -> None:
    names = {file.name for file in INDEXES.glob("*.sqlite.gz")}

    assert {f"v{version}.sqlite.gz" for version in VERSIONS} == names, (
        "Write the index of a new version with `python -m tests.fixtures.indexes.make`."
    )


@every_version
def test_a_new_step_keeps_every_row(unpacked: Path, next_version: int) -> None:
    before = rows_of(unpacked)

    SqliteStore.open(unpacked).close()

    after = rows_of(unpacked)
    connection = apsw.Connection(str(unpacked))
    assert next_version == connection.pragma("user_version")
    connection.close()
    assert len(before["chunks"]) == len(after.pop("moods"))
    for table, rows in before.items():
        # A step may add columns to a table, at its end.
        kept = [new[: len(old)] for old, new in zip(rows, after[table], strict=True)]
        assert rows == kept, table


def test_a_step_that_fails_leaves_the_file_as_it_was(
    unpacked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = rows_of(unpacked)
    monkeypatch.setattr(schema, "MIGRATIONS", (*MIGRATIONS, f"{STEP} INSERT INTO nowhere;"))

    with pytest.raises(Exception, match="syntax error"):
        SqliteStore.open(unpacked)

    assert before == rows_of(unpacked)


@pytest.mark.usefixtures("next_version")
def test_a_file_that_lacks_a_step_and_cannot_be_written_is_refused(unpacked: Path) -> None:
    with pytest.raises(StoreReadOnlyError, match="an earlier version"):
        SqliteStore.open(unpacked, writable=False)


@pytest.mark.usefixtures("next_version")
def test_a_file_without_a_table_of_its_version_is_replaced(unpacked: Path) -> None:
    SqliteStore.open(unpacked).close()
    connection = apsw.Connection(str(unpacked))
    connection.execute("DROP TABLE moods")
    connection.close()

    store, notices = open_file(unpacked, engine="numpy")
    store.close()

    assert "does not have the tables of an index" in notices[0]


@every_version
def test_every_chunk_of_a_kept_file_has_its_text_and_its_vector(unpacked: Path) -> None:
    connection = apsw.Connection(str(unpacked))
    spaces = dict(connection.execute("SELECT id, fingerprint FROM spaces"))
    texts = {
        text_id: (path, text)
        for text_id, path, text in connection.execute(
            "SELECT text_id, path, text FROM chunks c JOIN documents d ON d.id = c.document"
        )
    }
    vectors = list(connection.execute("SELECT id, vector FROM vectors"))
    connection.close()

    with SqliteStore.open(unpacked) as store:
        assert texts.keys() == {key % (1 << 40) for key, _ in vectors}
        for key, vector in vectors:
            fingerprint = Fingerprint.parse(str(spaces[key >> 40]))
            query = np.frombuffer(vector, dtype=np.float32)
            pool = vector_pool(store, fingerprint, vector=query, scope=EVERYONE, limit=1)
            loaded = store.load(pool.keys, terms=[], fingerprint=fingerprint)
            [chunk] = loaded.chunks

            assert texts[key % (1 << 40)] == (chunk.path, chunk.text)
            assert pytest.approx(1.0, abs=1e-5) == pool.cosines[0]
            assert np.array_equal(query, loaded.vectors[0])


@every_version
def test_a_kept_file_is_searched_and_synced_as_it_is(
    tmp_path: Path, unpacked: Path, environ: dict[str, str]
) -> None:
    assert unpacked.exists()
    workspace = Path(shutil.copytree(INDEXES / "workspace", tmp_path / "notes"))
    with Memory.open(
        workspace, agent="old", environ=environ, settings={"provider": "local"}
    ) as memory:
        for question, path in QUESTIONS.items():
            results = memory.search(question, sync=False)
            assert path == results.hits[0].path
            if question.isascii():  # the model reads English only
                assert results.hits[0].vector_score is not None
        image = [hit.path for hit in memory.search("harbour.png", sync=False).hits]
        facts = [hit.snippet for hit in memory.search("deputy Mireille", sync=False).hits]
        said = [
            hit.snippet for hit in memory.search("shutters", source="sessions", sync=False).hits
        ]
        report = memory.sync()
        verification = memory.verify()

    assert "assets/harbour.png" in image
    assert "Ada's deputy is Mireille." in facts
    assert any("teal 41" in text for text in said)
    # The conversation, the image and the facts are not among the files of the workspace.
    assert (0, (), NOTES) == (report.embedded, report.failed, report.chunks)
    assert (NOTES, 0, ()) == (verification.vectors, verification.pending, verification.differences)
