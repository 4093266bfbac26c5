"""An index with values that Recollect never writes: repaired and said, whatever is asked of it."""

from __future__ import annotations

import json
from itertools import cycle
from typing import TYPE_CHECKING

import apsw
import pytest
from tests.http.servers import commands
from tests.integration.remote import command
from tests.support import hashing
from tests.support.waiting import wait_until

from recollect import Memory
from recollect.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import httpx
    from tests.http.servers import Command

    Write = Callable[[str, str], Path]

NOT_TEXT = "CAST(x'ff6d656d6f7279' AS TEXT)"
FLIPPED = {  # one bit of a row each
    "source": "UPDATE documents SET source = 'memorx' WHERE path = 'memory/1.md'",
    "path": f"UPDATE documents SET path = {NOT_TEXT} WHERE path = 'memory/1.md'",  # noqa: S608
    "text": f"UPDATE chunks SET text = {NOT_TEXT} WHERE id = 1",  # noqa: S608
}
OTHERS = {
    "a day": "UPDATE chunks SET day = 'yesterday'",
    "a bag": "UPDATE chunks SET bag = x'0102'",
    "a vector": "UPDATE vectors SET vector = x'0102030405060708'",
    "a centre and codes": "UPDATE spaces SET centre = x'00', vectors = 9999",
    "a space": "UPDATE spaces SET fingerprint = 'none'",
    "totals": "DELETE FROM totals",
    "a fact": "UPDATE facts SET until = 'some day'",
}
COMMANDS = {
    "search": ("search", "lantern", "--json"),
    "recall": ("recall", "which lantern is green?"),
    "index": ("index",),
    "status": ("status",),
    "doctor": ("doctor",),
    "verify": ("doctor", "--verify"),
    "sessions": ("sessions", "list"),
    "remember": ("remember", "The lantern by the harbour is green."),
}


@pytest.fixture
def alone(environ: dict[str, str]) -> dict[str, str]:
    """No provider: nothing but rows of the index is at stake."""
    return {**environ, "RECOLLECT_PROVIDER": "none"}


@pytest.fixture
def index(workspace: Path, alone: dict[str, str], write: Write) -> Path:
    """A workspace of three notes and a fact, indexed; the path of its index."""
    for number, colour in enumerate(("green", "blue", "red")):
        write(f"memory/{number}.md", f"# Note {number}\n\nLantern {number} is {colour}.\n")
    with Memory.open(workspace, environ=alone) as memory:
        memory.facts.remember("The lantern by the harbour is green.")
        memory.sync()
    return next((workspace.parent / "home" / "memory").glob("*.sqlite"))


def damage(index: Path, sql: str) -> None:
    connection = apsw.Connection(str(index))
    connection.execute(sql)
    connection.close()


def ledger(workspace: Path) -> dict[str, bytes]:
    files = (workspace / "memory" / "facts").iterdir()
    return {file.name: file.read_bytes() for file in files}


@pytest.mark.parametrize(
    ("asked", "sql"),
    list(zip(COMMANDS.values(), cycle(FLIPPED.values()), strict=False)),
    ids=COMMANDS,
)
def test_every_command_repairs_a_flipped_bit_and_the_next_answer_is_right(
    workspace: Path, alone: dict[str, str], index: Path, asked: tuple[str, ...], sql: str
) -> None:
    facts = ledger(workspace)
    sound = json.loads(command(workspace, alone, *COMMANDS["search"]).stdout)["results"]
    damage(index, sql)

    done = command(workspace, alone, *asked)
    after = json.loads(command(workspace, alone, *COMMANDS["search"]).stdout)

    assert "Traceback" not in done.stderr
    assert 0 == done.returncode, done.stderr
    assert sound == after["results"]
    assert facts == ledger(workspace)
    assert 0 == command(workspace, alone, "doctor", "--verify").returncode


@pytest.mark.parametrize("sql", FLIPPED.values(), ids=FLIPPED)
def test_a_damaged_index_can_be_reset(
    workspace: Path, alone: dict[str, str], index: Path, sql: str
) -> None:
    damage(index, sql)

    done = command(workspace, alone, "reset", "--yes", "--json")

    assert 0 == done.returncode, done.stderr
    with SqliteStore.open(index) as store:
        assert not store.holds()


@pytest.mark.parametrize("sql", [*FLIPPED.values(), *OTHERS.values()], ids=[*FLIPPED, *OTHERS])
@pytest.mark.usefixtures("hashed")
def test_a_search_tells_of_the_repair_and_answers_as_a_sound_index(
    workspace: Path, alone: dict[str, str], index: Path, sql: str
) -> None:
    environ = {**alone, "RECOLLECT_PROVIDER": hashing.NAME}
    with Memory.open(workspace, environ=environ) as memory:
        memory.sync()
        sound = memory.search("which lantern is green?").hits
    damage(index, sql)

    with Memory.open(workspace, environ=environ) as memory:
        found = memory.search("which lantern is green?")
        again = memory.search("which lantern is green?")

        assert sound == found.hits
        assert () == again.notices
        assert () == memory.verify().differences
    assert found.notices


def asked(server: Command, question: str) -> httpx.Response:
    return server.get("/api/search", params={"query": question})


def test_a_server_answers_and_is_healthy(
    workspace: Path, alone: dict[str, str], index: Path
) -> None:
    with commands() as start:
        server = start(workspace, alone, "--port", "0")
        wait_until(lambda: server.get("/health").json()["status"] == "ok")
        for sql in FLIPPED.values():
            damage(index, sql)
            answer = asked(server, "lantern")
            status = server.get("/api/status")

            assert (200, 200) == (answer.status_code, status.status_code)
            assert 4 == len(answer.json()["results"])
            # Degraded while the file that took the place of the damaged one is being filled.
            wait_until(lambda: server.get("/health").json()["status"] == "ok")
        (workspace / "memory" / "new.md").write_text("A zeppelin.\n", encoding="utf-8")
        # The worker goes on with the file that took the place of the damaged one.
        wait_until(
            lambda: server.get("/api/search", params={"query": "zeppelin"}).json()["results"]
        )


def test_a_server_starts_on_a_damaged_index(
    workspace: Path, alone: dict[str, str], index: Path
) -> None:
    damage(index, FLIPPED["source"])

    with commands() as start:
        server = start(workspace, alone, "--port", "0")
        wait_until(lambda: server.get("/health").json()["status"] == "ok")

        assert 4 == len(asked(server, "lantern").json()["results"])


def test_an_index_that_another_process_replaced_is_not_set_aside_again(
    workspace: Path, alone: dict[str, str], index: Path
) -> None:
    with Memory.open(workspace, environ=alone) as one, Memory.open(workspace, environ=alone) as two:
        damage(index, FLIPPED["source"])
        first = one.search("lantern")
        second = two.search("lantern")

    assert first.hits == second.hits
    assert 1 == len(list(index.parent.glob("*.damaged-?")))


def test_a_database_of_another_program_is_set_aside(
    workspace: Path, alone: dict[str, str], index: Path
) -> None:
    version = apsw.Connection(str(index)).pragma("user_version")
    for file in index.parent.glob(f"{index.name}*"):
        file.unlink()
    damage(index, f"CREATE TABLE films (title TEXT); PRAGMA user_version = {version}")

    done = command(workspace, alone, "search", "lantern", "--json")

    assert 4 == len(json.loads(done.stdout)["results"])
    assert "set aside" in done.stderr
