"""What every operation of one server shares: the memory, its scopes, the counters."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, Request

from recollect.errors import RecollectError
from recollect.facts.files import FACTS_FOLDER
from recollect.shells.http.errors import RequestError
from recollect.shells.http.metrics import Metrics
from recollect.shells.scopes import VisibleScopes
from recollect.shells.serving import within

if TYPE_CHECKING:
    from starlette.datastructures import Headers
    from starlette.types import Scope

    from recollect.hosting.tokens import Token
    from recollect.reports import Status
    from recollect.shells.hosted import HostedMemory
    from recollect.shells.serving import ServedMemory
    from recollect.types import Results

STATE = "recollect.state"
"""Where a request's scope holds the state that it was admitted to."""
MEMORIES = "/api/memories"
"""Where the paths of each of many memories start."""
_MS_PER_SECOND = 1_000
_LOG = logging.getLogger("recollect.http")
_PATIENCE_SECONDS = 2.0  # how long /metrics waits for the size of the index


class AnyServer:
    """What a server of one memory and one of many have in common: which state answers a request."""

    admits: tuple[str, ...] = ()
    """How the paths start whose tokens `admit` checks, and not the guard."""
    needs_token = False
    """Whether requests need a token, for the description."""

    def __init__(self, metrics: Metrics | None = None) -> None:
        self.metrics = metrics or Metrics()

    async def admit(self, _scope: Scope) -> object:
        """Return the state that answers a request.

        Raises:
            RecollectError: the client may not ask this.

        """
        return self

    def shown(self, error: RecollectError) -> RecollectError:
        """Return an error as clients may see it; that of one memory is its user."""
        return error


class ServerState(AnyServer):
    """The state of a server of one memory."""

    def __init__(
        self,
        memory: ServedMemory,
        *,
        scopes: frozenset[str] | None = None,
        is_read_only: bool = False,
        needs_token: bool = False,
        program: str = "recollect",
        metrics: Metrics | None = None,
    ) -> None:
        """Store the arguments; `scopes` are those whose facts may be seen, None for all."""
        self.memory = memory
        self.scopes = VisibleScopes(scopes)
        self.is_read_only = is_read_only
        self.needs_token = needs_token
        self.program = program
        super().__init__(metrics)
        self.root = "/api"
        """Where the paths of its operations start."""
        self.is_degraded = False
        """Whether a leg did not run in the last search."""
        self._has_unsynced_write = False

    def writing_refused(self) -> RequestError:
        """Return the error for a request that may not write."""
        return RequestError(
            403,
            "read_only",
            "This server is read-only.",
            action="Start it without --read-only to write facts.",
        )

    @property
    def needs_sync(self) -> bool:
        """Whether a search should look for changes itself, because the worker may be behind."""
        return self._has_unsynced_write or self.memory.state != "idle"

    def note_write(self) -> None:
        """Record that a request wrote a file, and have the worker sync."""
        self._has_unsynced_write = True
        self.memory.wake_worker()

    def note_search(self, results: Results, *, synced: bool) -> None:
        """Count a search."""
        if synced:
            self._has_unsynced_write = False
        self.is_degraded = bool(results.degraded)
        self.metrics.count_search(results.mode.value, degraded=results.degraded or {})

    async def index_size(self) -> Status | None:
        """Return how much is indexed; None if the memory does not say so in time."""
        try:
            return await within(_PATIENCE_SECONDS, self.memory.read(lambda memory: memory.status()))
        except RecollectError as error:
            _LOG.warning("%s %s", error.message, error.action)
            return None

    async def close(self, *, seconds: float) -> None:
        """Stop the worker and close the memory, or end the process if that takes too long."""
        await self.memory.close_or_exit(seconds=seconds, exit_code=1)


class MemoryState(ServerState):
    """The state of one request to one memory."""

    memory: HostedMemory  # type: ignore[assignment]  # offers the same

    def __init__(
        self,
        memory: HostedMemory,
        token: Token,
        *,
        headers: Headers,
        is_read_only: bool,
        metrics: Metrics,
    ) -> None:
        super().__init__(
            memory,  # type: ignore[arg-type]  # offers the same
            scopes=token.scopes,
            is_read_only=token.is_read_only or is_read_only,
            needs_token=True,
            metrics=metrics,
        )
        self.headers = headers
        self.root = f"{MEMORIES}/{token.agent}"

    def note_search(self, results: Results, *, synced: bool) -> None:
        """Count a search, also by the class of the memory."""
        super().note_search(results, synced=synced)
        self.metrics.count_memory_search(
            chunks=results.searched, seconds=results.took_ms / _MS_PER_SECOND
        )

    def note_write(self) -> None:
        """Do nothing: what is written is in the queue of work."""

    def writing_refused(self) -> RequestError:
        """Return the error for a request that may not write."""
        return RequestError(
            403,
            "read_only",
            "This token may only read.",
            action="Ask the operator for one that may write.",
        )

    def may_open(self, path: str) -> bool:
        """Return whether the whole of a document may be seen: pages of facts have many scopes."""
        return self.scopes.names is None or not path.startswith(f"{FACTS_FOLDER}/")

    def require_open(self, path: str) -> None:
        """Refuse a page of facts to a token with scopes.

        Raises:
            RequestError: it is one.

        """
        if not self.may_open(path):
            raise RequestError(
                403,
                "scope",
                f"This token is for some scopes: it may not open the pages in {FACTS_FOLDER}.",
                action="Use the operations on facts.",
            )


async def admitted(request: Request) -> Any:  # noqa: ANN401 - the operation knows
    """Return the state that a request was admitted to."""
    return request.scope[STATE]


State = Annotated[ServerState, Depends(admitted)]
"""The state that a request was admitted to, as a parameter of operations."""
Hosted = Annotated[MemoryState, Depends(admitted)]
"""The same for one of many memories."""
