"""A server of many memories: the same operations for each, below `/api/memories/{agent}`.

Threats. A token opens one memory: with it, other memories look the same whether they exist or not.
Without one, so does every memory. Errors of the database name hosts and roles: they are logged, not
shown.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from starlette.datastructures import Headers

from recollect.errors import (
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
    StoreTooNewError,
    StoreUnreachableError,
)
from recollect.hosting.host import PushedDocument
from recollect.hosting.tokens import find_token
from recollect.shells.guard import bearer_of
from recollect.shells.hosted import HostedMemory, HostThreads
from recollect.shells.http import documents
from recollect.shells.http.documents import PushedList, PushedText
from recollect.shells.http.errors import RequestError
from recollect.shells.http.operations import OPERATIONS
from recollect.shells.http.route import AGENT, Operation
from recollect.shells.http.state import AnyServer, Health, ServerState, lines_of
from recollect.shells.scopes import VisibleScopes
from recollect.shells.serving import CrowdedError, within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.types import Scope

    from recollect.errors import RecollectError
    from recollect.hosting.host import MemoryHost
    from recollect.hosting.tokens import Token

ROOT = f"/api/memories/{{{AGENT}}}"
_OWN = "/api/"
_MINUTE = 60.0
_MOST_COUNTED = 100_000  # memories whose requests are counted
_LOOK_SECONDS = 2.0  # for the answer of the database to /health and /metrics
_CONNECTION_SECONDS = _LOOK_SECONDS / 2  # of those, to get a connection
_FAULTS: tuple[tuple[type[StoreError], str], ...] = (
    (StoreUnreachableError, "The database cannot be reached."),
    (StoreBusyError, "The database has no free connection."),
    (StoreReadOnlyError, "The database refuses to be written."),
    (StoreFullError, "The database has no space left."),
    (StoreTooNewError, "The database has tables of a newer Recollect."),
    (StoreError, "The database cannot be used."),
)
_LOG = logging.getLogger("recollect.http")


class MemoriesState(AnyServer):
    """The state of a server of many memories: admits each request to the memory of its token."""

    admits = (_OWN,)
    needs_token = True

    def __init__(self, host: MemoryHost, *, is_read_only: bool = False) -> None:
        self.host = host
        self.is_read_only = is_read_only
        super().__init__()
        self.threads = HostThreads()
        self._rates = RequestRates(host.config.limits.requests_per_minute)
        self._fault = ""

    async def admit(self, scope: Scope) -> ServerState | MemoriesState:
        """Return the state for a request, if its token opens the memory and asks not too often."""
        path: str = scope["path"]
        if not path.startswith(self.admits):
            return self
        token = await self._token(Headers(scope=scope))
        agent = scope.get("path_params", {}).get(AGENT, token.agent)
        if agent != token.agent:
            raise RequestError(
                403,
                "memory",
                "This token is not for that memory.",
                action="Use the token of the memory, or its own address.",
            )
        self._rates.count(agent)
        return ServerState(
            memory=HostedMemory(self.host, agent, threads=self.threads, scopes=token.scopes),
            scopes=VisibleScopes(token.scopes),
            is_read_only=token.is_read_only or self.is_read_only,
            needs_token=True,
            root=ROOT.replace(f"{{{AGENT}}}", agent),
            metrics=self.metrics,
        )

    async def _token(self, headers: Headers) -> Token:
        sent = headers.getlist("authorization")
        text = bearer_of(sent[0]) if len(sent) == 1 else None
        token = None
        if text is not None:
            loop = asyncio.get_running_loop()
            find = partial(find_token, self.host.database, text, now=datetime.now(tz=UTC))
            token = await loop.run_in_executor(self.threads.calls, find)
        if token is None:
            raise RequestError(
                401,
                "token",
                "This request needs a valid token of the memory.",
                action="Send it as `Authorization: Bearer TOKEN`; `recollect server tokens create` "
                "makes one.",
                headers={"WWW-Authenticate": "Bearer"},
            )
        return token

    def shown(self, error: RecollectError) -> RecollectError:
        """Return an error without what only the operator may know."""
        if isinstance(error, CrowdedError):
            again = {"Retry-After": "1"}
            return RequestError(429, error.kind, error.message, action=error.action, headers=again)
        if not isinstance(error, StoreError):
            return error
        _LOG.warning("%s %s", error.message, error.action)
        return RequestError(
            503,
            error.kind,
            "The memory cannot be used now.",
            action="Try again in a moment; the log of the server has the details.",
            headers={"Retry-After": "5"},
        )

    async def health(self) -> Health:
        """Return that the database answers, or raise RequestError."""
        found = await self._look()
        if isinstance(found, int):
            return Health("ok", "idle")
        raise RequestError(
            503,
            "store",
            found,
            action="The log of the server has the details; `recollect server status` shows more.",
            headers={"Retry-After": "5"},
        )

    async def gauges(self) -> Sequence[str]:
        """Return whether the database answers, and how many memories wait for a worker."""
        found = await self._look()
        is_up = isinstance(found, int)
        waiting = {"memories_waiting": found} if isinstance(found, int) else {}
        return [*lines_of({"database_up": int(is_up), **waiting})]

    async def _look(self) -> int | str:
        """Return how many memories wait for a worker, or why that is unknown, without its details.

        It has a thread of its own: those of calls may all be waiting for the database.
        """
        loop = asyncio.get_running_loop()
        found = await within(_LOOK_SECONDS, loop.run_in_executor(self.threads.health, self._ask))
        if found is not None:
            return found
        words = f"The database did not answer within {_LOOK_SECONDS:g} seconds."
        self._note_fault(
            f"{words[:-1]}: {self.host.location}. Its processes may be stopped, or its "
            "machine or the network may be gone."
        )
        return words

    def _ask(self) -> int | str:
        try:
            waiting = self.host.database.check(patience=_CONNECTION_SECONDS)
        except StoreError as error:
            self._note_fault(f"{error.message} {error.action}")
            return next(words for kind, words in _FAULTS if isinstance(error, kind))
        self._note_fault("")
        return waiting

    def _note_fault(self, fault: str) -> None:
        """Log what is wrong with the database when that has changed; nothing may be."""
        if fault != self._fault:
            _LOG.warning("%s", fault or "The database answers again.")
        self._fault = fault


class RequestRates:
    """Refuses requests to a memory above a number per minute, which come back evenly."""

    def __init__(self, most_per_minute: int) -> None:
        self._most = most_per_minute
        self._left: dict[str, tuple[float, float]] = {}

    def count(self, agent: str) -> None:
        """Count a request."""
        now = time.monotonic()
        if len(self._left) > _MOST_COUNTED:
            self._left.clear()
        left, since = self._left.get(agent, (float(self._most), now))
        left = min(float(self._most), left + (now - since) * self._most / _MINUTE)
        if left < 1:
            seconds = max(1, round((1 - left) * _MINUTE / self._most))
            raise RequestError(
                429,
                "rate",
                f"This memory accepts {self._most} requests a minute.",
                action=f"Try again in {seconds} s, or send several changes in one request.",
                headers={"Retry-After": str(seconds)},
            )
        self._left[agent] = (left - 1, now)


# fmt: off
_DOCUMENT = f"{ROOT}/documents/{{path}}"
_VERSIONS = f"{ROOT}/versions/{{path}}"
MANY_OPERATIONS = (
    *(each for each in OPERATIONS if each.path in ("/health", "/metrics", "/openapi.json")),
    *(replace(each, path=each.path.replace("/api", ROOT, 1)) for each in OPERATIONS
      if each.path.startswith(_OWN)),
    Operation("GET", f"{ROOT}/manifest", documents.manifest, PushedList),
    Operation("GET", _DOCUMENT, documents.get_document, PushedText),
    Operation("PUT", _DOCUMENT, documents.put_document, PushedDocument, status=201, writes=True,
              body_bytes=documents.BODY_BYTES),
    Operation("DELETE", _DOCUMENT, documents.delete_document, PushedList,
              writes=True),
    Operation("POST", f"{ROOT}/documents", documents.change_documents, PushedList, writes=True,
              body_bytes=documents.BODY_BYTES),
    Operation("GET", _VERSIONS, documents.document_versions, PushedList),
    Operation("DELETE", _VERSIONS, documents.purge_document, documents.Purged,
              writes=True),
)
# fmt: on
