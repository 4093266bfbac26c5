"""request ─ read ─▶ Query ─ expand ─ freshen ─ choose ─ search ─▶ Results ─ mark copies ─ finish.

The orchestrator of a whole answer. Each line of `Searcher.answer` is one step; `pipeline` has the
steps of the search itself.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from recollect.errors import ProviderError
from recollect.search.choose import choose_provider
from recollect.search.legs import WORKING
from recollect.search.pipeline import search
from recollect.search.question import adapt_options, read_question
from recollect.types import Leg, SourceKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import date
    from pathlib import Path

    from recollect.ingest.sync import Syncer
    from recollect.providers.base import Provider, Reranker
    from recollect.providers.chain import Chain
    from recollect.search.choose import Serving
    from recollect.search.expand import QueryExpander
    from recollect.search.options import SearchOptions
    from recollect.stores.base import Store
    from recollect.types import Degradation, Progress, Query, Results, SearchRequest

_SESSIONS_NOT_INDEXED = (
    'Transcripts are not indexed: set sources = ["memory", "sessions"] in your settings.'
)


@dataclass(frozen=True, slots=True)
class Searcher:
    """Answers questions from one store."""

    store: Store
    syncer: Syncer
    expander: QueryExpander | None
    """None if no language model adds to questions."""
    chain: Chain
    reranker: Callable[[], Reranker]
    """Opens the model that reranks; called only if it is wanted."""
    options: SearchOptions
    audience: Callable[[Iterable[str]], frozenset[str]]
    """Returns the scopes of facts that may be seen, of those asked for."""
    workspace: Path
    """Named in the answer if there is nothing to search in it."""
    sources: tuple[str, ...]
    """The kinds of sources that are indexed."""
    sync_on_search: bool
    """Whether what changed is brought in first, if a request does not say."""
    today: Callable[[], date]

    def answer(self, request: SearchRequest, *, progress: Progress) -> Results:
        """Answer a request."""
        options = adapt_options(self.options, request)
        query = read_question(request, audience=self.audience(request.scopes), options=options)
        query, unexpanded = self.expander.expand(query) if self.expander else (query, {})
        left_undone = self._prepare(request, options=options, progress=progress)
        today = request.today or self.today()
        results, serving = self.syncer.rebuilding(
            lambda: self._search(query, options=options, today=today, progress=progress)
        )
        notices = self._notices(request, results, left_undone=left_undone)
        return self._finish(
            results, request, serving=serving, unexpanded=unexpanded, notices=notices
        )

    def _prepare(
        self, request: SearchRequest, *, options: SearchOptions, progress: Progress
    ) -> tuple[str, ...]:
        """Fetch a model that is needed and bring in what changed; return what was left undone."""
        if options.rank.rerank.enabled:
            # The stage itself reports a model that cannot be had; here only the wait is shown.
            with contextlib.suppress(ProviderError):
                self.reranker().prepare(progress=progress, retry=False)
        return self.syncer.freshen(progress) if self._syncs(request) else ()

    def _syncs(self, request: SearchRequest) -> bool:
        return self.sync_on_search if request.sync is None else request.sync

    def _search(
        self, query: Query, *, options: SearchOptions, today: date, progress: Progress
    ) -> tuple[Results, Serving]:
        """Choose the provider, search, and mark copies: everything that reads the store."""

        def answer_by(provider: Provider | None) -> Results:
            return search(
                query,
                store=self.store,
                provider=provider,
                reranker=self.reranker() if options.rank.rerank.enabled else None,
                options=options,
                today=today,
            )

        serving = choose_provider(self.store, chain=self.chain, progress=progress)
        results = answer_by(serving.provider)
        if serving.second is not None and Leg.VECTOR in (results.degraded or {}):
            results = answer_by(serving.second)
        return self._without_superseded(results, query), serving

    def _without_superseded(self, results: Results, query: Query) -> Results:
        superseded = self.store.superseded(query.scope)
        if not superseded:
            return results
        from recollect.search.copies import mark_copies  # noqa: PLC0415 - slow to load

        return mark_copies(results, superseded=superseded)

    def _notices(
        self, request: SearchRequest, results: Results, *, left_undone: tuple[str, ...]
    ) -> tuple[str, ...]:
        notices = (*self.syncer.take_notices(), *left_undone)
        if not results.hits and self.store.is_empty():
            why = f"{self.workspace} holds no memory files. Name a workspace with -w."
            is_known = self._syncs(request)
            notices += (why if is_known else "The index is empty. Run `recollect index`.",)
        if request.source == SourceKind.SESSIONS and SourceKind.SESSIONS not in self.sources:
            notices += (_SESSIONS_NOT_INDEXED,)
        return notices

    def _finish(
        self,
        results: Results,
        request: SearchRequest,
        *,
        serving: Serving,
        unexpanded: Mapping[str, Degradation],
        notices: tuple[str, ...],
    ) -> Results:
        """Add how the answer came about.

        Trouble of the configured provider is reported even if another one's vectors answer.
        """
        degraded = {**(results.degraded or {}), **unexpanded}
        trouble = self.syncer.trouble if serving.second is not None else None
        if (why := serving.degradation or trouble) is not None:
            degraded[Leg.VECTOR] = why
        elif (why := degraded.get(Leg.VECTOR)) is not None and why not in WORKING:
            choice = self.chain.choice
            degraded[Leg.VECTOR] = choice.with_switch(why) if choice else why
        hits = results.hits
        if not request.explain:
            hits = tuple(replace(hit, trace=None) for hit in hits)
        notices += () if serving.notice is None else (serving.notice,)
        return replace(
            results,
            hits=hits,
            degraded=degraded or None,
            notices=(*notices, *results.notices),
        )
