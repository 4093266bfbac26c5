"""The memory as an OpenAI vector store: list, retrieve, search.

Programs written for that API can search a memory by changing their base URL. The store's id is the
agent's id or `default`. Files cannot be uploaded: they are written to the workspace.

A filter that cannot be applied is refused. Ignoring it would return what it was meant to exclude.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, timedelta
from functools import reduce
from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict, Field

from recollect.errors import NotFoundError
from recollect.records import dataclass
from recollect.shells.http.parameters import BodyParameters, Day, Question, must_be
from recollect.shells.http.state import State
from recollect.types import HEADING_SEPARATOR, SearchRequest

if TYPE_CHECKING:
    from recollect.shells.http.state import ServerState
    from recollect.types import Hit, Results

_DEFAULT_ID = "default"
_MAX_QUERIES = 10
_MAX_CHARS = 1000
_ATTRIBUTE_CHARS = 512  # the API's limit
_ONE_DAY = timedelta(days=1)
_GLOB_SIGNS = re.compile(r"([*?\[])")


class OpenAiModel(BaseModel):
    """A request or response of that API, or a part of one."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class PathFilter(OpenAiModel):
    """Only the file with this path."""

    type: Literal["eq"]
    key: Literal["path"]
    value: str = Field(min_length=1, max_length=_MAX_CHARS)


class SourceFilter(OpenAiModel):
    """Only this source."""

    type: Literal["eq"]
    key: Literal["source"]
    value: Literal["memory", "sessions", "facts"]


class DateFilter(OpenAiModel):
    """Only notes with such a date."""

    type: Literal["eq", "gt", "gte", "lt", "lte"]
    key: Literal["date"]
    value: Day


class AndFilter(OpenAiModel):
    """Only what passes all of these filters."""

    type: Literal["and"]
    filters: list[PathFilter | SourceFilter | DateFilter] = Field(max_length=20)


class RankingOptions(OpenAiModel):
    """The ranking options of that API."""

    ranker: Literal["auto", "none", "default-2024-11-15"] | None = None
    score_threshold: Annotated[float, Field(ge=0, le=1)] | None = None


StoreId = Annotated[
    str,
    Path(
        min_length=1,
        max_length=200,
        pattern="^[^/]+$",
        description="The id of the agent, or `default`.",
    ),
]


class StoreSearchParameters(BodyParameters):
    """Parameters of POST /v1/vector_stores/{vector_store_id}/search."""

    model_config = ConfigDict(alias_generator=None)

    query: Annotated[
        Question | Annotated[list[Question], Field(min_length=1, max_length=_MAX_QUERIES)],
        must_be(f"non-blank text, or a list of 1 to {_MAX_QUERIES} texts"),
    ] = Field(description="The question, or several.")
    max_num_results: int = Field(10, ge=1, le=50, description="The most results to return.")
    filters: (
        Annotated[
            PathFilter | SourceFilter | DateFilter | AndFilter,
            must_be(
                "a comparison of path or source by eq, or of date by eq, gt, gte, lt or lte with "
                "a day such as 2026-02-01; or several comparisons joined by and"
            ),
        ]
        | None
    ) = Field(None, description="Only results with this path, source or date.")
    ranking_options: (
        Annotated[
            RankingOptions,
            must_be(
                "an object with ranker, one of auto, none and default-2024-11-15, and "
                "score_threshold, a number from 0 to 1"
            ),
        ]
        | None
    ) = Field(
        None,
        description="The ranker `none` turns reranking off; score_threshold leaves out lower "
        "scores.",
    )
    rewrite_query: bool = Field(
        default=False, description="Accepted without effect: questions are searched as they are."
    )


class StoreListParameters(OpenAiModel):
    """Parameters of GET /v1/vector_stores."""

    limit: int = Field(20, ge=1, le=100, description="The most stores to return.")
    order: Literal["asc", "desc"] = Field("desc", description="There is only one store.")
    after: str | None = Field(None, max_length=200, description="Only stores after this one.")
    before: str | None = Field(None, max_length=200, description="Only stores before this one.")


class FileCountsModel(OpenAiModel):
    """How many files a vector store has."""

    in_progress: int
    completed: int
    failed: int
    cancelled: int
    total: int


class StoreResponse(OpenAiModel):
    """A vector store."""

    id: str
    object: Literal["vector_store"] = "vector_store"
    created_at: int
    last_active_at: int
    name: str
    usage_bytes: int
    file_counts: FileCountsModel
    status: Literal["completed", "in_progress"]
    metadata: dict[str, str] = {}
    expires_after: None = None
    expires_at: None = None


class StoreListResponse(OpenAiModel):
    """The vector stores."""

    object: Literal["list"] = "list"
    data: list[StoreResponse]
    first_id: str | None
    last_id: str | None
    has_more: bool = False


class TextContentModel(OpenAiModel):
    """The text of a result."""

    type: Literal["text"] = "text"
    text: str


class StoreResultModel(OpenAiModel):
    """A result of a search."""

    file_id: str
    filename: str
    score: float
    attributes: dict[str, str | int | float | bool]
    content: list[TextContentModel]


class StoreSearchResponse(OpenAiModel):
    """The results of a search."""

    object: Literal["vector_store.search_results.page"] = "vector_store.search_results.page"
    search_query: list[str]
    data: list[StoreResultModel]
    has_more: bool = False
    next_page: str | None = None


@dataclass(frozen=True, slots=True)
class FilterBounds:
    """The parameters of a search that filters amount to."""

    path: str | None = None
    """A glob that matches one path only."""
    source: str | None = None
    since: date | None = None
    before: date | None = None
    is_empty: bool = False
    """The filters contradict each other, so nothing passes them."""


async def search_vector_store(
    state: State, vector_store_id: StoreId, given: StoreSearchParameters
) -> StoreSearchResponse:
    """Search the vector store; of several questions, return the best results of all."""
    await _check_id(state, vector_store_id)
    questions = [given.query] if isinstance(given.query, str) else given.query
    bounds = _bounds(given.filters)
    best: dict[str, Hit] = {}
    for question in () if bounds.is_empty else questions:
        for hit in (await _search(state, question, given, bounds)).hits:
            known = best.get(hit.citation)
            if known is None or known.score < hit.score:
                best[hit.citation] = hit
    ranked = sorted(best.values(), key=lambda hit: (-hit.score, hit.path, hit.start_line))
    found = [_found(hit) for hit in ranked[: given.max_num_results]]
    return StoreSearchResponse(search_query=questions, data=found)


def _found(hit: Hit) -> StoreResultModel:
    """Return the whole chunk of a hit and its location."""
    attributes: dict[str, str | int | float | bool] = {
        "path": hit.path[:_ATTRIBUTE_CHARS],
        "source": hit.source.value,
        "startLine": hit.start_line,
        "endLine": hit.end_line,
        "citation": hit.citation[:_ATTRIBUTE_CHARS],
        "heading": HEADING_SEPARATOR.join(hit.heading)[:_ATTRIBUTE_CHARS],
    }
    if hit.date:
        attributes["date"] = hit.date.isoformat()
    if hit.also_in:
        others = ", ".join(each.citation for each in hit.also_in)
        attributes["alsoIn"] = others[:_ATTRIBUTE_CHARS]
    return StoreResultModel(
        file_id=hit.path,
        filename=hit.path,
        score=round(hit.score, 4),
        attributes=attributes,
        content=[TextContentModel(text=hit.text or hit.snippet)],
    )


async def _search(
    state: ServerState, question: str, given: StoreSearchParameters, bounds: FilterBounds
) -> Results:
    ranking = given.ranking_options or RankingOptions()
    synced = state.needs_sync
    scopes = state.scopes.resolve(())
    results = await state.memory.search(
        SearchRequest(
            question,
            max_results=given.max_num_results,
            min_score=ranking.score_threshold,
            source=bounds.source,
            since=bounds.since,
            before=bounds.before,
            path=bounds.path,
            scopes=scopes,
            rerank=False if ranking.ranker == "none" else None,
            sync=synced,
        )
    )
    state.note_search(results, synced=synced)
    return results


async def list_vector_stores(
    state: State, given: Annotated[StoreListParameters, Query()]
) -> StoreListResponse:
    """List the one vector store."""
    is_past_it = given.after is not None or given.before is not None
    stores = [] if is_past_it else [await _store(state)]
    store_id = stores[0].id if stores else None
    return StoreListResponse(data=stores, first_id=store_id, last_id=store_id)


async def retrieve_vector_store(state: State, vector_store_id: StoreId) -> StoreResponse:
    """Retrieve the vector store."""
    await _check_id(state, vector_store_id)
    return await _store(state)


async def _store(state: ServerState) -> StoreResponse:
    status = await state.memory.read(lambda memory: memory.status())
    synced_at = state.memory.last_sync.at
    documents, stale = status.index.documents, status.stale
    waiting, failed = len(stale.changed), len(stale.failed)
    return StoreResponse(
        id=status.agent,
        # An index does not record when it was made: the server's start has to do.
        created_at=int(state.started_at.timestamp()),
        last_active_at=int((synced_at or state.started_at).timestamp()),
        name=status.agent,
        usage_bytes=status.index.size_bytes,
        file_counts=FileCountsModel(
            in_progress=waiting,
            completed=documents,
            failed=failed,
            cancelled=0,
            total=documents + waiting + failed,
        ),
        status="in_progress" if synced_at is None or stale.is_stale else "completed",
    )


async def _check_id(state: ServerState, vector_store_id: str) -> None:
    agent = await state.memory.read(lambda memory: memory.agent)
    if vector_store_id not in {_DEFAULT_ID, agent}:
        raise NotFoundError(
            "There is no such vector store here.", action=f"Use {agent} or {_DEFAULT_ID}."
        )


def _bounds(given: PathFilter | SourceFilter | DateFilter | AndFilter | None) -> FilterBounds:
    if given is None:
        return FilterBounds()
    return reduce(
        _narrow, given.filters if isinstance(given, AndFilter) else [given], FilterBounds()
    )


def _narrow(bounds: FilterBounds, by: PathFilter | SourceFilter | DateFilter) -> FilterBounds:
    if isinstance(by, DateFilter):
        return _narrow_days(bounds, by)
    if isinstance(by, SourceFilter):
        is_empty = bounds.is_empty or bounds.source not in (None, by.value)
        return replace(bounds, source=by.value, is_empty=is_empty)
    # A leading slash anchors a glob at the workspace; a final one would mean a whole folder.
    glob = "/" + _GLOB_SIGNS.sub(r"[\1]", by.value)
    is_empty = bounds.is_empty or bounds.path not in (None, glob) or by.value.endswith("/")
    return replace(bounds, path=glob, is_empty=is_empty)


def _narrow_days(bounds: FilterBounds, by: DateFilter) -> FilterBounds:
    day, following = by.value, by.value + _ONE_DAY
    since = {"eq": day, "gte": day, "gt": following}.get(by.type)
    before = {"eq": following, "lt": day, "lte": following}.get(by.type)
    since = max(filter(None, (since, bounds.since)), default=None)
    before = min(filter(None, (before, bounds.before)), default=None)
    is_empty = bounds.is_empty or (since is not None and before is not None and since >= before)
    return replace(bounds, since=since, before=before, is_empty=is_empty)
