"""One operation of a server as a route of FastAPI, within the limits of the server.

Work for a client that disconnected is never done if it had not started in the memory's thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, cast, get_origin

from fastapi import Depends, Path, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from recollect.errors import RecollectError
from recollect.records import dataclass
from recollect.shape import as_json
from recollect.shells.http.errors import (
    INTERNAL_ERROR,
    ErrorBody,
    JsonResponse,
    ParameterError,
    RequestError,
    error_response,
)
from recollect.shells.http.listen import DisconnectedError, read_body, replayed
from recollect.shells.http.parameters import invalid, unknown
from recollect.shells.http.schema import model_of
from recollect.shells.http.state import STATE, AnyServer, ServerState

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterator

    from fastapi._compat import ModelField
    from pydantic import BaseModel
    from starlette.types import Receive, Scope, Send

    from recollect.shells.http.listen import ServerLimits

_LOG = logging.getLogger("recollect.http")
ROUTE = "recollect.route"
"""Where a request's scope holds the path of its operation, for /metrics."""
AGENT = "agent"
_BEARER = HTTPBearer(scheme_name="bearer", auto_error=False)
"""Describes the token, which the guard or `admit` checks."""


async def _named_agent(
    agent: Annotated[str, Path(max_length=64, description="The id of the memory.")],
) -> None:
    """Describe the parameter; `admit` reads it."""


@dataclass(frozen=True, slots=True)
class Operation:
    """What one method does at one path."""

    method: str
    path: str
    run: Callable[..., Awaitable[object]]
    """Its parameters are those of the operation. Its name is the operationId, the first line of its
    docstring the summary. It returns a record or a response."""
    returns: type | None
    """The record that describes the JSON; None for text."""
    media_type: str = "application/json"
    status: int = 200
    writes: bool = False
    """Refused by a read-only server."""
    is_public: bool = False
    """Needs no token, and is not counted among the requests in progress."""
    body_bytes: int | None = None
    """How large its body may be; None for the server's limit."""

    @property
    def summary(self) -> str:
        """What it does, in a sentence."""
        return (self.run.__doc__ or "").partition("\n")[0]

    @property
    def takes_body(self) -> bool:
        """Whether it takes a JSON body, even if only an empty object."""
        return self.method in {"POST", "PUT"}


class OperationRoute(APIRoute):
    """An operation: admits requests, reads them whole, and answers them in time."""

    def __init__(self, operation: Operation, *, server: AnyServer, limits: ServerLimits) -> None:
        """Describe the operation to FastAPI."""
        self.operation = operation
        self._server = server
        self._limits = limits
        described = [Depends(_named_agent)] if f"{{{AGENT}}}" in operation.path else []
        if server.needs_token and not operation.is_public:
            described.append(Depends(_BEARER))

        @wraps(operation.run)
        async def answer(**given: object) -> Response:
            found = await operation.run(**given)
            if isinstance(found, Response):
                return found
            return JsonResponse(as_json(found), status=operation.status)

        kind: type[Response] = JSONResponse
        other: dict[int | str, dict[str, Any]] = {}
        if operation.returns is None:  # a failure is JSON all the same
            kind, other[operation.status] = Response, {"content": {operation.media_type: {}}}
        failure = {"description": "The request failed.", "model": model_of(ErrorBody)}
        super().__init__(
            operation.path.replace("{path}", "{path:path}"),
            answer,
            methods=[operation.method],
            response_model=model_of(operation.returns) if operation.returns else None,
            response_class=kind,
            status_code=operation.status,
            operation_id=operation.run.__name__,
            summary=operation.summary,
            response_description=operation.summary,
            responses={"default": failure, **other},
            dependencies=described,
        )
        given = [*self.dependant.query_params, *filter(None, [self.body_field])]
        self.names = {name: is_list for each in given for name, is_list in _names(each)}
        """Names of the parameters in the query or the body; whether each is a list."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the function that answers a request."""
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            request.scope[ROUTE] = self.operation.path
            try:
                return await self._respond(handle, request)
            except RecollectError as error:
                return error_response(self._server.shown(error))
            except DisconnectedError:
                self._server.metrics.abandoned += 1
                return _NoResponse()
            except Exception:  # noqa: BLE001 - a bug is logged, and its details stay here
                _LOG.exception("%s %s failed.", self.operation.method, self.operation.path)
                return error_response(INTERNAL_ERROR)

        return answer

    async def _respond(
        self, handle: Callable[[Request], Coroutine[Any, Any, Response]], request: Request
    ) -> Response:
        state = request.scope[STATE] = await self._server.admit(request.scope)
        # A client that is slow to send its body takes no place from the others.
        whole = await self._read(state, request)
        try:
            with contextlib.nullcontext() if self.operation.is_public else self._in_progress():
                return await self._in_time(handle(whole), request.receive)
        except RequestValidationError as error:
            raise invalid(error.errors(), self.names) from None
        except HTTPException as error:
            raise RequestError(
                error.status_code, "usage", "The body is not JSON.", action="Send a JSON object."
            ) from None

    async def _read(self, state: object, request: Request) -> Request:
        """Return a request whose body is complete and whose query has known names only."""
        operation = self.operation
        media_type = request.headers.get("content-type", "").partition(";")[0]
        if operation.takes_body and media_type.strip().lower() != "application/json":
            raise RequestError(
                415,
                "media",
                "The body must be JSON.",
                action="Send it with `Content-Type: application/json`.",
            )
        if operation.writes and isinstance(state, ServerState) and state.is_read_only:
            raise RequestError(
                403,
                "read_only",
                "This server is read-only, or your token is.",
                action="Start it without --read-only, or use a token that may write.",
            )
        most_bytes = operation.body_bytes or self._limits.body_bytes
        body = await read_body(request.receive, limits=replace(self._limits, body_bytes=most_bytes))
        if body and not operation.takes_body:
            raise ParameterError("This operation takes no body.")
        known = {} if operation.takes_body else self.names
        for name, count in Counter(name for name, _ in request.query_params.multi_items()).items():
            if name not in known:
                raise unknown(name, known)
            if count > 1 and not known[name]:
                raise ParameterError(f"{name} is given {count} times.")
        return Request(request.scope, replayed(body, request.receive))

    @contextlib.contextmanager
    def _in_progress(self) -> Iterator[None]:
        metrics = self._server.metrics
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

    async def _in_time(self, work: Coroutine[Any, Any, Response], receive: Receive) -> Response:
        seconds = self._limits.seconds
        try:
            async with asyncio.timeout(seconds):
                return await _unless_disconnected(work, receive)
        except TimeoutError:
            raise RequestError(
                503,
                "time",
                f"It took more than {seconds:g} seconds.",
                action="Try again later: work such as the first indexing continues.",
                headers={"Retry-After": "5"},
            ) from None


def _names(field: ModelField) -> Iterator[tuple[str, bool]]:
    """Yield the names in a model of parameters, each with whether it is a list."""
    model = cast("type[BaseModel]", field.field_info.annotation)
    for name, each in model.model_fields.items():
        yield each.alias or name, get_origin(each.annotation) is list


class _NoResponse(Response):
    """Sends nothing: the client is gone."""

    async def __call__(self, _scope: Scope, _receive: Receive, _send: Send) -> None:
        """Do nothing."""


async def _unless_disconnected(work: Coroutine[Any, Any, Response], receive: Receive) -> Response:
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
