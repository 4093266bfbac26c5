"""Large memories have an index of their vectors, and the same answers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
import psycopg
import pytest
from tests.postgres.conftest import shared_folder
from tests.support.notes import chunk_of, document_of, drop_document, put_document, vector_pool
from tests.support.postgres import CITUS, database, owner_of
from tests.support.waiting import wait_until

from recollect.errors import StoreError
from recollect.stores.base import SpaceTexts
from recollect.stores.postgres import open_database
from recollect.stores.postgres.connect import parameters
from recollect.stores.postgres.near import build_indexes, index_of
from recollect.types import Fingerprint, Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from recollect.stores.postgres import PostgresStore
    from recollect.types import Vectors

    Open = Callable[[str], PostgresStore]

CHUNKS = 600
LEAST = 500
WIDTH = 16
POOL = 20


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database of its own: all memories in it are looked at."""
    return database(shared_folder(tmp_path_factory), f"near_{os.getpid()}")


@pytest.fixture
def space(tenant: str) -> Fingerprint:
    """A space that no other test has: its table is looked through."""
    return Fingerprint("test", tenant, WIDTH, "plain")


@pytest.fixture
def owner(address: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(autocommit=True, **parameters(owner_of(address))) as connection:
        yield connection


@pytest.fixture
def vectors() -> Vectors:
    made = np.random.default_rng(3).standard_normal((CHUNKS, WIDTH), dtype=np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return made


@pytest.fixture
def large(opened: Open, tenant: str, space: Fingerprint, vectors: Vectors) -> PostgresStore:
    """A memory of two documents: the second has a tenth of the chunks."""
    store = opened(tenant)
    parts = {"memory/a.md": range(CHUNKS - 60), "memory/b.md": range(CHUNKS - 60, CHUNKS)}
    for path, numbers in parts.items():
        chunks = [chunk_of(path, f"lamp {each}", line=each + 1) for each in numbers]
        put_document(store, document_of(path), chunks, recipe="r")
    digests = [each.digest for each in store.missing(SpaceTexts(space), limit=CHUNKS)]
    store.put_vectors(space, digests=digests, vectors=vectors)
    return store


def by_index(address: str, store: PostgresStore) -> PostgresStore:
    """Open a memory so that the planner takes its index, small as it is."""
    return open_database(f"{address}&options=-c%20enable_sort%3Doff", tenant=store._session.tenant)


def test_a_large_memory_is_searched_by_its_index_with_the_same_result(
    address: str,
    large: PostgresStore,
    space: Fingerprint,
    vectors: Vectors,
    owner: psycopg.Connection[tuple[object, ...]],
) -> None:
    exact = [
        vector_pool(large, space, vector=asked, scope=Scope(), limit=POOL) for asked in vectors[:20]
    ]

    assert (1, 0) == build_indexes(owner, least=LEAST)
    assert (0, 0) == build_indexes(owner, least=LEAST)
    with by_index(address, large) as store:
        found = [
            vector_pool(store, space, vector=asked, scope=Scope(), limit=POOL)
            for asked in vectors[:20]
        ]

    used = "SELECT pg_stat_get_numscans(to_regclass(%s))"
    index = f"recollect.{index_of(space, large._session.tenant)}"
    # Servers count when a connection ends, which may be a moment later.
    if not CITUS:  # its workers do not get the options of a connection, nor tell what they used
        wait_until(lambda: owner.execute(used, (index,)).fetchone() == (20,))
    assert exact == found


def test_a_filter_and_texts_that_are_gone_leave_nothing_out(
    address: str,
    large: PostgresStore,
    space: Fingerprint,
    vectors: Vectors,
    owner: psycopg.Connection[tuple[object, ...]],
) -> None:
    build_indexes(owner, least=LEAST)
    with by_index(address, large) as store:
        only = Scope(path="memory/b.md")
        filtered = vector_pool(store, space, vector=vectors[0], scope=only, limit=POOL)
        drop_document(large, "memory/a.md")  # its vectors stay until they are pruned
        left = vector_pool(store, space, vector=vectors[0], scope=Scope(), limit=POOL)

    assert POOL == len(filtered.keys)
    assert filtered == left


def test_a_memory_that_became_small_loses_its_index(
    large: PostgresStore, space: Fingerprint, owner: psycopg.Connection[tuple[object, ...]]
) -> None:
    build_indexes(owner, least=LEAST)
    drop_document(large, "memory/a.md")
    large.prune(keep=[space])

    assert (0, 1) == build_indexes(owner, least=LEAST)


def test_a_role_that_sees_one_memory_cannot_build_indexes(address: str) -> None:
    with (
        psycopg.connect(autocommit=True, **parameters(address)) as connection,
        pytest.raises(StoreError) as raised,
    ):
        build_indexes(connection)

    assert "BYPASSRLS" in raised.value.action
