"""Error responses: every error becomes a status and the error of the command line's --json."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

from starlette.responses import Response

from recollect.errors import (
    ChangedError,
    DiskError,
    DocumentSizeError,
    ElsewhereError,
    NotFoundError,
    OutOfMemoryError,
    ProviderError,
    RecollectError,
    StorageLimitError,
    StoreError,
    UsageError,
    WorkspaceError,
)
from recollect.records import dataclass
from recollect.shape import as_json
from recollect.shells.scopes import ScopeError
from recollect.text.terminal import terminal_json

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    (DiskError, 503),
    (OutOfMemoryError, 503),
)
_INTERNAL = 500


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
    """An invalid parameter."""

    kind = "usage"

    def __init__(
        self, message: str, *, action: str = "See /openapi.json for the valid parameters."
    ) -> None:
        super().__init__(message, action=action)


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


def error_response(error: RecollectError) -> Response:
    """Return the response for an error."""
    if isinstance(error, RequestError):
        status, headers = error.status, error.headers
    else:
        status = next((code for kind, code in _STATUSES if isinstance(error, kind)), _INTERNAL)
        headers = {}
    return JsonResponse(as_json(ErrorBody(ErrorReport.of(error))), status=status, headers=headers)


INTERNAL_ERROR = RequestError(
    _INTERNAL,
    "bug",
    "Something went wrong inside the server.",
    action="See the server's output for details, and please report it.",
)
"""Stands for a bug; the details are only logged."""
UNKNOWN_PATH = RequestError(
    404, "not_found", "There is nothing at this path.", action="See /openapi.json."
)
