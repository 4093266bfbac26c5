"""Reads a request: checks it, and adapts the options to it."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from recollect.errors import QueryError
from recollect.text.days import day_of, moment_of
from recollect.text.phrases import phrases_in
from recollect.text.tags import tags_named, type_named
from recollect.types import (
    MAX_QUERY_CHARS,
    MAX_RESULTS,
    MAX_TAGS,
    Leg,
    Query,
    Scope,
    SourceKind,
    Tag,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from recollect.search.options import SearchOptions
    from recollect.types import SearchRequest


def adapt_options(options: SearchOptions, request: SearchRequest) -> SearchOptions:
    """Return the options as a request wants them; what it leaves open stays as configured."""
    _check_share("vector weight", request.vector_weight)
    fusion = replace(
        options.rank.fusion,
        fusion=request.fusion or options.rank.fusion.fusion,
        min_score=options.rank.fusion.min_score if request.min_score is None else request.min_score,
    )
    if request.vector_weight is not None:
        weight = request.vector_weight
        fusion = replace(fusion, vector_weight=weight, text_weight=1 - weight)
    rerank = options.rank.rerank
    if request.rerank is not None:
        rerank = replace(rerank, enabled=request.rerank)
    max_results = options.max_results if request.max_results is None else request.max_results
    rank = replace(options.rank, fusion=fusion, rerank=rerank)
    return replace(options, max_results=max_results, rank=rank)


def read_question(
    request: SearchRequest, *, audience: frozenset[str], options: SearchOptions
) -> Query:
    """Return the validated question."""
    _check_length(request.query)
    scope = Scope(
        source=source_kind(request.source),
        since=day_of(request.since),
        before=day_of(request.before),
        path=_valid(request.path) if request.path is not None else None,
        tags=required_tags(request.tags, note_type=request.type),
        audience=audience,
        as_of=moment_of(request.as_of),
        with_superseded=request.include_superseded,
        phrases=phrases_in(_clean(request.query)) if request.phrases else (),
    )
    _check_share("min score", request.min_score)
    query = make_query(
        request.query, max_results=options.max_results, scope=scope, legs=request.legs
    )
    return replace(query, tail=request.tail)


def at_this_moment(query: Query) -> Query:
    """Return the query for facts that hold now, unless the request names another moment.

    Now is when the store is read: at the beginning of a search, facts that were saved while it
    brought in what changed would not have begun yet, and those that they replace would have ended.
    """
    moment = query.scope.as_of or datetime.now(tz=UTC)
    return replace(query, scope=replace(query.scope, as_of=moment))


def make_query(
    text: str, *, max_results: int, scope: Scope, legs: Iterable[Leg | str] = tuple(Leg)
) -> Query:
    """Return a query after checking its parts."""
    _check_length(text)
    clean = _clean(text)
    if not clean:
        raise QueryError("The query is empty.", action="Say what to look for.")
    if not 1 <= max_results <= MAX_RESULTS:
        raise QueryError(
            f"max results must be from 1 to {MAX_RESULTS}, not {max_results}.",
            action=f"Ask for 1 to {MAX_RESULTS} results.",
        )
    if scope.since and scope.before and scope.since >= scope.before:
        raise QueryError(
            f"No day is on or after {scope.since} and before {scope.before}.",
            action="Give `since` an earlier day than `before`.",
        )
    chosen = frozenset(Leg(leg) for leg in legs)
    return Query(text=clean, max_results=max_results, scope=scope, legs=chosen)


def _check_length(text: str) -> None:
    """Refuse a question that would take minutes to read and embed."""
    if len(text) > MAX_QUERY_CHARS:
        raise QueryError(
            f"The question has {len(text):,} characters; at most {MAX_QUERY_CHARS:,} are searched.",
            action="Ask with the sentence or the line that matters.",
        )


def source_kind(source: SourceKind | str | None) -> SourceKind | None:
    """Return the kind of source that a name means."""
    if source in (None, "", "all"):
        return None
    try:
        return SourceKind(source)
    except ValueError:
        kinds = ", ".join(kind.value for kind in SourceKind)
        raise QueryError(
            f"{source!r} is not a valid source.", action=f"Name one of {kinds}."
        ) from None


def required_tags(names: Sequence[str] | str, *, note_type: str | None = None) -> tuple[Tag, ...]:
    """Return the tags that a user names, and the type."""
    names = [names] if isinstance(names, str) else names
    valid = [_valid(name) for name in names]
    for name in valid:
        if not tags_named([name]):
            raise QueryError(f"{name!r} is not a tag.", action="Name one such as recipe.")
    tags = tags_named(valid)
    if len(tags) > MAX_TAGS:
        raise QueryError(f"{len(tags)} tags are too many.", action=f"Name at most {MAX_TAGS} tags.")
    if note_type is None:
        return tags
    named = type_named(_valid(note_type))
    if named is None:
        raise QueryError(f"{note_type!r} is not a type.", action="Name one such as person.")
    return (*tags, named)


def _clean(text: str) -> str:
    return _valid(text).replace("\0", " ").strip()


def _valid(text: str) -> str:
    """Return valid text: a command line argument may hold bytes that are not."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _check_share(name: str, value: float | None) -> None:
    if value is not None and not (math.isfinite(value) and 0 <= value <= 1):
        raise QueryError(
            f"{name} must be from 0 to 1, not {value}.", action=f"Give a {name} from 0 to 1."
        )
