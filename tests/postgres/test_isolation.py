"""One agent never reads or writes what another stored, whatever statement its role sends."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import psycopg
import pytest
from tests.support.notes import chunk_of, document_of, keyword_pool, put_document, vector_pool
from tests.support.postgres import host_of

from recollect import SearchRequest
from recollect.errors import NotFoundError
from recollect.hosting.tokens import create_token
from recollect.stores import notes
from recollect.stores.postgres.schema import TABLES, space_key
from recollect.stores.pushed import PushedChange
from recollect.types import Fingerprint, Scope, digest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from recollect.hosting.host import MemoryHost
    from recollect.stores.postgres import PostgresStore

    Open = Callable[[str], PostgresStore]

SPACE = Fingerprint("test", "isolation", 8, "plain")
VECTORS = f"vectors_{space_key(SPACE)}"


@pytest.fixture
def theirs(opened: Open, tenant: str, host: MemoryHost) -> str:
    """Another agent with a note, a vector, pushed documents, a token and all else there is."""
    other = opened(f"{tenant}-other")
    with host.memory(f"{tenant}-other") as memory:
        for text in (b"Their secret.", b"Their newer secret."):
            memory.pushed.write([PushedChange("memory/pushed.md", text)])
        memory.facts.remember("Their secret boat.")
    create_token(host.database, f"{tenant}-other", now=datetime.now(tz=UTC))
    put_document(
        other, document_of("memory/secret.md"), [chunk_of("memory/secret.md", "secret")], recipe="r"
    )
    other.put_vectors(SPACE, digests=[digest_of(b"secret")], vectors=np.eye(1, 8, dtype=np.float32))
    notes.claim(other, "/their/folder")
    notes.put_batch(other, SPACE, "batch", {"aa"})
    return f"{tenant}-other"


@pytest.fixture
def raw(address: str, tenant: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """A connection with the role of an agent, that may send any statement."""
    with psycopg.connect(
        address, autocommit=True, options="-c search_path=recollect,public"
    ) as connection:
        connection.execute("SELECT set_config('recollect.tenant', %s, false)", (tenant,))
        yield connection


def test_through_the_store_another_agent_is_not_there(
    opened: Open, tenant: str, theirs: str
) -> None:
    mine = opened(tenant)

    assert theirs != tenant
    assert not mine.holds()
    assert {} == mine.known()
    assert () == keyword_pool(mine, ["secret"], scope=Scope(), limit=9).keys
    unit = np.eye(1, 8, dtype=np.float32)[0]
    assert () == vector_pool(mine, SPACE, vector=unit, scope=Scope(), limit=9).keys
    assert notes.workspace_of(mine) is None


@pytest.mark.usefixtures("theirs")
@pytest.mark.parametrize("table", [*TABLES, VECTORS])
def test_no_statement_reads_or_changes_the_rows_of_another(
    raw: psycopg.Connection[tuple[object, ...]], table: str, tenant: str
) -> None:
    def run(statement: str, count: int) -> psycopg.Cursor[tuple[object, ...]]:
        return raw.execute(statement.replace("TABLE", table).encode(), [tenant] * count)

    seen = run("SELECT count(*) FROM TABLE WHERE tenant <> %s", 1).fetchone()
    deleted = run("DELETE FROM TABLE WHERE tenant <> %s", 1)

    assert (0,) == seen
    assert 0 == deleted.rowcount
    with contextlib.suppress(psycopg.errors.FeatureNotSupported):  # Citus moves no row at all
        assert 0 == run("UPDATE TABLE SET tenant = %s WHERE tenant <> %s", 2).rowcount


@pytest.mark.parametrize("name", ["tenants", "meta"])
def test_a_row_for_another_is_refused(
    raw: psycopg.Connection[tuple[object, ...]], theirs: str, name: str
) -> None:
    columns = "(tenant, key, value) VALUES (%s, 'a', 'b')" if name == "meta" else "VALUES (%s)"
    target = name if name == "meta" else f"{name} (tenant)"

    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        raw.execute(f"INSERT INTO {target} {columns}".encode(), (theirs,))


@pytest.mark.usefixtures("theirs")
@pytest.mark.parametrize("role", [str, host_of])
def test_without_a_tenant_nothing_is_seen(address: str, role: Callable[[str], str]) -> None:
    """Not even by a server, whose role may see the tokens of all."""
    with psycopg.connect(role(address), options="-c search_path=recollect,public") as connection:
        for table in ("documents", "pushed", "pushed_versions"):
            assert [] == connection.execute(f"TABLE {table}".encode()).fetchall()


@pytest.mark.usefixtures("theirs")
@pytest.mark.parametrize("table", ["tokens", "queue"])
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM TABLE",
        "UPDATE TABLE SET tenant = 'mine'",
        "DELETE FROM TABLE",
        "TRUNCATE TABLE",
        "INSERT INTO TABLE SELECT * FROM TABLE",
    ],
)
def test_tokens_and_the_queue_are_not_for_agents(
    raw: psycopg.Connection[tuple[object, ...]], table: str, statement: str
) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        raw.execute(statement.replace("TABLE", table).encode())


@pytest.mark.usefixtures("theirs")
def test_a_memory_of_the_server_sees_nothing_of_another(host: MemoryHost, tenant: str) -> None:
    with host.memory(tenant) as memory:
        assert [] == memory.pushed.listed()
        assert [] == memory.facts.all()
        assert () == memory.answer(SearchRequest("secret boat")).hits
        for path in ("memory/pushed.md", "memory/secret.md", "memory/facts/other.md"):
            for read in (memory.get, memory.pushed.read, memory.pushed.versions):
                with pytest.raises(NotFoundError):
                    read(path)
            with pytest.raises(NotFoundError):
                memory.pushed.write([PushedChange(path, None)])
        memory.pushed.write([PushedChange("memory/pushed.md", b"Mine.")])
        memory.store.clear()
    with host.memory(f"{tenant}-other") as other:
        assert 2 == other.status().index.by_source["memory"].documents


def test_a_tenant_can_be_named_in_any_way_and_stays_one_value(host: MemoryHost) -> None:
    for name in ("'; SELECT set_config('recollect.tenant', 'x', false); --", "a\\'b", '"', "$$"):
        with host.memory(name) as memory:
            assert [] == memory.pushed.listed()


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE documents DISABLE ROW LEVEL SECURITY",
        "DROP POLICY own_tenant ON documents",
        "SET ROLE postgres",
        "SET ROLE recollect_server_memories",
        "GRANT recollect_server_memories TO agent",
        "ALTER TABLE pushed DISABLE ROW LEVEL SECURITY",
        "CREATE TABLE recollect.mine (a int)",
        "SELECT add_space('x; DROP TABLE documents', 8)",
    ],
)
def test_the_role_of_an_agent_cannot_lift_the_guard(
    raw: psycopg.Connection[tuple[object, ...]], statement: str
) -> None:
    with pytest.raises(psycopg.Error):
        raw.execute(statement.encode())
