"""How the server and its memory fare: health, status, a sync, metrics, the description itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response

from recollect.shells.http import metrics
from recollect.shells.http.kinds import flag
from recollect.shells.http.operation import Call, Operation, defaulted
from recollect.shells.http.shapes import FLAG, MOMENT, OPEN, TEXT, nullable, shape, word
from recollect.shells.render import status as render_status
from recollect.shells.serving import STATES
from recollect.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recollect.reports import StoreStatus
    from recollect.shells.http.served import Served
    from recollect.shells.render.search import Json

DEEP = defaulted(
    "deep", flag(), "Also embed one text to see that the provider works.", default=False
)


async def health(call: Call) -> Json:
    """Tell that the server is there; nothing is loaded or looked at."""
    return call.served.health()


async def status(call: Call) -> Json:
    """Return the JSON of `status --json`, and what the worker does."""
    found = await call.memory.run(lambda memory: memory.status(deep=call[DEEP]))
    return {**render_status.status_json(found), "worker": call.served.worker_json()}


async def sync(call: Call) -> Json:
    """Have the worker sync now."""
    call.served.wake()
    return {"started": True}


async def exposed(call: Call) -> Response:
    """Return everything that is counted."""
    lines = [*call.served.metrics.lines(), *_gauges(call.served, await call.served.numbers())]
    return Response("\n".join([*lines, ""]), headers={"Content-Type": metrics.MEDIA})


def _gauges(served: Served, store: StoreStatus | None) -> Iterator[str]:
    """Yield what is not counted here but known: the index, the worker, the build."""
    if store is not None:
        for name, about, value in (
            ("documents", "Documents in the index.", store.documents),
            ("chunks", "Chunks in the index.", store.chunks),
            ("vectors", "Chunks that have a vector.", store.vectors),
            ("pending", "Chunks that have no vector yet.", store.pending),
            ("bytes", "Size of the index file.", store.size_bytes),
        ):
            yield from metrics.family(f"recollect_index_{name}", "gauge", about, {(): value})
    upkeep = served.memory.last_sync
    if upkeep.at is not None:
        yield from metrics.family(
            "recollect_last_sync_timestamp_seconds",
            "gauge",
            "When the last sync in the background ended.",
            {(): upkeep.at.timestamp()},
        )
        yield from metrics.family(
            "recollect_last_sync_succeeded",
            "gauge",
            "Whether the last sync in the background ended well.",
            {(): int(upkeep.error is None)},
        )
    yield from metrics.family(
        "recollect_worker_state",
        "gauge",
        "What the worker is at.",
        {(("state", state),): int(state == served.memory.state) for state in STATES},
    )
    yield from metrics.family(
        "recollect_build_info", "gauge", "The version.", {(("version", __version__),): 1}
    )


async def described(call: Call) -> Json:
    """Return the description of all operations."""
    from recollect.shells.http.openapi import description  # noqa: PLC0415 - it needs the table

    return description(needs_token=call.served.needs_token)


_WORKER = shape(
    {
        "state": word(*STATES),
        "lastReport": nullable(OPEN),
        "lastError": nullable(shape({"type": TEXT, "message": TEXT, "action": TEXT})),
        "lastSyncAt": nullable(MOMENT),
    }
)
_STATUS = {
    "type": "object",
    "properties": {
        "workspace": TEXT,
        "agent": TEXT,
        "index": OPEN,
        "provider": OPEN,
        "legs": OPEN,
        "stale": OPEN,
        "worker": _WORKER,
    },
    "required": ["workspace", "agent", "index", "provider", "legs", "stale", "worker"],
}

OPERATIONS = (
    Operation(
        "GET",
        "/health",
        health,
        "Whether the server is there; needs no token.",
        answer=shape(
            {
                "status": word("ok", "degraded", "starting"),
                "version": TEXT,
                "worker": word(*STATES),
            }
        ),
        is_open=True,
    ),
    Operation(
        "GET",
        "/api/status",
        status,
        "What is indexed, by whom it is embedded, what is stale, what the worker does.",
        params=(DEEP,),
        answer=_STATUS,
    ),
    Operation(
        "POST",
        "/api/sync",
        sync,
        "Bring the index into agreement with the files, in the background.",
        answer=shape({"started": FLAG}),
        status=202,
    ),
    Operation(
        "GET",
        "/metrics",
        exposed,
        "Counters in the text format of Prometheus.",
        answer={"type": "string"},
        media="text/plain",
    ),
    Operation(
        "GET",
        "/openapi.json",
        described,
        "This description.",
        answer={"type": "object", "required": ["openapi", "info", "paths"]},
    ),
)
