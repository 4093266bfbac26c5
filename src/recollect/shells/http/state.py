"""The states that answer requests: of a server of one memory, and of what all servers share."""

from __future__ import annotations

import logging
from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from fastapi import Depends, Request

from recollect.errors import RecollectError
from recollect.records import dataclass
from recollect.shells.http.metrics import Metrics, gauge
from recollect.shells.scopes import VisibleScopes
from recollect.shells.serving import WorkerState, within
from recollect.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.types import Scope

    from recollect.shells.hosted import HostedMemory
    from recollect.shells.http.metrics import Labels
    from recollect.shells.serving import ServedMemory
    from recollect.types import Results

STATE = "recollect.state"
"""Where a request's scope holds the state that it was admitted to."""
_LOG = logging.getLogger("recollect.http")
_PATIENCE_SECONDS = 2.0  # how long /metrics waits for the size of the index


@dataclass(frozen=True, slots=True)
class Health:
    """Whether the server works."""

    status: Literal["ok", "degraded", "starting"]
    worker: WorkerState
    version: str = __version__


class AnyServer:
    """What a server of one memory and one of many have in common: which state answers a request."""

    admits: tuple[str, ...] = ()
    """How the paths start whose tokens `admit` checks, and not the guard."""
    needs_token = False
    """Whether requests need a token, for the description."""

    def __init__(self) -> None:
        self.metrics = Metrics()

    async def admit(self, _scope: Scope) -> object:
        """Return the state that answers a request.

        Raises:
            RecollectError: the client may not ask this.

        """
        return self

    def shown(self, error: RecollectError) -> RecollectError:
        """Return an error as clients may see it; that of one memory is its user."""
        return error

    async def health(self) -> Health:
        """Return whether the server works.

        Raises:
            RequestError: it does not.

        """
        raise NotImplementedError

    async def gauges(self) -> Sequence[str]:
        """Return the lines of /metrics that this kind of server has."""
        raise NotImplementedError


@dataclass(kw_only=True)
class ServerState(AnyServer):
    """The state that requests to one memory share: all of a server, or one to one of many."""

    memory: ServedMemory | HostedMemory
    scopes: VisibleScopes
    is_read_only: bool
    needs_token: bool
    program: str = "recollect"
    """How suggested commands start."""
    root: str = "/api"
    """Where the paths of its operations start."""
    metrics: Metrics = field(default_factory=Metrics)
    is_degraded: bool = False
    """Whether a leg did not run in the last search."""
    _has_unsynced_write: bool = False

    @property
    def needs_sync(self) -> bool:
        """Whether a search should look for changes itself, because the worker may be behind."""
        return self._has_unsynced_write or self.memory.state != "idle"

    def note_write(self) -> None:
        """Record that a request wrote a file, and have the worker sync."""
        self._has_unsynced_write = True
        self.memory.note_write()

    def note_search(self, results: Results, *, synced: bool) -> None:
        """Count a search."""
        if synced:
            self._has_unsynced_write = False
        self.is_degraded = bool(results.degraded)
        self.metrics.count_search(results)

    async def health(self) -> Health:
        """Return whether the last search and the last sync went well."""
        last = self.memory.last_sync
        if last.at is None:
            return Health("starting", self.memory.state)
        is_degraded = self.is_degraded or last.error or (last.report and last.report.degraded)
        return Health("degraded" if is_degraded else "ok", self.memory.state)

    async def gauges(self) -> Sequence[str]:
        """Return the size of the index, unless the memory is too busy to say so, and the worker."""
        lines: list[str] = []
        try:
            size = await within(_PATIENCE_SECONDS, self.memory.read(lambda memory: memory.status()))
        except RecollectError as error:
            _LOG.warning("%s %s", error.message, error.action)
            size = None
        if size is not None:
            index, vector = size.index, size.legs.vector
            lines += gauge("recollect_index_documents", "Documents in the index.", index.documents)
            lines += gauge("recollect_index_chunks", "Chunks in the index.", index.chunks)
            lines += gauge("recollect_index_vectors", "Chunks that have a vector.", vector.chunks)
            lines += gauge(
                "recollect_index_pending", "Chunks without a vector yet.", vector.pending
            )
            lines += gauge("recollect_index_bytes", "Size of the index file.", index.size_bytes)
        last = self.memory.last_sync
        if last.at is not None:
            lines += gauge(
                "recollect_last_sync_timestamp_seconds",
                "When the last background sync ended.",
                last.at.timestamp(),
            )
            lines += gauge(
                "recollect_last_sync_succeeded",
                "Whether the last background sync succeeded.",
                int(last.error is None),
            )
        states: dict[Labels, float] = {
            (("state", each),): int(each == self.memory.state) for each in get_args(WorkerState)
        }
        return [*lines, *gauge("recollect_worker_state", "What the worker is doing.", states)]


async def admitted(request: Request) -> Any:  # noqa: ANN401 - the operation knows
    """Return the state that a request was admitted to."""
    return request.scope[STATE]


Itself = Annotated[AnyServer, Depends(admitted)]
"""The server, as a parameter of operations on no memory."""
State = Annotated[ServerState, Depends(admitted)]
"""The state that a request was admitted to, as a parameter of operations."""
