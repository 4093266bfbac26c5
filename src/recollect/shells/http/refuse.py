"""How requests fail: every error becomes a status and one of two shapes, never a trace.

Below /v1 it is OpenAI's shape, which its clients read; elsewhere that of the command line's --json.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from recollect.errors import (
    NotFoundError,
    ProviderError,
    RecollectError,
    StoreError,
    UsageError,
    WorkspaceError,
)
from recollect.shells.http.answer import JsonAnswer
from recollect.shells.scopes import ScopeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from starlette.responses import Response

    from recollect.shells.guard import Refused

OPENAI_PREFIX = "/v1/"
_STATUSES: tuple[tuple[type[RecollectError], int], ...] = (
    (ScopeError, 403),
    (UsageError, 400),
    (NotFoundError, 404),
    (StoreError, 503),
    (WorkspaceError, 503),
    (ProviderError, 503),
)
_BUG = 500
_OPENAI_TYPES = {429: "rate_limit_error"}
_OPENAI_CALLER = "invalid_request_error"
_OPENAI_SERVER = "server_error"
ABOUT = {
    400: "An argument is wrong.",
    401: "The token is missing or wrong.",
    403: "The Host, the Origin or the scope is not allowed here.",
    404: "There is no such thing.",
    405: "There is no such method here.",
    409: "It does not fit what is written down.",
    413: "The body is too large.",
    414: "The address is too long.",
    415: "The body is not application/json.",
    429: "Too many requests are under way.",
    500: "A mistake of the server.",
    503: "It cannot be answered now.",
}
"""What each status of a refusal means."""


class RequestError(RecollectError):
    """A request that is refused as such, with its status."""

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


def answer_error(error: RecollectError, *, path: str) -> Response:
    """Return the answer that an error becomes."""
    if isinstance(error, RequestError):
        return shaped(error, status=error.status, path=path, headers=error.headers)
    status = next((status for kind, status in _STATUSES if isinstance(error, kind)), _BUG)
    return shaped(error, status=status, path=path)


def answer_refused(refused: Refused, *, path: str) -> Response:
    """Return the answer to a request that the guard did not let in."""
    headers = {"WWW-Authenticate": "Bearer"} if refused.status == 401 else {}  # noqa: PLR2004
    error = RequestError(
        refused.status, refused.kind, refused.message, action=refused.action, headers=headers
    )
    return answer_error(error, path=path)


def answer_bug(*, path: str) -> Response:
    """Return the answer to a request that met a mistake of ours; what it was is in the log."""
    error = RequestError(
        _BUG,
        "bug",
        "Something went wrong that should not have.",
        action="What the server printed tells more; please report it.",
    )
    return answer_error(error, path=path)


def shaped(
    error: RecollectError, *, status: int, path: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Return an error in the shape that callers of this path know."""
    if not path.startswith(OPENAI_PREFIX):
        envelope = {"type": error.kind, "message": error.message, "action": error.action}
        return JsonAnswer({"ok": False, "error": envelope}, status=status, headers=headers)
    other = _OPENAI_CALLER if status < _BUG else _OPENAI_SERVER
    openai = {
        "message": f"{error.message} {error.action}",
        "type": _OPENAI_TYPES.get(status, other),
        "param": getattr(error, "param", None),
        "code": error.kind,
    }
    return JsonAnswer({"error": openai}, status=status, headers=headers)


def no_such_path(path: str, known: Iterable[str]) -> RequestError:
    """Return the refusal of a path that leads nowhere."""
    near = difflib.get_close_matches(path, list(known), n=1)
    hint = f"Did you mean {near[0]}? " if near else ""
    return RequestError(
        404, "not_found", "There is nothing at this path.", action=f"{hint}See /openapi.json."
    )


def no_such_method(method: str, allowed: Iterable[str]) -> RequestError:
    """Return the refusal of a method that a path does not have."""
    names = ", ".join(sorted(allowed))
    return RequestError(
        405,
        "method",
        f"{method} is not possible here.",
        action=f"Use {names}.",
        headers={"Allow": names},
    )
