"""The tools of many memories at `/api/memories/{agent}/mcp`: one server, which asks the token.

The guard of the HTTP server stands in front, and the token is checked as for every operation.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from recollect.errors import RecollectError
from recollect.shells.http.bodies import with_whole_bodies
from recollect.shells.http.errors import error_response, unknown_method
from recollect.shells.http.listen import ServerLimits
from recollect.shells.http.many import ROOT
from recollect.shells.http.route import ROUTE
from recollect.shells.http.state import MemoryState
from recollect.shells.mcp.http import PATH, stateless_app
from recollect.shells.mcp.options import hosted_instructions
from recollect.shells.mcp.server import CALL_SECONDS, McpMemory, server_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp.server.context import ServerRequestContext
    from starlette.types import Receive, Scope, Send

    from recollect.shells.http.many import MemoriesState

_MEMORY = "recollect.memory"  # where a request's scope holds what it may use


class ManyMcp:
    """An ASGI application that serves the tools of the memory that a request's token opens."""

    def __init__(self, state: MemoriesState) -> None:
        self._state = state
        self._app = stateless_app(server_of(_memory_of, instructions=hosted_instructions()))
        self._whole = with_whole_bodies(self._app, limits=ServerLimits())

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run what the SDK needs besides requests."""
        async with self._app.router.lifespan_context(self._app):
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        scope[ROUTE] = f"{ROOT}{PATH}"
        if scope["method"] != "POST":
            refused = error_response(unknown_method(scope["method"], {"POST"}), path=scope["path"])
            await refused(scope, receive, send)
            return
        try:
            state = await self._state.admit(scope)
        except RecollectError as error:
            refused = error_response(self._state.shown(error), path=scope["path"])
            await refused(scope, receive, send)
            return
        assert isinstance(state, MemoryState)  # noqa: S101 - its path has an agent
        # As for a server of one memory: scopes are seen only if they are named.
        scopes = state.scopes.names or frozenset()
        served = state.memory.limited_to(scopes, call_seconds=CALL_SECONDS)
        memory = McpMemory(served, scopes=scopes, read_only=state.is_read_only)
        inner = {**scope, "path": PATH, "raw_path": PATH.encode(), "root_path": "", _MEMORY: memory}
        await self._whole(inner, receive, send)


def _memory_of(context: ServerRequestContext[Any, Any]) -> McpMemory:
    assert context.request is not None  # noqa: S101 - every message comes with a request
    memory: McpMemory = context.request.scope[_MEMORY]
    return memory
