"""A server that is restarted, killed, cut off or full: what was acknowledged stays, the rest is an
error with a next step, and the same object works again afterwards.
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import socket
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from tests.postgres.serving import serving
from tests.support.notes import chunk_of, document_of, keyword_pool, put_document
from tests.support.postgres import HOST
from tests.support.servers import (
    AGENT,
    DATABASE,
    SUPERUSER,
    Server,
    add_role,
    address_of,
    adopt,
    free_port,
    own_folder,
    system_user,
)
from tests.support.waiting import PATIENCE_SECONDS, wait_until

from recollect import Memory
from recollect.errors import StoreBusyError, StoreError, StoreUnreachableError
from recollect.hosting.host import MemoryHost
from recollect.shells.http import many
from recollect.stores.base import patience
from recollect.stores.postgres import connect, open_database
from recollect.stores.postgres.connect import MOST_CONNECTIONS, Session
from recollect.stores.postgres.schema import server_role
from recollect.types import Scope, SourceKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from recollect.stores.postgres import PostgresStore

    Write = Callable[[str, str], Path]

THOROUGH = pytest.mark.skipif(
    "ALL_QUESTIONS" not in os.environ, reason="takes long: `make test-postgres` runs it"
)
NOTES = 40


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server that the tests of this file may treat badly; each leaves it running."""
    server = Server()
    try:
        server.create(max_connections="20")
        server.add_tables()
        with psycopg.connect(server.address(user=SUPERUSER), autocommit=True) as connection:
            add_role(connection, HOST, group=server_role)
        yield server
    finally:
        server.close()


@pytest.fixture
def memory(server: Server, workspace: Path, environ: dict[str, str]) -> Iterator[Memory]:
    settings = {"store": server.address(), "provider": "none"}
    with Memory.open(workspace, environ=environ, settings=settings) as memory:
        yield memory


def found(memory: Memory, question: str) -> list[str]:
    return [hit.path for hit in memory.search(question, sync=False).hits]


def test_a_memory_works_on_after_a_restart(server: Server, memory: Memory, write: Write) -> None:
    write("memory/lamp.md", "The lamp is in the shed.\n")
    memory.sync()

    server.stop()
    with pytest.raises(StoreUnreachableError) as raised, patience(0.5):
        found(memory, "lamp")
    server.start()

    assert "cannot be reached" in raised.value.message
    assert ["memory/lamp.md"] == found(memory, "lamp")


def test_health_tells_the_reason_and_requests_fail_while_the_database_is_away(
    server: Server, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connect, "_POOL_SECONDS", 10 * PATIENCE_SECONDS)  # a search need not wait
    monkeypatch.setattr(many, "_LOOK_SECONDS", PATIENCE_SECONDS)  # on a busy machine, too
    settings = {"store": server.address(user=HOST), "provider": "none"}
    with (
        MemoryHost.open(settings=settings, environ=environ) as host,
        serving(host) as served,
        served.client(served.token("ada")) as client,
        ThreadPoolExecutor(2 * MOST_CONNECTIONS) as pool,
    ):
        before = client.get("/health")
        server.stop()
        path = "/api/memories/ada/manifest"
        asked = [pool.submit(client.get, path) for _ in range(2 * MOST_CONNECTIONS)]
        health = client.get("/health")
        counters = client.get("/metrics")
        answered = {each.result().status_code for each in asked}
        server.start()
        wait_until(lambda: client.get("/health").status_code == 200)

    assert 200 == before.status_code
    assert (503, "The database cannot be reached.") == (
        health.status_code,
        health.json()["error"]["message"],
    )
    assert "recollect_database_up 0" in counters.text
    assert {503} == answered


def test_a_database_that_hangs_is_logged_once_and_so_is_its_return(
    server: Server, environ: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    settings = {"store": server.address(user=HOST), "provider": "none"}
    with (
        MemoryHost.open(settings=settings, environ=environ) as host,
        serving(host) as served,
        served.client(None) as client,
    ):
        assert 200 == client.get("/health").status_code
        with server.hanging():
            got = [client.get("/health") for _ in range(3)]
        wait_until(lambda: client.get("/health").status_code == 200)

    assert {503} == {each.status_code for each in got}
    assert "did not answer within 2 seconds" in got[0].json()["error"]["message"]
    assert server.address(user=HOST) not in got[0].text
    logged = [each.getMessage() for each in caplog.records if each.name == "recollect.http"]
    assert len(logged) == len(set(logged))
    assert any("did not answer" in each and "/memories." in each for each in logged)
    assert "The database answers again." == logged[-1]
    assert not any("()" in each for each in logged)


def test_health_notices_that_nothing_can_be_written(
    server: Server, environ: dict[str, str]
) -> None:
    settings = {"store": server.address(user=HOST), "provider": "none"}
    right = "INSERT ON recollect.leases {} recollect_agent_memories"
    with (
        MemoryHost.open(settings=settings, environ=environ) as host,
        serving(host) as served,
        served.client(None) as client,
    ):
        before = client.get("/health").status_code
        server.execute(f"REVOKE {right.format('FROM')}")
        during = client.get("/health").status_code
        server.execute(f"GRANT {right.format('TO')}")
        after = client.get("/health").status_code

    assert [200, 503, 200] == [before, during, after]


def test_a_query_ends_with_its_client(server: Server, store: PostgresStore) -> None:
    asking = "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(600)'"

    def hang_up() -> None:
        with store._session.reading() as connection:
            connection.pgconn.send_query(b"SELECT pg_sleep(600)")
            wait_until(lambda: server.execute(asking) == [(1,)])
            with socket.socket(fileno=os.dup(connection.fileno())) as line:
                line.shutdown(socket.SHUT_RDWR)

    with pytest.raises(StoreUnreachableError):
        hang_up()

    wait_until(lambda: server.execute(asking) == [(0,)])


def test_a_call_fails_when_the_server_stops_answering_and_the_next_at_once(
    server: Server, store: PostgresStore
) -> None:
    shared = store._session.shared
    with ThreadPoolExecutor() as pool, server.hanging():
        first = pool.submit(store.holds).exception(PATIENCE_SECONDS)
        assert shared.away_until > 0
        shared.away_until = math.inf  # however slow this machine is
        next_one = pool.submit(store.holds).exception(PATIENCE_SECONDS)

    assert isinstance(first, StoreUnreachableError)
    assert isinstance(next_one, StoreUnreachableError)
    assert "does not answer" in next_one.message
    shared.away_until = 1.0  # long ago
    assert store.holds()
    assert 0.0 == shared.away_until


def test_a_slow_statement_goes_on_while_the_server_answers_others(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connect, "_RECONNECT_SECONDS", 0.01)
    looked: list[str] = []
    connected = connect.connected

    def noted(address: str) -> psycopg.Connection[tuple[object, ...]]:
        looked.append(address)
        return connected(address)

    monkeypatch.setattr(connect, "connected", noted)

    with store._session.reading() as connection:
        slept = connection.execute("SELECT pg_sleep(1) IS NULL").fetchone()

    assert (False,) == slept
    assert looked


def test_a_statement_that_takes_too_long_is_ended(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = [each.replace("'60s'", "'1ms'") for each in connect._SETTINGS]
    monkeypatch.setattr(connect, "_SETTINGS", short)

    with pytest.raises(StoreBusyError) as raised, store._session.reading() as connection:
        connection.execute("SELECT pg_sleep(600)")

    assert "statement timeout" in raised.value.message
    assert [] == [each for each in short if "60s" in each]


def test_a_server_killed_while_it_indexes_loses_nothing_and_the_next_run_completes(
    server: Server, memory: Memory, write: Write, tenant: str
) -> None:
    for number in range(NOTES):
        write(f"memory/{number}.md", f"# Note {number}\n\nThe lamp number{number} burns.\n")
    count = "SELECT count(*) FROM recollect.documents WHERE tenant = %s"
    tenant = memory.status().agent
    failures: list[StoreError] = []

    def index() -> None:
        try:
            memory.sync()
        except StoreError as error:
            failures.append(error)

    # Holds back the documents after the first batch, so that the kill comes in the middle.
    holding = psycopg.connect(server.address(user=SUPERUSER))
    holding.execute("LOCK TABLE recollect.chunks IN SHARE MODE")
    indexing = threading.Thread(target=index)
    indexing.start()
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    wait_until(lambda: server.execute(waiting)[0][0] > 0)
    server.kill()
    holding.close()
    server.start()
    indexing.join()
    written = server.execute(count, [tenant])[0][0]

    memory.sync()

    assert written in (0, NOTES)  # retried by itself, or failed as a whole
    assert [(NOTES,)] == server.execute(count, [tenant])
    for number in range(NOTES):
        assert f"memory/{number}.md" == found(memory, f"number{number}")[0]
    with open_database(server.address(), tenant=tenant) as store:
        assert [] == store.check(deep=True)


def _cut_all(server: Server) -> None:
    server.execute(
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename = 'agent'"
    )


@pytest.fixture
def store(server: Server, tenant: str) -> Iterator[PostgresStore]:
    with open_database(server.address(), tenant=tenant) as store:
        put_document(store, document_of("a.md"), [chunk_of("a.md", "lamp")], recipe="r")
        yield store


@pytest.mark.parametrize(("cuts", "calls"), [(1, 2), (9, 2)], ids=["once", "always"])
def test_work_whose_connection_is_cut_is_done_once_more(
    server: Server, store: PostgresStore, cuts: int, calls: int
) -> None:
    called = 0

    def search() -> int:
        nonlocal called
        called += 1
        with store.snapshot():
            if called <= cuts:
                _cut_all(server)
            return len(keyword_pool(store, ["lamp"], scope=Scope(), limit=9).keys)

    if cuts == 1:
        assert 1 == store.recovering(search, tell=print)
    else:
        with pytest.raises(StoreUnreachableError) as raised:
            store.recovering(search, tell=print)
        assert "was lost" in raised.value.message
        assert raised.value.action

    assert calls == called
    assert [] == store.check(deep=True)


def test_a_process_that_uses_all_its_connections_gets_an_error_that_says_so(
    server: Server, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = server.address(more="connect_timeout=8")  # a pool of its own
    with contextlib.ExitStack() as stack:
        for _ in range(MOST_CONNECTIONS):
            session = Session(address, tenant)
            stack.callback(session.close)
            stack.enter_context(session.reading())
        with open_database(address, tenant=tenant) as store:
            monkeypatch.setattr(connect, "_POOL_SECONDS", 0.2)
            with pytest.raises(StoreBusyError) as raised:
                store.holds()

    assert f"All {MOST_CONNECTIONS} connections of this process" in raised.value.message


def test_a_database_without_a_free_connection_is_busy_and_not_unreachable(
    server: Server, tenant: str
) -> None:
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(psycopg.OperationalError):
            while True:
                stack.enter_context(psycopg.connect(server.address()))
        with pytest.raises(StoreBusyError) as raised:
            open_database(server.address(), tenant=tenant)

    assert "has no connection left" in raised.value.message


def test_a_wrong_password_is_told_and_not_shown(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = server.address(user="guarded")
    server.execute("CREATE ROLE guarded LOGIN PASSWORD 'correct' IN ROLE recollect_agent_memories")
    rules = server.data / "pg_hba.conf"
    before = rules.read_text(encoding="utf-8")
    rules.write_text(f"host all guarded all scram-sha-256\n{before}", encoding="utf-8")
    server.stop()
    server.start()

    monkeypatch.setenv("PGPASSWORD", "hunter2")
    with pytest.raises(StoreUnreachableError) as raised:
        open_database(address, tenant="x")
    monkeypatch.setenv("PGPASSWORD", "correct")
    open_database(address, tenant="x").close()

    assert "password authentication failed" in raised.value.message
    assert "user and password are right" in raised.value.action
    assert "hunter2" not in f"{raised.value.message} {raised.value.action}"


UNPACKED = Path(os.environ.get("PGBOUNCER", "/"))
POOLER = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:{UNPACKED}/usr/sbin")


@pytest.fixture
def pooled(server: Server) -> Iterator[str]:
    """The address of a PgBouncer that gives each transaction one of two processes."""
    folder, port = own_folder(), free_port()
    users, settings = folder / "users", folder / "settings"
    users.write_text(f'"{AGENT}" ""\n', encoding="utf-8")
    settings.write_text(
        f"[databases]\n* = host=127.0.0.1 port={server.port}\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
        f"auth_type = trust\nauth_file = {users}\npool_mode = transaction\n"
        "default_pool_size = 2\n",
        encoding="utf-8",
    )
    for file in (users, settings):
        adopt(file)
    libraries = ":".join(map(str, UNPACKED.glob("usr/lib/*-linux-gnu")))
    environ = {**os.environ, "LD_LIBRARY_PATH": libraries}
    with subprocess.Popen([str(POOLER), "-q", settings], env=environ, **system_user()) as running:
        try:
            address = f"postgresql://{AGENT}@127.0.0.1:{port}/{DATABASE}"
            wait_until(lambda: is_reached(address))
            yield address
        finally:
            running.terminate()
    shutil.rmtree(folder)


def is_reached(address: str) -> bool:
    try:
        psycopg.connect(address).close()
    except psycopg.OperationalError:
        return False
    return True


@pytest.mark.skipif(POOLER is None, reason="needs PgBouncer, as Debian's package has it")
def test_a_pooler_may_give_every_transaction_another_process(pooled: str, tenant: str) -> None:
    def use(number: int) -> int:
        with open_database(pooled, tenant=f"{tenant}-{number}") as store:
            for turn in range(12):  # a statement used that often would be prepared
                path = f"{turn}.md"
                put_document(store, document_of(path), [chunk_of(path, f"lamp {turn}")], recipe="r")
                keyword_pool(store, ["lamp"], scope=Scope(), limit=20)
            assert [] == store.check(deep=True)
            return len(keyword_pool(store, ["lamp"], scope=Scope(), limit=20).keys)

    with ThreadPoolExecutor(4) as pool:
        assert [12] * 4 == list(pool.map(use, range(4)))


@THOROUGH
def test_a_promoted_replica_has_everything_that_was_acknowledged(tenant: str) -> None:
    primary = Server()
    servers = [primary]
    try:
        primary.create()
        primary.add_tables()
        replica = primary.copy(name="second")
        servers.append(replica)
        primary.configure(synchronous_standby_names="second", synchronous_commit="on")
        primary.execute("SELECT pg_reload_conf()")
        primary.execute("CREATE TABLE streams ()")  # waits for the replica
        address = address_of(servers, more="target_session_attrs=read-write")
        acknowledged: list[str] = []
        is_over = threading.Event()

        with open_database(address, tenant=tenant) as store:

            def write() -> None:
                number = 0
                while not is_over.is_set():
                    path = f"{number}.md"
                    with contextlib.suppress(StoreError):
                        put_document(
                            store, document_of(path), [chunk_of(path, f"lamp {number}")], recipe="r"
                        )
                        acknowledged.append(path)
                        number += 1

            writing = threading.Thread(target=write)
            writing.start()
            wait_until(lambda: len(acknowledged) > 50)
            primary.kill()
            replica.execute("ALTER SYSTEM SET synchronous_standby_names = ''", database=DATABASE)
            replica.promote()
            before = len(acknowledged)
            wait_until(lambda: len(acknowledged) > before + 50)
            is_over.set()
            writing.join()

            assert set(acknowledged) <= {path for _, path in store.known()}
            assert [] == store.check(deep=True)
            assert 1 == len(store.chunks_of(acknowledged[0], source=SourceKind.MEMORY))
    finally:
        for server in servers:
            server.close()
