"""Operations on the server itself: health, status, sync, metrics, the web page and its files."""

from __future__ import annotations

import asyncio
from datetime import datetime
from importlib.resources import files
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Annotated, Literal, get_args

from fastapi import Path, Query
from pydantic import Field
from starlette.responses import Response

from recollect.records import dataclass
from recollect.shape import Shape, json_of
from recollect.shells.http.errors import ErrorReport, RequestError
from recollect.shells.http.metrics import MEDIA_TYPE, gauge
from recollect.shells.http.parameters import NoMembers, Parameters, must_be
from recollect.shells.http.state import State
from recollect.shells.render.status import outcome_json
from recollect.shells.serving import WorkerState
from recollect.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from recollect.reports import Status
    from recollect.shells.http.state import ServerState

_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
FileName = Annotated[
    str,
    Field(max_length=100, pattern=r"^[a-z0-9][a-z0-9._-]*$"),
    must_be("the name of a file of the page"),
    Path(description="The name of a file of the page."),
]


class StatusParameters(Parameters):
    """Parameters of GET /api/status."""

    deep: bool = Field(
        default=False, description="Also embed one text, to check that the provider works."
    )


@dataclass(frozen=True, slots=True)
class Health:
    """Whether the server works."""

    status: Literal["ok", "degraded", "starting"]
    worker: WorkerState
    version: str = __version__


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """What the background worker does, and how its last sync ended."""

    state: WorkerState
    last_report: Mapping[str, object] | None
    last_error: ErrorReport | None
    last_sync_at: datetime | None


@dataclass(frozen=True, slots=True)
class ServedStatus:
    """The JSON of `recollect status`, and the worker."""

    shape = Shape(merged="status")
    status: Status
    worker: WorkerStatus


@dataclass(frozen=True, slots=True)
class SyncStarted:
    """Confirms that a sync starts."""

    is_started: bool = True


async def health(state: State) -> Health:
    """Check whether the server works; needs no token."""
    last = state.memory.last_sync
    if last.at is None:
        return Health("starting", state.memory.state)
    is_degraded = state.is_degraded or last.error or (last.report and last.report.degraded)
    return Health("degraded" if is_degraded else "ok", state.memory.state)


async def status(state: State, given: Annotated[StatusParameters, Query()]) -> ServedStatus:
    """Show what is indexed, which provider embeds it, what is stale, and the worker."""
    run = state.memory.run if given.deep else state.memory.read
    found = await run(lambda memory: memory.status(deep=given.deep))
    last = state.memory.last_sync
    shown = json_of if state.scopes.names is None else outcome_json
    worker = WorkerStatus(
        state.memory.state,
        shown(last.report) if last.report else None,
        ErrorReport.of(last.error) if last.error else None,
        last.at and last.at.replace(microsecond=0),
    )
    return ServedStatus(found, worker)


async def sync(state: State, _: NoMembers) -> SyncStarted:
    """Start a background sync of the index with the files."""
    if not state.memory.wake_worker():
        raise state.memory.last_sync.error or RequestError(
            503, "stopping", "The server is stopping.", action="Try again when it is back."
        )
    return SyncStarted()


async def metrics(state: State) -> Response:
    """Return counters in Prometheus' text format."""
    lines = [*state.metrics.lines(), *_gauges(state, await state.index_size())]
    return Response("\n".join([*lines, ""]), headers={"Content-Type": MEDIA_TYPE})


def _gauges(state: ServerState, size: Status | None) -> Iterator[str]:
    if size is not None:
        index, vector = size.index, size.legs.vector
        yield from gauge("recollect_index_documents", "Documents in the index.", index.documents)
        yield from gauge("recollect_index_chunks", "Chunks in the index.", index.chunks)
        yield from gauge("recollect_index_vectors", "Chunks that have a vector.", vector.chunks)
        yield from gauge("recollect_index_pending", "Chunks without a vector yet.", vector.pending)
        yield from gauge("recollect_index_bytes", "Size of the index file.", index.size_bytes)
    last = state.memory.last_sync
    if last.at is not None:
        yield from gauge(
            "recollect_last_sync_timestamp_seconds",
            "When the last background sync ended.",
            last.at.timestamp(),
        )
        yield from gauge(
            "recollect_last_sync_succeeded",
            "Whether the last background sync succeeded.",
            int(last.error is None),
        )
    yield from gauge(
        "recollect_worker_state",
        "What the worker is doing.",
        {(("state", each),): int(each == state.memory.state) for each in get_args(WorkerState)},
    )
    yield from gauge("recollect_build_info", "The version.", {(("version", __version__),): 1})


async def page() -> Response:
    """Return the web page."""
    return await asyncio.to_thread(_read, "index.html")


async def static(name: FileName) -> Response:
    """Return a file of the web page."""
    return await asyncio.to_thread(_read, name)


def _read(name: str) -> Response:
    """Return a file of the page by its name among those that exist; no path is built from it."""
    folder = files("recollect.shells") / "web"
    known = {each.name: each for each in folder.iterdir()} if folder.is_dir() else {}
    media_type = _MEDIA_TYPES.get(PurePosixPath(name).suffix)
    if name not in known or media_type is None:
        raise RequestError(
            404, "not_found", "The page has no such file.", action="Open / for the page."
        )
    # Browsers check each time, so that after an upgrade the page and its files match.
    headers = {"Cache-Control": "no-cache", "Content-Type": media_type}
    return Response(known[name].read_bytes(), headers=headers)
