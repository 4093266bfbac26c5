"""The ASGI application: the guard in front, the operations behind it, both within the limits.

A request whose client disconnects is not waited for: work that has not started in the memory's
thread is never done.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from dataclasses import replace
from functools import partial
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol
from urllib.parse import unquote_to_bytes

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.responses import Response
from starlette.routing import Route, Router

from recollect.errors import RecollectError
from recollect.shells.guard import RequestOrigin
from recollect.shells.http.bodies import DisconnectedError, framing_error, read_body
from recollect.shells.http.errors import (
    JsonResponse,
    ParameterError,
    RequestError,
    error_response,
    internal_error,
    refused_response,
    unknown_method,
    unknown_path,
)
from recollect.shells.http.models import read_parameters
from recollect.shells.http.operations import AGENT, OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence

    from pydantic import BaseModel
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from recollect.shells.guard import Guard
    from recollect.shells.http.listen import ServerLimits
    from recollect.shells.http.metrics import Metrics
    from recollect.shells.http.operations import Operation

_LOG = logging.getLogger("recollect.http")
ROUTE = "recollect.route"
"""Where a request's scope holds the path of its operation, for /metrics."""
_NONE: Mapping[str, ASGIApp] = MappingProxyType({})
_METHODS = frozenset({"GET", "HEAD", "POST", "DELETE", "PUT", "PATCH", "OPTIONS"})
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_SECURITY_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}


class Admitted(Protocol):
    """The state that answers a request; its operation knows which kind it is."""

    @property
    def is_read_only(self) -> bool:
        """Return whether operations that write are refused."""

    def writing_refused(self) -> RequestError:
        """Return the error for those."""


class Admission(Protocol):
    """Decides which state answers a request."""

    @property
    def metrics(self) -> Metrics:
        """Return the counters of the server."""

    @property
    def admits(self) -> tuple[str, ...]:
        """Return how the paths start whose tokens `admit` checks, and not the guard."""

    async def admit(self, scope: Scope) -> Admitted:
        """Return the state that answers a request.

        Raises:
            RecollectError: the client may not ask this.

        """

    def shown(self, error: RecollectError) -> RecollectError:
        """Return an error as clients may see it."""


def build_app(
    state: Admission,
    *,
    guard: Guard,
    limits: ServerLimits,
    operations: Sequence[Operation] = OPERATIONS,
    more: Mapping[str, ASGIApp] = _NONE,
) -> ASGIApp:
    """Return the application that serves a memory, or many.

    Args:
        state: of the server.
        guard: which requests are accepted.
        limits: how much is done for clients.
        operations: what the server can do.
        more: other applications behind the same guard, by their paths.

    """
    ordered = sorted(operations, key=lambda each: each.path)
    routes = [
        Route(path.replace("{path}", "{path:path}"), Endpoint(own, state=state, limits=limits))
        for path, own in groupby(ordered, key=lambda each: each.path)
    ]
    routes += [Route(path, app) for path, app in more.items()]
    known = {each.path for each in operations} | more.keys()
    router = Router(routes, redirect_slashes=False, default=partial(_not_found, known))
    public = [each.path.partition("{") for each in operations if each.is_public]
    public += [(start, "{", "") for start in state.admits]
    return GuardedApp(router, state=state, guard=guard, limits=limits, public=public)


class GuardedApp:
    """Passes on the requests that the guard allows, counts all, and secures every response."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        state: Admission,
        guard: Guard,
        limits: ServerLimits,
        public: Sequence[tuple[str, str, str]],
    ) -> None:
        self._public = public
        self._app = app
        self._state = state
        self._guard = guard
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, and count it."""
        started = time.perf_counter()
        statuses: list[int] = []

        async def send_secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
                headers = MutableHeaders(raw=list(message.get("headers", [])))
                headers.update(_SECURITY_HEADERS)
                headers.setdefault("Cache-Control", "no-store")
                message["headers"] = headers.raw
            await send(message)

        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, send_secured)
        else:
            scope[ROUTE] = "refused"
            await refusal(scope, receive, send_secured)
        if statuses:
            method = scope["method"]
            self._state.metrics.count_request(
                route=scope.get(ROUTE, "unmatched"),
                method=method if method in _METHODS else "other",
                status=statuses[0],
                seconds=time.perf_counter() - started,
            )

    def _refusal(self, scope: Scope) -> Response | None:
        path = scope["path"]
        ambiguous = framing_error(scope)
        if ambiguous is not None:
            return error_response(ambiguous, path=path)
        if len(scope["raw_path"]) + len(scope["query_string"]) > self._limits.address_bytes:
            too_long = RequestError(
                414,
                "address",
                f"The address is longer than {self._limits.address_bytes} bytes.",
                action="Send shorter parameters.",
            )
            return error_response(too_long, path=path)
        if not _is_utf8(scope["raw_path"]) or not _is_utf8(scope["query_string"]):
            not_text = RequestError(
                400,
                "address",
                "The address is not UTF-8.",
                action="Encode its bytes above 127 as UTF-8, then with %.",
            )
            return error_response(not_text, path=path)
        refused = self._guard.refusal(_origin(scope, self._public))
        return None if refused is None else refused_response(refused, path=path)


def _is_utf8(encoded: bytes) -> bool:
    """Return whether a part of an address is text: others would be stored under a changed name."""
    try:
        unquote_to_bytes(encoded).decode()
    except UnicodeDecodeError:
        return False
    return True


async def _not_found(known: set[str], scope: Scope, receive: Receive, send: Send) -> None:
    error = unknown_path(scope["path"], known)
    await error_response(error, path=scope["path"])(scope, receive, send)


def _origin(scope: Scope, public: Sequence[tuple[str, str, str]]) -> RequestOrigin:
    path = scope["path"]
    is_page = path == "/" and scope["method"] in {"GET", "HEAD"}
    return RequestOrigin.from_headers(
        scope["headers"],
        is_navigation=is_page and Headers(scope=scope).get("sec-fetch-mode") == "navigate",
        is_open=any(
            path.startswith(start) if is_prefix else path == start for start, is_prefix, _ in public
        ),
    )


class Endpoint:
    """The operations of one path, as an ASGI application."""

    def __init__(
        self, operations: Iterable[Operation], *, state: Admission, limits: ServerLimits
    ) -> None:
        self._operations = {each.method: each for each in operations}
        self._state = state
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        operation = self._operations.get(method)
        if operation is None:
            allowed = {*self._operations, *({"HEAD"} if "GET" in self._operations else ())}
            response = error_response(unknown_method(method, allowed), path=scope["path"])
        else:
            scope[ROUTE] = operation.path
            try:
                response = await self._respond(operation, scope, receive)
            except DisconnectedError:
                self._state.metrics.abandoned += 1
                return
        await response(scope, receive, send)

    async def _respond(self, operation: Operation, scope: Scope, receive: Receive) -> Response:
        try:
            state = await self._state.admit(scope)
            # A client that is slow to send its body takes no place from the others.
            parameters = await self._read(operation, state, scope, receive)
            work = partial(_run, operation, state, parameters)
            if operation.is_public:
                return await self._run_in_time(operation, work, receive)
            with self._in_progress():
                return await self._run_in_time(operation, work, receive)
        except RecollectError as error:
            return error_response(self._state.shown(error), path=scope["path"])
        except DisconnectedError:
            raise
        except Exception:  # noqa: BLE001 - a bug is logged, and its details stay here
            _LOG.exception("%s %s failed.", operation.method, operation.path)
            return error_response(internal_error(), path=scope["path"])

    @contextlib.contextmanager
    def _in_progress(self) -> Iterator[None]:
        metrics = self._state.metrics
        if metrics.in_progress >= self._limits.requests:
            raise RequestError(
                429,
                "busy",
                "Too many requests are in progress.",
                action="Try again in a second.",
                headers={"Retry-After": "1"},
            )
        metrics.in_progress += 1
        try:
            yield
        finally:
            metrics.in_progress -= 1

    async def _run_in_time(
        self,
        operation: Operation,
        work: Callable[[], Coroutine[object, object, Response]],
        receive: Receive,
    ) -> Response:
        seconds = operation.seconds or self._limits.seconds
        try:
            async with asyncio.timeout(seconds):
                return await _unless_disconnected(work(), receive)
        except TimeoutError:
            raise RequestError(
                503,
                "time",
                f"It took more than {seconds:g} seconds.",
                action="Try again later: work such as the first indexing continues.",
                headers={"Retry-After": "5"},
            ) from None

    async def _read(
        self, operation: Operation, state: Admitted, scope: Scope, receive: Receive
    ) -> BaseModel:
        media_type = Headers(scope=scope).get("content-type", "").partition(";")[0]
        if operation.takes_body and media_type.strip().lower() != "application/json":
            raise RequestError(
                415,
                "media",
                "The body must be JSON.",
                action="Send it with `Content-Type: application/json`.",
            )
        if operation.writes and state.is_read_only:
            raise state.writing_refused()
        most_bytes = operation.body_bytes or self._limits.body_bytes
        body = await read_body(receive, limits=replace(self._limits, body_bytes=most_bytes))
        named: Mapping[str, str] = scope.get("path_params", {})
        if body and not operation.takes_body:
            raise ParameterError("This operation takes no body.", param=None)
        return read_parameters(
            operation.parameters,
            path={name: text for name, text in named.items() if name != AGENT},
            query=QueryParams(scope["query_string"]).multi_items(),
            body=body if operation.takes_body else None,
        )


async def _run(operation: Operation, state: Admitted, parameters: BaseModel) -> Response:
    answer = await operation.run(state, parameters)
    if isinstance(answer, Response):
        return answer
    return JsonResponse(answer, status=operation.status)


async def _unless_disconnected(
    work: Coroutine[object, object, Response], receive: Receive
) -> Response:
    """Return the response, or cancel the work when the client disconnects."""
    working = asyncio.ensure_future(work)
    listening = asyncio.ensure_future(_disconnect(receive))
    try:
        await asyncio.wait([working, listening], return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise DisconnectedError
        return await working
    finally:
        for task in (working, listening):
            task.cancel()
        await asyncio.gather(working, listening, return_exceptions=True)


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
