"""The table of operations, from which routing, validation and the OpenAPI description derive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import Request  # noqa: TC002 - FastAPI reads the annotation

from recollect.evaluate.tidy import TidyReport
from recollect.reports import ChunkMap, Documents, Excerpt, Related, Timeline
from recollect.shells.http import facts, search, status
from recollect.shells.http.route import Operation
from recollect.shells.http.state import Health
from recollect.shells.render.facts import (
    FactHistory,
    FactList,
    ForgottenFact,
    RememberedFact,
    ReplacingFact,
    RestoredFact,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


async def openapi(request: Request) -> Mapping[str, object]:
    """Return this description."""
    described: Mapping[str, object] = request.app.openapi()
    return described


# fmt: off
OPERATIONS = (
    Operation("GET", "/health", status.health, Health, is_public=True),
    Operation("GET", "/api/status", status.status, status.ServedStatus),
    Operation("POST", "/api/sync", status.sync, status.SyncStarted, status=202),
    Operation("GET", "/metrics", status.metrics, None, media_type="text/plain"),
    Operation("GET", "/openapi.json", openapi, None),
    Operation("GET", "/api/search", search.search, search.Answer),
    Operation("GET", "/api/recall", search.recall_block, search.RecallAnswer),
    Operation("POST", "/api/feedback", search.feedback, search.JudgedHit, writes=True),
    Operation("GET", "/api/tidy", search.tidy, TidyReport),
    Operation("GET", "/api/file", search.file, Excerpt),
    Operation("GET", "/api/facts", facts.facts, FactList),
    Operation("GET", "/api/facts/{id}", facts.fact, FactHistory),
    Operation("POST", "/api/facts", facts.remember, RememberedFact, status=201,
              writes=True),
    Operation("POST", "/api/facts/{id}/supersede", facts.supersede, ReplacingFact, writes=True),
    Operation("POST", "/api/facts/{id}/restore", facts.restore, RestoredFact,
              writes=True),
    Operation("DELETE", "/api/facts/{id}", facts.forget, ForgottenFact, writes=True),
    Operation("GET", "/api/documents", search.documents, Documents),
    Operation("GET", "/api/timeline", search.timeline, Timeline),
    Operation("GET", "/api/related", search.related, Related),
    Operation("GET", "/api/picture", search.picture, None, media_type="image/*"),
    Operation("GET", "/api/map", search.chunk_map, ChunkMap),
    Operation("GET", "/", status.page, None, media_type="text/html", is_public=True),
    Operation("GET", "/static/{name}", status.static, None, media_type="*/*",
              is_public=True),
)
# fmt: on
