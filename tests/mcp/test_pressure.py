"""A client that sends and does not read: the server stops reading, too."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from typing import TYPE_CHECKING

from recollect.shells.mcp import stdio
from recollect.shells.mcp.server import McpOptions
from recollect.shells.mcp.stdio import MOST_PENDING, StdioTransport

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

REQUESTS = 4 * MOST_PENDING
BLOCKED_SECONDS = 1.0  # how long the client does not read, unless all it said was taken


class UnreadTransport:
    """A client that begins to read when the server takes no more, or has taken everything."""

    def __init__(self) -> None:
        self.received = self.sent = self.most_pending = 0
        self._all_received = threading.Event()

    def receive(self) -> bytes | None:
        if self.received == REQUESTS:
            self._all_received.set()
            return None
        self.received += 1
        self.most_pending = max(self.most_pending, self.received - self.sent)
        return b'{"jsonrpc": "2.0", "id": %d, "method": "nothing"}' % self.received

    def send(self, _line: bytes) -> None:
        if self.sent == 0:
            self._all_received.wait(BLOCKED_SECONDS)
        self.sent += 1


def test_requests_wait_while_the_client_does_not_read_the_answers(tmp_path: Path) -> None:
    transport = UnreadTransport()
    options = McpOptions(tmp_path, read_only=True)

    asyncio.run(stdio.converse(lambda: transport, options))  # type: ignore[arg-type,return-value] # its methods

    assert (REQUESTS, REQUESTS) == (transport.received, transport.sent)
    assert transport.most_pending <= MOST_PENDING + 1


def test_a_server_ends_with_a_client_that_never_read_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdio, "_LAST_SECONDS", 0.1)
    read_end, client = os.pipe()
    unread, write_end = os.pipe()
    line = b'{"jsonrpc": "2.0", "id": %d, "method": "nothing", "params": {"a": "' + b"x" * 500
    sending = threading.Thread(target=_send_all, args=(client, line + b'"}}\n'), daemon=True)
    options = McpOptions(tmp_path, read_only=True)

    sending.start()
    asyncio.run(stdio.converse(lambda: StdioTransport(read_end, write_end), options))

    assert os.read(unread, 1)


def _send_all(client: int, line: bytes) -> None:
    """Say more than a pipe holds of answers, and leave."""
    with contextlib.suppress(BrokenPipeError), open(client, "wb") as pipe:
        pipe.writelines(line % number for number in range(REQUESTS))
