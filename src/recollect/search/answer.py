"""request ─ read ─▶ Query ─ interpret ─ propose ─ weigh ─▶ Evidence ─ rank ─ select ─▶ Hits.

`search` is one search, one line per stage, in the order of the data: it knows no files, no settings
and no clock. A feature belongs to the stage whose value it changes, as a row of a table there.
`Searcher` is the whole answer: it reads the request, embeds the question, searches, and says what
the answer lacks. Who calls it brings the index up to date before.
"""

from __future__ import annotations

import time
from dataclasses import field, replace
from typing import TYPE_CHECKING

from recollect.records import dataclass
from recollect.search.confidence import confidence, is_confident
from recollect.search.embed import NOT_READ, Serving, StoredSpaces, choose_provider, embed_question
from recollect.search.hits import compacted, make_hits
from recollect.search.interpret import interpret
from recollect.search.notices import empty_notices, filling_notices, notices, source_notices
from recollect.search.propose import UNEMBEDDED, UNUSABLE, propose
from recollect.search.rank import rank
from recollect.search.request import adapt_options, at_this_moment, read_question
from recollect.search.select import select
from recollect.search.sentences import MOST_READ_HITS, term_weights, texts_said
from recollect.search.weigh import weigh
from recollect.text.phrases import read_filters
from recollect.types import Leg, Results

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import date
    from pathlib import Path

    from recollect.errors import RecollectError
    from recollect.providers.base import Reranker
    from recollect.providers.chain import Chain
    from recollect.search.embed import AskedVectors
    from recollect.search.expand import QueryExpander
    from recollect.search.options import SearchOptions
    from recollect.search.rank import Ranking
    from recollect.search.weigh import Evidence
    from recollect.stores.base import Store
    from recollect.types import Degradation, Hit, Query, SearchRequest

_SPARE = 4  # hits in place of those that repeat superseded facts
_BY_WORKER = "A worker of the server embeds it: ask again later, or ask its operator."


def search(  # noqa: PLR0913 - the parts of an answer
    query: Query,
    *,
    store: Store,
    asked: AskedVectors | None = None,
    options: SearchOptions,
    today: date,
    reranker: Reranker | None = None,
) -> Results:
    """Answer a question from what the store holds."""
    question = interpret(query, today=today)
    with store.snapshot():  # a chunk that a leg proposes must be there when it is weighed
        pools = propose(question, store=store, asked=asked, limit=options.pool(query.max_results))
        superseded = store.superseded(query.scope)
        if superseded:
            pools = pools.wanting(query.max_results + _SPARE)
        evidence = weigh(pools, store=store)
    ranking = rank(evidence, options=options.rank, today=today, reranker=reranker)
    spans = select(ranking, evidence, options=options.rank)
    probability = confidence(evidence, ranking, best=spans[0].row if spans else None)
    most = MOST_READ_HITS if not is_confident(probability, ranking) else 1
    said = texts_said(spans, evidence, ranking, reader=reranker, most_read=most)
    hits = make_hits(spans, said, evidence=evidence, ranking=ranking, today=today)
    results = _results(hits, query, evidence=evidence, ranking=ranking, probability=probability)
    if not superseded:
        return results
    from recollect.search.copies import mark_copies  # noqa: PLC0415 - slow to load

    keep = query.scope.with_superseded
    return mark_copies(results, superseded=superseded, keep=keep, most=query.max_results)


def _results(
    hits: tuple[Hit, ...],
    query: Query,
    *,
    evidence: Evidence,
    ranking: Ranking,
    probability: float,
) -> Results:
    pools = evidence.pools
    return Results(
        hits=hits,
        query=query.text,
        mode=pools.mode,
        provider=pools.fingerprint.provider if pools.fingerprint else None,
        model=pools.fingerprint.model if pools.fingerprint else None,
        fusion=ranking.fusion,
        confident=is_confident(probability, ranking),
        confidence=probability,
        degraded={**pools.degraded, **ranking.degraded} or None,
        notices=notices(evidence),
        searched=pools.keyword.corpus.chunks,
        terms=frozenset(term_weights(evidence)),
    )


@dataclass(frozen=True, slots=True)
class StartedSearch:
    """A search whose question is read but not embedded."""

    request: SearchRequest
    options: SearchOptions
    query: Query
    spaces: StoredSpaces = StoredSpaces()
    notices: tuple[str, ...] = ()
    """What happened to the index, and what was not brought up to date."""
    trouble: Degradation | None = None
    """Why what is new could not be embedded."""
    others: Mapping[str, StartedSearch | RecollectError] = field(default_factory=dict)
    """The same search in other memories, or why it did not start there."""


@dataclass(frozen=True, slots=True)
class EmbeddedSearch:
    """The question of a search as vectors."""

    query: Query
    serving: Serving
    asked: AskedVectors | None = None
    unexpanded: Mapping[str, Degradation] = field(default_factory=dict)
    others: Mapping[str, EmbeddedSearch] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Searcher:
    """Answers questions from one store, in three steps: `start`, `embed`, `finish`.

    Only the second waits for models, and it uses no store: others may use it meanwhile.
    """

    store: Store
    expander: QueryExpander | None
    """Expander of questions; None without a language model."""
    chain: Chain
    reranker: Callable[[], Reranker]
    """Opens the model that reranks; called only if it is wanted."""
    options: SearchOptions
    audience: Callable[[Iterable[str]], frozenset[str]]
    """Returns the scopes of facts that may be seen, of those asked for."""
    workspace: Path | None
    """Named in an answer if it holds no notes; None if the memory is made from pushed documents."""
    sources: tuple[str, ...]
    """The kinds of sources that are indexed."""
    sync_on_search: bool
    """Whether what changed is brought in first, if a request does not say."""
    today: Callable[[], date]

    def start(self, request: SearchRequest) -> StartedSearch:
        """Read a request."""
        request = read_filters(request)
        options = adapt_options(self.options, request)
        query = read_question(request, audience=self.audience(request.scopes), options=options)
        return StartedSearch(request, options, query)

    def syncs(self, request: SearchRequest) -> bool:
        """Return whether what changed is brought in before a request is answered."""
        return self.sync_on_search if request.sync is None else request.sync

    def spaces(self) -> StoredSpaces:
        """Return the spaces that the store has vectors in."""
        return StoredSpaces.of(self.store, chain=self.chain)

    def embed(self, started: StartedSearch) -> EmbeddedSearch:
        """Expand the question and embed it. Only this waits for models; it uses no store."""
        query, unexpanded = (
            self.expander.expand(started.query) if self.expander else (started.query, {})
        )
        serving = choose_provider(started.spaces, chain=self.chain)
        if serving.provider is None:
            return EmbeddedSearch(query, serving, unexpanded=unexpanded)
        asked = embed_question(query, serving.provider)
        if asked.degradation is not None and serving.second is not None:
            asked = embed_question(query, serving.second)
        return EmbeddedSearch(query, serving, asked, unexpanded)

    def finish(self, started: StartedSearch, embedded: EmbeddedSearch) -> Results:
        """Answer from what the store holds."""
        results = self._search(started, embedded)
        request, is_synced = started.request, self.syncs(started.request)
        why_empty = empty_notices(
            started.query.scope, self.store, workspace=self.workspace, is_synced=is_synced
        )
        told = () if results.hits else tuple(why_empty)
        more = source_notices(request, indexed=self.sources)
        degraded = self._degraded(results, started, embedded)
        hits = tuple(map(compacted, results.hits)) if request.compact else results.hits
        return replace(
            results,
            hits=hits,
            degraded=degraded or None,
            notices=(*told, *more, *results.notices),
            why_empty=told,
            is_compact=request.compact,
        )

    def _search(self, started: StartedSearch, embedded: EmbeddedSearch) -> Results:
        """Search and mark copies: everything that reads the store."""
        began, options = time.perf_counter(), started.options
        query = at_this_moment(embedded.query)
        results = search(
            query,
            store=self.store,
            asked=embedded.asked,
            reranker=self.reranker() if options.rank.rerank.enabled else None,
            options=options,
            today=started.request.today or self.today(),
        )
        told = tuple(filling_notices(embedded.serving, self.store))
        if not started.request.explain:
            results = replace(
                results, hits=tuple(replace(each, trace=None) for each in results.hits)
            )
        took_ms = (time.perf_counter() - began) * 1000
        took_ms += embedded.asked.took_ms if embedded.asked else 0.0
        return replace(results, notices=(*told, *results.notices), took_ms=took_ms)

    def _degraded(
        self, results: Results, started: StartedSearch, embedded: EmbeddedSearch
    ) -> dict[str, Degradation]:
        """Return why a leg did not run.

        Trouble of the configured provider is reported even if another one's vectors answer.
        """
        serving = embedded.serving
        degraded = {**(results.degraded or {}), **embedded.unexpanded}
        trouble = started.trouble if serving.second is not None else None
        if (why := serving.degradation or trouble) is not None:
            degraded[Leg.VECTOR] = why
        elif (why := degraded.get(Leg.VECTOR)) is not None and why not in (NOT_READ, *UNUSABLE):
            choice = self.chain.choice
            degraded[Leg.VECTOR] = choice.with_switch(why) if choice else why
        elif why is not None and why in UNEMBEDDED and self.workspace is None:
            degraded[Leg.VECTOR] = replace(why, action=_BY_WORKER)
        return degraded
