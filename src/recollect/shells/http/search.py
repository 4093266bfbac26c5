"""Operations that find and read: search, recall, a part of a file."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import Query
from pydantic import Field

from recollect.records import dataclass
from recollect.reports import RECALL_TOKENS
from recollect.shape import Shape
from recollect.shells.http.parameters import (
    Day,
    Parameters,
    Question,
    ScopeName,
    SourceOrAll,
    TagName,
)
from recollect.shells.http.state import State
from recollect.text.days import end_of
from recollect.types import MAX_TAGS, SearchRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.reports import Excerpt, Recalled
    from recollect.types import Hit, Results

_CONVERTED = {"query", "source", "tag", "scope", "as_of", "highlight"}
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
    form: Literal["full", "short", "index"] = Field(
        "full", description="How much to show of each hit."
    )
    scope: list[ScopeName] = Field([], max_length=20, description=_SCOPES)


class FileParameters(Parameters):
    """Parameters of GET /api/file."""

    path: str = Field(
        min_length=1, max_length=1000, description="A memory file, as search shows it."
    )
    start_line: int = Field(1, alias="from", ge=1, le=10**9, description="The first line.")
    lines: int = Field(120, ge=1, le=10_000, description="The most lines to return.")


@dataclass(frozen=True, slots=True)
class PageWords:
    """What the page marks in a hit, and offers to choose from."""

    matched: tuple[str, ...]
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FoundHit:
    """A passage that answers the question."""

    shape = Shape(merged="hit words")
    hit: Hit
    words: PageWords | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The JSON of `recollect search`."""

    shape = Shape({"hits": "results"}, merged="found", optional="is_partial")
    found: Results
    hits: tuple[FoundHit, ...]
    is_partial: bool
    """Whether the memory is still being indexed for the first time."""


@dataclass(frozen=True, slots=True)
class RecallAnswer:
    """The JSON of `recollect recall`."""

    shape = Shape(merged="recalled", optional="is_partial")
    recalled: Recalled
    is_partial: bool


async def search(state: State, given: Annotated[SearchParameters, Query()]) -> Answer:
    """Search for passages that answer a question."""
    scopes = state.scopes.resolve(given.scope)
    await state.memory.wait_for_first_sync()
    synced = state.needs_sync
    results = await state.memory.search(
        SearchRequest(
            given.query,
            source=None if given.source == "all" else given.source,
            tags=tuple(given.tag),
            scopes=scopes,
            as_of=end_of(given.as_of),
            sync=synced,
            **given.model_dump(exclude=_CONVERTED),  # the others are named like their fields
        )
    )
    state.note_search(results, synced=synced)
    hits: tuple[FoundHit, ...] = tuple(map(FoundHit, results.hits))
    if given.highlight:
        tags = await state.memory.read(
            lambda memory: [memory.overview.tags_of(hit) for hit in results.hits]
        )
        hits = await asyncio.to_thread(_for_page, results, tags)
    return Answer(results, hits, is_partial=state.memory.is_first_sync)


def _for_page(results: Results, tags: Sequence[Sequence[str]]) -> tuple[FoundHit, ...]:
    """Return the hits with the words to mark and the tags to choose from."""
    from recollect.text.highlight import matched_words  # noqa: PLC0415 - only the page asks

    texts = ["\n".join([*hit.heading, hit.snippet]) for hit in results.hits]
    words = [tuple(matched_words(text, question=results.query)) for text in texts]
    return tuple(
        FoundHit(hit, PageWords(matched, tuple(own)))
        for hit, matched, own in zip(results.hits, words, tags, strict=True)
    )


async def recall_block(state: State, given: Annotated[RecallParameters, Query()]) -> RecallAnswer:
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
    return RecallAnswer(recalled, is_partial=state.memory.is_first_sync)


async def file(state: State, given: Annotated[FileParameters, Query()]) -> Excerpt:
    """Read part of a memory file."""
    return await state.memory.read(
        lambda memory: memory.get(given.path, start_line=given.start_line, lines=given.lines)
    )
