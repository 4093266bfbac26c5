"""Reading the question: is it one, and what are its terms, within bounds a pasted file respects."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from recollect.errors import QueryError
from recollect.text.terms import QueryTerms, character_terms, query_terms
from recollect.types import Leg, Query, Scope, SourceKind

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_TERMS = 256
"""Distinct terms looked up for one query: beyond this a query is a document, not a question."""
MOST_RESULTS = 1000


def ask(
    text: str,
    *,
    max_results: int,
    min_score: float | None,
    scope: Scope,
    legs: Iterable[Leg | str] = tuple(Leg),
) -> Query:
    """Return the validated question.

    Raises:
        QueryError: nothing is asked, or in a way that has no answer.

    """
    # An argument of the command line may hold bytes that are no text at all.
    clean = text.encode("utf-8", "replace").decode("utf-8").replace("\0", " ").strip()
    if not clean:
        raise QueryError("The query is empty.", action="Say what to look for.")
    if not 1 <= max_results <= MOST_RESULTS:
        raise QueryError(
            f"max results must be from 1 to {MOST_RESULTS}, not {max_results}.",
            action=f"Ask for 1 to {MOST_RESULTS} results.",
        )
    if min_score is not None and not (math.isfinite(min_score) and 0 <= min_score <= 1):
        raise QueryError(
            f"min score must be from 0 to 1, not {min_score}.", action="Scores go from 0 to 1."
        )
    if scope.since and scope.before and scope.since >= scope.before:
        raise QueryError(
            f"No day is on or after {scope.since} and before {scope.before}.",
            action="Give `since` an earlier day than `before`.",
        )
    chosen = frozenset(Leg(leg) for leg in legs)
    return Query(text=clean, max_results=max_results, scope=scope, legs=chosen)


def kind_of(source: SourceKind | str | None) -> SourceKind | None:
    """Return the kind of source that is meant.

    Raises:
        QueryError: there is no such kind.

    """
    if not source:
        return None
    try:
        return SourceKind(source)
    except ValueError:
        kinds = ", ".join(kind.value for kind in SourceKind)
        raise QueryError(f"{source!r} is no source.", action=f"Name one of {kinds}.") from None


def understand(text: str) -> QueryTerms:
    """Return the query's terms; of a very long text identifiers first, then the first words."""
    return _bounded(query_terms(text))


def understand_characters(text: str) -> QueryTerms:
    """Return the characters of a question in Chinese or Japanese of which nothing else is found."""
    return _bounded(character_terms(text))


def _bounded(question: QueryTerms) -> QueryTerms:
    if len(question.terms) <= MOST_TERMS:
        return question
    kept = tuple(_first(MOST_TERMS, [*question.identifiers, *question.terms]))
    return QueryTerms(
        terms=kept,
        identifiers=tuple(term for term in question.identifiers if term in kept),
        stop=question.stop.intersection(kept),
    )


def _first(count: int, terms: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(terms))[:count]
