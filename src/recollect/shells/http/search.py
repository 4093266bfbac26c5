"""Operations that find and read: search, recall, a part of a file."""

from __future__ import annotations

import asyncio
from datetime import date
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from recollect.reports import RECALL_TOKENS, RecallForm
from recollect.shape import json_of
from recollect.shells.http.models import (
    SOMETIMES,
    Day,
    DegradedModel,
    Parameters,
    Question,
    ResponseModel,
    ScopeName,
    SourceName,
    SourceOrAll,
    TagName,
)
from recollect.text.days import end_of
from recollect.types import MAX_TAGS, SearchRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.shape import Json
    from recollect.shells.http.state import ServerState
    from recollect.types import Results

_SCOPES = "Also facts of this scope, such as user:ada."


class SearchParameters(Parameters):
    """Parameters of GET /api/search."""

    query: Question = Field(description='The question; a "quoted phrase" is required if it occurs.')
    max_results: int | None = Field(None, ge=1, le=1000, description="The most hits to return.")
    min_score: float | None = Field(None, ge=0, le=1, description="Leave out lower scores.")
    source: SourceOrAll = Field("all", description="Search only this source.")
    since: Day | None = Field(None, description="Only notes dated on or after this day.")
    before: Day | None = Field(None, description="Only notes dated before this day.")
    path: str | None = Field(
        None, min_length=1, max_length=1000, description="Only files that match this glob."
    )
    tag: list[TagName] = Field([], max_length=MAX_TAGS, description="Only notes with this tag.")
    scope: list[ScopeName] = Field([], max_length=20, description=_SCOPES)
    as_of: Day | None = Field(None, description="Facts that were valid on this day.")
    include_superseded: bool = Field(default=False, description="Also superseded facts.")
    fusion: Literal["calibrated", "weighted", "rrf"] | None = Field(
        None, description="How the scores of the legs are combined."
    )
    explain: bool = Field(default=False, description="Explain each score.")
    tail: bool = Field(default=True, description="Also hits far below the best.")
    highlight: bool = Field(
        default=False, description="Name the words of each hit that matched, and its tags."
    )


class RecallParameters(Parameters):
    """Parameters of GET /api/recall."""

    prompt: Question = Field(description="The prompt of the turn.")
    budget: int = Field(
        RECALL_TOKENS, ge=60, le=100_000, description="The most tokens of the block."
    )
    form: RecallForm = Field(
        RecallForm.FULL, strict=False, description="How much to show of each hit."
    )
    scope: list[ScopeName] = Field([], max_length=20, description=_SCOPES)


class FileParameters(Parameters):
    """Parameters of GET /api/file."""

    path: str = Field(
        min_length=1, max_length=1000, description="A memory file, as search shows it."
    )
    start_line: int = Field(1, alias="from", ge=1, le=10**9, description="The first line.")
    lines: int = Field(120, ge=1, le=10_000, description="The most lines to return.")


class HitFactModel(ResponseModel):
    """The fact that a hit shows."""

    id: str
    scope: str
    valid_from: str | None
    valid_until: str | None
    superseded_by: str | None


class RepeatModel(ResponseModel):
    """Lines that say nothing but what a hit says."""

    path: str
    start_line: int
    end_line: int
    citation: str


class HitModel(ResponseModel):
    """A passage that answers the question."""

    path: str
    start_line: int
    end_line: int
    score: float
    vector_score: float | None
    text_score: float | None
    snippet: str
    source: SourceName
    citation: str
    heading: list[str]
    date: date | None
    speaker: str = SOMETIMES
    time: str | None = SOMETIMES
    fact: HitFactModel = SOMETIMES
    superseded_by: str = SOMETIMES
    also_in: list[RepeatModel] = SOMETIMES
    matched: list[str] = SOMETIMES
    tags: list[str] = SOMETIMES
    explain: dict[str, object] = SOMETIMES


class SearchResponse(ResponseModel):
    """The output of `recollect search --json`."""

    results: list[HitModel]
    query: str
    mode: Literal["hybrid", "keyword", "vector"]
    provider: str | None
    model: str | None
    fusion: str
    degraded: DegradedModel | None
    confident: bool
    confidence: float
    notices: list[str]
    took_ms: float
    partial: bool = SOMETIMES


class RecallResponse(ResponseModel):
    """The output of `recollect recall --json`."""

    block: str
    tokens: int
    citations: list[str]
    reason: str | None = Field(description="Why the block is empty.")
    notices: list[str]
    partial: bool = SOMETIMES


class FileResponse(ResponseModel):
    """The output of `recollect get --json`."""

    path: str
    start_line: int = Field(alias="from")
    lines: int
    text: str
    truncated: bool
    next_from: int | None


async def search(state: ServerState, given: SearchParameters) -> Json:
    """Search for passages that answer a question."""
    scopes = state.scopes.resolve(given.scope)
    await state.memory.wait_for_first_sync()
    synced = state.needs_sync
    results = await state.memory.search(
        SearchRequest(
            given.query,
            max_results=given.max_results,
            min_score=given.min_score,
            source=None if given.source == "all" else given.source,
            since=given.since,
            before=given.before,
            path=given.path,
            tags=tuple(given.tag),
            scopes=scopes,
            as_of=end_of(given.as_of),
            include_superseded=given.include_superseded,
            fusion=given.fusion,
            explain=given.explain,
            sync=synced,
            tail=given.tail,
        )
    )
    state.note_search(results, synced=synced)
    shown = json_of(results)
    if given.highlight:
        tags = await state.memory.read(
            lambda memory: [memory.overview.tags_of(hit) for hit in results.hits]
        )
        shown = {**shown, "results": await asyncio.to_thread(_for_page, results, tags)}
    return {**shown, **_partial(state)}


def _for_page(results: Results, tags: Sequence[Sequence[str]]) -> list[Json]:
    """Return the hits with the words to mark and the tags to choose from."""
    from recollect.text.highlight import matched_words  # noqa: PLC0415 - only the page asks

    return [
        {
            **json_of(hit),
            "tags": list(own),
            "matched": matched_words(
                "\n".join([*hit.heading, hit.snippet]), question=results.query
            ),
        }
        for hit, own in zip(results.hits, tags, strict=True)
    ]


async def recall_block(state: ServerState, given: RecallParameters) -> Json:
    """Return the memory block for the start of a turn, within a token budget."""
    scopes = state.scopes.resolve(given.scope)
    await state.memory.wait_for_first_sync()
    request, synced = await state.memory.read(
        lambda memory: (
            memory.recall_request(given.prompt, scopes=scopes),
            memory.config.sync_on_search,
        )
    )
    results = await state.memory.search(request)
    state.note_search(results, synced=synced)
    recalled = await state.memory.read(
        lambda memory: memory.recall_from(results, budget_tokens=given.budget, form=given.form)
    )
    return {**json_of(recalled), **_partial(state)}


def _partial(state: ServerState) -> Json:
    """Return the member that tells that the memory is still being indexed for the first time."""
    return {"partial": True} if state.memory.is_first_sync else {}


async def file(state: ServerState, given: FileParameters) -> Json:
    """Read part of a memory file."""
    excerpt = await state.memory.read(
        lambda memory: memory.get(given.path, start_line=given.start_line, lines=given.lines)
    )
    return json_of(excerpt)
