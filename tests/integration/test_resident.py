"""A resident process answers as the command itself would, or leaves it to the command."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.support.commands import recollect_command
from tests.support.waiting import wait_until

from recollect.shells.resident import wire

if TYPE_CHECKING:
    from collections.abc import Iterator

CLIENT = """
import atexit, sys
report = open(sys.argv.pop(1), "w")
atexit.register(lambda: report.write(" ".join(sys.modules)))
from recollect.__main__ import main
main()
"""
"""The command, which tells what it loaded."""
OTHER_VERSION = """
import recollect.version
recollect.version.__version__ = "0.0.0"
from recollect.shells.resident.server import serve
serve(idle_seconds=60)
"""
MOST_MODULES = 60
"""That a client may load, Python's own included. It has 30 ms."""


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    output: bytes
    errors: bytes


class Place:
    """A home and a workspace, with commands and resident processes in it."""

    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        self.workspace = folder / "workspace"
        self.environ = environ | {
            "RECOLLECT_HOME": str(folder / "home"),  # short: a socket's address is
            "RECOLLECT_PROVIDER": "none",
            "RECOLLECT_RESIDENT_IDLE_SECONDS": "120",
            "RECOLLECT_WORKSPACE": str(self.workspace),
        }
        self.socket = folder / "home" / "resident" / "socket"
        self.loaded: list[str] = []
        """The modules that the last command loaded."""
        self.errors = folder / "errors"
        """What the last resident process printed."""
        self._report = folder / "loaded"
        self._started: list[subprocess.Popen[bytes]] = []

    def write(self, path: str, text: str) -> None:
        file = self.workspace / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def start(self, *options: str, program: str | None = None) -> subprocess.Popen[bytes]:
        """Start a resident process, and wait until it listens."""
        command = ["-c", program] if program else ["-m", "recollect", "resident"]
        arguments = () if program else options or ("--seconds", "120")
        with self.errors.open("wb") as errors:
            process = subprocess.Popen(
                [sys.executable, *command, *arguments], env=self.environ, stderr=errors
            )
        self._started.append(process)
        wait_until(lambda: process.poll() is not None or self.is_listening())
        return process

    def is_listening(self) -> bool:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(self.socket))
            return True
        return False

    def ask(self, *arguments: str, given: bytes = b"", **variables: str) -> Ended:
        """Run a command as a user would."""
        done = subprocess.run(
            [sys.executable, "-c", CLIENT, self._report, *arguments],
            env=self.environ | variables,
            cwd=self.workspace,
            input=given,
            capture_output=True,
            check=False,
        )
        self.loaded = self._report.read_text().split()
        return Ended(done.returncode, _without_times(done.stdout), done.stderr)

    def answered(self, *arguments: str, given: bytes = b"", **variables: str) -> Ended:
        """Run a command until the resident process is quick enough to answer it."""
        ended: list[Ended] = []

        def is_answered() -> bool:
            ended.append(self.ask(*arguments, given=given, **variables))
            return self.was_answered

        wait_until(is_answered)
        return ended[-1]

    @property
    def was_answered(self) -> bool:
        """Whether the resident process ran the last command."""
        return "click" not in self.loaded

    def run(self, *arguments: str, given: bytes = b"", **variables: str) -> Ended:
        """Run a command in a process of its own."""
        done = subprocess.run(
            [*recollect_command(), *arguments],
            env=self.environ | variables | {"RECOLLECT_RESIDENT_IDLE_SECONDS": "0"},
            cwd=self.workspace,
            input=given,
            capture_output=True,
            check=False,
        )
        return Ended(done.returncode, _without_times(done.stdout), done.stderr)

    def stop(self) -> None:
        """End what was started here, and what commands have started."""
        for process in self._started:
            process.kill()
            process.wait()
        for process_id in self._residents():
            os.kill(process_id, signal.SIGKILL)

    def _residents(self) -> Iterator[int]:
        mark = f"RECOLLECT_HOME={self.environ['RECOLLECT_HOME']}".encode()
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                is_ours = mark in (folder / "environ").read_bytes().split(b"\0")
                if is_ours and b"resident" in (folder / "cmdline").read_bytes().split(b"\0"):
                    yield int(folder.name)


def _without_times(output: bytes) -> bytes:
    return re.sub(rb'"tookMs": [0-9.]+', b'"tookMs": 0', output)


@pytest.fixture
def place(environ: dict[str, str]) -> Iterator[Place]:
    folder = Path(tempfile.mkdtemp(prefix="recollect-"))
    place = Place(folder, environ)
    place.write("MEMORY.md", "# Kitchen\n\nThe kettle is blue. The toaster is 林檎 red.\n")
    place.write("memory/2026-02-03.md", "# Garden\n\nThe tomato seeds are in the blue box.\n")
    place.run("index")
    yield place
    place.stop()
    shutil.rmtree(folder)


COMMANDS: tuple[tuple[tuple[str, ...], bytes], ...] = (
    (("search", "kettle"), b""),
    (("search", "blue", "--json"), b""),
    (("search", "blue", "box", "-n", "1", "--explain"), b""),
    (("search", '"blue box"', "--since", "2026-01-01", "--path", "memory"), b""),
    (("search", "kettle", "--no-sync", "--json"), b""),
    (("search", "zebra"), b""),
    (("search", ""), b""),
    (("search", "-n", "none", "kettle"), b""),
    (("search", "--fusion", "none", "kettle", "--json"), b""),
    (("search", "--kettle"), b""),
    (("search", "--help"), b""),
    (("search", "kettle", "-w", "gone"), b""),
    (("search", "kettle", "--config", "gone.toml"), b""),
    (("search", "kettle", "--agent", "a/b", "--json"), b""),
    (("recall", "where are the tomato seeds"), b""),
    (("recall", "tomato seeds", "--form", "index", "--json"), b""),
    (("recall", "tomato seeds", "--budget", "1"), b""),
    (("hook", "prompt"), json.dumps({"prompt": "where are the tomato seeds"}).encode()),
    (("hook", "prompt"), b"not JSON"),
    (("hook", "stop"), b'{"stop_hook_active": true}'),
    (("hook", "session-start"), b"{}"),
    (("hook", "nonsense"), b"{}"),
    (("hook",), b""),
)


def test_a_resident_process_prints_and_ends_as_the_command_does(place: Place) -> None:
    place.start()

    for arguments, given in COMMANDS:
        answered = place.answered(*arguments, given=given)

        assert place.run(*arguments, given=given) == answered, arguments
        assert len(place.loaded) <= MOST_MODULES


def test_it_answers_with_the_model_and_in_another_folder(
    embedded_sample: Path, environ: dict[str, str]
) -> None:
    folder = Path(tempfile.mkdtemp(prefix="recollect-"))
    place = Place(folder, environ)
    shutil.copytree(embedded_sample, place.workspace)
    shutil.copytree(environ["RECOLLECT_HOME"], place.environ["RECOLLECT_HOME"])
    del place.environ["RECOLLECT_PROVIDER"], place.environ["RECOLLECT_WORKSPACE"]
    place.run("index")
    place.start()
    try:
        question = ("search", "how do we undo a bad deploy?", "--json")

        first, second = place.answered(*question), place.answered(*question)

        assert place.run(*question) == first == second
        assert "hybrid" == json.loads(first.output)["mode"]
    finally:
        place.stop()
        shutil.rmtree(folder)


def test_what_was_saved_is_found_at_once(place: Place) -> None:
    place.start()
    assert b"memory/new.md" not in place.ask("search", "walrus").output

    place.write("memory/new.md", "The walrus sleeps.\n")

    assert b"memory/new.md" in place.answered("search", "walrus").output
    (place.workspace / "memory" / "new.md").unlink()
    assert b"memory/new.md" not in place.answered("search", "walrus").output


def test_an_index_that_was_deleted_is_built_again(place: Place) -> None:
    place.start()
    before = place.answered("search", "kettle")

    place.run("reset", "--yes")

    assert before == place.answered("search", "kettle")
    assert place.run("search", "kettle", "--no-sync") == before


def test_commands_at_the_same_time_all_get_their_answer(place: Place) -> None:
    place.start()
    expected = place.run("search", "kettle").output

    running = [
        subprocess.Popen(
            [sys.executable, "-m", "recollect", "search", "kettle"],
            env=place.environ,
            cwd=place.workspace,
            stdout=subprocess.PIPE,
        )
        for _ in range(4)
    ]

    assert [expected] * 4 == [each.communicate()[0] for each in running]


def test_the_first_search_starts_it_and_later_ones_use_it(place: Place) -> None:
    first = place.ask("search", "kettle")
    assert "click" in place.loaded
    wait_until(place.is_listening)

    assert first == place.answered("search", "kettle")
    assert 0o700 == place.socket.parent.stat().st_mode & 0o777
    assert 0o600 == place.socket.stat().st_mode & 0o777


def test_there_is_one_at_a_time(place: Place) -> None:
    first = place.start()

    second = place.start()

    assert 0 == second.wait()
    assert first.poll() is None
    assert place.answered("search", "kettle").output


def test_without_the_setting_nothing_is_started(place: Place) -> None:
    place.ask("search", "kettle", RECOLLECT_RESIDENT_IDLE_SECONDS="0")

    assert not place.socket.parent.exists()


def test_a_command_whose_settings_want_none_is_the_last_that_it_answers(place: Place) -> None:
    process = place.start()

    ended = place.answered("search", "kettle", RECOLLECT_RESIDENT_IDLE_SECONDS="0")

    assert place.run("search", "kettle") == ended
    assert 0 == process.wait()
    assert not place.socket.exists()


def test_it_ends_when_nobody_asks(place: Place) -> None:
    process = place.start("--seconds", "0.2")

    assert 0 == process.wait()
    assert not place.socket.exists()


def test_a_killed_one_changes_nothing_and_is_replaced(place: Place) -> None:
    process = place.start()
    expected = place.answered("search", "kettle")
    process.kill()
    process.wait()
    assert place.socket.exists()

    again = place.ask("search", "kettle")
    assert expected == again
    assert "click" in place.loaded
    wait_until(place.is_listening)
    assert expected == place.answered("search", "kettle")


def test_one_that_hangs_changes_nothing(place: Place) -> None:
    process = place.start()
    expected = place.answered("search", "kettle")
    os.kill(process.pid, signal.SIGSTOP)

    assert expected == place.ask("search", "kettle")
    assert not place.was_answered
    event = json.dumps({"prompt": "where are the tomato seeds"}).encode()
    assert place.run("hook", "prompt", given=event) == place.ask("hook", "prompt", given=event)
    assert not place.was_answered


def test_one_that_dies_at_work_changes_nothing(place: Place) -> None:
    place.socket.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(place.socket))
        listening.listen()
        asking = subprocess.Popen(
            [sys.executable, "-m", "recollect", "search", "kettle"],
            env=place.environ,
            cwd=place.workspace,
            stdout=subprocess.PIPE,
        )
        connection, _ = listening.accept()
        with connection:
            connection.recv(1 << 20)
            connection.sendall(wire.ACCEPTED + wire.frame(wire.STDOUT, b"half of an answer"))

    assert place.run("search", "kettle").output == asking.communicate()[0]


def test_one_of_another_version_is_not_used_and_ends(place: Place) -> None:
    process = place.start(program=OTHER_VERSION)

    assert place.run("search", "kettle") == place.ask("search", "kettle")

    assert not place.was_answered
    assert 0 == process.wait()


def test_variables_that_a_process_reads_once_must_be_the_same(place: Place) -> None:
    process = place.start()

    for variable in ("TZ", "LANG", "PYTHONWARNINGS"):
        ended = place.ask("search", "kettle", given=b"", **{variable: "default"})
        assert "click" in place.loaded, ended

    assert process.poll() is None
    assert place.answered("search", "kettle").output


def test_settings_and_variables_of_each_command_count(place: Place) -> None:
    place.start()
    two = place.answered("search", "blue", "--json")

    one = place.answered("search", "blue", "--json", RECOLLECT_MAX_RESULTS="1")

    assert (2, 1) == tuple(len(json.loads(each.output)["results"]) for each in (two, one))
    assert two == place.answered("search", "blue", "--json")


def test_a_folder_that_others_may_enter_is_not_used(place: Place) -> None:
    place.start()
    place.socket.parent.chmod(0o750)

    place.ask("search", "kettle")
    assert not place.was_answered

    place.stop()
    refused = place.start()
    assert 1 == refused.wait()
    assert "is open to them" in place.errors.read_text()


NOT_REQUESTS = (
    b"",
    b"\xff\xff\xff\xff" + b"x" * 100,
    b"\x00\x00\x00\x05hello",
    wire.sized(wire.sized(wire.pack([["0"]] * 5))),
    wire.sized(wire.sized(wire.pack([["0"]] * 6))),
    wire.sized(b"\x00\x00\xff\xff" + b"\x00" * 64),
)


def test_what_is_not_a_request_is_not_answered(place: Place) -> None:
    place.start()
    for each in NOT_REQUESTS:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(place.socket))
            connection.sendall(each)
            connection.shutdown(socket.SHUT_WR)

            with contextlib.suppress(ConnectionResetError):
                assert b"" == connection.recv(1)

    assert place.answered("search", "kettle").output


def test_a_hook_out_of_time_says_so_and_ends_the_process(place: Place) -> None:
    process = place.start()
    event = json.dumps({"prompt": "where are the tomato seeds"}).encode()

    ended = place.answered("hook", "prompt", "--seconds", "0", given=event)

    assert b"took too long" in ended.output
    assert place.run("hook", "prompt", "--seconds", "0", given=event) == ended
    assert 0 == process.wait()


def test_a_hook_whose_event_is_too_long_is_answered_by_the_command(place: Place) -> None:
    place.start()
    event = json.dumps({"prompt": "tomato seeds " * 100_000}).encode()

    assert place.run("hook", "prompt", given=event) == place.ask("hook", "prompt", given=event)
    assert not place.was_answered


def test_a_terminal_shows_the_same(place: Place) -> None:
    place.environ |= {"TERM": "xterm-256color"}
    here = _on_a_terminal(place, RECOLLECT_RESIDENT_IDLE_SECONDS="0")
    place.start()

    assert here == _on_a_terminal(place)
    assert b"\x1b[" in here


def _on_a_terminal(place: Place, **variables: str) -> bytes:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "recollect", "search", "kettle"],
        env=place.environ | variables,
        cwd=place.workspace,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # the end of a terminal
        while select.select([ours], [], [], 60)[0] and (piece := os.read(ours, 4096)):
            shown += piece
    os.close(ours)
    assert 0 == process.wait()
    return shown[shown.index(b"\x1b[1m0.") :]  # the bars before it are drawn ten times a second


def test_an_address_that_is_too_long_is_not_used(place: Place, tmp_path: Path) -> None:
    home = tmp_path / ("x" * 100)

    place.ask("search", "kettle", RECOLLECT_HOME=str(home))

    assert not place.was_answered
    assert not (home / "resident").exists()


def test_a_request_survives_the_wire() -> None:
    parts = [["a", "", "林檎"], [], ["\udcff=\n"]]

    assert parts == wire.unpack(wire.pack(parts), 3)
    with pytest.raises(wire.WireError):
        wire.unpack(wire.pack(parts), 2)
    with pytest.raises(wire.WireError):
        wire.unpack(wire.pack(parts)[:-2], 3)


@pytest.mark.parametrize("cut", [1, 5, 9, -1])
def test_an_answer_that_is_cut_off_is_none(cut: int) -> None:
    answer = wire.frame(wire.STDOUT, b"text") + wire.frame(wire.ENDED, b"0")
    assert [(wire.STDOUT, b"text"), (wire.ENDED, b"0")] == wire.frames(answer)

    with pytest.raises(wire.WireError):
        wire.frames(answer[:cut])


def test_output_that_cannot_be_written_is_not_written_twice(place: Place) -> None:
    place.start()
    question = ("search", "a blue zebra")
    assert b"No hit stands out" in place.answered(*question).errors
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "recollect", *question],
            env=place.environ,
            cwd=place.workspace,
            stdout=subprocess.PIPE,
            stderr=full,
            check=False,
        )

    assert place.run(*question).output == done.stdout
