"""Serving the operations of one path: check, read the arguments, call, answer, within the limits.

Whoever hangs up is not waited for: what has not begun in the memory's thread is not done at all.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, QueryParams
from starlette.responses import Response

from recollect.errors import RecollectError
from recollect.shells.http.answer import JsonAnswer
from recollect.shells.http.arguments import read_arguments
from recollect.shells.http.limits import too_large, too_many, too_slow
from recollect.shells.http.operation import Call
from recollect.shells.http.refuse import RequestError, answer_bug, answer_error, no_such_method

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Iterator

    from starlette.types import Receive, Scope, Send

    from recollect.shells.http.limits import Limits
    from recollect.shells.http.operation import Operation
    from recollect.shells.http.served import Served

_LOG = logging.getLogger("recollect.http")
ROUTE = "recollect.route"
"""Under which a request's scope holds the path of its operation, for those who count."""


class _GoneError(Exception):
    """The client hung up. Never gets out."""


class Endpoint:
    """The operations of one path, as an ASGI application."""

    def __init__(self, operations: Iterable[Operation], *, served: Served, limits: Limits) -> None:
        self._operations = {operation.method: operation for operation in operations}
        self._served = served
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        operation = self._operations.get(method)
        if operation is None:
            allowed = {*self._operations, *({"HEAD"} if "GET" in self._operations else ())}
            answer = answer_error(no_such_method(method, allowed), path=scope["path"])
        else:
            scope[ROUTE] = operation.path
            try:
                answer = await self._answer(operation, scope, receive)
            except _GoneError:
                self._served.metrics.abandoned += 1
                return
        await answer(scope, receive, send)

    async def _answer(self, operation: Operation, scope: Scope, receive: Receive) -> Response:
        try:
            if operation.is_open:
                return await self._within_time(operation, scope, receive)
            with self._room():
                return await self._within_time(operation, scope, receive)
        except RecollectError as error:
            return answer_error(error, path=scope["path"])
        except _GoneError:
            raise
        except Exception:  # noqa: BLE001 - a mistake of ours is logged, and tells no insides
            _LOG.exception("%s %s failed.", operation.method, operation.path)
            return answer_bug(path=scope["path"])

    @contextlib.contextmanager
    def _room(self) -> Iterator[None]:
        metrics = self._served.metrics
        if metrics.under_way >= self._limits.under_way:
            raise too_many()
        metrics.under_way += 1
        try:
            yield
        finally:
            metrics.under_way -= 1

    async def _within_time(self, operation: Operation, scope: Scope, receive: Receive) -> Response:
        seconds = operation.seconds or self._limits.seconds
        try:
            async with asyncio.timeout(seconds):
                call = await self._read(operation, scope, receive)
                return await _unless_gone(_called(operation, call), receive)
        except TimeoutError:
            raise too_slow(seconds) from None

    async def _read(self, operation: Operation, scope: Scope, receive: Receive) -> Call:
        headers = Headers(scope=scope)
        if operation.has_body and _media(headers) != "application/json":
            raise RequestError(
                415,
                "media",
                "The body has to be JSON.",
                action="Send it with `Content-Type: application/json`.",
            )
        if operation.writes and self._served.is_read_only:
            raise RequestError(
                403,
                "read_only",
                "This server only reads.",
                action="Start it without --read-only to write facts.",
            )
        body = await _body(receive, most=self._limits.body_bytes)
        values = read_arguments(
            operation,
            query=QueryParams(scope["query_string"]).multi_items(),
            path=scope.get("path_params", {}),
            body=body,
        )
        return Call(self._served, values)


async def _called(operation: Operation, call: Call) -> Response:
    answer = await operation.endpoint(call)
    if isinstance(answer, Response):
        return answer
    return JsonAnswer(answer, status=operation.status)


async def _body(receive: Receive, *, most: int) -> bytes:
    parts = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _GoneError
        parts += message.get("body", b"")
        if len(parts) > most:
            raise too_large(most)
        if not message.get("more_body", False):
            return bytes(parts)


async def _unless_gone(work: Coroutine[object, object, Response], receive: Receive) -> Response:
    """Do the work, but give it up when the client hangs up."""
    working = asyncio.ensure_future(work)
    listening = asyncio.ensure_future(_gone(receive))
    try:
        await asyncio.wait([working, listening], return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise _GoneError
        return await working
    finally:
        for task in (working, listening):
            task.cancel()
        await asyncio.gather(working, listening, return_exceptions=True)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _media(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()
