"""Index files of earlier versions become current ones in place, with all they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from recollect.stores.sqlite import SqliteStore
from recollect.stores.sqlite.connect import connect
from recollect.stores.sqlite.schema import MIGRATIONS
from recollect.types import Fingerprint, Scope, digest_of

if TYPE_CHECKING:
    from pathlib import Path

SPACE = Fingerprint("test", "model", 4, "plain")


def old_file(path: Path, *, version: int) -> None:
    """Write an index as the given schema has it: one note with a term, and its vector."""
    connection = connect(path, writable=True)
    for _, statements in MIGRATIONS[:version]:
        connection.execute(statements)
    connection.execute(f"PRAGMA user_version = {version}")
    digest = bytes.fromhex(digest_of(b"apple"))
    connection.execute(
        "INSERT INTO documents VALUES (1, 'memory', 'memory/a.md', 'd', 5, 1, 1, 'r1', NULL)"
    )
    connection.execute(
        "INSERT INTO chunks (id, document, start_line, end_line, digest, length, heading, prefix, "
        "bag, text) VALUES (1, 1, 1, 1, ?, 1, '', '', x'', 'apple')",
        (digest,),
    )
    connection.execute("INSERT INTO terms (rowid, body) VALUES (1, 'appl')")
    connection.execute(
        "INSERT INTO spaces (id, fingerprint, dimensions, vectors) VALUES (1, ?, 4, 1)",
        (str(SPACE),),
    )
    vector = np.array([1, 0, 0, 0], dtype=np.float32)
    connection.execute("INSERT INTO vectors VALUES (1, 1, ?, ?)", (digest, vector.tobytes()))
    connection.close()


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS)))
def test_an_older_file_is_brought_up_to_date_with_its_notes_and_vectors(
    tmp_path: Path, version: int
) -> None:
    path = tmp_path / "index.sqlite"
    old_file(path, version=version)

    with SqliteStore.open(path) as store:
        status = store.status(SPACE, media=True)
        keys = store.keyword(["appl"], scope=Scope(), limit=5).keys
        loaded = store.load(keys, terms=["appl"], fingerprint=SPACE)

        assert (1, 1, 0) == (status.chunks, status.vectors, status.pending)
        assert [("apple", "")] == [(chunk.text, chunk.media) for chunk in loaded.chunks]
        assert [] == list(store.missing(SPACE, limit=5, media=True))

    connection = connect(path, writable=True)
    assert len(MIGRATIONS) == connection.pragma("user_version")
    connection.close()
