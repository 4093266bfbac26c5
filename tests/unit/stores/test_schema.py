"""Index files of earlier versions open with all they hold. See tests/fixtures/indexes/make.py."""

from __future__ import annotations

import gzip
import shutil
from collections import Counter
from pathlib import Path
from zlib import crc32

import apsw
import numpy as np
import pytest
from tests.support.contents import segment_terms

from recollect import Memory
from recollect.errors import StoreReadOnlyError
from recollect.stores.sqlite import SqliteStore, seal
from recollect.stores.sqlite.schema import MIGRATIONS
from recollect.types import Fingerprint, Scope

INDEXES = Path(__file__).parent.parent.parent / "fixtures" / "indexes"
VERSIONS = range(1, len(MIGRATIONS) + 1)
FIRST_WITH_DAYS, FIRST_WITH_MEDIA, FIRST_WITH_FACTS = 2, 3, 4
FIRST_WITH_NUMBERS, FIRST_WITH_SEGMENTS, FIRST_WITH_WORDS = 7, 8, 10
EVERYONE = Scope(audience=frozenset({"global", "user:ada"}))
NOTES = 10
"""Chunks of the Markdown files. Later versions also hold a conversation, an image and facts."""
QUESTIONS = {
    "spare key": "MEMORY.md",
    "lantern-guest": "MEMORY.md",
    "INV-2207": "memory/2026-03-05.md",
    "architect": "memory/people.md",
    "compost heap": "memory/projects/garden.md",
    "发电机": "memory/zh/港口.md",
}


def rows_of(file: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return the rows of every table, read without any code of ours."""
    connection = apsw.Connection(str(file))
    tables = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'terms*'"
        " AND name NOT IN ('vocabulary', 'sqlite_sequence')"
    )
    names = [str(name) for (name,) in tables]
    rows = {name: sorted(connection.execute(f"SELECT * FROM {name}"), key=repr) for name in names}  # noqa: S608
    connection.close()
    return rows


def terms_of(file: Path) -> dict[int, list[tuple[int, int]]]:
    """Return the hashes and weighted counts of the terms that the index has for each chunk."""
    connection = apsw.Connection(str(file))
    try:
        if connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'segments'").get:
            return {key: sorted(terms) for key, terms in segment_terms(connection).items()}
        connection.execute(
            "CREATE VIRTUAL TABLE temp.instances USING fts5vocab(main, terms, instance)"
        )
        counted: dict[int, Counter[int]] = {
            key: Counter() for (key,) in connection.execute("SELECT id FROM chunks")
        }
        for key, field, term in connection.execute("SELECT doc, col, term FROM temp.instances"):
            counted[key][crc32(term.encode())] += 1 if field == "body" else 2
        return {key: sorted(terms.items()) for key, terms in counted.items()}
    finally:
        connection.close()


@pytest.fixture
def unpacked(tmp_path: Path, version: int) -> Path:
    """A copy of the index that was written with this schema version."""
    file = tmp_path / "home" / "memory" / "old.sqlite"
    file.parent.mkdir(parents=True)
    file.write_bytes(gzip.decompress((INDEXES / f"v{version}.sqlite.gz").read_bytes()))
    return file


@pytest.fixture
def memory_of_old(tmp_path: Path, unpacked: Path, environ: dict[str, str]) -> Memory:
    """The memory that the index belongs to, with the files it was made from."""
    assert unpacked.exists()
    workspace = Path(shutil.copytree(INDEXES / "workspace", tmp_path / "notes"))
    return Memory.open(workspace, agent="old", environ=environ, settings={"provider": "local"})


def test_every_schema_version_has_an_index_that_was_written_with_it() -> None:
    names = {file.name for file in INDEXES.glob("*.sqlite.gz")}

    assert {f"v{version}.sqlite.gz" for version in VERSIONS} == names, (
        "Write the index of a new version with `python -m tests.fixtures.indexes.make`."
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_an_older_file_keeps_every_row(unpacked: Path, version: int) -> None:
    before = rows_of(unpacked)

    SqliteStore.open(unpacked).close()

    after = rows_of(unpacked)
    connection = apsw.Connection(str(unpacked))
    assert len(MIGRATIONS) == connection.pragma("user_version")
    connection.close()
    if version < FIRST_WITH_NUMBERS:
        numbers = {digest: int(str(number)) for number, digest in after["texts"]}
        assert len(numbers) == len({row[4] for row in before["chunks"]})
        before["chunks"] = [(*row[:4], *row[5:], numbers[row[4]]) for row in before["chunks"]]
        before["vectors"] = [
            ((int(str(space)) << 40) + numbers[digest], vector)
            for _, space, digest, vector, *_ in before["vectors"]
        ]
        before["vectors"].sort(key=repr)
        after["chunks"] = [
            (*new[: len(old) - 1], new[-1])
            for old, new in zip(before["chunks"], after["chunks"], strict=True)
        ]
    for table, rows in before.items():
        # A step may add columns to a table, at its end, and rows to one it has just created.
        kept = [new[: len(old)] for old, new in zip(rows, after[table], strict=True)]
        assert rows == kept, f"{table} of version {version}"


@pytest.mark.parametrize("version", range(1, FIRST_WITH_SEGMENTS))
def test_the_keyword_index_of_an_older_file_is_made_from_what_is_stored(
    unpacked: Path, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = terms_of(unpacked)
    monkeypatch.setattr(seal, "SIZES", seal.Sizes(tail=0))

    SqliteStore.open(unpacked).close()

    assert before == terms_of(unpacked), f"version {version}"


@pytest.mark.parametrize("version", [VERSIONS[-2]])
def test_an_older_file_that_cannot_be_written_is_refused(unpacked: Path) -> None:
    with pytest.raises(StoreReadOnlyError, match="an earlier version"):
        SqliteStore.open(unpacked, writable=False)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_chunk_of_an_older_file_has_its_text_its_day_and_its_vector(
    unpacked: Path, version: int
) -> None:
    before = rows_of(unpacked)
    paths = {row[0]: row[2] for row in before["documents"]}
    days = {row[0]: row[8] for row in before["documents"]}
    spaces = {row[0]: Fingerprint.parse(str(row[1])) for row in before["spaces"]}
    if version < FIRST_WITH_NUMBERS:
        texts = {row[4]: (paths[row[1]], row[9]) for row in before["chunks"]}
        vectors = [row[1:4] for row in before["vectors"]]
    else:
        texts = {row[15]: (paths[row[1]], row[8]) for row in before["chunks"]}
        keys = [int(str(row[0])) for row in before["vectors"]]
        vectors = [
            (key >> 40, key % (1 << 40), row[1])
            for key, row in zip(keys, before["vectors"], strict=True)
        ]

    with SqliteStore.open(unpacked) as store:
        assert vectors
        for space, text, vector in vectors:
            fingerprint = spaces[space]
            assert isinstance(vector, bytes)
            query = np.frombuffer(vector, dtype=np.float32)
            pool = store.nearest(fingerprint, vector=query, scope=EVERYONE, limit=1)
            loaded = store.load(pool.keys, terms=[], fingerprint=fingerprint)
            [chunk] = loaded.chunks

            assert texts[text] == (chunk.path, chunk.text)
            assert pytest.approx(1.0, abs=1e-5) == pool.cosines[0]
            assert np.array_equal(query, loaded.vectors[0])
            if version < FIRST_WITH_DAYS:
                document = next(key for key, path in paths.items() if path == chunk.path)
                assert days[document] == (chunk.when.isoformat() if chunk.when else None)

        for fingerprint in spaces.values():
            status = store.status(fingerprint)
            assert len(before["chunks"]) == status.chunks
            assert [] == list(store.missing(fingerprint, limit=5))


@pytest.mark.parametrize("version", VERSIONS)
def test_an_older_file_is_searched_as_it_is_and_gets_word_codes_with_the_next_sync(
    memory_of_old: Memory, version: int
) -> None:
    with memory_of_old as memory:
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
        again = memory.sync()
        verification = memory.verify()

    assert ("assets/harbour.png" in image) == (version >= FIRST_WITH_MEDIA)
    assert ("Ada's deputy is Mireille." in facts) == (version >= FIRST_WITH_FACTS)
    assert any("teal 41" in text for text in said) == (version >= FIRST_WITH_MEDIA)
    # The conversation, the image and the facts are not among the files of the workspace.
    read_again = NOTES if version < FIRST_WITH_WORDS else 0
    assert (read_again, (), NOTES) == (report.embedded, report.failed, report.chunks)
    assert 0 == again.embedded
    assert (NOTES, 0, ()) == (verification.vectors, verification.pending, verification.differences)
