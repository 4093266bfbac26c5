"""An index that is encrypted at rest, with the real build of SQLite that has ciphers.

That build has the module's name, `apsw`, so it is in a folder of its own and in processes of its
own; `make test` installs it there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.commands import recollect_command

from recollect import Memory

CIPHERS = Path(sys.prefix) / "encrypted"
KEY, OTHER = "ab" * 32, "cd" * 32
NOTE = "The lantern is behind the harbour"
ASK = """
import json, sys
from recollect import Memory, RecollectError
workspace, environ = sys.argv[1], json.loads(sys.argv[2])
try:
    with Memory.open(workspace, environ=environ) as memory:
        report = memory.sync()
        found = [hit.path for hit in memory.search("lantern harbour").hits]
        sound = list(memory.verify_store())
    answer = {"found": found, "added": report.added, "sound": sound, "notices": report.notices}
except RecollectError as error:
    answer = {"error": error.message, "action": error.action}
print(json.dumps(answer))
"""

needs_ciphers = pytest.mark.skipif(
    not CIPHERS.is_dir(), reason="`make test` installs apsw-sqlite3mc for it"
)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {
        "HOME": str(tmp_path / "user"),
        "PATH": os.environ["PATH"],
        "RECOLLECT_HOME": str(tmp_path / "home"),
        "RECOLLECT_PROVIDER": "none",
    }


@pytest.fixture
def noted(workspace: Path) -> Path:
    (workspace / "memory" / "one.md").write_text(f"# One\n\n{NOTE}.\n", encoding="utf-8")
    return workspace


def ask(workspace: Path, environ: dict[str, str], key: str | None) -> dict[str, object]:
    """Sync and search with the build that has ciphers."""
    own = {**environ, "RECOLLECT_KEY": key} if key else environ
    done = subprocess.run(
        [sys.executable, "-c", ASK, str(workspace), json.dumps(own)],
        env={**environ, "PYTHONPATH": str(CIPHERS)},
        capture_output=True,
        text=True,
        check=True,
    )
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


def command(workspace: Path, environ: dict[str, str], *arguments: str) -> tuple[int, str]:
    """Run a command with the usual SQLite."""
    done = subprocess.run(
        [*recollect_command(), "-w", str(workspace), *arguments],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def stored(environ: dict[str, str]) -> bytes:
    files = Path(environ["RECOLLECT_HOME"]).rglob("*.sqlite*")
    return b"".join(file.read_bytes() for file in files)


def index_of(environ: dict[str, str]) -> Path:
    [file] = Path(environ["RECOLLECT_HOME"], "memory").glob("*.sqlite")
    return file


@needs_ciphers
def test_an_encrypted_index_answers_with_its_key_only(noted: Path, environ: dict[str, str]) -> None:
    assert ["memory/one.md"] == ask(noted, environ, KEY)["found"]
    before = stored(environ)

    assert b"lantern" not in before.lower()
    assert before.startswith(b"Recollect") or index_of(environ).read_bytes()[:9] == b"Recollect"
    assert "is encrypted with another key" in str(ask(noted, environ, OTHER)["error"])
    assert "is encrypted, and there is no key" in str(ask(noted, environ, None)["error"])
    code, told = command(noted, environ, "search", "lantern")
    assert (1, True) == (code, "Set RECOLLECT_KEY" in told)
    assert before == stored(environ)
    assert {"found": ["memory/one.md"], "added": 0, "sound": [], "notices": []} == ask(
        noted, environ, KEY
    )


@needs_ciphers
def test_an_index_in_plain_is_encrypted_where_it_is(noted: Path, environ: dict[str, str]) -> None:
    assert 0 == command(noted, environ, "index")[0]
    assert b"lantern" in stored(environ).lower()

    answer = ask(noted, environ, KEY)

    assert (["memory/one.md"], 0, []) == (answer["found"], answer["added"], answer["sound"])
    assert b"lantern" not in stored(environ).lower()


@needs_ciphers
def test_an_index_that_another_process_uses_is_not_encrypted_under_it(
    noted: Path, environ: dict[str, str]
) -> None:
    with Memory.open(noted, environ=environ) as memory:
        memory.sync()

        refused = ask(noted, environ, KEY)

        assert "Another process uses the index" in str(refused["error"])
        assert ["memory/one.md"] == [hit.path for hit in memory.search("lantern harbour").hits]


@needs_ciphers
def test_damage_to_an_encrypted_index_is_repaired_and_not_taken_for_another_key(
    noted: Path, environ: dict[str, str]
) -> None:
    ask(noted, environ, KEY)
    content = bytearray(index_of(environ).read_bytes())
    content[200] ^= 1  # in the first page, which another key could not read either
    index_of(environ).write_bytes(content)

    answer = ask(noted, environ, KEY)

    assert ["memory/one.md"] == answer["found"]
    assert "rebuilt" in str(answer["notices"])
    assert b"lantern" not in stored(environ).lower()


def test_without_ciphers_a_key_is_refused_and_nothing_is_written(
    noted: Path, environ: dict[str, str]
) -> None:
    code, told = command(noted, {**environ, "RECOLLECT_KEY": KEY}, "index")

    assert 1 == code
    assert "pip install --force-reinstall --no-deps apsw-sqlite3mc" in told
    assert [] == list(Path(environ["RECOLLECT_HOME"]).rglob("*.sqlite*"))


def test_a_password_is_not_a_key(noted: Path, environ: dict[str, str]) -> None:
    code, told = command(noted, {**environ, "RECOLLECT_KEY": "hunter2"}, "index")

    assert 2 == code
    assert "must have 64 hexadecimal digits" in told
    assert "hunter2" not in told


@needs_ciphers
def test_an_index_in_plain_goes_from_one_build_to_the_other_and_back(
    noted: Path, environ: dict[str, str]
) -> None:
    command(noted, environ, "index")
    (noted / "memory" / "two.md").write_text("Another lantern.\n", encoding="utf-8")

    answer = ask(noted, environ, None)  # this build writes no page checksums
    code, told = command(noted, environ, "verify")

    assert (1, []) == (answer["added"], answer["sound"])
    assert (0, True) == (code, "matches the files" in told)
    assert not list(index_of(environ).parent.glob("*damaged*"))


def test_a_key_without_ciphers_and_without_an_index_can_be_unset(
    noted: Path, environ: dict[str, str]
) -> None:
    done = subprocess.run(
        [*recollect_command(), "-w", str(noted), "search", "lantern"],
        env={**environ, "RECOLLECT_KEY": KEY},
        capture_output=True,
        text=True,
        check=False,
    )

    assert 1 == done.returncode
    assert "apsw-sqlite3mc`, or unset RECOLLECT_KEY." in done.stderr
    assert "delete" not in done.stderr
