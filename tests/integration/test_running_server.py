"""A running server answers the searches of commands and hooks, as they would themselves."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import threading
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pytest
from tests.support.waiting import PATIENCE_SECONDS, wait_until

from recollect.config.load import Setup
from recollect.shells import running_server
from recollect.shells.running_server import Ask, ask, socket_of
from recollect.types import SearchRequest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

SERVERS = {"serve": ("serve", "--port", "0"), "mcp": ("mcp",)}
RUN = """
import json, sys
sys.argv[1:] = {arguments}
from recollect.__main__ import main
try:
    main()
finally:
    print(json.dumps("numpy" in sys.modules), file=sys.stderr)
"""


@pytest.fixture
def notes(workspace: Path, environ: dict[str, str]) -> dict[str, str]:
    """A small memory by keyword, and the environment of its commands."""
    (workspace / "MEMORY.md").write_text("The kettle is blue, and whistles.\n", encoding="utf-8")
    return {**environ, "RECOLLECT_PROVIDER": "none", "RECOLLECT_WORKSPACE": str(workspace)}


@contextmanager
def server(environ: Mapping[str, str], *arguments: str) -> Iterator[Path]:
    """Run a server of the memory meanwhile; return its socket."""
    path = socket_of(Setup.of(None, agent=None, config_file=None, settings=None, environ=environ))
    assert path is not None
    command = [sys.executable, "-m", "recollect", *arguments]
    child = subprocess.Popen(
        command, env=dict(environ), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        wait_until(path.exists)
        yield path
    finally:
        child.terminate()
        child.communicate(timeout=PATIENCE_SECONDS)


def run(environ: Mapping[str, str], *arguments: str, said: str = "") -> tuple[str, bool]:
    """Return what a command printed, and whether it opened the memory itself."""
    done = subprocess.run(
        [sys.executable, "-c", RUN.format(arguments=list(arguments))],
        env=dict(environ),
        input=said,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    return done.stdout, json.loads(done.stderr.splitlines()[-1])


def without_time(printed: str) -> Any:
    answer = json.loads(printed)
    answer.pop("tookMs", None)
    return answer


@pytest.mark.parametrize("kind", SERVERS)
def test_a_running_server_answers_as_the_commands_do(notes: dict[str, str], kind: str) -> None:
    event = json.dumps({"prompt": "which kettle is blue and whistles?"})
    asked = {
        "search": ("search", "blue kettle"),
        "json": ("search", "blue kettle", "--explain", "--json"),
        "recall": ("recall", "the blue kettle"),
        "hook": ("hook", "prompt"),
    }
    run(notes, "index")
    alone = {name: run(notes, *each, said=event) for name, each in asked.items()}
    with server(notes, *SERVERS[kind]):
        helped = {name: run(notes, *each, said=event) for name, each in asked.items()}

    assert {True} == {opened for _, opened in alone.values()}
    assert {False} == {opened for _, opened in helped.values()}
    for name in ("search", "recall", "hook"):
        assert _without_fence(alone[name][0]) == _without_fence(helped[name][0])
    assert without_time(alone["json"][0]) == without_time(helped["json"][0])
    assert "kettle" in helped["hook"][0]


def _without_fence(printed: str) -> str:
    """Return a block without the random id that marks it."""
    words = printed.replace('"', " ").replace("\\", " ").split()
    return " ".join(word for word in words if "id=" not in word and "memory-" not in word)


def test_a_server_with_other_settings_is_not_asked(notes: dict[str, str]) -> None:
    with server(notes, *SERVERS["serve"]):
        _, opened = run({**notes, "RECOLLECT_MAX_RESULTS": "2"}, "search", "kettle")

    assert opened


def test_a_request_that_only_the_owner_may_make_is_not_for_a_limited_server(
    notes: dict[str, str],
) -> None:
    with server(notes, "mcp"):
        _, opened = run(notes, "search", "kettle", "--scope", "user:ada")

    assert opened


def test_a_socket_without_a_server_is_ignored_and_replaced(notes: dict[str, str]) -> None:
    with server(notes, *SERVERS["serve"]) as path:
        os.link(path, path.with_name("left"))
    path.with_name("left").rename(path)
    printed, opened = run(notes, "search", "kettle")
    with server(notes, *SERVERS["serve"]):
        wait_until(lambda: not run(notes, "search", "kettle")[1])

    assert ("kettle" in printed, opened) == (True, True)


def test_a_server_that_does_not_answer_is_not_waited_for_long(
    notes: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running_server, "_ANSWER_SECONDS", 0.05)
    setup = Setup.of(None, agent=None, config_file=None, settings=None, environ=notes)
    path = socket_of(setup)
    assert path is not None
    path.parent.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(path))
        silent.listen()

        assert ask(setup, Ask(SearchRequest("kettle"))) is None


@pytest.mark.parametrize("said", [b"[1]", b"5", b'{"text": "x"}', b"{", b"[" * 100_000])
def test_a_reply_of_another_form_is_ignored(notes: dict[str, str], said: bytes) -> None:
    setup = Setup.of(None, agent=None, config_file=None, settings=None, environ=notes)
    path = socket_of(setup)
    assert path is not None
    path.parent.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        other.listen()

        def answer() -> None:
            connection, _ = other.accept()
            with connection:
                connection.recv(1 << 20)
                connection.sendall(said)

        replying = threading.Thread(target=answer)
        replying.start()
        reply = ask(setup, Ask(SearchRequest("kettle")))
        replying.join()

    assert reply is None


def test_a_message_that_a_server_does_not_understand_is_ignored(notes: dict[str, str]) -> None:
    with server(notes, *SERVERS["serve"]) as path:
        for said in (b"[]", b"null", b"1", b"{}", b'{"request": 1}', b"[" * 100_000):
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(str(path))
                connection.sendall(said + b"\n")
                assert b"null" == connection.recv(100)
        _, opened = run(notes, "search", "kettle")

    assert not opened


def test_days_in_words_count_from_the_day_of_who_asks(
    workspace: Path, notes: dict[str, str]
) -> None:
    zones = ("Pacific/Kiritimati", "Pacific/Midway")  # never on the same day
    days = [datetime.now(tz=ZoneInfo(zone)).date() - timedelta(days=1) for zone in zones]
    for day in days:
        (workspace / "memory" / f"{day}.md").write_text("Met a kettle.\n", encoding="utf-8")
    question = "which kettle did I meet yesterday"
    with server({**notes, "TZ": zones[0]}, *SERVERS["serve"]):
        found = [run({**notes, "TZ": zone}, "search", question, "-n", "1") for zone in zones]

    assert [str(day) for day in days] == [printed.split("memory/")[1][:10] for printed, _ in found]
    assert {False} == {opened for _, opened in found}


def test_a_folder_that_may_not_be_entered_is_no_error(
    notes: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> bool:
        raise PermissionError(13, "Permission denied")

    setup = Setup.of(None, agent=None, config_file=None, settings=None, environ=notes)
    monkeypatch.setattr("pathlib.Path.exists", refuse)

    assert ask(setup, Ask(SearchRequest("kettle"))) is None


def test_the_socket_is_for_its_owner_alone_and_goes_with_its_server(
    notes: dict[str, str],
) -> None:
    with server(notes, *SERVERS["serve"]) as path:
        modes = [stat.S_IMODE(each.stat().st_mode) for each in (path, path.parent)]
        with server(notes, "mcp"):
            assert path.exists()

        assert path.exists()

    assert [0o600, 0o700] == modes
    assert not path.exists()
