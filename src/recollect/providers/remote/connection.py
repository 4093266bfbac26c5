"""Sends HTTP requests that a deadline or another thread can end.

httpx's time-outs count from byte to byte, and closing its client does not wake a thread that waits
for bytes. So requests are tasks of an event loop in its own thread, where they can be cancelled.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx

from recollect.errors import ProviderSetupError
from recollect.providers.remote.pace import UNREACHABLE_ATTEMPTS, TryAgainError
from recollect.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractAsyncContextManager

_CONNECT_SECONDS = 10.0
_MOST_BYTES = 256 * 1024 * 1024  # more than any legitimate response


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A complete response."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpClient:
    """Sends requests and keeps connections for the next ones. Safe to use from several threads."""

    def __init__(self) -> None:
        """Open the client."""
        self._client = _client()
        self._loop = asyncio.new_event_loop()
        self._is_closed = False
        self._lock = threading.Lock()
        threading.Thread(target=self._run, name="recollect-http", daemon=True).start()

    def exchange(
        self, method: str, url: str, *, headers: Mapping[str, str], content: bytes, seconds: float
    ) -> HttpResponse:
        """Send a request and return its complete response within the time limit.

        Without one it is a TryAgainError, as always after `close`; an unusable address is a
        ValueError. Their texts may quote what the server sent.
        """
        timeout = httpx.Timeout(None, connect=min(_CONNECT_SECONDS, seconds))
        request = self._client.stream(
            method, url, headers=headers, content=content, timeout=timeout
        )
        try:
            with self._lock:
                if self._is_closed:
                    raise TryAgainError("was closed")
                running = asyncio.run_coroutine_threadsafe(
                    asyncio.wait_for(_read(request), seconds), self._loop
                )
            return running.result()
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise ValueError(str(error)) from None
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise TryAgainError(
                f"cannot be reached at {host_of(url)} ({error})",
                most_attempts=UNREACHABLE_ATTEMPTS,
                is_unreachable=True,
            ) from None
        except (TimeoutError, CancelledError):
            raise TryAgainError(f"did not answer in {seconds:.3g} s") from None
        except httpx.HTTPError as error:
            raise TryAgainError(f"broke off ({str(error) or type(error).__name__})") from None

    def close(self) -> None:
        """End all exchanges and close the connections."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                asyncio.run_coroutine_threadsafe(self._end(), self._loop)

    def _run(self) -> None:
        self._loop.run_forever()
        self._loop.close()

    async def _end(self) -> None:
        exchanges = asyncio.all_tasks() - {asyncio.current_task()}
        for each in exchanges:
            each.cancel()
        await asyncio.gather(*exchanges, return_exceptions=True)
        await self._client.aclose()
        self._loop.stop()


async def _read(request: AbstractAsyncContextManager[httpx.Response]) -> HttpResponse:
    async with request as response:
        body = bytearray()
        async for part in response.aiter_bytes():
            body += part
            if len(body) > _MOST_BYTES:
                raise TryAgainError("answered with more than 256 MB")
    return HttpResponse(response.status_code, response.headers, bytes(body))


def host_of(url: str) -> str:
    """Return the host and port of an address, without user name and password."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2]
    except ValueError:
        return ""


def _client() -> httpx.AsyncClient:
    try:
        # Redirects are not followed: they could carry the key to another host.
        return httpx.AsyncClient(follow_redirects=False)
    except (httpx.InvalidURL, ImportError, ValueError, OSError) as error:
        # Not the error's text: it quotes the proxy's address, which may contain a password.
        raise ProviderSetupError(
            "The proxy or certificate settings in the environment cannot be used "
            f"({type(error).__name__}).",
            action="Correct HTTPS_PROXY, ALL_PROXY and SSL_CERT_FILE, or unset them.",
        ) from None
