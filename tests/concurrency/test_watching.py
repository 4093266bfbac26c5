"""`recollect index --watch`: what it notices, when it cannot, and how it ends."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import apsw
import pytest
from tests.support.waiting import PATIENCE_SECONDS, wait_until

from recollect.types import digest_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.concurrency.conftest import Commands, HeldUp

    Write = Callable[[str, str], Path]

_DELETED_MEANWHILE = re.compile(
    r"memory/\S+\.md: was deleted while it was being indexed\n"
    r"  → Nothing to do: the next sync removes it\.\n"
)
FEW_WATCHES = 'echo 1 > /proc/sys/user/max_inotify_watches && exec "$@"'


def on_disk(workspace: Path) -> dict[str, str]:
    return {
        file.relative_to(workspace).as_posix(): digest_of(file.read_bytes())
        for file in workspace.rglob("*.md")
    }


def indexed(commands: Commands) -> dict[str, str] | None:
    """What the index holds of each file; None while there is none yet."""
    try:
        connection = apsw.Connection(str(commands.index), flags=apsw.SQLITE_OPEN_READWRITE)
        rows = dict(connection.execute("SELECT path, digest FROM documents"))
        connection.close()
    except (StopIteration, apsw.SQLError, apsw.BusyError):
        return None
    return rows


def ended(child: subprocess.Popen[str]) -> tuple[int, str]:
    """Stop a watch as a service manager does; return how it ended and what it said."""
    child.send_signal(signal.SIGTERM)
    _, said = child.communicate(timeout=PATIENCE_SECONDS)
    return child.returncode, said


def test_every_kind_of_change_reaches_the_index(
    workspace: Path, commands: Commands, write: Write
) -> None:
    write("memory/first.md", "The first.\n")
    watching = commands.start("index", "--watch")
    wait_until(lambda: on_disk(workspace) == indexed(commands))

    def replace_atomically() -> None:
        beside = workspace / "memory" / ".created.md.tmp"
        beside.write_text("Saved as editors do.\n", encoding="utf-8")
        beside.replace(workspace / "memory" / "created.md")

    def rename_folder() -> None:
        (workspace / "memory" / "people").rename(workspace / "memory" / "friends")

    def check_out_again() -> None:
        shutil.rmtree(workspace / "memory")
        write("memory/other.md", "Another branch.\n")

    changes: list[Callable[[], object]] = [
        lambda: write("memory/created.md", "Created.\n"),
        lambda: write("memory/created.md", "Changed, and longer.\n"),
        replace_atomically,
        lambda: write("memory/people/ada.md", "Ada.\n"),
        rename_folder,
        lambda: write("memory/friends/ada.md", "Ada, after the renaming.\n"),
        (workspace / "memory" / "created.md").unlink,
        lambda: write("MEMORY.md", "Curated.\n"),
        check_out_again,
        lambda: write("memory/other.md", "Another branch, changed.\n"),
        lambda: shutil.rmtree(workspace / "memory"),
    ]
    for change in changes:
        change()
        wait_until(lambda: on_disk(workspace) == indexed(commands))
    code, said = ended(watching)

    assert 0 == code
    # A file may be renamed or deleted while a run reads it again; then the run says so.
    told = _DELETED_MEANWHILE.sub("", said)
    assert f"Watching {workspace}. Stop with Ctrl-C.\n" == told


def test_a_memory_folder_that_comes_later_is_watched(
    workspace: Path, commands: Commands, write: Write
) -> None:
    (workspace / "memory").rmdir()
    write("MEMORY.md", "Curated.\n")
    watching = commands.start("index", "--watch")
    wait_until(lambda: on_disk(workspace) == indexed(commands))

    for turn in range(3):
        write(f"memory/{turn}.md", f"Turn {turn}.\n")
        wait_until(lambda: on_disk(workspace) == indexed(commands))
    code, _ = ended(watching)

    assert 0 == code


def test_a_watch_stops_on_a_signal_while_another_process_holds_the_lease(
    commands: Commands, held_up: HeldUp, write: Write
) -> None:
    assert not held_up.released.is_set()
    write("memory/a.md", "Held up.\n")
    holding = commands.start("index")
    wait_until(commands.holder)
    watching = commands.start("index", "--watch")
    assert watching.stderr is not None
    assert watching.stderr.readline().startswith("Watching")

    code, said = ended(watching)

    assert (0, "") == (code, said)
    assert holding.pid == getattr(commands.holder(), "pid", None)


def test_a_watch_stops_on_a_signal_in_the_middle_of_a_long_sync(
    commands: Commands, held_up: HeldUp, write: Write
) -> None:
    write("memory/a.md", "Held up.\n")
    watching = commands.start("index", "--watch")
    wait_until(commands.holder)

    watching.send_signal(signal.SIGTERM)
    held_up.released.set()  # a request that is under way is paid for, and waited for

    assert 0 == watching.wait(PATIENCE_SECONDS)
    assert commands.holder() is None


def test_where_the_system_has_no_watches_left_files_are_looked_through(
    workspace: Path, commands: Commands, write: Write
) -> None:
    own_limits = ["unshare", "--user", "--map-root-user", "sh", "-c", FEW_WATCHES, "sh"]
    try:
        subprocess.run([*own_limits, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this system lets nobody have limits of their own")
    for name in ("a", "b", "c", "d"):
        write(f"memory/{name}/note.md", f"Note {name}.\n")
    watching = subprocess.Popen(
        [*own_limits, sys.executable, "-m", "recollect", "-w", str(workspace), "index", "--watch"],
        env=commands.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    commands.started.append(watching)
    wait_until(lambda: on_disk(workspace) == indexed(commands))

    write("memory/a/later.md", "Found by looking.\n")
    wait_until(lambda: on_disk(workspace) == indexed(commands))
    code, said = ended(watching)

    assert 0 == code
    assert 1 == said.count("The system cannot watch the files")
    assert "limit" in said
