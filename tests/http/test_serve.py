"""The command: where it listens, how it refuses to start, how it stops."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from tests.http.servers import Command, inside
from tests.support.commands import recollect_command
from tests.support.waiting import PATIENCE_SECONDS, wait_until

from recollect.shells.http.server import ServeOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.http.servers import Serving

TOKEN = "a-token-that-nobody-guesses"  # noqa: S105 - of no server but this


def refused(
    workspace: Path, environ: Mapping[str, str], *arguments: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*recollect_command(), "-w", str(workspace), "serve", *arguments],
        env=dict(environ),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def test_it_prints_its_address_and_answers_there(
    workspace: Path, environ: Mapping[str, str], serving: Serving
) -> None:
    command = serving(workspace, environ, "--port", "0")

    assert command.url.startswith("http://127.0.0.1:")
    assert 200 == command.get("/health").status_code


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_success(
    number: signal.Signals, workspace: Path, environ: Mapping[str, str], serving: Serving
) -> None:
    command = serving(workspace, environ, "--port", "0")
    command.get("/health")

    command.child.send_signal(number)

    assert 0 == command.end()
    assert "Traceback" not in command.output


def test_what_is_under_way_is_answered_before_it_ends(
    workspace: Path, environ: Mapping[str, str]
) -> None:
    answers: list[httpx.Response] = []
    with inside(workspace, environ, ServeOptions("127.0.0.1", 0)) as here:
        url = f"{here.url}/api/status"
        asking = threading.Thread(
            target=lambda: answers.append(httpx.get(url, timeout=PATIENCE_SECONDS))
        )
        with here.busy():
            asking.start()
            wait_until(lambda: here.state.metrics.in_progress)
            here.server.handle_exit(signal.SIGTERM, None)
            wait_until(lambda: _is_closed(here.port))
        asking.join(60)

    assert [200] == [answer.status_code for answer in answers]


def _is_closed(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS).close()
    except OSError:
        return True
    return False


def test_it_stops_in_the_middle_of_its_first_sync(
    sample: Path, environ: Mapping[str, str], serving: Serving
) -> None:
    command = serving(sample, environ, "--port", "0")

    command.child.send_signal(signal.SIGTERM)

    assert 0 == command.end()
    assert "did not end" not in command.output


STUCK = """
import asyncio, sys, threading
from recollect import AsyncMemory
from recollect.shells.serving import ServedMemory

async def main():
    memory = ServedMemory(lambda: AsyncMemory.open(sys.argv[1]))
    begun = threading.Event()
    asyncio.ensure_future(memory.run(lambda _: begun.set() or threading.Event().wait()))
    await asyncio.to_thread(begun.wait)
    await memory.close_or_exit(seconds=0.1, exit_code=1)

asyncio.run(main())
"""


def test_what_does_not_end_is_left_after_a_while(
    workspace: Path, environ: Mapping[str, str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", STUCK, str(workspace)],
        env=dict(environ),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )

    assert 1 == done.returncode
    assert "did not end within 0.1 seconds" in done.stderr


def test_a_port_in_use_is_told_in_words(workspace: Path, environ: Mapping[str, str]) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]

        done = refused(workspace, environ, "--port", str(port))

    assert 2 == done.returncode
    assert f"127.0.0.1:{port} is in use." in done.stderr
    assert "--port" in done.stderr


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5"])  # noqa: S104 - refused
def test_beyond_loopback_it_does_not_start_without_a_token(
    host: str, workspace: Path, environ: Mapping[str, str]
) -> None:
    done = refused(workspace, environ, "--host", host, "--port", "0")

    assert 2 == done.returncode
    assert "RECOLLECT_TOKEN" in done.stderr


def test_an_address_that_cannot_be_bound_is_reported(
    workspace: Path, environ: Mapping[str, str]
) -> None:
    done = refused(
        workspace, {**environ, "RECOLLECT_TOKEN": TOKEN}, "--host", "203.0.113.1", "--port", "0"
    )

    assert 2 == done.returncode
    assert "203.0.113.1:0 cannot be bound" in done.stderr


def test_a_memory_that_cannot_be_opened_ends_it(tmp_path: Path, environ: Mapping[str, str]) -> None:
    done = refused(tmp_path / "nowhere", environ, "--port", "0")

    assert 1 == done.returncode
    assert "is not a folder" in done.stderr


def test_a_scope_that_is_none_is_refused(workspace: Path, environ: Mapping[str, str]) -> None:
    done = refused(workspace, environ, "--port", "0", "--scope", "ada")

    assert 2 == done.returncode
    assert "'ada' is not a scope." in done.stderr


def test_with_json_the_address_is_a_document(workspace: Path, environ: Mapping[str, str]) -> None:
    with subprocess.Popen(
        [*recollect_command(), "-w", str(workspace), "serve", "--port", "0", "--json"],
        env=dict(environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as child:
        assert child.stdout is not None
        line = child.stdout.readline()
        child.send_signal(signal.SIGTERM)

        assert 0 == child.wait(PATIENCE_SECONDS)
    assert line.startswith('{"address": "http://127.0.0.1:')


def test_with_a_token_it_serves_every_address_and_never_says_the_token(
    workspace: Path, environ: Mapping[str, str], serving: Serving
) -> None:
    command = serving(
        workspace,
        {**environ, "RECOLLECT_TOKEN": TOKEN},
        "--host",
        "0.0.0.0",  # noqa: S104 - with a token
        "--port",
        "0",
    )
    url = command.url.replace("0.0.0.0", "127.0.0.1")  # noqa: S104 - how it is reached
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    codes = [
        httpx.get(f"{url}/health").status_code,
        httpx.get(f"{url}/api/status").status_code,
        httpx.get(f"{url}/metrics").status_code,
        httpx.get(f"{url}/api/status", headers={"Authorization": "Bearer wrong"}).status_code,
        httpx.get(f"{url}/api/status", headers=bearer, timeout=PATIENCE_SECONDS).status_code,
        httpx.get(f"{url}/api/nothing", headers=bearer).status_code,
    ]
    described = httpx.get(f"{url}/openapi.json", headers=bearer).json()
    command.child.send_signal(signal.SIGTERM)
    command.end()

    assert [200, 401, 401, 401, 200, 404] == codes
    assert [{"bearer": []}] == described["paths"]["/api/status"]["get"]["security"]
    assert "security" not in described["paths"]["/health"]["get"]
    assert TOKEN not in command.output


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other allocators")
def test_threads_share_few_arenas_of_memory(sample: Path, environ: dict[str, str]) -> None:
    """Each arena keeps what its threads once used, so that many make a server grow for hours."""
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", "recollect", "-w", str(sample), "serve", "--port", "0"],
        env=environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    command = Command(child, sample, environ)
    with ThreadPoolExecutor(8) as pool:
        asked = pool.map(lambda _: command.get("/api/search?query=certificate"), range(16))
        codes = {each.status_code for each in asked}
    threads = len(list(Path(f"/proc/{child.pid}/task").iterdir()))
    maps = Path(f"/proc/{child.pid}/maps").read_text(encoding="utf-8")
    # The C library maps arenas at multiples of 64 MiB; one that needs more, as with the models'
    # states in it, gets another such part. Without a limit there would be one for each thread.
    starts = re.findall(r"^([0-9a-f]+)-\S+ rw-p 00000000 00:00 0 *$", maps, re.MULTILINE)
    arenas = [start for start in starts if int(start, 16) % (64 << 20) == 0]
    child.terminate()

    code = command.end()
    assert child.stderr is not None
    child.stderr.close()

    assert (0, {200}) == (code, codes)
    assert threads > 4
    assert len(arenas) <= 4, arenas
