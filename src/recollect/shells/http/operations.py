"""The table of operations. Routing, validation and the OpenAPI description derive from it.

A new operation is a function whose parameters are its own, and a row here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import Request  # noqa: TC002 - FastAPI reads the annotation

from recollect.records import dataclass
from recollect.reports import ChunkMap, Documents, Excerpt, Related, Timeline
from recollect.shells.http import (
    facts,
    overview,
    page,
    search,
    status,
    vector_stores,
)
from recollect.shells.http.route import Operation
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


@dataclass(frozen=True, slots=True)
class ApiDescription:
    """An OpenAPI description."""

    openapi: str
    info: Mapping[str, object]
    paths: Mapping[str, object]
    components: Mapping[str, object]


async def openapi(request: Request) -> Mapping[str, object]:
    """Return this description."""
    described: Mapping[str, object] = request.app.openapi()
    return described


# fmt: off
OPERATIONS = (
    Operation("GET", "/health", status.health, status.Health, is_public=True),
    Operation("GET", "/api/status", status.status, status.ServedStatus),
    Operation("POST", "/api/sync", status.sync, status.SyncStarted, status=202),
    Operation("GET", "/metrics", status.metrics, None, media_type="text/plain"),
    Operation("GET", "/openapi.json", openapi, ApiDescription),
    Operation("GET", "/api/search", search.search, search.Answer),
    Operation("GET", "/api/recall", search.recall_block, search.RecallAnswer),
    Operation("GET", "/api/file", search.file, Excerpt, errors=(404,)),
    Operation("GET", "/api/facts", facts.facts, FactList),
    Operation("GET", "/api/facts/{id}", facts.fact, FactHistory, errors=(404,)),
    Operation("POST", "/api/facts", facts.remember, RememberedFact, status=201, errors=(409,),
              writes=True),
    Operation("POST", "/api/facts/{id}/supersede", facts.supersede, ReplacingFact, errors=(404,
              409), writes=True),
    Operation("POST", "/api/facts/{id}/restore", facts.restore, RestoredFact, errors=(404, 409),
              writes=True),
    Operation("DELETE", "/api/facts/{id}", facts.forget, ForgottenFact, errors=(404,), writes=True),
    Operation("GET", "/api/documents", overview.documents, Documents),
    Operation("GET", "/api/timeline", overview.timeline, Timeline),
    Operation("GET", "/api/related", overview.related, Related),
    Operation("GET", "/api/map", overview.chunk_map, ChunkMap),
    Operation("GET", "/v1/vector_stores", vector_stores.list_vector_stores,
              vector_stores.StoreListResponse),
    Operation("GET", "/v1/vector_stores/{vector_store_id}", vector_stores.retrieve_vector_store,
              vector_stores.StoreResponse, errors=(404,)),
    Operation("POST", "/v1/vector_stores/{vector_store_id}/search",
              vector_stores.search_vector_store, vector_stores.StoreSearchResponse, errors=(404,)),
    Operation("GET", "/", page.page, None, media_type="text/html", is_public=True),
    Operation("GET", "/static/{name}", page.static, None, media_type="*/*", errors=(404,),
              is_public=True),
)
# fmt: on
