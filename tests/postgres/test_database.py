"""A database that is missing, wrong, restarted, or written by many at once; and odd notes."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import psycopg
import pytest
from tests.support.notes import chunk_of, document_of
from tests.support.postgres import server_of
from tests.support.waiting import wait_until

from recollect.errors import StoreError
from recollect.stores.postgres import open_database
from recollect.types import Scope, SourceKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from recollect.stores.postgres import PostgresStore

    Open = Callable[[str], PostgresStore]


@pytest.mark.parametrize(
    "text",
    ["before\0after", "half \ud83d of a pair", "the mark \uf8fe0000 itself", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 ✓"],
    ids=["nul", "surrogate", "mark", "beyond the first plane"],
)
def test_any_text_comes_back_as_it_was(opened: Open, tenant: str, text: str) -> None:
    store = opened(tenant)
    path = f"memory/{text}.md"
    chunk = chunk_of(path, text)

    store.put(document_of(path, text), [chunk], recipe="r")

    assert [chunk] == list(store.chunks_of(path, source=SourceKind.MEMORY))
    assert path == next(iter(store.known()))[1]


def test_a_connection_that_was_cut_is_replaced(address: str, tenant: str) -> None:
    # An address that no other test has, so that its pool holds one connection and it is this one.
    with open_database(f"{address}&connect_timeout=9", tenant=tenant) as store:
        store.put(document_of("a.md"), [chunk_of("a.md", "lamp")], recipe="r")
        with store._session.reading() as connection:
            cut = connection.info.backend_pid
        with psycopg.connect(server_of(address), autocommit=True) as superuser:
            superuser.execute("SELECT pg_terminate_backend(%s)", (cut,))
            alive = "SELECT 1 FROM pg_stat_activity WHERE pid = %s"
            wait_until(lambda: superuser.execute(alive, (cut,)).fetchone() is None)

        assert 1 == len(store.keyword(["lamp"], scope=Scope(), limit=9).keys)
        with store._session.reading() as connection:
            assert cut != connection.info.backend_pid


def test_a_database_without_tables_says_what_to_run(address: str) -> None:
    empty = psycopg.conninfo.make_conninfo(address, dbname="postgres")

    with pytest.raises(StoreError) as raised:
        open_database(empty, tenant="x")

    assert "has no tables of Recollect" in raised.value.message
    assert "`recollect store init`" in raised.value.action


def test_a_server_that_is_not_there_is_named_without_the_password() -> None:
    with pytest.raises(StoreError) as raised:
        open_database("postgresql://me:hunter2@127.0.0.1:1/none?connect_timeout=1", tenant="x")

    assert "cannot be reached" in raised.value.message
    assert "me@127.0.0.1:1/none" in raised.value.message
    assert "hunter2" not in f"{raised.value.message} {raised.value.action}"


def test_a_role_that_does_not_exist_is_told_at_once(address: str) -> None:
    with pytest.raises(StoreError) as raised:
        open_database(address.replace("agent@", "nobody@"), tenant="x")

    assert 'role "nobody" does not exist' in raised.value.message
    assert "user and password" in raised.value.action


def test_many_writers_of_one_memory_lose_nothing(opened: Open, tenant: str) -> None:
    opened(tenant)

    def write(number: int) -> None:
        own = opened(tenant)
        for turn in range(10):
            path = f"memory/{turn}.md" if turn % 2 else f"memory/{number}-{turn}.md"
            chunks = [chunk_of(path, f"lamp {number} {line}", line=line) for line in range(1, 4)]
            own.put(document_of(path, f"{number}"), chunks, recipe="r")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    store = opened(tenant)
    assert 4 * 5 + 5 == len(store.known())
    assert 3 * 25 == store.keyword(["lamp"], scope=Scope(), limit=200).corpus.frequencies["lamp"]
    assert [] == store.audit()
