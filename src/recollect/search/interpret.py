"""Reads the words of a question: terms, identifiers, days, quotes, characters. Uses no store."""

from __future__ import annotations

import re
from dataclasses import field, replace
from itertools import chain
from typing import TYPE_CHECKING

from recollect.records import dataclass
from recollect.text.date_words import asks_for_days, birthday_month, window, without_passing_days
from recollect.text.phrases import MAX_PHRASES, count_phrases
from recollect.text.terms import QueryTerms, character_terms, query_terms
from recollect.types import Leg

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from datetime import date

    from recollect.text.date_words import Window
    from recollect.types import Phrase, Query

MAX_TERMS = 256
"""Distinct terms looked up for one query: beyond this a query is a document, not a question."""
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class Question:
    """One reading of a query, and how it differs from what was asked."""

    query: Query
    words: QueryTerms
    days: Window | None = None
    """The days that it names."""
    absent: tuple[Phrase, ...] = ()
    """Quoted phrases that occur nowhere: their words are searched, but not required."""
    spelled: Mapping[str, str] = field(default_factory=dict)
    """The terms that are searched in place of misspelled words."""

    @property
    def wants_days(self) -> bool:
        """Whether it asks for the days it names, and for nothing else."""
        return self.days is not None and asks_for_days(self.words)

    @property
    def ignored_phrases(self) -> int:
        """How many quoted phrases are too many to be required."""
        quotes = self.query.scope.phrases or self.absent
        return max(count_phrases(self.query.text) - MAX_PHRASES, 0) if quotes else 0

    def without(self, absent: tuple[Phrase, ...]) -> Question:
        """Return the reading that does not require some of the quoted phrases."""
        kept = tuple(each for each in self.query.scope.phrases if each not in absent)
        scope = replace(self.query.scope, phrases=kept)
        return replace(self, query=replace(self.query, scope=scope), absent=absent)

    def unknown_identifiers(self, frequencies: Mapping[str, int]) -> tuple[str, ...]:
        """Return the identifiers if no chunk contains any of them.

        A day counts as a date, not as an identifier: a note of that day need not name it. Every hit
        has the words of a required phrase, however it joins them.
        """
        named = tuple(each for each in self.words.identifiers if not _DAY.fullmatch(each))
        if any(map(frequencies.get, named)):
            return ()
        required = identifiers_in(self.query.scope.phrases)
        return tuple(each for each in named if each not in required)


def interpret(query: Query, *, today: date) -> Question:
    """Return the question as it was asked."""
    days = _days(query, today=today)
    words = _undated(f"{query.text} {birthday_month(query.text)}".rstrip(), days)
    if days is not None:  # one mentioned in passing is a word like others, and nothing to read
        query = replace(query, text=without_passing_days(query.text, today=today))
        days = _days(query, today=today)
    return Question(query, words, days)


def term_question(text: str) -> QueryTerms:
    """Return the query's terms; of a very long text identifiers first, then the first words."""
    return _bounded(query_terms(text))


def character_question(text: str) -> QueryTerms:
    """Return the characters of a Chinese or Japanese question, for when its terms find nothing."""
    return _bounded(character_terms(text))


def identifiers_in(phrases: Collection[Phrase]) -> frozenset[str]:
    """Return the identifiers in quoted phrases."""
    return frozenset(chain.from_iterable(term_question(each.text).identifiers for each in phrases))


def _bounded(question: QueryTerms) -> QueryTerms:
    if len(question.terms) <= MAX_TERMS:
        return question
    distinct = dict.fromkeys([*question.identifiers, *question.terms])
    kept = tuple(distinct)[:MAX_TERMS]
    return QueryTerms(
        terms=kept,
        identifiers=tuple(term for term in question.identifiers if term in kept),
        stop=question.stop.intersection(kept),
    )


def _days(query: Query, *, today: date) -> Window | None:
    """Return the days the question names, unless the caller gave a range or no date leg."""
    has_range = query.scope.since is not None or query.scope.before is not None
    if has_range or Leg.DATE not in query.legs:
        return None
    return window(query.text, today=today)


def _undated(text: str, days: Window | None) -> QueryTerms:
    """Return the terms of a question without "last Tuesday", unless it says nothing else."""
    if days is None or not days.is_relative:
        return term_question(text)
    rest = text[days.said_at + len(days.said) :]
    undated = term_question(f"{text[: days.said_at]} {rest}")
    return undated if undated.terms else term_question(text)
