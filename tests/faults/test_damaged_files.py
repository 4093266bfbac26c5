"""A few hundred damaged files; `make fuzz` has all of them (tests/campaigns/damage.py)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import apsw
import numpy as np
import pytest
from tests.support.damaged_files import PAGE, Ground, Outcome, cases
from tests.support.notes import keyword_pool, put_document, vector_pool

from recollect.errors import StoreCorruptError
from recollect.stores.sqlite import SqliteStore, open_file
from recollect.stores.sqlite.scan import NumpyScan
from recollect.types import Chunk, Document, Fingerprint, Scope, SourceKind, Stat

if TYPE_CHECKING:
    from pathlib import Path

SPACE = Fingerprint("openai", "large", 1500, "-")


@pytest.mark.usefixtures("hashed")
def test_a_damaged_file_is_repaired_and_answers_as_the_sound_one(tmp_path: Path) -> None:
    ground, outcome = Ground(tmp_path / "ground"), Outcome()

    for case in cases(ground, every=5003, others=7, seed=7):
        outcome.add(case, ground)

    assert [] == outcome.failures
    assert outcome.rebuilt["flipped bits"] > outcome.cases["flipped bits"] / 2
    assert outcome.rebuilt["zeroed blocks"]


@pytest.fixture
def long_rows(tmp_path: Path) -> Path:
    """An index whose chunks, vectors and codes each take more than a page."""
    path = tmp_path / "long.sqlite"
    with SqliteStore.open(path, engine=NumpyScan(exact_limit=4)) as store:
        fill(store)
    return path


def fill(store: SqliteStore) -> None:
    chance = np.random.default_rng(7)
    for number in range(8):
        text = f"Lantern {number}. " + " ".join(f"w{number}x{word}" for word in range(900))
        chunk = Chunk(f"{number}.md", SourceKind.MEMORY, 1, 2, text)
        document = Document(
            path=f"{number}.md",
            source=SourceKind.MEMORY,
            text=text,
            digest=f"{number}",
            stat=Stat(1, 1),
            when=None,
            is_settled=True,
        )
        put_document(store, document, [chunk], recipe="r")
        vector = chance.standard_normal((1, 1500)).astype(np.float32)
        vector /= np.linalg.norm(vector)
        store.put_vectors(SPACE, digests=[chunk.digest], vectors=vector)


def read(store: SqliteStore) -> object:
    query = np.full(1500, 1500**-0.5, dtype=np.float32)
    nearest = vector_pool(store, SPACE, vector=query, scope=Scope(), limit=12)
    pool = keyword_pool(store, ["lantern", "w7x3", "w5x899"], scope=Scope(), limit=20)
    loaded = store.load(sorted(nearest.keys), terms=["lantern", "w7x3"], fingerprint=SPACE)
    return nearest, pool, list(loaded.chunks), loaded.counts.tolist(), loaded.vectors.tolist()


def test_a_page_of_zeroes_is_noticed_wherever_it_is(long_rows: Path) -> None:
    with SqliteStore.open(long_rows, engine=NumpyScan(exact_limit=4)) as store:
        expected = read(store)
    sound = long_rows.read_bytes()
    noticed = 0
    for start in range(0, len(sound), PAGE):
        long_rows.write_bytes(sound[:start] + bytes(PAGE) + sound[start + PAGE :])
        try:
            with SqliteStore.open(long_rows, engine=NumpyScan(exact_limit=4)) as store:
                assert expected == read(store), f"page {start // PAGE + 1}"
        except StoreCorruptError:
            noticed += 1

    assert noticed > len(sound) / PAGE / 2


@pytest.mark.parametrize("missing", [1, 3000, PAGE, PAGE + 1])
def test_an_end_that_is_missing_is_noticed_when_the_file_is_opened(
    long_rows: Path, missing: int
) -> None:
    content = long_rows.read_bytes()
    long_rows.write_bytes(content[:-missing])

    store, notices = open_file(long_rows, engine="numpy")
    store.close()

    assert "set aside" in notices[0]


def raise_next(errors: list[StoreCorruptError]) -> None:
    if errors:
        raise errors.pop()


def test_a_page_in_the_place_of_another_does_not_prevent_a_new_file(long_rows: Path) -> None:
    connection = apsw.Connection(str(long_rows))
    leaves = "SELECT name, min(pageno) FROM dbstat WHERE pagetype = 'leaf' GROUP BY name"
    places = dict(connection.execute(leaves))
    connection.close()
    sound = long_rows.read_bytes()
    for target in ("texts", "vectors", "spaces", "meta"):
        for name, page in places.items():
            content = bytearray(sound)
            start = (places[target] - 1) * PAGE
            content[start : start + PAGE] = sound[(page - 1) * PAGE : page * PAGE]
            long_rows.write_bytes(content)
            store, _ = open_file(long_rows, engine="numpy")
            with store:
                damages = [StoreCorruptError("It is damaged.", action="-")] * 2
                store.recovering(partial(raise_next, damages), tell=lambda _: None)

                assert [] == store.check(deep=True), f"{name} over {target}"


def test_an_index_of_another_build_of_sqlite_is_replaced(long_rows: Path) -> None:
    """Pages that are written without checksums would seem damaged to the other build."""
    connection = apsw.Connection(str(long_rows))
    connection.pragma("application_id", 0)  # what a file without checksums says
    connection.close()

    store, notices = open_file(long_rows, engine="numpy")
    with store:
        assert "another build of SQLite" in notices[0]
        assert [] == store.check()
    assert [f"{long_rows.name}.damaged-1"] == [
        file.name for file in long_rows.parent.glob("*.damaged-*") if not file.name.endswith("wal")
    ]
