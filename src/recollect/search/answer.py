"""request ─ read ─▶ Query ─ freshen ─ expand ─ choose ─ embed ─ search ─▶ Results ─ mark copies.

The orchestrator of a whole answer. Each line of `Searcher` is one step; `pipeline` has the steps
of the search itself.
"""

from __future__ import annotations

import contextlib
from dataclasses import field, replace
from typing import TYPE_CHECKING

from recollect.errors import ProviderError
from recollect.ingest.spaces import last_space, spaces_of
from recollect.records import dataclass
from recollect.search.choose import Serving, StoredSpaces, choose_provider
from recollect.search.legs import NOT_READ, UNEMBEDDED, WORKING, embed_question
from recollect.search.pipeline import search
from recollect.search.question import adapt_options, at_this_moment, read_question
from recollect.types import Leg, SourceKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import date
    from pathlib import Path

    from recollect.ingest.sync import Syncer
    from recollect.providers.base import Reranker
    from recollect.providers.chain import Chain
    from recollect.search.expand import QueryExpander
    from recollect.search.legs import AskedVectors
    from recollect.search.options import SearchOptions
    from recollect.stores.base import Store
    from recollect.types import Degradation, Progress, Query, Results, Scope, SearchRequest

_SPARE = 4  # hits in place of those that repeat superseded facts
_BY_WORKER = "A worker of the server embeds it: ask again later, or ask its operator."
_SESSIONS_NOT_INDEXED = (
    'Transcripts are not indexed: set sources = ["memory", "sessions"] in your settings.'
)
_NOT_COMPARED = (
    "Most notes were searched by keyword only: their model does not read this question. Set "
    'provider = "multilingual" to search all of them by meaning.'
)
_NOT_COMPARED_YET = (
    "Some notes were searched by keyword only: they have no vectors for questions in this script "
    "yet. `recollect index` makes them."
)


@dataclass(frozen=True, slots=True)
class StartedSearch:
    """A search whose question is read but not embedded."""

    request: SearchRequest
    options: SearchOptions
    query: Query
    notices: tuple[str, ...]
    """What happened to the index, and what was not brought up to date."""
    spaces: StoredSpaces
    trouble: Degradation | None
    """Why what is new could not be embedded."""


@dataclass(frozen=True, slots=True)
class EmbeddedSearch:
    """The question of a search as vectors."""

    query: Query
    serving: Serving
    asked: AskedVectors | None = None
    unexpanded: Mapping[str, Degradation] = field(default_factory=dict)

    @property
    def has_second(self) -> bool:
        """Whether there is another provider to ask."""
        second = self.serving.second
        return second is not None and (self.asked is None or self.asked.provider is not second)


@dataclass(frozen=True, slots=True)
class Searcher:
    """Answers questions from one store, in three steps: `start`, `embed`, `finish`.

    Only the second waits for models, and it uses no store: others may use it meanwhile.
    """

    store: Store
    syncer: Syncer
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
        """Read a request, and bring in what changed."""
        options = adapt_options(self.options, request)
        query = read_question(request, audience=self.audience(request.scopes), options=options)
        left_undone = self._prepare(request, options=options, progress=progress)
        spaces = self.syncer.rebuilding(lambda: StoredSpaces.of(self.store, chain=self.chain))
        # Another memory of the same index may finish it, which knows nothing of these notices.
        notices = (*self.syncer.take_notices(), *left_undone)
        return StartedSearch(request, options, query, notices, spaces, self.syncer.trouble)

    def embed(self, started: StartedSearch, *, progress: Progress) -> EmbeddedSearch:
        """Expand the question and embed it. Only this waits for models; it uses no store."""
        query, unexpanded = (
            self.expander.expand(started.query) if self.expander else (started.query, {})
        )
        serving = choose_provider(started.spaces, chain=self.chain, progress=progress)
        asked = embed_question(query, serving.provider) if serving.provider else None
        if asked is not None and asked.degradation is not None and serving.second is not None:
            asked = embed_question(query, serving.second)
        supplement = self.chain.supplement(started.spaces.held)
        if asked is not None and supplement is not None and started.spaces.supplement is not None:
            beside = embed_question(query, supplement)
            background = supplement.background_across(query.text)
            if asked.degradation is NOT_READ and started.spaces.across is not None:
                others = replace(beside, provider=supplement.across, background_across=background)
                beside = replace(beside, supplement=others)
            asked = replace(asked, supplement=replace(beside, background_across=background))
        return EmbeddedSearch(query, serving, asked, unexpanded)

    def finish(self, started: StartedSearch, embedded: EmbeddedSearch) -> Results:
        """Answer from what the store holds."""
        results = self.syncer.rebuilding(lambda: self._search(started, embedded))
        notices = self._notices(
            started.request, results, scope=started.query.scope, earlier=started.notices
        )
        return self._finish(results, started, embedded, notices=notices)

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

    def _search(self, started: StartedSearch, embedded: EmbeddedSearch) -> Results:
        """Search and mark copies: everything that reads the store."""
        options, serving = started.options, embedded.serving
        query = at_this_moment(embedded.query, started.request)
        wanted = query.max_results
        superseded = self.store.superseded(query.scope)
        if superseded:
            query = replace(query, max_results=wanted + _SPARE)

        def answer_by(asked: AskedVectors | None) -> Results:
            return search(
                query,
                store=self.store,
                asked=asked,
                reranker=self.reranker() if options.rank.rerank.enabled else None,
                options=options,
                today=started.request.today or self.today(),
                explain=started.request.explain,
            )

        results = answer_by(embedded.asked)
        if embedded.has_second and Leg.VECTOR in (results.degraded or {}):
            assert serving.second is not None  # noqa: S101 - tested above
            results = answer_by(embed_question(query, serving.second))
        notices = (serving.notice(self.store), self._unread_notice(started, embedded, results))
        if superseded:
            from recollect.search.copies import mark_copies  # noqa: PLC0415 - slow to load

            results = mark_copies(
                results, superseded=superseded, keep=query.scope.with_superseded, most=wanted
            )
        told = tuple(notice for notice in notices if notice is not None)
        return replace(results, notices=(*told, *results.notices)) if told else results

    def _unread_notice(
        self, started: StartedSearch, embedded: EmbeddedSearch, results: Results
    ) -> str | None:
        """Return why an answer may lack notes whose model cannot read the question.

        A clear answer needs no remark, and a leg that did not run says so itself.
        """
        asked = embedded.asked
        is_read = asked is None or asked.degradation is not NOT_READ
        if is_read or results.confident or Leg.VECTOR in (results.degraded or {}):
            return None
        last = last_space(spaces_of(self.chain, started.spaces.held), store=self.store)
        if last is None or not last.waiting(self.store):
            return None
        return _NOT_COMPARED_YET if last.is_needed(self.store) else _NOT_COMPARED

    def _notices(
        self, request: SearchRequest, results: Results, *, scope: Scope, earlier: tuple[str, ...]
    ) -> tuple[str, ...]:
        notices = (*earlier, *self.syncer.take_notices())
        if not results.hits and not self.store.holds():
            if self.workspace is None:
                why = "This memory is empty. Push documents to it, or remember facts."
            elif self._syncs(request):
                why = f"There are no notes in {self.workspace}. Name another workspace with -w."
            else:
                why = "The index is empty. Run `recollect index`."
            notices += (why,)
        elif not results.hits and not scope.is_open:
            notices += tuple(_empty_filters(scope, store=self.store))
        if request.source == SourceKind.SESSIONS and SourceKind.SESSIONS not in self.sources:
            notices += (_SESSIONS_NOT_INDEXED,)
        return notices

    def _finish(
        self,
        results: Results,
        started: StartedSearch,
        embedded: EmbeddedSearch,
        *,
        notices: tuple[str, ...],
    ) -> Results:
        """Add how the answer came about.

        Trouble of the configured provider is reported even if another one's vectors answer.
        """
        serving = embedded.serving
        degraded = {**(results.degraded or {}), **embedded.unexpanded}
        trouble = started.trouble if serving.second is not None else None
        if (why := serving.degradation or trouble) is not None:
            degraded[Leg.VECTOR] = why
        elif (why := degraded.get(Leg.VECTOR)) is not None and why not in WORKING:
            choice = self.chain.choice
            degraded[Leg.VECTOR] = choice.with_switch(why) if choice else why
        elif why is not None and why in UNEMBEDDED and self.workspace is None:
            degraded[Leg.VECTOR] = replace(why, action=_BY_WORKER)
        return replace(
            results,
            degraded=degraded or None,
            notices=(*notices, *results.notices),
        )


def _empty_filters(scope: Scope, *, store: Store) -> Iterator[str]:
    """Yield which filters leave nothing to search, each taken alone."""
    everything = replace(
        scope, source=None, since=None, before=None, path=None, tags=(), phrases=()
    )
    path, source, since, before = scope.path, scope.source, scope.since, scope.before
    filters = (
        (path, replace(everything, path=path), f"No indexed file matches the path {path!r}."),
        (source, replace(everything, source=source), f"Nothing is indexed from {source}."),
        (since, replace(everything, since=since), f"Nothing is dated on or after {since}."),
        (before, replace(everything, before=before), f"Nothing is dated before {before}."),
        *(
            (tag, replace(everything, tags=(tag,)), f"No note has the tag #{tag.name}.")
            for tag in scope.tags
        ),
    )
    for value, alone, sentence in filters:
        if value is not None and not store.holds(alone):
            yield sentence
