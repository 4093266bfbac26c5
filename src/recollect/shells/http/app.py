"""The ASGI application: the guard in front, FastAPI with the operations behind it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from fastapi import FastAPI
from starlette.datastructures import Headers, MutableHeaders
from starlette.routing import Match, Route

from recollect.shells.guard import RequestOrigin
from recollect.shells.http.errors import UNKNOWN_PATH, RequestError, error_response
from recollect.shells.http.listen import framing_error
from recollect.shells.http.route import ROUTE, OperationRoute
from recollect.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from recollect.shells.guard import Guard
    from recollect.shells.http.listen import ServerLimits
    from recollect.shells.http.route import Operation
    from recollect.shells.http.state import AnyServer
    from recollect.shells.mcp.http import McpApp

METHOD = "recollect.method"
"""Where a request's scope holds its own method, which may be HEAD."""
_METHODS = frozenset({"GET", "HEAD", "POST", "DELETE", "PUT", "PATCH", "OPTIONS"})
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_POPUPS = ("/sign-in", "/authorize")
"""Pages of a program's sign-in; the window that opened them waits for the redirect."""
_SECURITY_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}


def build_app(
    state: AnyServer,
    *,
    guard: Guard,
    limits: ServerLimits,
    operations: Sequence[Operation],
    tools: McpApp | None = None,
    sign_in: Sequence[Route] = (),
) -> ASGIApp:
    """Return the application that serves a memory, or many, with these operations and tools."""
    app = described_app(state, limits=limits, operations=operations)
    if tools is not None:
        app.router.routes.append(Route(tools.path, tools, methods=["POST"]))
    public = [each.path.partition("{") for each in operations if each.is_public]
    public += [(start, "{", "") for start in state.admits]
    app.router.routes += sign_in
    public += [(each.path, "", "") for each in sign_in]
    return GuardedApp(app, state=state, guard=guard, public=public)


def described_app(
    state: AnyServer, *, limits: ServerLimits, operations: Sequence[Operation]
) -> FastAPI:
    """Return the application behind the guard, which describes itself."""
    app = FastAPI(
        title="Recollect",
        version=__version__,
        summary="Memory search for AI agents.",
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        openapi_url=None,
        redirect_slashes=False,
        separate_input_output_schemas=False,
    )
    app.router.routes += [OperationRoute(each, server=state, limits=limits) for each in operations]
    app.router.default = error_response(UNKNOWN_PATH)
    app.add_exception_handler(405, _no_such_method)
    return app


async def _no_such_method(request: Request, _error: Exception) -> Response:
    matching = (
        route.methods or ()
        for route in request.app.routes
        if isinstance(route, Route) and route.matches(request.scope)[0] is Match.PARTIAL
    )
    allowed = {method for methods in matching for method in methods}
    allowed |= {"HEAD"} if "GET" in allowed else set()
    names = ", ".join(sorted(allowed))
    return error_response(
        RequestError(
            405,
            "method",
            f"{request.scope[METHOD]} is not supported here.",
            action=f"Use {names}.",
            headers={"Allow": names},
        )
    )


class GuardedApp:
    """Passes on the requests that the guard allows, counts all, and secures every response."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        state: AnyServer,
        guard: Guard,
        public: Sequence[tuple[str, str, str]],
    ) -> None:
        self._public = public
        self._app = app
        self._state = state
        self._guard = guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, and count it."""
        started = time.perf_counter()
        statuses: list[int] = []

        async def send_secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
                headers = MutableHeaders(raw=list(message.get("headers", [])))
                for name, value in _SECURITY_HEADERS.items():
                    headers.setdefault(name, value)  # a page may have a policy of its own
                if scope["path"] in _POPUPS:
                    headers["Cross-Origin-Opener-Policy"] = "unsafe-none"
                headers.setdefault("Cache-Control", "no-store")
                message["headers"] = headers.raw
            await send(message)

        refusal = self._refusal(scope)
        if refusal is None:
            method = scope["method"]  # FastAPI does not answer HEAD; uvicorn leaves out the body
            scope = {**scope, METHOD: method, "method": "GET" if method == "HEAD" else method}
            await self._app(scope, receive, send_secured)
        else:
            scope = {**scope, ROUTE: "refused", METHOD: scope["method"]}
            await error_response(refusal)(scope, receive, send_secured)
        if statuses:
            method = scope[METHOD]
            self._state.metrics.count_request(
                route=scope.get(ROUTE, "unmatched"),
                method=method if method in _METHODS else "other",
                status=statuses[0],
                seconds=time.perf_counter() - started,
            )

    def _refusal(self, scope: Scope) -> RequestError | None:
        if ambiguous := framing_error(scope):
            return ambiguous
        if not _is_utf8(scope["raw_path"]) or not _is_utf8(scope["query_string"]):
            return RequestError(
                400,
                "address",
                "The address is not UTF-8.",
                action="Encode its bytes above 127 as UTF-8, then with %.",
            )
        return self._guard.refusal(_origin(scope, self._public))


def _is_utf8(encoded: bytes) -> bool:
    """Return whether a part of an address is text: others would be stored under a changed name."""
    try:
        unquote_to_bytes(encoded).decode()
    except UnicodeDecodeError:
        return False
    return True


def _origin(scope: Scope, public: Sequence[tuple[str, str, str]]) -> RequestOrigin:
    path, headers = scope["path"], Headers(scope=scope)

    def sent(name: str) -> str | None:
        # A repeated header cannot be trusted: joined, it matches nothing that we accept.
        values = headers.getlist(name)
        return ", ".join(values) if values else None

    is_page = path in ("/", *_POPUPS) and scope["method"] in {"GET", "HEAD"}
    return RequestOrigin(
        host=sent("host"),
        origin=sent("origin"),
        fetch_site=sent("sec-fetch-site"),
        authorization=sent("authorization"),
        is_navigation=is_page and sent("sec-fetch-mode") == "navigate",
        is_open=any(
            path.startswith(start) if is_prefix else path == start for start, is_prefix, _ in public
        ),
    )
