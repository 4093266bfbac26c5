"""query ─ legs ─▶ evidence ─ rank ─▶ ranking ─ cut ─▶ hits.

One search, one line per stage, in the order of the data. It knows no files, no settings files and
no clock.
"""

from __future__ import annotations

import re
import time
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from recollect.search.fuse.calibrated import is_tail
from recollect.search.fuse.confidence import CONFIDENT_FROM
from recollect.search.hits import cut, make_hits
from recollect.search.legs import propose_again, propose_dated, retrieve, weigh_evidence
from recollect.search.options import CALIBRATED
from recollect.search.question import character_question, term_question
from recollect.search.rank import rank
from recollect.search.rerank import RERANK
from recollect.search.respell import as_written, respell
from recollect.stores.bm25 import unknown_share
from recollect.text.date_words import Window, asks_for_days, window
from recollect.text.phrases import MAX_PHRASES, count_phrases
from recollect.types import Leg, Results

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import date

    from recollect.providers.base import Reranker
    from recollect.search.legs import AskedVectors, Evidence, Pools
    from recollect.search.options import FusionOptions, SearchOptions
    from recollect.search.rank import Ranking
    from recollect.stores.base import Store
    from recollect.text.terms import QueryTerms
    from recollect.types import Hit, Phrase, Query

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_LEAST_UNSURE = 3  # hits of an answer that is not confident: the first alone may be a coincidence
_GUESSED = 0.5  # share of a question in guessed spellings from which its answer is a guess
_MAX_QUOTED_CHARS = 80  # of a phrase or an identifier in a notice
_LEAST_POOL = 200  # so that the first results do not change with how many are asked for


def search(  # noqa: PLR0913 - the parts of an answer
    query: Query,
    *,
    store: Store,
    asked: AskedVectors | None,
    options: SearchOptions,
    today: date,
    reranker: Reranker | None = None,
    explain: bool = True,
) -> Results:
    """Answer a question from what the store holds; `explain` adds to each hit why it is there."""
    started = time.perf_counter()
    days = _days(query, today=today)
    question = _undated_question(query.text, days)
    pool = max(_LEAST_POOL, query.max_results * options.candidate_multiplier)
    # On one snapshot: a chunk that a leg proposes must be there when it is weighed.
    with store.snapshot():
        query, absent, pools = _retrieve(
            query, question=question, store=store, asked=asked, pool=pool
        )
        written, known = question, pools.keyword.corpus
        question, spelled = _respelled(query, written, pools=pools, store=store)
        if question is not written:
            pools = propose_again(pools, query=query, question=question, store=store, pool=pool)
        # A guessed spelling is not a known word.
        unknown = unknown_share(written.terms, stop=written.stop, corpus=known)
        if not pools.keys and (characters := character_question(query.text)).terms:
            question = characters
            pools = propose_again(pools, query=query, question=question, store=store, pool=pool)
        if days is not None:
            pools, days = propose_dated(pools, days, query=query, question=question, store=store)
        evidence = weigh_evidence(
            pools, question=question, days=days, store=store, asked=asked, unknown=unknown
        )
    degraded = dict(pools.degraded)
    hits: tuple[Hit, ...] = ()
    confidence = 0.0
    if evidence.legs:
        ranking = rank(
            query.text, evidence=evidence, options=options.rank, today=today, reranker=reranker
        )
        order = list(ranking.order)
        if not query.tail:
            order = _without_tail(order, ranking=ranking, options=options.rank.fusion)
            if days is not None and asks_for_days(question):
                order = _of_days(order, days, evidence)
        spans = cut(order, loaded=evidence.loaded, max_results=query.max_results)
        hits = make_hits(spans, evidence=evidence, ranking=ranking, today=today, explain=explain)
        # Never confident after a guessed spelling, or if an identifier or phrase was not found.
        is_guess = bool(spelled) and unknown > _GUESSED
        if is_guess and order and _confirms(order[0], spelled, evidence):
            is_guess = False
        is_question = len(question.terms) > 1 or not question.stop  # "the" asks for nothing
        is_known = not is_guess and not absent and not _unknown_identifiers(query, evidence)
        is_answer = bool(hits) and is_question and is_known
        confidence = ranking.confidence if is_answer else 0.0
        is_dated = bool(hits) and days is not None and days.holds(hits[0].date)
        if is_dated and not absent and asks_for_days(question):
            confidence = 1.0  # a note of that day, whatever it says
        if ranking.degradation is not None:
            degraded[RERANK] = ranking.degradation
    return Results(
        hits=hits,
        query=query.text,
        mode=pools.mode,
        provider=pools.fingerprint.provider if pools.fingerprint else None,
        model=pools.fingerprint.model if pools.fingerprint else None,
        fusion=options.rank.fusion.fusion,
        confident=confidence >= CONFIDENT_FROM,
        confidence=confidence,
        took_ms=(time.perf_counter() - started) * 1000 + (asked.took_ms if asked else 0.0),
        degraded=degraded or None,
        notices=(
            *_phrase_notices(query, absent, evidence),
            *_spelling_notices(spelled, evidence),
            *_identifier_notices(query, absent, evidence),
            *_notices(days, evidence),
        ),
        searched=pools.keyword.corpus.chunks,
    )


def _retrieve(
    query: Query, *, question: QueryTerms, store: Store, asked: AskedVectors | None, pool: int
) -> tuple[Query, tuple[Phrase, ...], Pools]:
    """Get the best chunks, without requiring the phrases that occur nowhere, if there are any.

    Their words stay in the question. Returns the query, the phrases that it no longer requires, and
    what was proposed.
    """
    pools = retrieve(query, question=question, store=store, asked=asked, pool=pool)
    scope = query.scope
    if pools.keys or not scope.phrases:
        return query, (), pools
    found = store.occurring_phrases(scope)
    kept = tuple(each for each in scope.phrases if each in found)
    absent = tuple(each for each in scope.phrases if each not in found)
    if absent:
        query = replace(query, scope=replace(scope, phrases=kept))
        pools = retrieve(query, question=question, store=store, asked=asked, pool=pool)
    return query, absent, pools


def _respelled(
    query: Query, question: QueryTerms, *, pools: Pools, store: Store
) -> tuple[QueryTerms, dict[str, str]]:
    """Return the question in words that the keyword leg knows, and what was respelled."""
    if Leg.KEYWORD not in query.legs:
        return question, {}

    def look_up(words: Sequence[str]) -> Mapping[str, int]:
        found = store.propose(words, vectors={}, scope=query.scope, limit=1)
        return found.keyword.corpus.frequencies

    return respell(
        query.text,
        question,
        frequencies=pools.keyword.corpus.frequencies,
        look_up=look_up,
    )


def _spelling_notices(spelled: Mapping[str, str], evidence: Evidence) -> tuple[str, ...]:
    texts = evidence.loaded.texts
    return tuple(
        f'Searched for "{as_written(term, texts)}", because "{word}" occurs nowhere.'
        for word, term in spelled.items()
    )


def _confirms(row: int, spelled: Mapping[str, str], evidence: Evidence) -> bool:
    """Return whether the chunk has every corrected word and one content word of the question."""
    question = evidence.question
    has_term = evidence.loaded.counts[row].any(axis=-1)
    shared = {term for term, has in zip(question.terms, has_term, strict=True) if has}
    guessed = set(spelled.values())
    return guessed <= shared and not shared <= guessed | question.stop


def _without_tail(order: list[int], *, ranking: Ranking, options: FusionOptions) -> list[int]:
    """Leave out what is far below the best, unless the user has a floor of their own.

    Other fusions than the default do not tell how far one hit is below another.
    """
    if not order or options.fusion != CALIBRATED or options.min_score is not None:
        return order
    scores = ranking.scores[order]
    left_out = is_tail(scores, best=float(scores.max()))
    kept = [row for row, is_out in zip(order, left_out, strict=True) if not is_out]
    is_sure = ranking.confidence >= CONFIDENT_FROM
    return kept if is_sure or len(kept) >= _LEAST_UNSURE else order[:_LEAST_UNSURE]


def _of_days(order: list[int], days: Window, evidence: Evidence) -> list[int]:
    """Leave out notes of other days, if there are any of these days."""
    return [row for row in order if days.holds(evidence.loaded.days[row])] or order


def _unknown_identifiers(query: Query, evidence: Evidence) -> tuple[str, ...]:
    """Return the identifiers of a question if no chunk contains any of them.

    A day counts as a date, not as an identifier: a note of that day need not name it. Every hit has
    the words of a required phrase, however it joins them.
    """
    named = tuple(each for each in evidence.question.identifiers if not _DAY.fullmatch(each))
    if any(evidence.corpus.frequencies.get(each) for each in named):
        return ()
    required = _identifiers_in(query.scope.phrases)
    return tuple(each for each in named if each not in required)


def _identifiers_in(phrases: Collection[Phrase]) -> frozenset[str]:
    return frozenset(chain.from_iterable(term_question(each.text).identifiers for each in phrases))


def _identifier_notices(
    query: Query, absent: Collection[Phrase], evidence: Evidence
) -> tuple[str, ...]:
    quoted = _identifiers_in(absent)  # which have their own notice
    unknown = [each for each in _unknown_identifiers(query, evidence) if each not in quoted]
    if not unknown or not evidence.loaded.keys:
        return ()
    # As the user spelled it: terms are in lower case.
    at = {each: query.text.lower().find(each) for each in unknown}
    named = [query.text[at[each] : at[each] + len(each)] if at[each] >= 0 else each for each in at]
    return (f"Nothing contains {' or '.join(map(_short, named))}.",)


def _phrase_notices(
    query: Query, absent: Collection[Phrase], evidence: Evidence
) -> tuple[str, ...]:
    has_hits, kept = bool(evidence.loaded.keys), query.scope.phrases
    notices = []
    if (kept or absent) and (more := count_phrases(query.text) - MAX_PHRASES) > 0:
        others = "other were" if more == 1 else f"{more} others were"
        first = f"Only the first {MAX_PHRASES} quoted phrases can be required"
        notices.append(f"{first}; the quotes of the {others} ignored.")
    if absent:
        is_open = replace(query.scope, phrases=()).is_open
        lacks = f"{'' if is_open else 'within your filters '}contains {_quoted(absent, 'or')}."
        searched = "Searched without these quotes, because nothing" if has_hits else "Nothing"
        notices.append(f"{searched} {lacks}")
    if len(kept) > 1 and not has_hits:
        together = f"No hit contains {_quoted(kept, 'and')} together."
        notices.append(f"{together} Leave out one of them, or the quotes.")
    return tuple(notices)


def _quoted(phrases: Collection[Phrase], conjunction: str) -> str:
    return f" {conjunction} ".join(f'"{_short(phrase.text)}"' for phrase in phrases)


def _short(text: str) -> str:
    is_long = len(text) > _MAX_QUOTED_CHARS
    return f"{text[:_MAX_QUOTED_CHARS].rstrip()}…" if is_long else text


def _notices(days: Window | None, evidence: Evidence) -> tuple[str, ...]:
    if days is None or days.is_ahead or any(map(days.holds, evidence.loaded.days)):
        return ()
    if days.first == days.last:
        return (f"No hit is dated {days.first}, the day your question seems to mean.",)
    named = f"from {days.first} to {days.last}"
    return (f"No hit is dated {named}, the days your question seems to mean.",)


def _undated_question(text: str, days: Window | None) -> QueryTerms:
    """Return the terms of a question without "last Tuesday", unless it says nothing else."""
    if days is None or not days.said:
        return term_question(text)
    rest = text[days.said_at + len(days.said) :]
    undated = term_question(f"{text[: days.said_at]} {rest}")
    return undated if undated.terms else term_question(text)


def _days(query: Query, *, today: date) -> Window | None:
    """Return the days the question names, unless the caller gave a range or no date leg."""
    has_range = query.scope.since is not None or query.scope.before is not None
    if has_range or Leg.DATE not in query.legs:
        return None
    return window(query.text, today=today)
