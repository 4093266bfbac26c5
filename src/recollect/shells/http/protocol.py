"""HTTP/1.1 by uvicorn, with bounds that it does not have: slow heads, and open connections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uvicorn.protocols.http.h11_impl import H11Protocol

from recollect.shells.http.limits import Limits

if TYPE_CHECKING:
    import asyncio

    from uvicorn.protocols.http.h11_impl import RequestResponseCycle


class BoundedProtocol(H11Protocol):
    """Hangs up on a client that does not get to the end of its request's head."""

    limits = Limits()
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(  # type: ignore[override]  # as uvicorn's own
        self, transport: asyncio.Transport
    ) -> None:
        """Begin, if there is room."""
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            transport.abort()
        else:
            self._expect_head()

    def handle_events(self) -> None:
        """Take in what came; the time runs until it is a whole head."""
        super().handle_events()
        if self._is_between:
            self._expect_head()
        else:
            self._forget()

    def on_response_complete(self) -> None:
        """Wait for the next request, but not for long."""
        super().on_response_complete()
        if self._is_between and not self.transport.is_closing():
            self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._forget()
        super().connection_lost(exc)

    @property
    def _is_between(self) -> bool:
        """Whether no request is being answered."""
        cycle: RequestResponseCycle | None = self.cycle  # None until the first request
        return cycle is None or cycle.response_complete

    def _expect_head(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.limits.head_seconds, self._hang_up)

    def _forget(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _hang_up(self) -> None:
        self._deadline = None
        if self._is_between:
            self.transport.abort()


def bounded(limits: Limits) -> type[BoundedProtocol]:
    """Return the protocol with these limits; uvicorn makes one a connection."""
    return type("BoundedProtocol", (BoundedProtocol,), {"limits": limits})
