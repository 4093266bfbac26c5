"""A server of many memories in a thread of the test, and clients with tokens."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from concurrent.futures import Future
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import httpx
from tests.support.waiting import PATIENCE_SECONDS

from recollect.hosting.tokens import create_token
from recollect.shells.http.server import ServeOptions, run_many

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recollect.hosting.host import MemoryHost
    from recollect.shells.http.listen import Server


class Served:
    """The server."""

    def __init__(self, url: str, host: MemoryHost) -> None:
        self.url = url
        self._host = host

    def token(
        self,
        agent: str,
        *,
        scopes: tuple[str, ...] | None = None,
        read_only: bool = False,
        expires: datetime | None = None,
        now: datetime | None = None,
    ) -> str:
        """Return a new token."""
        return create_token(
            self._host.database,
            agent,
            now=now or datetime.now(tz=UTC),
            scopes=scopes,
            is_read_only=read_only,
            expires=expires,
        )[1]

    def client(self, token: str | None) -> httpx.Client:
        """Return a client that sends a token."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return httpx.Client(base_url=self.url, timeout=PATIENCE_SECONDS, headers=headers)


@contextlib.contextmanager
def serving(host: MemoryHost, **options: object) -> Iterator[Served]:
    """Serve within the test."""
    ready: Future[tuple[str, Server]] = Future()

    async def run() -> None:
        await run_many(
            host,
            options=ServeOptions("127.0.0.1", 0, **options),  # type: ignore[arg-type]
            on_ready=lambda server, _, url: ready.set_result((url, server)),
        )

    thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
    thread.start()
    url, server = ready.result(PATIENCE_SECONDS)
    try:
        yield Served(url, host)
    finally:
        server.should_exit = True
        thread.join(PATIENCE_SECONDS)
