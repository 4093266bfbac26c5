"""The application: the guard in front, the table behind it, the same headers on every answer."""

from __future__ import annotations

import time
from itertools import groupby
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.routing import Route, Router

from recollect.shells.guard import Asked
from recollect.shells.http.endpoint import ROUTE, Endpoint
from recollect.shells.http.headers import secured
from recollect.shells.http.limits import Limits, check_address
from recollect.shells.http.refuse import (
    RequestError,
    answer_error,
    answer_refused,
    no_such_path,
)
from recollect.shells.http.table import OPERATIONS

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from recollect.shells.guard import Guard
    from recollect.shells.http.served import Served

_OPEN = tuple(operation.path.partition("{") for operation in OPERATIONS if operation.is_open)
_UNMATCHED = "unmatched"
_REFUSED = "refused"
_METHODS = frozenset({"GET", "HEAD", "POST", "DELETE", "PUT", "PATCH", "OPTIONS"})


def build_app(served: Served, *, guard: Guard, limits: Limits | None = None) -> ASGIApp:
    """Return the application that serves a memory."""
    limits = limits or Limits()
    ordered = sorted(OPERATIONS, key=lambda operation: operation.path)
    routes = [
        Route(path, Endpoint(rows, served=served, limits=limits))
        for path, rows in groupby(ordered, key=lambda operation: operation.path)
    ]
    router = Router(routes, redirect_slashes=False, default=_nowhere)
    return Front(router, served=served, guard=guard, limits=limits)


class Front:
    """What every request passes first: counting, headers, limits of the address, the guard."""

    def __init__(self, app: ASGIApp, *, served: Served, guard: Guard, limits: Limits) -> None:
        self._app = app
        self._served = served
        self._guard = guard
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, and count it."""
        began = time.perf_counter()
        statuses: list[int] = []

        async def send_noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
            await send(message)

        await self._enter(scope, receive, secured(send_noted))
        if statuses:
            method = scope["method"]
            self._served.metrics.answered(
                route=scope.get(ROUTE, _UNMATCHED),
                method=method if method in _METHODS else "other",
                status=statuses[0],
                seconds=time.perf_counter() - began,
            )

    async def _enter(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        try:
            check_address(scope["raw_path"], scope["query_string"], most=self._limits.address_bytes)
        except RequestError as error:
            scope[ROUTE] = _REFUSED
            await answer_error(error, path=path)(scope, receive, send)
            return
        refused = self._guard.refusal(_asked(scope))
        if refused is not None:
            scope[ROUTE] = _REFUSED
            await answer_refused(refused, path=path)(scope, receive, send)
            return
        await self._app(scope, receive, send)


async def _nowhere(scope: Scope, receive: Receive, send: Send) -> None:
    error = no_such_path(scope["path"], {operation.path for operation in OPERATIONS})
    await answer_error(error, path=scope["path"])(scope, receive, send)


def _asked(scope: Scope) -> Asked:
    path = scope["path"]
    is_page = path == "/" and scope["method"] in {"GET", "HEAD"}
    return Asked.by(
        scope["headers"],
        is_navigation=is_page and Headers(scope=scope).get("sec-fetch-mode") == "navigate",
        is_open=any(
            path.startswith(start) if is_prefix else path == start for start, is_prefix, _ in _OPEN
        ),
    )
