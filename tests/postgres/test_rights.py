"""No role gets more than it was given: not by an exploit, nor in another database of the server."""

from __future__ import annotations

import itertools
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg import sql
from tests.support.notes import chunk_of, document_of, put_document
from tests.support.postgres import server_of, url_of
from tests.support.servers import SUPERUSER, add_role, programs
from tests.support.waiting import wait_until

from recollect.errors import StoreError
from recollect.shells.cli.server import database_text
from recollect.stores.postgres import open_database
from recollect.stores.postgres.admin import describe_database, prepare_database
from recollect.stores.postgres.schema import agent_role

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROLES = Path(__file__).parent.parent.parent / "examples" / "deploy" / "roles.sql"
EXPLOIT = """
CREATE FUNCTION pg_temp.evil(given pg_catalog.text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RAISE NOTICE 'evil runs as %', current_user;
    RETURN true;
END $$;
CREATE DOMAIN pg_temp.text AS pg_catalog.text CHECK (pg_temp.evil(VALUE));
CREATE DOMAIN pg_temp.bytea AS pg_catalog.bytea CHECK (pg_temp.evil('bytea'));
CREATE DOMAIN pg_temp.regclass AS pg_catalog.regclass CHECK (pg_temp.evil('regclass'));
"""
"""Types that a function finds first if its path does not say where temporary objects come."""
_numbers = itertools.count()


class Server:
    """The server of the tests, for its superuser; databases that were created on it are dropped."""

    def __init__(self, address: str) -> None:
        self._superuser = server_of(address)
        self._databases: list[str] = []

    def database(self, *, owner: str = SUPERUSER) -> str:
        """Create a database; return its name."""
        name = f"rights_{os.getpid()}_{next(_numbers)}"
        if owner != SUPERUSER:
            owner = f"{name}_{owner}"
            self.execute(f"CREATE ROLE {owner} LOGIN CREATEROLE")
        self.execute(f"CREATE DATABASE {name} OWNER {owner}")
        self._databases.append(name)
        return name

    def execute(self, statement: str, *, database: str = "postgres") -> None:
        """Run a statement as superuser."""
        with psycopg.connect(self._superuser, dbname=database, autocommit=True) as connection:
            connection.execute(statement.encode())

    def address(self, database: str, *, user: str = SUPERUSER) -> str:
        """Return the address of a database."""
        return url_of(psycopg.conninfo.make_conninfo(self._superuser, dbname=database, user=user))

    def run(self, program: str, *arguments: object, given: bytes = b"") -> bytes:
        """Run one of PostgreSQL's programs."""
        done = subprocess.run(
            [programs() / program, *map(str, arguments)],
            input=given,
            capture_output=True,
            check=True,
        )
        return done.stdout

    def agent(self, database: str) -> str:
        """Return the address of a database for a new role of an agent."""
        with psycopg.connect(self.address(database), autocommit=True) as connection:
            add_role(connection, f"{database}_login", group=agent_role)
        return self.address(database, user=f"{database}_login")

    def close(self) -> None:
        """Drop the databases."""
        for name in self._databases:
            self.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def server(address: str) -> Iterator[Server]:
    server = Server(address)
    yield server
    server.close()


def by_superuser(server: Server) -> str:
    name = server.database()
    prepare_database(server.address(name))
    return server.agent(name)


def by_owner(server: Server) -> str:
    name = server.database(owner="plain")
    server.execute("CREATE EXTENSION vector", database=name)
    prepare_database(server.address(name, user=f"{name}_plain"))
    return server.agent(name)


def by_script(server: Server) -> str:
    name = server.database()
    server.run("psql", "-v", "ON_ERROR_STOP=1", "-d", server.address(name), "-f", ROLES)
    prepare_database(server.address(name, user=f"{name}_owner"))
    return server.address(name, user=f"{name}_agents")


def by_restore(server: Server) -> str:
    original = psycopg.conninfo.conninfo_to_dict(by_script(server))
    agent, database = str(original["user"]), str(original["dbname"])
    dump = server.run("pg_dump", "-Fc", "-d", server.address(database))
    server.execute(f"DROP DATABASE {database}")
    server.execute(f"CREATE DATABASE {database}")
    server.run("pg_restore", "-d", server.address(database), given=dump)
    return server.address(database, user=agent)


@pytest.mark.parametrize("set_up", [by_superuser, by_owner, by_script, by_restore])
def test_nothing_that_an_agent_defines_runs_with_the_rights_of_the_owner(
    server: Server, set_up: Callable[[Server], str]
) -> None:
    address = set_up(server)
    with psycopg.connect(address, autocommit=True) as connection:
        heard: list[str] = []
        connection.add_notice_handler(lambda notice: heard.append(notice.message_primary or ""))
        if describe_database(address).has_open_temp:
            connection.execute(EXPLOIT.encode())
            connection.execute("SELECT 'tried'::pg_temp.text")
        else:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(EXPLOIT.encode())

        connection.execute("SELECT recollect.add_space('0123456789abcdef', 8)")
        made = connection.execute("SELECT to_regclass('recollect.vectors_0123456789abcdef')")

        assert ("recollect.vectors_0123456789abcdef",) == made.fetchone()
        assert {f"evil runs as {connection.info.user}"} >= set(heard)
        assert (set_up is by_script) == (heard == [])


def test_functions_that_change_tables_are_for_no_other_role(server: Server) -> None:
    database = str(psycopg.conninfo.conninfo_to_dict(by_superuser(server))["dbname"])
    server.execute(f"CREATE ROLE {database}_stranger LOGIN")
    server.execute(f"GRANT USAGE ON SCHEMA recollect TO {database}_stranger", database=database)

    with psycopg.connect(
        server.address(database, user=f"{database}_stranger"), autocommit=True
    ) as connection:
        for call in ("add_space('0123456789abcdef', 8)", "guard('recollect.tenants')"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f"SELECT recollect.{call}".encode())


def test_the_status_warns_if_any_role_may_create_temporary_objects(server: Server) -> None:
    address = by_superuser(server)
    database = sql.Identifier(str(psycopg.conninfo.conninfo_to_dict(address)["dbname"]))
    before = database_text(describe_database(address))
    server.execute(sql.SQL("REVOKE TEMP ON DATABASE {} FROM PUBLIC").format(database).as_string())
    after = database_text(describe_database(address))

    assert "any role may create temporary objects" in before
    assert "temporary" not in after


def test_the_role_of_one_database_opens_no_other(server: Server) -> None:
    mine, other = by_superuser(server), by_superuser(server)
    role = psycopg.conninfo.conninfo_to_dict(mine)["user"]
    theirs = url_of(psycopg.conninfo.make_conninfo(other, user=role))

    with pytest.raises(StoreError) as raised:
        open_database(theirs, tenant="ada")

    open_database(mine, tenant="ada").close()
    assert "permission denied for schema recollect" in raised.value.message


def test_a_role_that_monitors_sees_how_much_there_is_and_no_row(server: Server) -> None:
    monitor = by_script(server).replace("_agents@", "_monitor@")

    status = describe_database(monitor)

    assert status.version == status.newest
    assert {"memories", "documents", "chunks"} == status.rows.keys()
    assert "Rows:       about 0 memories" in database_text(status)
    with (
        psycopg.connect(monitor) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute("SELECT 1 FROM recollect.documents")


def test_a_restored_database_shows_what_it_holds(server: Server, address: str, tenant: str) -> None:
    with open_database(address, tenant=tenant) as store:
        put_document(store, document_of("a.md"), [chunk_of("a.md", "lamp")], recipe="r")
    database = server.database()
    parts = psycopg.conninfo.conninfo_to_dict(address)
    dump = server.run("pg_dump", "-Fc", "-d", server.address(str(parts["dbname"])))

    server.run("pg_restore", "-d", server.address(database), given=dump)
    prepare_database(server.address(database))  # the groups of a database of another name

    agent = server.agent(database)
    with open_database(agent, tenant=tenant) as store:
        assert store.holds()
    wait_until(lambda: describe_database(agent).rows["chunks"] > 0)
