"""What the guide for operators says: roles, backups, going back in time, TLS."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from tests.support.notes import chunk_of, document_of, keyword_pool, put_document
from tests.support.postgres import server_of, url_of
from tests.support.servers import DATABASE, SUPERUSER, Server, adopt, programs

from recollect.errors import StoreUnreachableError
from recollect.stores.postgres import open_database
from recollect.stores.postgres.admin import describe_database, index_database, prepare_database
from recollect.stores.postgres.connect import connected, shown, translated
from recollect.types import Scope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recollect.stores.postgres import PostgresStore

ROLES = Path(__file__).parent.parent.parent / "examples" / "deploy" / "roles.sql"
DEBIAN = next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), None)
THOROUGH = pytest.mark.skipif(
    "ALL_QUESTIONS" not in os.environ, reason="takes long: `make test-postgres` runs it"
)


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    try:
        server.create()
        yield server
    finally:
        server.close()


def put(store: PostgresStore, path: str, text: str) -> None:
    put_document(store, document_of(path, text), [chunk_of(path, text)], recipe="r")


def paths(store: PostgresStore) -> set[str]:
    assert [] == store.check(deep=True)
    return {path for _, path in store.known()}


@THOROUGH
def test_the_roles_of_the_script_suffice_and_none_has_more(server: Server) -> None:
    server.execute(f"CREATE DATABASE {DATABASE}", database="postgres")
    server.run("psql", "-v", "ON_ERROR_STOP=1", "-d", server.address(user=SUPERUSER), "-f", ROLES)

    prepare_database(server.address(user="memories_owner"))
    for user in ("memories_agents", "memories_servers"):
        with open_database(server.address(user=user), tenant=user) as store:
            put(store, "a.md", "lamp")
            assert 1 == len(keyword_pool(store, ["lamp"], scope=Scope(), limit=9).keys)
    built = index_database(server.address(user="memories_operator"))

    assert (0, 0) == (built.built, built.dropped)
    assert describe_database(server.address(user="memories_agents")).is_guarded
    for user in ("memories_owner", "memories_agents", "memories_servers"):
        with psycopg.connect(server.address(user=user)) as connection:
            seen = connection.execute("SELECT count(*) FROM recollect.documents").fetchone()
        assert (0,) == seen, user
    with (
        psycopg.connect(server.address(user="memories_monitor")) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute("SELECT 1 FROM recollect.documents")


@THOROUGH
def test_a_database_goes_back_to_the_moment_before_a_mistake(server: Server) -> None:
    archive = server.folder / "archive"
    archive.mkdir()
    adopt(archive)
    server.configure(archive_mode="on", archive_command=f"cp %p {archive}/%f")
    server.stop()
    server.start()
    server.add_tables()
    with open_database(server.address(), tenant="ada") as store:
        put(store, "before.md", "lamp")
        restored = Server()
        try:
            source = server.address(user=SUPERUSER, database="postgres")
            server.run("pg_basebackup", "-D", restored.data, "-d", source, "-c", "fast", "-N")
            put(store, "after.md", "boat")
            server.execute("SELECT pg_create_restore_point('before_mistake')")
            store.clear()
            server.execute("SELECT pg_switch_wal()")
            server.stop()

            restored.configure(
                restore_command=f"cp {archive}/%f %p",
                recovery_target_name="before_mistake",
                recovery_target_action="promote",
                archive_mode="off",
            )
            (restored.data / "recovery.signal").touch()
            adopt(restored.data / "recovery.signal")
            restored.start()
            restored.wait_until_writable()
            with open_database(restored.address(), tenant="ada") as found:
                assert {"before.md", "after.md"} == paths(found)
                put(found, "later.md", "works")
        finally:
            restored.close()


def test_a_dump_restores_everything_with_its_guards(address: str, tenant: str) -> None:
    with open_database(address, tenant=tenant) as store:
        put(store, "a.md", "lamp")
    superuser = server_of(address)
    parts = psycopg.conninfo.conninfo_to_dict(address)
    database, copy = str(parts["dbname"]), f"copy_{os.getpid()}"
    there = ["-h", str(parts["host"]), "-p", str(parts.get("port", 5432)), "-U", SUPERUSER]
    with psycopg.connect(superuser, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {copy}".encode())
        try:
            dumped = subprocess.run(
                [programs() / "pg_dump", *there, "-Fc", database], capture_output=True, check=True
            ).stdout
            subprocess.run(
                [programs() / "pg_restore", *there, "-d", copy], input=dumped, check=True
            )
            found = url_of(psycopg.conninfo.make_conninfo(address, dbname=copy))
            with open_database(found, tenant=tenant) as store:
                assert {"a.md"} == paths(store)
            with open_database(found, tenant=f"{tenant}-other") as store:
                assert set() == paths(store)
        finally:
            connection.execute(f"DROP DATABASE {copy} WITH (FORCE)".encode())


@THOROUGH
@pytest.mark.skipif(DEBIAN is None, reason="needs a server with TLS, as Debian's is")
def test_a_certificate_that_is_not_the_servers_is_refused() -> None:
    server = Server(binaries=DEBIAN)
    key, certificate = server.folder / "key.pem", server.folder / "certificate.pem"
    try:
        subprocess.run(
            [
                *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
                *("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"),
                *("-keyout", key, "-out", certificate),
            ],
            check=True,
            capture_output=True,
        )
        for file in (key, certificate):
            adopt(file)
        server.create(ssl="on", ssl_cert_file=str(certificate), ssl_key_file=str(key))
        safe = server.address(
            user=SUPERUSER,
            database="postgres",
            more=f"sslmode=verify-full&sslrootcert={certificate}",
        )
        unknown = server.address(
            user=SUPERUSER, database="postgres", more="sslmode=verify-full&sslrootcert=/dev/null"
        )

        with connected(safe) as connection:
            used = connection.execute("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
            assert (True,) == used.fetchone()
        with (
            pytest.raises(StoreUnreachableError) as raised,
            translated(shown(unknown)),
        ):
            connected(unknown)
    finally:
        server.close()

    assert "certificate" in raised.value.message
