"""`recollect doctor --verify`: every way an index can differ from the files, and its words."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import apsw
import pytest
from tests.support.commands import recollect_command

from recollect import Memory
from recollect.stores.sqlite import SqliteStore
from recollect.stores.sqlite.seal import seal_tail

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Write = Callable[[str, str], Path]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """An environment of its own without a model: this is about files, chunks and terms."""
    return {
        "HOME": str(tmp_path / "user"),
        "RECOLLECT_HOME": str(tmp_path / "home"),
        "RECOLLECT_PROVIDER": "none",
    }


@pytest.fixture
def indexed(workspace: Path, environ: dict[str, str], write: Write) -> Path:
    """A workspace of two notes, indexed; the path of its index."""
    write("memory/one.md", "# One\n\nThe lantern is green.\n")
    write("memory/two.md", "# Two\n\nThe harbour is deep.\n")
    with Memory.open(workspace, environ=environ) as memory:
        memory.sync()
    return next((workspace.parent / "home" / "memory").glob("*.sqlite"))


def sealed(file: Path) -> Path:
    """Have the chunks of an index in a segment, like those of a larger one."""
    with SqliteStore.open(file) as store, store._writing() as connection:
        seal_tail(connection, longest=0)
    return file


def run(
    workspace: Path, environ: dict[str, str], *arguments: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*recollect_command(), "-w", str(workspace), *arguments],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )


def differences(workspace: Path, environ: dict[str, str], **settings: object) -> list[str]:
    with Memory.open(workspace, environ=environ, settings=settings) as memory:
        found = memory.verify().differences
    assert all(each.action for each in found)
    return [f"{each.path} {each.reason}" for each in found]


def by_hand(index: Path, *statements: str) -> None:
    connection = apsw.Connection(str(index))
    for sql in statements:
        connection.execute(sql)
    connection.close()


def test_an_index_that_equals_the_files_ends_with_zero(
    workspace: Path, environ: dict[str, str], indexed: Path
) -> None:
    assert indexed.is_file()

    done = run(workspace, environ, "doctor", "--verify")
    shape = json.loads(run(workspace, environ, "doctor", "--verify", "--json").stdout)

    assert (0, "") == (done.returncode, done.stderr)
    assert "The index matches the files: 2 files, 2 chunks.\n" == done.stdout
    assert {
        "ok": True,
        "files": 2,
        "chunks": 2,
        "vectors": 0,
        "pending": 0,
        "differences": [],
        "notices": [],
    } == shape


def test_a_difference_ends_with_one_and_says_what_to_do(
    workspace: Path, environ: dict[str, str], indexed: Path, write: Write
) -> None:
    assert indexed.is_file()
    write("memory/three.md", "The third.\n")

    done = run(workspace, environ, "doctor", "--verify")
    shape = json.loads(run(workspace, environ, "doctor", "--verify", "--json").stdout)
    run(workspace, environ, "index")

    assert 1 == done.returncode
    assert [
        "memory/three.md: is not indexed",
        "  → Run `recollect index`.",
        "1 difference in 3 files, 2 chunks.",
    ] == done.stdout.splitlines()
    assert not shape["ok"]
    assert ["memory/three.md"] == [each["path"] for each in shape["differences"]]
    assert 0 == run(workspace, environ, "doctor", "--verify").returncode


def test_a_changed_file_differs(
    workspace: Path, environ: dict[str, str], indexed: Path, write: Write
) -> None:
    assert indexed.is_file()
    write("memory/one.md", "# One\n\nThe lantern is blue.\n")

    assert ["memory/one.md is indexed with different content"] == differences(workspace, environ)


def test_a_change_that_no_stat_shows_differs(
    workspace: Path, environ: dict[str, str], indexed: Path
) -> None:
    by_hand(indexed, "UPDATE documents SET digest = 'another' WHERE path = 'memory/one.md'")

    assert ["memory/one.md is indexed with different content"] == differences(workspace, environ)


def test_a_deleted_file_differs(workspace: Path, environ: dict[str, str], indexed: Path) -> None:
    assert indexed.is_file()
    (workspace / "memory" / "one.md").unlink()

    assert ["memory/one.md is indexed, but the file is gone"] == differences(workspace, environ)


def test_an_index_made_by_other_rules_differs(
    workspace: Path, environ: dict[str, str], indexed: Path
) -> None:
    assert indexed.is_file()

    found = differences(workspace, environ, **{"chunk.tokens": 100})

    assert {
        "memory/one.md was indexed by earlier rules",
        "memory/two.md was indexed by earlier rules",
    } == set(found)


def test_a_file_that_is_not_text_any_more_differs(
    workspace: Path, environ: dict[str, str], indexed: Path
) -> None:
    assert indexed.is_file()
    (workspace / "memory" / "one.md").write_bytes(b"\xff\xfe\xfd")

    [found] = differences(workspace, environ)

    assert found.startswith("memory/one.md is not valid UTF-16")


def test_a_place_that_is_not_there_differs(
    workspace: Path, environ: dict[str, str], indexed: Path
) -> None:
    assert indexed.is_file()

    found = differences(workspace, environ, extra_paths=["no/such/folder"])

    assert ["no/such/folder does not exist"] == found


def test_chunks_changed_by_hand_differ_and_a_forced_index_makes_them_good(
    workspace: Path, environ: dict[str, str], indexed: Path
) -> None:
    by_hand(indexed, "UPDATE chunks SET end_line = 7 WHERE id = 1")

    done = run(workspace, environ, "doctor", "--verify")
    forced = run(workspace, environ, "index", "--force", "--json")

    assert 1 == done.returncode
    assert "memory/one.md: has chunks that do not match its content" in done.stdout
    assert "Run `recollect index --force`." in done.stdout
    assert 2 == json.loads(forced.stdout)["unchanged"]
    assert [] == differences(workspace, environ)


def test_lost_terms_differ_and_a_forced_index_makes_them_good(
    workspace: Path, environ: dict[str, str], indexed: Path
) -> None:
    by_hand(sealed(indexed), "DELETE FROM postings")

    found = differences(workspace, environ)
    run(workspace, environ, "index", "--force")

    assert 1 == len(found)
    assert "the keyword index does not have all terms of the chunks" in found[0]
    assert [] == differences(workspace, environ)


def test_chunks_that_wait_for_a_vector_are_counted_and_no_difference(
    workspace: Path, environ: dict[str, str], indexed: Path
) -> None:
    assert indexed.is_file()
    remote = {
        **environ,
        "RECOLLECT_PROVIDER": "openai",
        "OPENAI_API_KEY": "sk-none",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
    }

    done = run(workspace, remote, "doctor", "--verify")

    assert 0 == done.returncode
    assert "2 chunks, 2 of them not embedded yet." in done.stdout


def test_nothing_is_changed_by_a_look(
    workspace: Path, environ: dict[str, str], indexed: Path, write: Write
) -> None:
    assert indexed.is_file()
    write("memory/three.md", "The third.\n")

    first = differences(workspace, environ)

    assert first == differences(workspace, environ)
