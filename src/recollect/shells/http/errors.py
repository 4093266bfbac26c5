"""Error responses: every error becomes a status and one of two JSON bodies.

Paths below /v1 get OpenAI's error body, for OpenAI's clients. All others get the error of the
command line's --json.
"""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING, Literal

from starlette.responses import Response

from recollect.errors import (
    ChangedError,
    DocumentSizeError,
    ElsewhereError,
    NotFoundError,
    ProviderError,
    RecollectError,
    StorageLimitError,
    StoreError,
    SystemFailureError,
    UsageError,
    WorkspaceError,
)
from recollect.records import dataclass
from recollect.shape import as_json
from recollect.shells.scopes import ScopeError
from recollect.text.terminal import terminal_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from recollect.shells.guard import RefusedRequest

OPENAI_PREFIX = "/v1/"
_STATUSES: tuple[tuple[type[RecollectError], int], ...] = (
    (ScopeError, 403),
    (UsageError, 400),
    (NotFoundError, 404),
    (ElsewhereError, 409),
    (ChangedError, 412),
    (DocumentSizeError, 413),
    (StorageLimitError, 507),
    (StoreError, 503),
    (WorkspaceError, 503),
    (ProviderError, 503),
    (SystemFailureError, 503),
)
_UNAUTHORIZED = 401
_INTERNAL = 500
STATUS_MEANINGS = {
    400: "A parameter is invalid.",
    401: "The token is missing or wrong.",
    403: "The Host, the Origin or the scope is not allowed, or the server is read-only.",
    404: "Not found.",
    405: "The path does not support this method.",
    408: "The body took too long to arrive.",
    409: "It conflicts with what is stored.",
    412: "The document is not the one that the request expects.",
    413: "The body is too large.",
    414: "The address is too long.",
    415: "The body is not application/json.",
    429: "Too many requests.",
    500: "An internal error.",
    503: "The request cannot be answered now.",
    507: "The memory would exceed its limit.",
}


@dataclass(frozen=True, slots=True)
class ErrorReport:
    """What failed, and what you can do about it."""

    type: str
    message: str
    action: str

    @classmethod
    def of(cls, error: RecollectError) -> ErrorReport:
        """Return an error as clients see it."""
        return cls(error.kind, error.message, error.action)


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """An error, as the command line's --json prints it."""

    error: ErrorReport
    ok: Literal[False] = False


@dataclass(frozen=True, slots=True)
class OpenAiProblem:
    """What failed, in OpenAI's terms."""

    message: str
    type: str
    param: str | None
    code: str


@dataclass(frozen=True, slots=True)
class OpenAiErrorBody:
    """An error, as OpenAI's API returns it."""

    error: OpenAiProblem


class RequestError(RecollectError):
    """A refused request, with its HTTP status."""

    def __init__(
        self,
        status: int,
        kind: str,
        message: str,
        *,
        action: str,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message, action=action)
        self.status = status
        self.kind = kind
        self.headers = headers or {}


class ParameterError(UsageError):
    """An invalid parameter, with its name if there is one."""

    def __init__(
        self,
        message: str,
        *,
        param: str | None,
        action: str = "See /openapi.json for the valid parameters.",
    ) -> None:
        super().__init__(message, action=action)
        self.param = param


class JsonResponse(Response):
    """A JSON document in UTF-8."""

    media_type = "application/json"

    def __init__(
        self, body: object, *, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        # "replace": file names may hold bytes that are not valid Unicode.
        text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        valid = text.encode("utf-8", "replace").decode()
        super().__init__(terminal_json(valid).encode(), status, headers=dict(headers or {}))


def error_response(error: RecollectError, *, path: str) -> Response:
    """Return the response for an error, in the format that callers of the path expect."""
    if isinstance(error, RequestError):
        status, headers = error.status, error.headers
    else:
        status = next((code for kind, code in _STATUSES if isinstance(error, kind)), _INTERNAL)
        headers = {}
    if path.startswith(OPENAI_PREFIX):
        body: object = _openai_body(error, status=status)
    else:
        body = ErrorBody(ErrorReport.of(error))
    return JsonResponse(as_json(body), status=status, headers=headers)


def refused_response(refused: RefusedRequest, *, path: str) -> Response:
    """Return the response for a request that the guard refused."""
    headers = {"WWW-Authenticate": "Bearer"} if refused.status == _UNAUTHORIZED else {}
    error = RequestError(
        refused.status, refused.kind, refused.message, action=refused.action, headers=headers
    )
    return error_response(error, path=path)


def internal_error() -> RequestError:
    """Return the error that stands for a bug; the details are only logged."""
    return RequestError(
        _INTERNAL,
        "bug",
        "Something went wrong inside the server.",
        action="See the server's output for details, and please report it.",
    )


def unknown_path(path: str, known: Iterable[str]) -> RequestError:
    """Return the error for a path that no operation has."""
    near = difflib.get_close_matches(path, list(known), n=1)
    hint = f"Did you mean {near[0]}? " if near else ""
    return RequestError(
        404, "not_found", "There is nothing at this path.", action=f"{hint}See /openapi.json."
    )


def unknown_method(method: str, allowed: Iterable[str]) -> RequestError:
    """Return the error for a method that a path does not support."""
    names = ", ".join(sorted(allowed))
    return RequestError(
        405,
        "method",
        f"{method} is not supported here.",
        action=f"Use {names}.",
        headers={"Allow": names},
    )


def _openai_body(error: RecollectError, *, status: int) -> OpenAiErrorBody:
    by_status = "invalid_request_error" if status < _INTERNAL else "server_error"
    return OpenAiErrorBody(
        OpenAiProblem(
            f"{error.message} {error.action}",
            "rate_limit_error" if status == 429 else by_status,  # noqa: PLR2004
            error.param if isinstance(error, ParameterError) else None,
            error.kind,
        )
    )
