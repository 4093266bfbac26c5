"""The tools over streamable HTTP: of one memory at /mcp, or of each of many below its own path.

There are no sessions, so a client that is never heard of again costs nothing; nor is there a
stream of our own messages: a GET is answered with 405, as the protocol provides.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from mcp.server.transport_security import TransportSecuritySettings

from recollect.errors import RecollectError
from recollect.shells.http.errors import error_response
from recollect.shells.http.listen import DisconnectedError, ServerLimits, read_body, replayed
from recollect.shells.http.many import ROOT
from recollect.shells.http.route import ROUTE
from recollect.shells.mcp.calls import Calls
from recollect.shells.mcp.server import CALL_SECONDS, USAGE, server_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from mcp.server.context import ServerRequestContext
    from starlette.types import Receive, Scope, Send

    from recollect.shells.hosted import HostedMemory
    from recollect.shells.http.many import MemoriesState
    from recollect.shells.http.state import AnyServer, ServerState

PATH = "/mcp"
_CALLS = "recollect.memory"  # where a request's scope holds what it may use
LIMITS = ServerLimits(stop_seconds=2)
"""Clients that listen for messages never disconnect by themselves."""


class McpApp:
    """The tools as an application of a server, behind its guard, for the memory of the request."""

    def __init__(
        self, path: str, server: AnyServer, calls_of: Callable[[Any], Calls], *, instructions: str
    ) -> None:
        """Store the arguments; `calls_of` returns the tools of a state that `server` admits."""
        self.path = path
        self._server = server
        self._calls_of = calls_of
        self._app = server_of(_calls_of, instructions=instructions).streamable_http_app(
            streamable_http_path=PATH,
            stateless_http=True,
            max_request_body_size=LIMITS.body_bytes,
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run what the SDK needs besides requests."""
        async with self._app.router.lifespan_context(self._app):
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, once its body is complete."""
        scope[ROUTE] = self.path
        try:
            calls = self._calls_of(await self._server.admit(scope))
            body = await read_body(receive, limits=LIMITS)
        except RecollectError as error:
            await error_response(self._server.shown(error))(scope, receive, send)
        except DisconnectedError:
            pass
        else:
            own = {"path": PATH, "raw_path": PATH.encode(), "root_path": "", _CALLS: calls}
            await self._app({**scope, **own}, replayed(body, receive), send)


def tools_of_many(server: MemoriesState) -> McpApp:
    """Return the tools of many memories: those of the memory that a token opens."""

    def calls_of(state: ServerState) -> Calls:
        # As for a server of one memory: scopes are seen only if they are named.
        scopes = state.scopes.names or frozenset()
        hosted = cast("HostedMemory", state.memory)
        served = replace(hosted, scopes=scopes, call_seconds=CALL_SECONDS)
        return Calls(served, scopes=scopes, read_only=state.is_read_only)

    told = f"This is the user's memory. {USAGE}"
    return McpApp(f"{ROOT}{PATH}", server, calls_of, instructions=told)


def _calls_of(context: ServerRequestContext[Any, Any]) -> Calls:
    assert context.request is not None  # noqa: S101 - every message comes with a request
    calls: Calls = context.request.scope[_CALLS]
    return calls
