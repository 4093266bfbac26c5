"""A socket on which a running server answers the searches of commands and hooks.

They load no model and open no index then. What the server cannot answer, the command does itself,
so nothing here is an error.

Threat: another user of the machine asks for somebody's memory, or answers in place of the server.
The socket is in a folder of the home that only its owner may enter.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from recollect.errors import RecollectError
from recollect.records import dataclass
from recollect.reports import RecallForm
from recollect.shape import as_json
from recollect.text.files import make_private_folder
from recollect.types import SearchRequest, digest_of
from recollect.version import __version__

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from recollect.config.load import Setup
    from recollect.parts import MemoryParts
    from recollect.shells.render.shared import Line, MarkedLine
    from recollect.types import Results

Answer = TypeVar("Answer")

_MOST_PATH_BYTES = 100
"""Systems allow 104 to 108 bytes for the address of a socket."""
_MOST_BYTES = 1_000_000
_CONNECT_SECONDS = 0.5
_ANSWER_SECONDS = 3.0
"""Longest wait for an answer; then the command searches by itself, within the time of a hook."""
_PART_BYTES = 1 << 16
_NOT_UNDERSTOOD = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""What reading a message raises that another version, or another program, wrote."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A question to a server, and how its answer is shown."""

    request: SearchRequest
    budget_tokens: int | None = None
    """Most tokens of the block that recalls what memory holds about the query; None searches."""
    form: str = RecallForm.FULL
    as_json: bool = False
    width: int = 0
    is_verbose: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, ready to print."""

    text: str
    """The report as JSON, or the block of a recall; empty if there are lines instead."""
    lines: list[MarkedLine]
    remarks: list[Line]
    failures: list[str]
    """Why something did not run, with what to do about it."""


class SearchedMemory(Protocol):
    """What a server answers from: a `ServedMemory`."""

    async def wait_for_first_sync(self) -> None:
        """Wait for the first sync if it is short."""

    async def search(self, request: SearchRequest, /) -> Results:
        """Answer a question."""

    async def read(self, work: Callable[[MemoryParts], Answer], /) -> Answer:
        """Run a function that asks no model."""


def socket_of(setup: Setup) -> Path | None:
    """Return where a server of this memory listens; None if no server can."""
    path = setup.places.socket_of(setup.agent)
    return path if len(os.fsencode(path)) <= _MOST_PATH_BYTES and os.name == "posix" else None


def ask(setup: Setup, wanted: Ask) -> Reply | None:
    """Return the answer of a running server of this memory; None if there is none."""
    path = socket_of(setup)
    # Days in words count from the day of who asks: a server may have another time zone.
    today = wanted.request.today or datetime.now(tz=UTC).astimezone().date()
    asked = replace(wanted, request=replace(wanted.request, today=today))
    question = {"identity": _identity(setup), **asdict(asked)}
    try:
        if path is None or not path.exists():
            return None
        answer = json.loads(_exchanged(path, json.dumps(question, default=str).encode() + b"\n"))
        return Reply(**answer) if answer else None
    except (OSError, *_NOT_UNDERSTOOD):  # it has just ended, is too busy, or is of another version
        return None


def _exchanged(path: Path, question: bytes) -> bytes:
    """Return what the other side of a socket answers; raise OSError if that takes too long."""
    import socket  # noqa: PLC0415 - only if there is a server

    parts: list[bytes] = []
    until = time.monotonic() + _ANSWER_SECONDS
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_CONNECT_SECONDS)
        connection.connect(str(path))
        connection.sendall(question)
        while True:
            connection.settimeout(max(until - time.monotonic(), 1e-3))
            if not (part := connection.recv(_PART_BYTES)):
                return b"".join(parts)
            parts.append(part)


@asynccontextmanager
async def offered(served: SearchedMemory, setup: Setup) -> AsyncIterator[None]:
    """Answer on the socket of a memory meanwhile, unless another server does."""
    import asyncio  # noqa: PLC0415 - in a server alone

    path = socket_of(setup)
    if path is None or await _is_taken(path):
        yield
        return

    async def answer(reader: StreamReader, writer: StreamWriter) -> None:
        with suppress(OSError, ValueError, TimeoutError):
            async with asyncio.timeout(_ANSWER_SECONDS):
                wanted = _read(await reader.readline(), identity=_identity(setup))
                reply = await _answer(served, setup, wanted) if wanted else None
                writer.write(json.dumps(reply and asdict(reply)).encode())
                await writer.drain()
        writer.close()

    try:
        make_private_folder(path.parent)
        path.unlink(missing_ok=True)
        server = await asyncio.start_unix_server(answer, path, limit=_MOST_BYTES)
    except OSError:  # a read-only home: commands do without
        yield
        return
    path.chmod(0o600)
    try:
        yield
    finally:
        server.close()
        path.unlink(missing_ok=True)


async def _is_taken(path: Path) -> bool:
    import asyncio  # noqa: PLC0415 - in a server alone

    try:
        _, writer = await asyncio.open_unix_connection(path)
    except OSError:
        return False
    writer.close()
    return True


def _identity(setup: Setup) -> str:
    """Return what must be equal for a server to answer like the command itself."""
    values = sorted(setup.config.values.items())
    return digest_of(repr((__version__, str(setup.workspace), values)).encode())


def _read(line: bytes, *, identity: str) -> Ask | None:
    """Return what a command asks; None if it is not meant for this server, or not understood."""
    try:
        question: dict[str, Any] = json.loads(line)
        if question.pop("identity", None) != identity:
            return None
        fields = question["request"]
        today = date.fromisoformat(fields["today"])
        return Ask(**{**question, "request": SearchRequest(**{**fields, "today": today})})
    except _NOT_UNDERSTOOD:
        return None


async def _answer(served: SearchedMemory, setup: Setup, wanted: Ask) -> Reply | None:
    """Return the answer; None leaves it to the command, which then reports what is wrong."""
    from recollect.shells.render import search as render  # noqa: PLC0415 - in a server alone

    request, budget = wanted.request, wanted.budget_tokens
    if request.scopes and setup.scopes is not None:
        return None
    await served.wait_for_first_sync()
    try:
        if budget is None:
            results = await served.search(request)
            text = _json(results) if wanted.as_json else ""
            lines = render.results_text(results, width=wanted.width, verbose=wanted.is_verbose)
            return Reply(text, list(lines), list(render.results_remarks(results)), [])
        turn = await served.read(
            lambda memory: memory.recall_request(request.query, scopes=request.scopes)
        )
        results = await served.search(replace(turn, today=request.today))
        recalled = await served.read(
            lambda memory: memory.recall_from(results, budget_tokens=budget, form=wanted.form)
        )
    except RecollectError:
        return None
    text = _json(recalled) if wanted.as_json else recalled.block
    degraded = (results.degraded or {}).values()
    failures = [f"{why.reason} {why.action}" for why in degraded]
    return Reply(text, [], list(render.recalled_remarks(recalled)), failures)


def _json(report: object) -> str:
    from recollect.text.terminal import terminal_json  # noqa: PLC0415 - in a server alone

    return terminal_json(json.dumps(as_json(report), ensure_ascii=False, indent=2))
