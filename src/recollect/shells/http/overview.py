"""Operations that show a memory as a whole: its documents, its days, its map."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

from fastapi import Query
from pydantic import Field

from recollect.shape import json_of
from recollect.shells.http.parameters import Day, Parameters, Question, ScopeName, SourceOrAll
from recollect.shells.http.state import State

if TYPE_CHECKING:
    from recollect.reports import Documents, Related, Timeline
    from recollect.shape import Json


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


async def documents(state: State, given: Annotated[DocumentsParameters, Query()]) -> Documents:
    """List the documents, newest first, undated last."""
    asked = given.model_dump(exclude={"scope"})
    scopes = state.scopes.resolve(given.scope)
    return await state.memory.read(lambda memory: memory.overview.documents(**asked, scopes=scopes))


async def timeline(state: State, given: Annotated[TimelineParameters, Query()]) -> Timeline:
    """Count what is stored of each day."""
    scopes = state.scopes.resolve(given.scope)
    return await state.memory.read(lambda memory: memory.overview.timeline(scopes=scopes))


async def related(state: State, given: Annotated[RelatedParameters, Query()]) -> Related:
    """List the notes closest in meaning to one."""
    scopes = state.scopes.resolve(given.scope)
    return await state.memory.read(
        lambda memory: memory.overview.related(given.path, limit=given.limit, scopes=scopes)
    )


async def chunk_map(state: State, given: Annotated[MapParameters, Query()]) -> Json:
    """Place chunks on a map by meaning, with a question among them."""
    scopes = state.scopes.resolve(given.scope)
    run = state.memory.read if given.query is None else state.memory.run
    found = await run(
        lambda memory: memory.overview.map(given.query, most=given.most, scopes=scopes)
    )
    return await asyncio.to_thread(json_of, found)
