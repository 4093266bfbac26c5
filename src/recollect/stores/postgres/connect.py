"""Connections to a database: a pool for each address, transactions of one tenant, errors as ours.

Every transaction names its tenant first. The policies of the tables compare with that name, so a
statement that forgets its tenant sees nothing.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import errors, pq, sql
from psycopg_pool import ConnectionPool, PoolTimeout

from recollect.errors import (
    ConfigError,
    RecollectError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
    StoreUnreachableError,
)
from recollect.stores.base import patience, patience_seconds
from recollect.stores.postgres.adapt import register
from recollect.stores.postgres.near import EFFORT
from recollect.stores.postgres.schema import BEGIN_WRITING, SCHEMA, VERSION, require_version

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from psycopg.abc import RV, PQGen

    Row = tuple[Any, ...]
    Connection = psycopg.Connection[Row]
    Cursor = psycopg.Cursor[Row]

MOST_CONNECTIONS = 10
"""Connections of one process to one address."""
_POOL_SECONDS = 10.0  # to wait for one of them
# A pool waits twice as long after each attempt to connect; after this we ask it to start over.
_RECONNECT_SECONDS = 2.0
_LOCK_SECONDS = 30.0  # a writer holds a tenant for one transaction, far below this
_DEFAULTS = {
    "application_name": "recollect",
    "connect_timeout": 10,
    # A server whose machine is gone does not close its connections: after half a minute it is lost.
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
"""Parameters of a connection, unless the address has its own."""
# Each is sent by itself: Citus repeats the whole message that it is in. It tells its workers what
# is set after the first one, the tenant above all. Nothing is set for longer than a transaction: a
# pooler gives the next one another process. A selective filter beside an HNSW index finds too
# little unless the scan goes on.
_SETTINGS = (
    "SET LOCAL citus.propagate_set_commands = 'local'",
    f"SET LOCAL search_path = {SCHEMA}, public, pg_temp",
    "SET LOCAL statement_timeout = '60s'",
    "SET LOCAL client_connection_check_interval = '1s'",
    "SET LOCAL hnsw.iterative_scan = 'relaxed_order'",
    f"SET LOCAL hnsw.ef_search = {EFFORT}",
)
_CHECK = "Check that it runs and that the address, user and password are right."
# An error while connecting has no code, only the server's words.
_NO_SLOT = ("too many clients", "too many connections", "connection slots are reserved")
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"

# Its words would go to stderr where no application has set logging up; our errors have the reason.
logging.getLogger("psycopg").addHandler(logging.NullHandler())


class ConnectionLostError(StoreUnreachableError):
    """A connection ended in the middle of a transaction: the same may work on another one."""

    kind = "store_unreachable"


def shown(address: str) -> str:
    """Return an address without its password."""
    try:
        parts = psycopg.conninfo.conninfo_to_dict(address)
    except psycopg.Error:
        return "the database"
    where = ":".join(str(parts[name]) for name in ("host", "port") if parts.get(name))
    user = f"{parts['user']}@" if parts.get("user") else ""
    return f"postgresql://{user}{where}/{parts.get('dbname', '')}"


def parameters(address: str) -> dict[str, Any]:
    """Return the parameters for libpq: those of the address, and our defaults for the rest."""
    try:
        given = psycopg.conninfo.conninfo_to_dict(address)
    except psycopg.ProgrammingError as error:
        # libpq may quote the whole address, with a password.
        why = _first_line(error).partition(': "postgres')[0]
        raise ConfigError(
            f"The address of the database cannot be read ({why}).",
            action="Give postgresql://user@host/database; after a `?`, it takes the parameters of "
            "libpq, such as sslmode=verify-full.",
        ) from None
    return {**_DEFAULTS, **given}


def connected(address: str) -> Connection:
    """Return a connection of its own, which is closed at the end of a `with`."""
    given = parameters(address)
    given["connect_timeout"] = max(1, round(patience_seconds(int(given["connect_timeout"]))))
    return psycopg.connect(autocommit=True, **given)


class WatchedConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that does not wait for an answer of a server that has stopped answering."""

    look: Callable[[], None]
    """Fails if the server takes no new connection."""

    def wait(self, gen: PQGen[RV], *args: Any, **more: Any) -> RV:  # noqa: ANN401 - as psycopg has it
        try:
            return super().wait(self._watched(gen), *args, **more)
        except StoreUnreachableError:
            self.close()
            raise

    def _watched(self, gen: PQGen[RV]) -> PQGen[RV]:
        """Pass a wait on, and look at the server when it has taken 2 seconds, 4 more, and so on."""
        seconds, ready = _RECONNECT_SECONDS, None
        looks_at = time.monotonic() + seconds
        try:
            while True:
                ready = yield gen.send(ready)  # type: ignore[arg-type]  # None begins
                if not ready and time.monotonic() > looks_at:
                    self.look()
                    seconds *= 2
                    looks_at = time.monotonic() + seconds
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


class Database:
    """What all sessions of one address share: connections, and what was learned of the tables."""

    def __init__(self, address: str) -> None:
        self.users = 0
        self.address = address
        self.away_until = 0.0
        """When to look again at a server that did not answer; 0 if it did."""
        self.pool: ConnectionPool[WatchedConnection] = ConnectionPool(
            connection_class=WatchedConnection,
            kwargs={"autocommit": True, **parameters(address)},
            min_size=0,
            max_size=MOST_CONNECTIONS,
            reconnect_timeout=_RECONNECT_SECONDS,
            open=True,
            configure=self._configure,
        )
        self.tables: dict[str, int] = {}
        """Tables of spaces that were seen, with their dimensions: they are never dropped."""
        self.indexes: dict[str, tuple[bool, float]] = {}
        """Whether an index of vectors is there, and until when that is believed."""

    def _configure(self, connection: WatchedConnection) -> None:
        """Prepare a new connection of the pool.

        Behind a pooler such as PgBouncer, whose process is not the server's, no statement is
        prepared: the process that serves the next transaction may not know it.
        """
        connection.look = self.look
        register(connection)
        own = connection.info.backend_pid
        if connection.execute("SELECT pg_backend_pid()").fetchone() != (own,):
            connection.prepare_threshold = None

    def look(self) -> None:
        """Fail if the server takes no connection; for a moment nobody looks again."""
        location = shown(self.address)
        if time.monotonic() < self.away_until:
            raise StoreUnreachableError(f"The server of {location} does not answer.", action=_CHECK)
        try:
            with patience(_RECONNECT_SECONDS):
                connected(self.address).close()
            self.away_until = 0.0
        except psycopg.OperationalError as error:
            told = _unreachable(location, error)
            if isinstance(told, StoreUnreachableError):
                self.away_until = time.monotonic() + _RECONNECT_SECONDS
                raise told from error


_databases: dict[str, Database] = {}
_changing_databases = threading.Lock()


def _taken(address: str) -> Database:
    with _changing_databases:
        if address not in _databases:
            _databases[address] = Database(address)
        database = _databases[address]
        database.users += 1
        return database


def _given_back(address: str) -> None:
    with _changing_databases:
        database = _databases[address]
        database.users -= 1
        if database.users:
            return
        del _databases[address]
    database.pool.close()


class Session:
    """One tenant's transactions, for one thread. Inner ones join the outer one."""

    def __init__(self, address: str, tenant: str) -> None:
        self.address = address
        self.tenant = tenant
        # Tokens and the queue are of no tenant.
        self.location = f"{shown(address)} ({tenant})" if tenant else shown(address)
        self.shared = _taken(address)
        self._is_open = True
        self._current: Connection | None = None
        self.kept: dict[Hashable, Any] = {}
        """What the current transaction has asked for ahead, or will need again."""

    def close(self) -> None:
        """Give the connections back."""
        if self._is_open:
            self._is_open = False
            _given_back(self.address)

    def read(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        """Return the rows of one statement, which waits for the server once.

        It changes nothing, so it may go to a connection that turns out to be dead, and be asked
        again on another one.
        """
        try:
            return self._read(statement, values)
        except ConnectionLostError:
            if self._current is not None:
                raise
            return self._read(statement, values)

    def _read(self, statement: str, values: Sequence[object]) -> list[Row]:
        with self.reading() as connection:
            rows = run(connection, statement, values)
        return rows.fetchall()

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """Run the body on one state of the database."""
        with self._transaction((_READ,)) as connection:
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        """Run the body as one transaction."""
        lock_ms = round(1000 * patience_seconds(_LOCK_SECONDS))
        begin = (_WRITE, f"SET LOCAL lock_timeout = {lock_ms}", BEGIN_WRITING)
        with self._transaction(begin) as current:
            yield current

    @contextlib.contextmanager
    def _transaction(self, begin: Sequence[str]) -> Iterator[Connection]:
        """Run the body in a pipeline: what it executes is sent when it first needs an answer."""
        if self._current is not None:
            yield self._current
            return
        if not self._is_open:
            raise StoreError(
                f"The index {self.location} is closed.", action="Open the memory again."
            )
        with translated(self.location), self._free_connection(self.shared.pool) as connection:
            self._current = connection
            version = None
            try:
                with connection.pipeline():
                    version = self._begin(connection, begin)
                    yield connection
                    if begin[0] is _WRITE:
                        self._require_version(version)
                    connection.execute("COMMIT", prepare=False)
                self._require_version(version)
            except psycopg.Error as error:
                if connection.closed:
                    raise _lost(self.location, error) from error
                if version is not None and version.pgresult is not None:
                    self._require_version(version)  # tables of another version tell more
                raise
            finally:
                self._current = None
                self.kept.clear()

    def _begin(self, connection: Connection, begin: Sequence[str]) -> Cursor:
        """Begin a transaction of the tenant; return what tells the version."""
        named = f"SET LOCAL recollect.tenant = {sql.Literal(self.tenant).as_string(connection)}"
        for each in (begin[0], *_SETTINGS, named, *begin[1:]):
            connection.execute(each.encode(), prepare=False)
        return connection.execute(VERSION.encode())

    def _require_version(self, told: Cursor) -> None:
        told.scroll(0, mode="absolute")
        row = told.fetchone()
        assert row is not None  # noqa: S101 - an aggregate has one row
        require_version(*row, location=self.location)

    @contextlib.contextmanager
    def _free_connection(self, pool: ConnectionPool[WatchedConnection]) -> Iterator[Connection]:
        """Lend a connection; if there is none in time, find out why."""
        if self.shared.away_until:
            self.shared.look()
        seconds = patience_seconds(_POOL_SECONDS)
        ends_at = time.monotonic() + seconds
        while True:
            left = max(0.001, ends_at - time.monotonic())
            try:
                connection = pool.getconn(timeout=min(left, _RECONNECT_SECONDS))
                if _is_alive(connection):
                    break
                pool.putconn(connection)
            except PoolTimeout:
                with patience(_RECONNECT_SECONDS):
                    connected(self.address).close()  # tells why it fails, which the pool does not
                if left > _RECONNECT_SECONDS:
                    continue
                raise StoreBusyError(
                    f"All {MOST_CONNECTIONS} connections of this process to {self.location} have "
                    f"been in use for {seconds:g} s.",
                    action="Run it again; if it happens often, run more processes.",
                ) from None
        try:
            yield connection
        except BaseException as error:
            _end(connection, error)
            raise
        finally:
            pool.putconn(connection)


def _is_alive(connection: Connection) -> bool:
    """Return whether the server has not ended a connection. Nothing is sent or waited for."""
    try:
        for _ in ("the last words of the server", "the end"):
            connection.pgconn.consume_input()
    except psycopg.OperationalError:
        connection.close()
        return False
    return True


@contextlib.contextmanager
def translated(location: str) -> Iterator[None]:
    """Turn errors of the database into ours, with what to do next."""
    try:
        yield
    except errors.QueryCanceled as error:
        raise StoreBusyError(
            f"The server of {location} ended a statement ({_first_line(error)}).",
            action="Run it again; if it happens often, look at the load of the server.",
        ) from error
    except (errors.LockNotAvailable, errors.DeadlockDetected) as error:
        raise StoreBusyError(
            f"Another process has been writing {location} for longer than usual.",
            action="Run it again when the other has finished; you can search meanwhile.",
        ) from error
    except errors.DiskFull as error:
        raise StoreFullError(
            f"The server of {location} has no space left.",
            action="Free disk space on the server and run it again; nothing was changed.",
        ) from error
    except errors.ReadOnlySqlTransaction as error:
        raise StoreReadOnlyError(
            f"{location} can only be read: the server is a replica.",
            action="Add target_session_attrs=read-write and all hosts to the address.",
        ) from error
    except (errors.UndefinedTable, errors.InvalidSchemaName, errors.UndefinedFunction) as error:
        raise StoreError(
            f"{location} has no tables of Recollect ({_first_line(error)}).",
            action="Run `recollect server init` with a role that may create them.",
        ) from error
    except errors.InsufficientPrivilege as error:
        raise StoreError(
            f"The role of this address may not use {location} ({_first_line(error)}).",
            action="Grant it the group of agents of this database, or that of servers: "
            "`recollect server status` names them.",
        ) from error
    except psycopg.OperationalError as error:
        raise _unreachable(location, error) from error
    except psycopg.Error as error:
        raise StoreError(
            f"PostgreSQL failed on {location} ({_first_line(error)}).",
            action="Run `recollect server status` to check the server.",
        ) from error


def _unreachable(location: str, error: Exception) -> StoreError:
    if any(words in str(error) for words in _NO_SLOT):
        return StoreBusyError(
            f"The server of {location} has no connection left ({_first_line(error)}).",
            action="Run it again; raise max_connections, or run fewer processes.",
        )
    return StoreUnreachableError(
        f"The server of {location} cannot be reached ({_first_line(error)}).",
        action=_CHECK,
    )


def _lost(location: str, error: Exception) -> StoreError:
    return ConnectionLostError(
        f"The connection to {location} was lost ({_first_line(error)}).",
        action="Run it again; if it happens again, check the server.",
    )


def _end(connection: Connection, error: BaseException) -> None:
    """Roll back what the server has accepted so far; close a connection that saw a failure.

    psycopg may believe that a statement was prepared which came after one that failed. Every later
    use of it would fail on this connection.
    """
    is_intact = connection.info.transaction_status is pq.TransactionStatus.INTRANS
    if isinstance(error, RecollectError) and is_intact:
        connection.execute("ROLLBACK")
    else:
        connection.close()


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def run(connection: Connection, statement: str, values: Sequence[object] = ()) -> Cursor:
    """Execute one of our own statements, with results in binary form.

    In a transaction it is sent with those before it when the first answer is fetched.
    """
    return connection.execute(statement.encode(), values, binary=True)


def count_changed(connection: Connection, statement: str, values: Sequence[object]) -> int:
    """Execute a statement and return how many rows it changed."""
    with connection.pipeline():
        done = run(connection, statement, values)
    return done.rowcount
