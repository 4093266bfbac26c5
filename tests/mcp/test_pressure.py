"""A client that sends and does not read: the server stops reading, too."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

from recollect.shells.mcp import conversation
from recollect.shells.mcp.conversation import MOST_PENDING
from recollect.shells.mcp.options import make_options

if TYPE_CHECKING:
    from pathlib import Path

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
    options = make_options(
        workspace=tmp_path, agent=None, config_file=None, scopes=(), read_only=True
    )

    asyncio.run(conversation.converse(transport, options))  # type: ignore[arg-type] # its methods

    assert (REQUESTS, REQUESTS) == (transport.received, transport.sent)
    assert transport.most_pending <= MOST_PENDING + 1
