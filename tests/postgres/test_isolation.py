"""One agent never reads or writes what another stored, whatever statement its role sends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import psycopg
import pytest
from tests.support.notes import chunk_of, document_of

from recollect.stores.postgres.schema import TABLES, space_key
from recollect.types import Fingerprint, Scope, digest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from recollect.stores.postgres import PostgresStore

    Open = Callable[[str], PostgresStore]

SPACE = Fingerprint("test", "isolation", 8, "plain")
VECTORS = f"vectors_{space_key(SPACE)}"


@pytest.fixture
def theirs(opened: Open, tenant: str) -> str:
    """Another agent with a note, a vector and everything else an agent has."""
    other = opened(f"{tenant}-other")
    other.put(document_of("memory/secret.md"), [chunk_of("memory/secret.md", "secret")], recipe="r")
    other.put_vectors(SPACE, digests=[digest_of(b"secret")], vectors=np.eye(1, 8, dtype=np.float32))
    other.claim("/their/folder")
    other.put_batch(SPACE, "batch", {"aa"})
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
    assert mine.is_empty()
    assert {} == mine.known()
    assert () == mine.keyword(["secret"], scope=Scope(), limit=9).keys
    unit = np.eye(1, 8, dtype=np.float32)[0]
    assert () == mine.nearest(SPACE, vector=unit, scope=Scope(), limit=9).keys
    assert mine.workspace() is None


@pytest.mark.usefixtures("theirs")
@pytest.mark.parametrize("table", [*TABLES, VECTORS])
def test_no_statement_reads_or_changes_the_rows_of_another(
    raw: psycopg.Connection[tuple[object, ...]], table: str, tenant: str
) -> None:
    def run(statement: str, count: int) -> psycopg.Cursor[tuple[object, ...]]:
        return raw.execute(statement.replace("TABLE", table).encode(), [tenant] * count)

    seen = run("SELECT count(*) FROM TABLE WHERE tenant <> %s", 1).fetchone()
    deleted = run("DELETE FROM TABLE WHERE tenant <> %s", 1)
    moved = run("UPDATE TABLE SET tenant = %s WHERE tenant <> %s", 2)

    assert (0,) == seen
    assert [0, 0] == [deleted.rowcount, moved.rowcount]


@pytest.mark.parametrize("name", ["tenants", "meta"])
def test_a_row_for_another_is_refused(
    raw: psycopg.Connection[tuple[object, ...]], theirs: str, name: str
) -> None:
    columns = "(tenant, key, value) VALUES (%s, 'a', 'b')" if name == "meta" else "VALUES (%s)"
    target = name if name == "meta" else f"{name} (tenant)"

    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        raw.execute(f"INSERT INTO {target} {columns}".encode(), (theirs,))


@pytest.mark.usefixtures("theirs")
def test_without_a_tenant_nothing_is_seen(address: str) -> None:
    with psycopg.connect(address, options="-c search_path=recollect,public") as connection:
        seen = connection.execute("SELECT count(*) FROM documents").fetchone()

    assert (0,) == seen


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE documents DISABLE ROW LEVEL SECURITY",
        "DROP POLICY own_tenant ON documents",
        "SET ROLE postgres",
        "CREATE TABLE recollect.mine (a int)",
        "SELECT add_space('x; DROP TABLE documents', 8)",
    ],
)
def test_the_role_of_an_agent_cannot_lift_the_guard(
    raw: psycopg.Connection[tuple[object, ...]], statement: str
) -> None:
    with pytest.raises(psycopg.Error):
        raw.execute(statement.encode())
