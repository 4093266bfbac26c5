"""The states that answer requests: of a server of one memory, and of what all servers share."""

from __future__ import annotations

import bisect
import logging
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from fastapi import Depends, Request

from recollect.errors import RecollectError
from recollect.records import dataclass
from recollect.shells.scopes import VisibleScopes
from recollect.shells.serving import WorkerState, within
from recollect.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from starlette.types import Scope

    from recollect.shells.hosted import HostedMemory
    from recollect.shells.serving import ServedMemory
    from recollect.types import Results


MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_MS_PER_SECOND = 1_000
_CHUNKS = (1_000, 20_000)  # from which on a memory is medium, and large
_SIZES = ("small", "medium", "large")
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})

_ABOUT = {
    "build_info": "The version.",
    "http_requests_total": "Requests answered.",
    "http_request_seconds": "How long requests took.",
    "http_requests_under_way": "Requests in progress.",
    "http_requests_abandoned_total": "Requests whose client disconnected before the response.",
    "memory_search_seconds": "How long searches took in small memories, medium ones (1,000 chunks "
    "or more) and large ones (20,000 or more).",
    "searches_total": "Searches, by the legs that ran.",
    "searches_degraded_total": "Searches in which a leg did not run or was incomplete.",
    "index_documents": "Documents in the index.",
    "index_chunks": "Chunks in the index.",
    "index_vectors": "Chunks that have a vector.",
    "index_pending": "Chunks without a vector yet.",
    "index_bytes": "Size of the index file.",
    "last_sync_timestamp_seconds": "When the last background sync ended.",
    "last_sync_succeeded": "Whether the last background sync succeeded.",
    "worker_state": "What the worker is doing.",
    "database_up": "Whether the database answers.",
    "memories_waiting": "Memories with something to embed.",
}

Labels = tuple[tuple[str, str], ...]


class Metrics:
    """What one server has counted since it started."""

    def __init__(self) -> None:
        self._requests: Counter[Labels] = Counter()
        self._took = _Histogram("http_request_seconds", label="route")
        self._searched = _Histogram("memory_search_seconds", label="size")
        self._searches: Counter[Labels] = Counter()
        self._degraded: Counter[Labels] = Counter()
        self.in_progress = 0
        self.abandoned = 0

    def count_request(self, *, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests[("route", route), ("method", method), ("status", str(status))] += 1
        self._took.add(route, seconds)

    def count_search(self, results: Results) -> None:
        """Count a search, also by the class of its memory: memories are too many to count each."""
        self._searches[(("mode", results.mode.value),)] += 1
        self._degraded.update((("leg", leg),) for leg in results.degraded or ())
        size = _SIZES[bisect.bisect_right(_CHUNKS, results.searched)]
        self._searched.add(size, results.took_ms / _MS_PER_SECOND)

    def lines(self) -> Iterator[str]:
        """Yield the lines of all counters."""
        yield from lines_of({"http_requests_total": self._requests})
        yield from self._took.lines()
        yield from self._searched.lines()
        yield from lines_of(
            {
                "http_requests_under_way": self.in_progress,
                "http_requests_abandoned_total": self.abandoned,
                "searches_total": self._searches,
                "searches_degraded_total": self._degraded,
            }
        )


class _Histogram:
    """Durations, for each value of one label."""

    def __init__(self, name: str, *, label: str) -> None:
        self._name = name
        self._label = label
        self._buckets: dict[str, list[int]] = {}
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def add(self, value: str, seconds: float) -> None:
        """Count one duration."""
        buckets = self._buckets.setdefault(value, [0] * (len(_BOUNDS) + 1))
        buckets[bisect.bisect_left(_BOUNDS, seconds)] += 1
        self._seconds[value] += seconds

    def lines(self) -> Iterator[str]:
        """Yield its lines."""
        yield from _head(self._name, "histogram")
        for value, buckets in sorted(self._buckets.items()):
            own, total = (self._label, value), 0
            for bound, count in zip((*_BOUNDS, "+Inf"), buckets, strict=True):
                total += count
                yield _line(f"{self._name}_bucket", (own, ("le", str(bound))), total)
            yield _line(f"{self._name}_sum", (own,), self._seconds[value])
            yield _line(f"{self._name}_count", (own,), total)


def lines_of(metrics: Mapping[str, float | Mapping[Labels, float]]) -> Iterator[str]:
    """Yield the lines of counters, whose names end with total, and of gauges."""
    for name, values in metrics.items():
        yield from _head(name, "counter" if name.endswith("_total") else "gauge")
        by_labels = values if isinstance(values, Mapping) else {(): values}
        for labels, value in sorted(by_labels.items()):
            yield _line(name, labels, value)


def _head(name: str, kind: str) -> Iterator[str]:
    yield f"# HELP recollect_{name} {_ABOUT[name]}"
    yield f"# TYPE recollect_{name} {kind}"


def _line(name: str, labels: Labels, value: float) -> str:
    inner = ",".join(f'{key}="{text.translate(_ESCAPES)}"' for key, text in labels)
    return f"recollect_{name}{{{inner}}} {value}" if inner else f"recollect_{name} {value}"


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
        """Return the state that answers a request, or raise RecollectError."""
        return self

    def shown(self, error: RecollectError) -> RecollectError:
        """Return an error as clients may see it; that of one memory is its user."""
        return error

    async def health(self) -> Health:
        """Return whether the server works."""
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
    root: str = "/api"
    """Where the paths of its operations start."""
    metrics: Metrics = field(default_factory=Metrics)
    is_degraded: bool = False
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
        found: dict[str, float | Mapping[Labels, float]] = {}
        try:
            size = await within(_PATIENCE_SECONDS, self.memory.read(lambda memory: memory.status()))
        except RecollectError as error:
            _LOG.warning("%s %s", error.message, error.action)
            size = None
        if size is not None:
            index, vector = size.index, size.legs.vector
            found = {
                "index_documents": index.documents,
                "index_chunks": index.chunks,
                "index_vectors": vector.chunks,
                "index_pending": vector.pending,
                "index_bytes": index.size_bytes,
            }
        last, state = self.memory.last_sync, self.memory.state
        if last.at is not None:
            found["last_sync_timestamp_seconds"] = last.at.timestamp()
            found["last_sync_succeeded"] = int(last.error is None)
        states: dict[Labels, float] = {
            (("state", each),): int(each == state) for each in get_args(WorkerState)
        }
        return [*lines_of({**found, "worker_state": states})]


async def admitted(request: Request) -> Any:  # noqa: ANN401 - the operation knows
    """Return the state that a request was admitted to."""
    return request.scope[STATE]


Itself = Annotated[AnyServer, Depends(admitted)]
"""The server, as a parameter of operations on no memory."""
State = Annotated[ServerState, Depends(admitted)]
"""The state that a request was admitted to, as a parameter of operations."""
