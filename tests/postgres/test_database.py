"""A database that is missing, wrong, restarted, or written by many at once; and odd notes."""

from __future__ import annotations

import os
import re
import tempfile
import threading
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import psycopg
import pytest
from tests.support.notes import chunk_of, document_of, keyword_pool, put_document
from tests.support.postgres import CITUS as CLUSTER
from tests.support.postgres import owner_of, server_of
from tests.support.servers import Server
from tests.support.waiting import wait_until

from recollect.errors import ConfigError, StoreBusyError, StoreError, StoreTooNewError
from recollect.stores import notes
from recollect.stores.base import SpaceTexts, patience
from recollect.stores.postgres import open_database, schema
from recollect.stores.postgres.admin import prepare_database
from recollect.stores.postgres.schema import MIGRATIONS, TABLES, space_key
from recollect.types import FactMark, Fingerprint, Scope, SourceKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from recollect.stores.postgres import PostgresStore

    Open = Callable[[str], PostgresStore]

SPACE = Fingerprint("test", "odd", 8, "plain")


@pytest.mark.parametrize(
    "text",
    ["before\0after", "half \ud83d of a pair", "the mark \uf8fe0000 itself", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 ✓"],
    ids=["nul", "surrogate", "mark", "beyond the first plane"],
)
def test_any_text_comes_back_as_it_was(opened: Open, tenant: str, text: str) -> None:
    store = opened(tenant)
    path = f"memory/{text}.md"
    chunk = chunk_of(path, text)

    put_document(store, document_of(path, text), [chunk], recipe="r")

    assert [chunk] == list(store.chunks_of(path, source=SourceKind.MEMORY))
    assert path == next(iter(store.known()))[1]


def test_a_connection_that_was_cut_is_replaced(address: str, tenant: str) -> None:
    # An address that no other test has, so that its pool holds one connection and it is this one.
    with open_database(f"{address}&connect_timeout=9", tenant=tenant) as store:
        put_document(store, document_of("a.md"), [chunk_of("a.md", "lamp")], recipe="r")
        with store._session.reading() as connection:
            cut = connection.info.backend_pid
        with psycopg.connect(server_of(address), autocommit=True) as superuser:
            superuser.execute("SELECT pg_terminate_backend(%s::int)", (cut,))
            alive = "SELECT 1 FROM pg_stat_activity WHERE pid = %s"
            wait_until(lambda: superuser.execute(alive, (cut,)).fetchone() is None)

        assert 1 == len(keyword_pool(store, ["lamp"], scope=Scope(), limit=9).keys)
        with store._session.reading() as connection:
            assert cut != connection.info.backend_pid


def test_a_database_without_tables_says_what_to_run(address: str) -> None:
    empty = psycopg.conninfo.make_conninfo(address, dbname="postgres")

    with pytest.raises(StoreError) as raised:
        open_database(empty, tenant="x")

    assert "has no tables of Recollect" in raised.value.message
    assert "`recollect server init`" in raised.value.action


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


@pytest.fixture
def empty(address: str) -> Iterator[str]:
    """The address of a new database without our tables, for the superuser."""
    superuser = server_of(address)
    name = f"empty_{os.getpid()}"
    with psycopg.connect(superuser, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
        yield psycopg.conninfo.make_conninfo(superuser, dbname=name)
        connection.execute(f"DROP DATABASE {name}".encode())


def test_a_server_without_pgvector_is_refused(empty: str) -> None:
    with psycopg.connect(empty, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f"ALTER DATABASE {name} SET extension_control_path = '/none'".encode())

    with pytest.raises(StoreError) as raised:
        prepare_database(empty)

    assert "no pgvector" in raised.value.message
    assert "Install pgvector on the server" in raised.value.action


def test_a_pgvector_that_is_too_old_is_refused(empty: str) -> None:
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute("UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'")

    with pytest.raises(StoreError) as raised:
        prepare_database(empty)

    assert "pgvector 0.7.4" in raised.value.message


def test_an_invalid_address_is_reported_without_its_password() -> None:
    for address in ("postgresql://me:hunter2@host/db?ssl=1", "postgresql://me:hunter2@[::1]x/db"):
        with pytest.raises(ConfigError) as raised:
            prepare_database(address)

        assert "cannot be read" in raised.value.message
        assert "hunter2" not in f"{raised.value.message} {raised.value.action}"
        assert "sslmode=verify-full" in raised.value.action


def test_a_role_that_may_not_change_tables_gets_an_error_that_names_who_may(address: str) -> None:
    with pytest.raises(StoreError) as raised:
        prepare_database(address)

    assert "may not change the tables" in raised.value.message
    assert "that owns them" in raised.value.action


CITUS = """
CREATE TABLE pg_dist_partition (logicalrelid regclass PRIMARY KEY, together text);
ALTER TABLE pg_dist_partition SET SCHEMA pg_catalog;
CREATE FUNCTION pg_catalog.create_distributed_table(
    relation regclass, column_name text, colocate_with text DEFAULT 'default'
) RETURNS void LANGUAGE sql AS
$$ INSERT INTO pg_catalog.pg_dist_partition VALUES (relation, colocate_with) $$;
CREATE FUNCTION pg_catalog.truncate_local_data_after_distributing_table(relation regclass)
RETURNS void LANGUAGE plpgsql AS $$ BEGIN EXECUTE format('TRUNCATE %s CASCADE', relation); END $$;
"""
"""As much of Citus as is called, which refuses to distribute a table twice as it does."""


@pytest.fixture
def extend(empty: str) -> Iterator[Callable[[str, str, str], None]]:
    """Offer an extension, written in SQL, to a database."""
    with tempfile.TemporaryDirectory() as name:  # the server does not run as root
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "extension").mkdir(mode=0o755)
        database = psycopg.conninfo.conninfo_to_dict(empty)["dbname"]

        def offer(extension: str, version: str, statements: str) -> None:
            about = f"default_version = '{version}'\nschema = public\nrelocatable = false\n"
            (folder / "extension" / f"{extension}.control").write_text(about, "utf-8")
            script = folder / "extension" / f"{extension}--{version}.sql"
            script.write_text(statements, "utf-8")
            with psycopg.connect(empty, autocommit=True) as connection:
                where = f"ALTER DATABASE {database} SET extension_control_path = '{folder}:$system'"
                connection.execute(where.encode())

        yield offer


def distributed(address: str) -> dict[str, str]:
    with psycopg.connect(address) as connection:
        query = "SELECT logicalrelid::text, together FROM pg_dist_partition"
        return dict(connection.execute(query).fetchall())


@pytest.mark.skipif(bool(CLUSTER), reason="pretends to be Citus, which is there")
def test_citus_shards_every_table_once_also_those_that_came_before_or_later(
    empty: str, extend: Callable[[str, str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StoreError) as raised:
        prepare_database(empty, citus=True)
    assert "The server has no Citus" in raised.value.message
    extend("citus", "13.0", CITUS)
    vectors = np.eye(1, 8, dtype=np.float32)
    early, late = (Fingerprint("test", name, 8, "plain") for name in ("early", "late"))

    prepare_database(empty)
    with open_database(empty, tenant="x") as store:
        store.put_vectors(early, digests=["aa"], vectors=vectors)
        put_document(store, document_of("a.md"), [chunk_of("a.md", "lamp")], recipe="r")
        applied = [prepare_database(empty, citus=True) for _ in range(2)]
        assert not store.holds()  # what Citus copied to the shards is not left behind
        store.put_vectors(late, digests=["aa"], vectors=vectors)
    tables = {f"recollect.{table}" for table in (*TABLES, *map(space_table, (early, late)))}
    before = distributed(empty)
    later = ("later", "CREATE TABLE later (tenant text PRIMARY KEY)", 1)
    monkeypatch.setattr(schema, "MIGRATIONS", (*MIGRATIONS, later))
    monkeypatch.setattr(schema, "TABLES", (*TABLES, "later"))
    assert ["later"] == prepare_database(empty)

    assert [[], []] == applied
    assert tables == before.keys()
    assert "default" == before.pop("recollect.tenants")
    assert {"recollect.tenants"} == set(before.values())
    assert tables | {"recollect.later"} == distributed(empty).keys()


def space_table(fingerprint: Fingerprint) -> str:
    return f"vectors_{space_key(fingerprint)}"


@pytest.fixture
def own(empty: str) -> Iterator[PostgresStore]:
    """A store in a database of its own, whose tables a test may change."""
    prepare_database(empty)
    with open_database(empty, tenant="x") as store:
        yield store


def test_what_runs_of_an_older_version_writes_nothing_after_a_migration(
    own: PostgresStore, empty: str
) -> None:
    newest = len(MIGRATIONS) + 1
    with psycopg.connect(empty) as newer:
        newer.execute(
            "INSERT INTO recollect.migrations VALUES (%s, 'a later one', %s)", (newest,) * 2
        )

    with pytest.raises(StoreTooNewError) as raised:
        put_document(own, document_of("memory/a.md"), [chunk_of("memory/a.md", "lamp")], recipe="r")

    assert f"version {newest}" in raised.value.message
    assert "restart" in raised.value.action
    with psycopg.connect(empty) as newer:
        assert (0,) == newer.execute("SELECT count(*) FROM recollect.documents").fetchone()


def test_processes_of_two_versions_run_beside_each_other_while_tables_are_expanded(
    own: PostgresStore, empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = len(MIGRATIONS)
    column = "ALTER TABLE chunks ADD COLUMN later text NOT NULL DEFAULT 'as before'"
    expanding = (*MIGRATIONS, ("later", column, known))
    with monkeypatch.context() as newer:
        newer.setattr(schema, "MIGRATIONS", expanding)
        assert ["later"] == prepare_database(empty)
        with open_database(empty, tenant="x") as store:
            put_document(store, document_of("b.md"), [chunk_of("b.md", "boat")], recipe="r")

    put_document(own, document_of("a.md"), [chunk_of("a.md", "lamp")], recipe="r")
    with open_database(empty, tenant="x") as earlier:
        found = [keyword_pool(earlier, [word], scope=Scope(), limit=9) for word in ("lamp", "boat")]
    assert [1, 1] == [len(each.keys) for each in found]
    with pytest.raises(StoreTooNewError):
        prepare_database(empty)  # would put functions of the earlier version in place

    contracting = (*expanding, ("less", "ALTER TABLE chunks DROP COLUMN triggers", known + 2))
    with monkeypatch.context() as newest:
        newest.setattr(schema, "MIGRATIONS", contracting)
        assert ["less"] == prepare_database(empty)
    with pytest.raises(StoreTooNewError, match="this Recollect knows"):
        own.holds()


TAKES_AWAY = re.compile(r"\b(DROP|RENAME|TRUNCATE|TYPE|SET NOT NULL)\b|ADD COLUMN(?!.*DEFAULT)")


def test_a_migration_that_takes_something_away_names_itself_as_the_least() -> None:
    for number, (name, statements, least) in enumerate(MIGRATIONS, 1):
        assert 1 <= least <= number
        if least < number:
            assert not TAKES_AWAY.search(statements), name


def test_a_migration_waits_for_what_is_being_written(own: PostgresStore, empty: str) -> None:
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    migrating = threading.Thread(target=prepare_database, args=(empty,))

    with own._session.writing() as connection:
        connection.execute("SELECT 1").fetchone()  # begins
        migrating.start()
        wait_until(lambda: connection.execute(waiting).fetchone() == (1,))
        # The migration waits for this transaction, and this does not wait for the migration.
        own.put_vectors(SPACE, digests=["aa"], vectors=np.eye(1, 8, dtype=np.float32))
        assert migrating.is_alive()

    migrating.join()
    assert 1 == len(own.spaces())


OLD = Path(os.environ.get("OLD_POSTGRES", ""))


@pytest.mark.skipif(not (OLD / "initdb").exists(), reason="`make test-postgres` fetches an old one")
def test_a_server_that_is_too_old_is_refused() -> None:
    old = Server(binaries=OLD)
    try:
        old.create()
        with pytest.raises(StoreError) as raised:
            prepare_database(old.address(user="postgres", database="postgres"))
    finally:
        old.close()

    assert "runs PostgreSQL 14" in raised.value.message


def test_any_text_is_kept_in_facts_and_settings_too(opened: Open, tenant: str) -> None:
    odd = "a\0b \udc80 \uf8fe0000"
    store = opened(tenant)
    mark = FactMark(odd, odd, None, datetime(2026, 1, 1, tzinfo=UTC), superseded_by=odd)
    chunk = replace(chunk_of("facts", odd), heading=(odd,), speaker=odd, triggers=odd, fact=mark)

    put_document(store, document_of("facts", odd), [chunk], recipe=odd)
    notes.claim(store, f"/workspaces/{odd}")
    notes.put_batch(store, SPACE, odd, {"aa"})

    assert [chunk] == list(store.chunks_of("facts", source=SourceKind.MEMORY))
    assert f"/workspaces/{odd}" == notes.workspace_of(store)
    assert odd == store.superseded(Scope(audience=frozenset({odd})))[0].id
    assert {odd: {"aa"}} == notes.batches(store, SPACE)
    assert odd == next(iter(store.known().values())).recipe


def test_writers_of_many_memories_do_not_hold_each_other_up(opened: Open, tenant: str) -> None:
    names = [f"{tenant}-{number}" for number in range(6)]
    # All of them are the first of their space: its table is created once.
    space = Fingerprint("test", tenant, 8, "plain")
    holding = opened(f"{tenant}-slow")

    def write(name: str) -> None:
        own = opened(name)
        for turn in range(5):
            path = f"memory/{turn}.md"
            put_document(
                own, document_of(path), [chunk_of(path, f"lamp {name} {turn}")], recipe="r"
            )
            digests = [missing.digest for missing in own.missing(SpaceTexts(space), limit=9)]
            vectors = np.eye(len(digests), 8, dtype=np.float32)
            own.put_vectors(space, digests=digests, vectors=vectors)

    with holding._session.writing() as connection:
        holding._lock(connection)  # a transaction of another tenant that does not end
        threads = [threading.Thread(target=write, args=(name,)) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    for name in names:
        store = opened(name)
        assert 5 == len(store.known())
        assert 5 == store.status(SpaceTexts(space)).vectors
        assert [] == store.check(deep=True)


def test_many_writers_of_one_memory_lose_nothing(opened: Open, tenant: str) -> None:
    opened(tenant)

    def write(number: int) -> None:
        own = opened(tenant)
        for turn in range(10):
            path = f"memory/{turn}.md" if turn % 2 else f"memory/{number}-{turn}.md"
            chunks = [chunk_of(path, f"lamp {number} {line}", line=line) for line in range(1, 4)]
            put_document(own, document_of(path, f"{number}"), chunks, recipe="r")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    store = opened(tenant)
    assert 4 * 5 + 5 == len(store.known())
    assert (
        3 * 25 == keyword_pool(store, ["lamp"], scope=Scope(), limit=200).corpus.frequencies["lamp"]
    )
    assert [] == store.check(deep=True)


@pytest.mark.parametrize("writes", [4, 5, 6])
def test_a_connection_that_saw_an_error_spoils_no_later_write(
    address: str, tenant: str, writes: int
) -> None:
    """A statement is prepared when it is used often: also in a transaction that then fails."""
    path = "memory/a.md"

    def write(number: int) -> None:
        put_document(store, document_of(path), [chunk_of(path, f"lamp {number}")], recipe="r")

    def fail() -> None:
        with psycopg.connect(owner_of(address)) as superuser:
            superuser.execute("LOCK TABLE recollect.tenants")
            with pytest.raises(StoreBusyError, match="Another process"), patience(0.01):
                write(0)

    # An address that no other test has, so that its pool holds one connection.
    with open_database(f"{address}&connect_timeout={20 + writes}", tenant=tenant) as store:
        assert not store.holds()
        fail()
        for number in range(writes):
            write(number)
        fail()
        for number in range(8):
            write(number)

        assert [] == store.check(deep=True)
