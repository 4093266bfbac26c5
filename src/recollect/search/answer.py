"""request ─ read ─▶ Query ─ interpret ─ propose ─ weigh ─▶ Evidence ─ rank ─ select ─▶ Hits.

`search` is one search, one line per stage, in the order of the data: it knows no files, no settings
and no clock. A feature belongs to the stage whose value it changes, as a row of a table there.
`Searcher` is the whole answer: it reads the request, embeds the question, searches, and says what
the answer lacks. Who calls it brings the index up to date before.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import field, replace
from typing import TYPE_CHECKING

from recollect.errors import ProviderError
from recollect.ingest.spaces import spaces_of
from recollect.records import dataclass
from recollect.search.confidence import CONFIDENT_FROM, confidence
from recollect.search.embed import (
    NOT_READ,
    Serving,
    StoredSpaces,
    choose_provider,
    embed_question,
    embed_second,
)
from recollect.search.hits import make_hits
from recollect.search.interpret import interpret
from recollect.search.notices import (
    empty_notices,
    filling_notices,
    notices,
    source_notices,
    unread_notices,
)
from recollect.search.propose import UNEMBEDDED, UNUSABLE, propose
from recollect.search.rank import rank
from recollect.search.request import adapt_options, at_this_moment, read_question
from recollect.search.select import select
from recollect.search.weigh import weigh
from recollect.types import Leg, Results

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import date
    from pathlib import Path

    from recollect.providers.base import Reranker
    from recollect.providers.chain import Chain
    from recollect.search.embed import AskedVectors
    from recollect.search.expand import QueryExpander
    from recollect.search.options import SearchOptions
    from recollect.stores.base import Store
    from recollect.types import Degradation, Progress, Query, SearchRequest

_SPARE = 4  # hits in place of those that repeat superseded facts
_BY_WORKER = "A worker of the server embeds it: ask again later, or ask its operator."


def search(  # noqa: PLR0913 - the parts of an answer
    query: Query,
    *,
    store: Store,
    asked: Sequence[AskedVectors] = (),
    options: SearchOptions,
    today: date,
    reranker: Reranker | None = None,
) -> Results:
    """Answer a question from what the store holds."""
    question = interpret(query, today=today)
    with store.snapshot():  # a chunk that a leg proposes must be there when it is weighed
        pools = propose(question, store=store, asked=asked, limit=options.pool(query.max_results))
        evidence = weigh(pools, store=store)
    ranking = rank(evidence, options=options.rank, today=today, reranker=reranker)
    spans = select(ranking, evidence, options=options.rank)
    probability = confidence(evidence, ranking, best=spans[0].row if spans else None)
    return Results(
        hits=make_hits(spans, evidence=evidence, ranking=ranking, today=today),
        query=query.text,
        mode=pools.mode,
        provider=pools.fingerprint.provider if pools.fingerprint else None,
        model=pools.fingerprint.model if pools.fingerprint else None,
        fusion=ranking.fusion,
        confident=probability >= CONFIDENT_FROM,
        confidence=probability,
        degraded={**pools.degraded, **ranking.degraded} or None,
        notices=notices(evidence),
        searched=pools.keyword.corpus.chunks,
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


@dataclass(frozen=True, slots=True)
class EmbeddedSearch:
    """The question of a search as vectors."""

    query: Query
    serving: Serving
    asked: tuple[AskedVectors, ...] = ()
    """The main space first, then those of the texts that it does not have."""
    unexpanded: Mapping[str, Degradation] = field(default_factory=dict)


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

    def start(self, request: SearchRequest, *, progress: Progress) -> StartedSearch:
        """Read a request, and fetch a model that is needed."""
        options = adapt_options(self.options, request)
        query = read_question(request, audience=self.audience(request.scopes), options=options)
        if options.rank.rerank.enabled:
            # The stage itself reports a model that cannot be had; here only the wait is shown.
            with contextlib.suppress(ProviderError):
                self.reranker().prepare(progress=progress, retry=False)
        return StartedSearch(request, options, query)

    def syncs(self, request: SearchRequest) -> bool:
        """Return whether what changed is brought in before a request is answered."""
        return self.sync_on_search if request.sync is None else request.sync

    def spaces(self) -> StoredSpaces:
        """Return the spaces that the store has vectors in."""
        return StoredSpaces.of(self.store, chain=self.chain)

    def embed(self, started: StartedSearch, *, progress: Progress) -> EmbeddedSearch:
        """Expand the question and embed it. Only this waits for models; it uses no store."""
        query, unexpanded = (
            self.expander.expand(started.query) if self.expander else (started.query, {})
        )
        serving = choose_provider(started.spaces, chain=self.chain, progress=progress)
        if serving.provider is None:
            return EmbeddedSearch(query, serving, unexpanded=unexpanded)
        main = embed_question(query, serving.provider)
        if main.degradation is not None and serving.second is not None:
            main = embed_question(query, serving.second)
        second = self.chain.second(started.spaces.held)
        if second is None or started.spaces.second is None:
            return EmbeddedSearch(query, serving, (main,), unexpanded)
        has_last = started.spaces.last is not None
        others = embed_second(query, main, second, has_last=has_last)
        return EmbeddedSearch(query, serving, (main, *others), unexpanded)

    def finish(self, started: StartedSearch, embedded: EmbeddedSearch) -> Results:
        """Answer from what the store holds."""
        results = self._search(started, embedded)
        request, is_synced = started.request, self.syncs(started.request)
        why_empty = empty_notices(
            started.query.scope, self.store, workspace=self.workspace, is_synced=is_synced
        )
        told = (
            *(() if results.hits else why_empty),
            *source_notices(request, indexed=self.sources),
        )
        degraded = self._degraded(results, started, embedded)
        return replace(results, degraded=degraded or None, notices=(*told, *results.notices))

    def _search(self, started: StartedSearch, embedded: EmbeddedSearch) -> Results:
        """Search and mark copies: everything that reads the store."""
        began, options = time.perf_counter(), started.options
        query = at_this_moment(embedded.query)
        wanted = query.max_results
        superseded = self.store.superseded(query.scope)
        if superseded:
            query = replace(query, max_results=wanted + _SPARE)

        results = search(
            query,
            store=self.store,
            asked=embedded.asked,
            reranker=self.reranker() if options.rank.rerank.enabled else None,
            options=options,
            today=started.request.today or self.today(),
        )
        spaces = spaces_of(self.chain, started.spaces.held)
        told = (
            *filling_notices(embedded.serving, self.store),
            *unread_notices(results, embedded.asked, spaces, self.store),
        )
        if superseded:
            from recollect.search.copies import mark_copies  # noqa: PLC0415 - slow to load

            results = mark_copies(
                results, superseded=superseded, keep=query.scope.with_superseded, most=wanted
            )
        if not started.request.explain:
            results = replace(
                results, hits=tuple(replace(each, trace=None) for each in results.hits)
            )
        took_ms = (time.perf_counter() - began) * 1000 + sum(
            each.took_ms for each in embedded.asked
        )
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
