"""Operations that show a memory as a whole: its documents, its days, its map."""

from __future__ import annotations

import asyncio
from datetime import date
from typing import TYPE_CHECKING

from pydantic import Field

from recollect.shape import json_of
from recollect.shells.http.models import (
    Day,
    DegradedModel,
    Parameters,
    Question,
    ResponseModel,
    ScopeName,
    SourceName,
    SourceOrAll,
)

if TYPE_CHECKING:
    from recollect.shape import Json
    from recollect.shells.http.state import ServerState


class TimelineParameters(Parameters):
    """Parameters of GET /api/timeline."""

    scope: list[ScopeName] = Field(
        [], max_length=20, description="Also facts of this scope, such as user:ada."
    )


class DocumentsParameters(TimelineParameters):
    """Parameters of GET /api/documents."""

    limit: int = Field(100, ge=1, le=1000, description="The most documents to return.")
    offset: int = Field(0, ge=0, le=10**9, description="How many documents to skip.")
    source: SourceOrAll = Field("all", description="Only documents of this source.")
    since: Day | None = Field(None, description="Only notes dated on or after this day.")
    before: Day | None = Field(None, description="Only notes dated before this day.")
    path: str | None = Field(
        None, min_length=1, max_length=1000, description="Only files that match this glob."
    )


class RelatedParameters(TimelineParameters):
    """Parameters of GET /api/related."""

    path: str = Field(
        min_length=1, max_length=1000, description="A memory file, as search shows it."
    )
    limit: int = Field(6, ge=1, le=50, description="The most notes to return.")


class MapParameters(TimelineParameters):
    """Parameters of GET /api/map."""

    query: Question | None = Field(None, description="A question to place on the map.")
    most: int = Field(5000, ge=1, le=20_000, description="The most chunks to draw.")


class DocumentModel(ResponseModel):
    """A document of the memory."""

    path: str
    source: SourceName
    date: date | None
    title: str | None
    headings: list[str]
    chunks: int
    size_bytes: int


class DocumentsResponse(ResponseModel):
    """A page of documents, and how many there are."""

    documents: list[DocumentModel]
    total: int


class AmountModel(ResponseModel):
    """How much is stored."""

    documents: int
    chunks: int


class UndatedModel(AmountModel):
    """How much is stored, also by source."""

    by_source: dict[str, AmountModel]


class DayModel(UndatedModel):
    """How much is stored of one day."""

    date: date


class TimelineResponse(ResponseModel):
    """How much is stored of each day."""

    days: list[DayModel]
    undated: UndatedModel


class RelatedNoteModel(ResponseModel):
    """A document close to another, and its closest passage."""

    path: str
    start_line: int
    end_line: int
    heading: list[str]
    source: SourceName
    date: date | None
    similarity: float


class RelatedResponse(ResponseModel):
    """The documents closest to one, best first."""

    notes: list[RelatedNoteModel]
    degraded: DegradedModel | None


class PlaceModel(ResponseModel):
    """A place on the map."""

    x: float
    y: float


class PointModel(PlaceModel):
    """A chunk on the map."""

    path: str
    start_line: int
    end_line: int
    heading: list[str]
    source: SourceName
    date: date | None
    group: int | None


class GroupModel(PlaceModel):
    """A group of nearby points, named by its most distinctive words."""

    words: list[str]
    size: int


class MapResponse(ResponseModel):
    """Chunks as points: the closer, the more similar."""

    points: list[PointModel]
    query: PlaceModel | None
    nearest: list[int]
    shown: int
    total: int
    left_out: int
    trust: float
    groups: list[GroupModel]
    degraded: DegradedModel | None


async def documents(state: ServerState, given: DocumentsParameters) -> Json:
    """List the documents, newest first, undated last."""
    scopes = state.scopes.resolve(given.scope)
    found = await state.memory.read(
        lambda memory: memory.overview.documents(
            limit=given.limit,
            offset=given.offset,
            source=None if given.source == "all" else given.source,
            since=given.since,
            before=given.before,
            path=given.path,
            scopes=scopes,
        )
    )
    return json_of(found)


async def timeline(state: ServerState, given: TimelineParameters) -> Json:
    """Count what is stored of each day."""
    scopes = state.scopes.resolve(given.scope)
    found = await state.memory.read(lambda memory: memory.overview.timeline(scopes=scopes))
    return json_of(found)


async def related(state: ServerState, given: RelatedParameters) -> Json:
    """List the notes closest in meaning to one."""
    scopes = state.scopes.resolve(given.scope)
    found = await state.memory.read(
        lambda memory: memory.overview.related(given.path, limit=given.limit, scopes=scopes)
    )
    return json_of(found)


async def chunk_map(state: ServerState, given: MapParameters) -> Json:
    """Place chunks on a map by meaning, with a question among them."""
    scopes = state.scopes.resolve(given.scope)
    run = state.memory.read if given.query is None else state.memory.run
    found = await run(
        lambda memory: memory.overview.map(given.query, most=given.most, scopes=scopes)
    )
    return await asyncio.to_thread(json_of, found)
