"""`recollect store`: tables, status, and a memory that moves there and back."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import httpx
import psycopg
import pytest
from tests.http.servers import Command, commands
from tests.support.commands import recollect_command
from tests.support.postgres import host_of, owner_of, server_of, url_of

from recollect.stores.postgres.schema import MIGRATIONS
from recollect.stores.pushed import PushedChange

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from recollect.hosting.host import MemoryHost

    Write = Callable[[str, str], Path]


def run(
    environ: dict[str, str], workspace: Path, *arguments: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*recollect_command(), "-w", str(workspace), *arguments],
        env={**environ, "RECOLLECT_PROVIDER": "none"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_memory_moves_into_a_database_and_back(
    address: str, workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write("MEMORY.md", "The anchor is in the shed.\n")
    write("memory/2026-02-01.md", "# Harbour\n\nThe lighthouse was painted.\n")
    run(environ, workspace, "remember", "The boat is called Otter")
    run(environ, workspace, "index")

    there = {**environ, "RECOLLECT_STORE": address}
    found = run(there, workspace, "search", "lighthouse", "--json")
    run(environ, workspace, "reset", "--yes")
    again = run(environ, workspace, "index", "--json")
    verified = run(environ, workspace, "doctor", "--verify")

    assert "memory/2026-02-01.md" == json.loads(found.stdout)["results"][0]["path"]
    assert 3 == json.loads(again.stdout)["added"]
    assert 0 == verified.returncode, verified.stdout


def test_purging_from_an_unknown_memory_says_so_and_creates_nothing(
    address: str, environ: dict[str, str], workspace: Path
) -> None:
    there = {**environ, "RECOLLECT_STORE": host_of(address)}

    purged = run(there, workspace, "server", "purge", "mistyped", "memory/a.md")

    assert 1 == purged.returncode
    assert "This memory does not exist" in purged.stderr
    with psycopg.connect(owner_of(address)) as connection:
        query = "SELECT count(*) FROM recollect.tenants WHERE tenant = 'mistyped'"
        assert (0,) == connection.execute(query).fetchone()


def test_a_pushed_document_is_purged_by_a_command(
    address: str, environ: dict[str, str], tenant: str, host: MemoryHost
) -> None:
    there = {**environ, "RECOLLECT_STORE": host_of(address)}
    with host.memory(tenant) as memory:
        for text in (b"One.", b"Two."):
            memory.pushed.write([PushedChange("memory/a.md", text)])
        memory.pushed.write([PushedChange("memory/a.md", None)])

    purged = subprocess.run(
        [*recollect_command(), "server", "purge", tenant, "memory/a.md", "--json"],
        env={**there, "RECOLLECT_PROVIDER": "none"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert 0 == purged.returncode, purged.stderr
    assert 2 == json.loads(purged.stdout)["versions"]
    with host.memory(tenant) as memory:
        assert [] == memory.pushed.deleted()


def test_init_creates_the_tables_once_and_status_tells_of_them(
    address: str, workspace: Path, environ: dict[str, str]
) -> None:
    superuser = server_of(address)
    with psycopg.connect(superuser, autocommit=True) as connection:
        name = f"fresh_{os.getpid()}"
        connection.execute(f"CREATE DATABASE {name}".encode())
    fresh = url_of(psycopg.conninfo.make_conninfo(superuser, dbname=name))

    first, second, status = (
        run(environ, workspace, "server", *command, fresh, "--json")
        for command in (["init"], ["init"], ["status"])
    )

    assert [name for name, *_ in MIGRATIONS] == json.loads(first.stdout)["applied"]
    assert [] == json.loads(second.stdout)["applied"]
    told = json.loads(status.stdout)
    assert (told["newest"], False) == (told["version"], told["guarded"])
    assert "vector" in told["extensions"]
    with psycopg.connect(superuser, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name}".encode())


def test_a_password_in_the_setting_is_refused_and_not_shown(
    workspace: Path, environ: dict[str, str]
) -> None:
    refused = run(
        environ, workspace, "config", "set", "store", "postgresql://me:hunter2@host/database"
    )

    assert 2 == refused.returncode
    assert "PGPASSWORD" in refused.stderr
    assert "hunter2" not in refused.stdout + refused.stderr


def test_tokens_are_made_listed_without_their_secret_and_revoked(
    address: str, workspace: Path, environ: dict[str, str], tenant: str
) -> None:
    there = {**environ, "RECOLLECT_STORE": host_of(address)}

    made = run(there, workspace, "server", "tokens", "create", tenant, "--scope", "user:ada",
               "--read-only",
               "--expires", "90d", "--label", "Ada's laptop", "--json")  # fmt: skip
    listed = run(there, workspace, "server", "tokens", "list", tenant)
    token = json.loads(made.stdout)
    late = run(there, workspace, "server", "tokens", "create", tenant, "--expires", "2020-01-01")
    revoked = run(there, workspace, "server", "tokens", "revoke", token["id"])
    again = run(there, workspace, "server", "tokens", "revoke", token["id"])

    assert 0 == made.returncode, made.stderr
    assert token["token"].startswith(f"rct_{token['id']}_")
    assert (["user:ada"], True) == (token["scopes"], token["readOnly"])
    last = datetime.now(tz=UTC).astimezone().date() + timedelta(days=90)
    assert f"{tenant}: reads, facts of global, user:ada, until {last}" in listed.stdout
    assert token["token"].split("_")[2] not in listed.stdout
    assert 2 == late.returncode
    assert "coming day" in late.stderr
    assert (0, 1) == (revoked.returncode, again.returncode)
    assert "tokens list" in again.stderr


def test_the_role_of_an_agent_may_not_see_tokens(
    address: str, workspace: Path, environ: dict[str, str], tenant: str
) -> None:
    refused = run(
        {**environ, "RECOLLECT_STORE": address}, workspace, "server", "tokens", "create", tenant
    )

    assert 1 == refused.returncode
    assert "recollect_server" in refused.stderr


@pytest.mark.skipif(
    "ALL_QUESTIONS" not in os.environ, reason="takes long: `make test-postgres` runs it"
)
def test_a_server_of_many_memories_is_started_pushed_to_asked_and_stopped(
    address: str, workspace: Path, environ: dict[str, str], tenant: str, write: Write
) -> None:
    there = {**environ, "RECOLLECT_STORE": host_of(address), "RECOLLECT_PROVIDER": "none"}
    write("memory/2026-02-01.md", "# Harbour\n\nThe lighthouse was painted.\n")
    made = run(there, workspace, "server", "tokens", "create", tenant, "--json")
    token = json.loads(made.stdout)["token"]
    with commands() as start:
        server = start(workspace, there, "--memories", "--port", "0")
        refused = server.end()  # a workspace is named, which a server of many does not have
    command = [*recollect_command(), "serve", "--memories", "--port", "0"]
    with subprocess.Popen(command, env=there, stderr=subprocess.PIPE, text=True) as child:
        served = Command(child, workspace, there)
        url = f"{served.url}/api/memories/{tenant}"
        pushed = run(
            {**there, "RECOLLECT_TOKEN": token}, workspace, "server", "push", str(workspace), url
        )
        found = httpx.get(
            f"{url}/search",
            params={"query": "lighthouse"},
            headers={"Authorization": f"Bearer {token}"},
            timeout=60,
        )
        child.terminate()
        code = served.end()

    assert 2 == refused
    assert 0 == pushed.returncode, pushed.stderr
    assert "memory/2026-02-01.md" == found.json()["results"][0]["path"]
    assert 0 == code
    assert "Traceback" not in served.output
