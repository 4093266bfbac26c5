"""Operations that find and read: search, recall, a part of a file, the memory as a whole."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import Query
from pydantic import Field, create_model
from starlette.responses import Response

from recollect.evaluate.tidy import TidyReport
from recollect.evaluate.tidy import tidy as tidy_report
from recollect.records import dataclass
from recollect.reports import RECALL_TOKENS
from recollect.shape import Shape, json_of
from recollect.shells.http.parameters import (
    BodyParameters,
    Day,
    Parameters,
    Question,
    ScopeName,
    SourceOrAll,
    TagName,
)
from recollect.shells.http.state import State
from recollect.types import MAX_RESULTS, MAX_TAGS, SearchRequest, search_arguments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.reports import Documents, Excerpt, Recalled, Related, Timeline
    from recollect.shape import Json
    from recollect.types import Argument, Hit, Results

_KINDS: dict[str, Any] = {
    "query": Question,
    "tags": TagName,
    "scopes": ScopeName,
    "integer": Annotated[int, Field(ge=1, le=MAX_RESULTS)],
    "number": Annotated[float, Field(ge=0, le=1)],
    "string": Annotated[str, Field(min_length=1, max_length=1000)],
    "boolean": bool,
    "day": Day,
}
"""Types of parameters by their names, else by the type of the argument."""


def _parameter(each: Argument) -> tuple[Any, Any]:
    """Return the type and the description of an argument of a search."""
    kind = Literal[each.choices] if each.choices else _KINDS.get(each.name) or _KINDS[each.type]
    if each.type == "array":
        alias = each.name.removesuffix("s")
        listed: Any = list[kind]  # type: ignore[valid-type]  # made here
        return listed, Field([], alias=alias, max_length=MAX_TAGS, description=each.about)
    if each.is_required:
        return kind, Field(description=each.about)
    kind = kind | None if each.default is None else kind
    return kind, Field(each.default, description=each.about)


_SCOPES = next(each.about for each in search_arguments("http") if each.name == "scopes")
if TYPE_CHECKING:
    SearchParameters = Parameters
else:
    SearchParameters = create_model(
        "SearchParameters",
        __base__=Parameters,
        **{each.name: _parameter(each) for each in search_arguments("http")},
        highlight=(bool, Field(False, description="Name the words that matched, and the tags.")),
    )
    """Parameters of GET /api/search."""


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
    asked = given.model_dump()
    is_for_page = asked.pop("highlight")
    asked["scopes"] = state.scopes.resolve(asked["scopes"])
    await state.memory.wait_for_first_sync()
    synced = state.needs_sync
    results = await state.memory.search(SearchRequest(**asked, sync=synced))
    state.note_search(results, synced=synced)
    hits: tuple[FoundHit, ...] = tuple(map(FoundHit, results.hits))
    if is_for_page:
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


class FeedbackParameters(BodyParameters):
    """Parameters of POST /api/feedback."""

    query: Question = Field(description="The question.")
    citation: str = Field(min_length=1, max_length=1000, description="The hit.")
    right: bool = Field(description="Whether it answers the question.")


@dataclass(frozen=True, slots=True)
class JudgedHit:
    """A hit that was called right or wrong."""

    citation: str
    right: bool


async def feedback(state: State, given: FeedbackParameters) -> JudgedHit:
    """Keep that a hit was right or wrong, to measure with it."""
    from recollect.evaluate.feedback import keep_feedback  # noqa: PLC0415 - rarely used

    await state.memory.read(lambda memory: keep_feedback(memory, **given.model_dump()))
    return JudgedHit(given.citation, given.right)


async def tidy(state: State) -> TidyReport:
    """Report what in the memory needs care."""
    return await state.memory.read(lambda memory: tidy_report(memory, scopes=state.scopes.all))


async def file(state: State, given: Annotated[FileParameters, Query()]) -> Excerpt:
    """Read part of a memory file."""
    return await state.memory.read(
        lambda memory: memory.get(given.path, start_line=given.start_line, lines=given.lines)
    )


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
        None,
        min_length=1,
        max_length=1000,
        description="Only files that match this glob, or the note that a `[[link]]` means.",
    )
    type: str | None = Field(
        None, min_length=1, max_length=100, description="Only notes of this type."
    )


class RelatedParameters(TimelineParameters):
    """Parameters of GET /api/related."""

    path: str = Field(
        min_length=1, max_length=1000, description="A memory file, as search shows it."
    )
    limit: int = Field(6, ge=1, le=50, description="The most notes to return.")


class PictureParameters(Parameters):
    """Parameters of GET /api/picture."""

    path: str = Field(min_length=1, max_length=1000, description="The picture, as a note names it.")
    note: str = Field("", max_length=1000, description="The note that shows it.")


async def picture(state: State, given: Annotated[PictureParameters, Query()]) -> Response:
    """Return a picture that a note shows."""
    content, media_type = await state.memory.read(
        lambda memory: memory.picture(given.path, note=given.note)
    )
    return Response(content, media_type=media_type)


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


async def chunk_map(state: State, given: Annotated[TimelineParameters, Query()]) -> Json:
    """Place chunks on a map by meaning."""
    scopes = state.scopes.resolve(given.scope)
    found = await state.memory.read(lambda memory: memory.overview.map(scopes=scopes))
    return await asyncio.to_thread(json_of, found)
