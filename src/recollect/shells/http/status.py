"""Operations on the server itself: health, status, sync, metrics, the web page and its files."""

from __future__ import annotations

import asyncio
from datetime import datetime
from importlib.resources import files
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Annotated

from fastapi import Path, Query
from pydantic import Field
from starlette.responses import Response

from recollect.records import dataclass
from recollect.shape import Shape, json_of
from recollect.shells.http.errors import ErrorReport, RequestError
from recollect.shells.http.parameters import NoMembers, Parameters, must_be
from recollect.shells.http.state import MEDIA_TYPE, Health, Itself, State, lines_of
from recollect.shells.render.status import outcome_json
from recollect.shells.serving import WorkerState
from recollect.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recollect.reports import Status

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


async def health(server: Itself) -> Health:
    """Check whether the server works; needs no token."""
    return await server.health()


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


async def metrics(server: Itself) -> Response:
    """Return counters in Prometheus' text format."""
    version = lines_of({"build_info": {(("version", __version__),): 1}})
    lines = [*server.metrics.lines(), *await server.gauges(), *version, ""]
    return Response("\n".join(lines), headers={"Content-Type": MEDIA_TYPE})


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
