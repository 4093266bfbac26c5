"""Operations on the server itself: health, status, sync, metrics."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Literal

from pydantic import ConfigDict, Field
from starlette.responses import Response

from recollect.shape import json_of
from recollect.shells.http.errors import RequestError
from recollect.shells.http.metrics import MEDIA_TYPE, gauge
from recollect.shells.http.models import Parameters, ResponseModel
from recollect.shells.render.index import outcome_json
from recollect.shells.serving import STATES
from recollect.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recollect.reports import Status
    from recollect.shape import Json
    from recollect.shells.http.state import ServerState

WorkerState = Literal["syncing", "idle", "failing", "stopped"]


class NoParameters(Parameters):
    """Of an operation that takes none."""


class StatusParameters(Parameters):
    """Parameters of GET /api/status."""

    deep: bool = Field(
        default=False, description="Also embed one text, to check that the provider works."
    )


class HealthResponse(ResponseModel):
    """Whether the server works."""

    status: Literal["ok", "degraded", "starting"]
    version: str
    worker: WorkerState


class ErrorModel(ResponseModel):
    """What failed, and what you can do about it."""

    type: str
    message: str
    action: str


class WorkerModel(ResponseModel):
    """What the background worker does, and how its last sync ended."""

    state: WorkerState
    last_report: dict[str, object] | None
    last_error: ErrorModel | None
    last_sync_at: datetime | None


class StatusResponse(ResponseModel):
    """The output of `recollect status --json`, and the worker."""

    model_config = ConfigDict(extra="allow")

    workspace: str
    agent: str
    index: dict[str, object]
    provider: dict[str, object]
    legs: dict[str, object]
    stale: dict[str, object]
    worker: WorkerModel


class SyncResponse(ResponseModel):
    """Confirms that a sync starts."""

    started: bool


async def health(state: ServerState, _: NoParameters) -> Json:
    """Check whether the server works; needs no token."""
    last = state.memory.last_sync
    if last.at is None:
        status = "starting"
    else:
        is_degraded = state.is_degraded or last.error or (last.report and last.report.degraded)
        status = "degraded" if is_degraded else "ok"
    return {"status": status, "version": __version__, "worker": state.memory.state}


async def status(state: ServerState, given: StatusParameters) -> Json:
    """Show what is indexed, which provider embeds it, what is stale, and the worker."""
    run = state.memory.run if given.deep else state.memory.read
    found = await run(lambda memory: memory.status(deep=given.deep))
    last = state.memory.last_sync
    error = last.error
    shown = json_of if state.scopes.names is None else outcome_json
    worker = {
        "state": state.memory.state,
        "lastReport": shown(last.report) if last.report else None,
        "lastError": None
        if error is None
        else {"type": error.kind, "message": error.message, "action": error.action},
        "lastSyncAt": last.at.isoformat(timespec="seconds") if last.at else None,
    }
    return {**json_of(found), "worker": worker}


async def sync(state: ServerState, _: NoParameters) -> Json:
    """Start a background sync of the index with the files."""
    if not state.memory.wake_worker():
        raise state.memory.last_sync.error or RequestError(
            503, "stopping", "The server is stopping.", action="Try again when it is back."
        )
    return {"started": True}


async def metrics(state: ServerState, _: NoParameters) -> Response:
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
        {(("state", each),): int(each == state.memory.state) for each in STATES},
    )
    yield from gauge("recollect_build_info", "The version.", {(("version", __version__),): 1})
