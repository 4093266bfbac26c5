"""MemoryParts: the parts of a memory around an open store, and what is done with them.

Only our own programs use it. What a plain search does not need is imported by the method that needs
it: a command starts faster.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from functools import cached_property, partial
from threading import RLock
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from recollect.errors import ElsewhereError, RecollectError, explains_system_failures
from recollect.facts.files import FACTS_FOLDER
from recollect.facts.scope import audience_of
from recollect.facts.source import FactsSource
from recollect.ingest.fill import Embedder
from recollect.ingest.spaces import Budget, cache_status_of, held_space
from recollect.ingest.sync import Syncer, SyncOptions, rebuilds
from recollect.ingest.walk import roots
from recollect.providers.chain import Chain
from recollect.providers.registry import open_chat
from recollect.reports import (
    Amount,
    KeywordStatus,
    LegsStatus,
    ProviderStatus,
    RecallForm,
    Staleness,
    Status,
    VectorStatus,
)
from recollect.search.answer import EmbeddedSearch, Searcher
from recollect.search.embed import Serving
from recollect.search.join import joined, notices_of
from recollect.stores.base import SpaceTexts, published_in
from recollect.stores.registry import open_cache
from recollect.stores.synchronized import synchronized
from recollect.text.confined import shown_path
from recollect.types import MAX_QUERY_CHARS, Degradation, Scope, SearchRequest, SourceKind, silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from recollect.browse.overview import Overview
    from recollect.config.load import Setup
    from recollect.config.schema import Config
    from recollect.facts.book import FactBook
    from recollect.facts.files import LedgerFiles
    from recollect.ingest.source import Source
    from recollect.providers.base import Chat
    from recollect.providers.cross_encoder import CrossEncoder
    from recollect.providers.options import ChatOptions
    from recollect.reports import Excerpt, Failure, IndexStatus, Recalled, Report
    from recollect.search.answer import StartedSearch
    from recollect.search.expand import QueryExpander
    from recollect.sessions.source import SessionSource
    from recollect.stores.base import Store
    from recollect.types import Progress, Results, Sending


Answer = TypeVar("Answer")


class Models:
    """The models of a memory, which its readers and other memories may use as well."""

    def __init__(
        self, config: Config, *, may_send: Callable[[Sending], bool] = lambda _: True
    ) -> None:
        self.chain = Chain(config.provider, may_send=may_send)
        self.chat = _open_chat(config.chat)
        self.wording_chat = _open_chat(
            replace(config.chat, model=config.wording.model or config.chat.model)
        )

    @cached_property
    def reranker(self) -> CrossEncoder:
        """Reads a question together with a text."""
        from recollect.providers.cross_encoder import CrossEncoder

        return CrossEncoder()

    def close(self) -> None:
        """Release them."""
        if "reranker" in vars(self):  # opened
            self.reranker.close()
        self.chain.close()
        for chat in (self.chat, self.wording_chat):
            if chat is not None:
                chat.close()


@explains_system_failures
class MemoryParts:
    """The parts of one memory. Threads may share it: their calls run one after the other."""

    def __init__(  # noqa: PLR0913 - the parts
        self,
        setup: Setup,
        *,
        store: Store,
        notes: Sequence[Source],
        ledger: LedgerFiles,
        text_of: Callable[[str], tuple[str, str]],
        folder: Path | None,
        purpose: str,
        notices: Sequence[str] = (),
        models: Models | None = None,
        changes: Callable[[], object | None] = lambda: None,
        transcripts: SessionSource | None = None,
        others: Mapping[str, Callable[[], MemoryParts]] = MappingProxyType({}),
    ) -> None:
        """Compose the parts around an open store.

        `text_of` returns the stored path and text of a document, `changes` what differs after a
        change of a file, None if unknown. A memory without files has no `folder`. Other processes
        show `purpose` while this one writes. `models` belong to another memory, which closes them.
        `others` open the memories that are searched with this one, or raise a RecollectError.
        """
        config = setup.config
        self.setup = setup
        self.agent = setup.agent
        self.lock = RLock()
        """Held by the thread that is at work: a connection serves one thread at a time."""
        self.store = store
        self.folder = folder
        self.ledger = ledger
        self._text_of = text_of
        self._transcripts = transcripts
        self._others = others
        # None for a server: the vector of a text that was purged must not stay on its disk.
        is_hosted, size = folder is None, config.cache_megabytes * 1_000_000
        self.cache = (
            None
            if is_hosted
            else open_cache(setup.store_address, setup.places.cache, max_bytes=size)
        )
        self._owns_models = models is None
        self.models = models or Models(config, may_send=setup.may_send)
        self.chain = self.models.chain
        self.syncer = Syncer(
            store,
            sources=[*notes, FactsSource(ledger, store=store)],
            embedder=Embedder(
                store=store,
                chain=self.chain,
                cache=self.cache,
                media_roots=roots(folder, options=config.ingest.walk)
                if folder is not None and config.ingest.walk.media
                else (),
                uses_batches=config.provider.remote.batch,
                today=today,
            ),
            purpose=purpose,
            notices=notices,
            tells_counts=setup.scopes is None,
            changes=changes,
        )
        self._audience_of = partial(audience_of, allowed=setup.scopes)
        self._searcher = Searcher(
            store=store,
            expander=self._expander(),
            chain=self.chain,
            reranker=lambda: self.models.reranker,
            options=config.search,
            audience=self._audience_of,
            workspace=folder,
            sources=config.sources,
            sync_on_search=config.sync_on_search,
            today=today,
        )

    @property
    def config(self) -> Config:
        """The settings in force, and where each was set."""
        return self.setup.config

    @cached_property
    def facts(self) -> FactBook:
        """The facts; a worktree without a ledger has those of the main checkout."""
        if self._main and self.folder and not (self.folder / FACTS_FOLDER).exists():
            return self._others[self._main]().facts
        from recollect.facts.book import FactBook
        from recollect.facts.ledger import Ledger

        return FactBook(Ledger(self.ledger), now=_now)

    @cached_property
    def overview(self) -> Overview:
        """An overview of this memory."""
        from recollect.browse.overview import Overview

        return Overview(
            self.syncer, chain=self.chain, lock=self.lock, audience=self._audience_of, now=_now
        )

    @property
    def _main(self) -> str:
        """The name of the main checkout, if the workspace is in another one."""
        main = self.setup.checkout.main
        name = shown_path(main, home=self.setup.places.user) if main else ""
        return name if name in self._others else ""

    def _expander(self) -> QueryExpander | None:
        if not self.config.wording.wanted:
            return None
        from recollect.search.expand import QueryExpander

        return QueryExpander(self.models.wording_chat, options=self.config.wording)

    @synchronized
    def sync(
        self,
        *,
        force: bool = False,
        retry: bool = True,
        max_texts: int | None = None,
        progress: Progress = silent,
        on_wait: Callable[[str], None] = silent,
    ) -> Report:
        """Update the index to match the documents, as `Memory.sync` does."""
        options = SyncOptions(force, Budget(retry, max_texts), progress=progress)
        report = self.syncer.sync(options, on_wait=on_wait)
        others = self._ask_others(
            lambda other: other.sync(
                force=force, retry=retry, max_texts=max_texts, progress=progress, on_wait=on_wait
            )
        )
        notices = (*self.syncer.take_notices(), *report.notices, *notices_of(others))
        return replace(report, notices=notices)

    def _ask_others(
        self, ask: Callable[[MemoryParts], Answer]
    ) -> dict[str, Answer | RecollectError]:
        """Return what each of the other memories answers, or why it does not."""
        return {
            name: _tried(lambda each: ask(each()), opened) for name, opened in self._others.items()
        }

    def answer(self, request: SearchRequest, *, progress: Progress = silent) -> Results:
        """Answer a request. Other threads may use the memory while the question is embedded."""
        started = self.start_search(request, progress=progress)
        return self.finish_search(started, self.embed_search(started))

    @synchronized
    def start_search(self, request: SearchRequest, *, progress: Progress = silent) -> StartedSearch:
        """Do the first step of `answer`: read the request, and bring in what changed."""
        started = self._searcher.start(request)
        left_undone = self.syncer.freshen(progress) if self._searcher.syncs(request) else ()
        spaces = self.syncer.rebuilding(self._searcher.spaces)
        # Another memory of the same index may finish it, which knows nothing of these notices.
        notices = (*self.syncer.take_notices(), *left_undone)
        return replace(
            started,
            spaces=spaces,
            notices=notices,
            trouble=self.syncer.freshness.trouble,
            others=self._ask_others(lambda other: other.start_search(request, progress=progress)),
        )

    def embed_search(self, started: StartedSearch) -> EmbeddedSearch:
        """Do the second step: embed the question. It takes no lock, so any thread may call it."""
        embedded = self._searcher.embed(started)
        others = {}
        for name, each in started.others.items():
            if not isinstance(each, RecollectError):
                is_same = (each.query, each.spaces) == (started.query, started.spaces)
                others[name] = embedded if is_same else self._others[name]().embed_search(each)
        return replace(embedded, others=others) if others else embedded

    def finish_search(
        self, started: StartedSearch, embedded: EmbeddedSearch | Degradation
    ) -> Results:
        """Do the last step; a Degradation says why the second step is not waited for any longer."""
        results = self._finish(started, embedded)
        if not started.others:
            return results

        def finish(name: str, each: StartedSearch) -> Results:
            its_own = embedded if isinstance(embedded, Degradation) else embedded.others[name]
            found = self._others[name]().finish_search(each, its_own)
            if name != self._main:
                return found
            # This checkout has a version of its own.
            with self.lock:
                known = self.store.known((hit.source, hit.path) for hit in found.hits)
            hits = (hit for hit in found.hits if (hit.source, hit.path) not in known)
            return replace(found, hits=tuple(hits))

        others = {
            name: each if isinstance(each, RecollectError) else _tried(finish, name, each)
            for name, each in started.others.items()
        }
        return joined(
            results, others, query=started.query, floor=started.options.rank.fusion.min_score
        )

    @synchronized
    def _finish(self, started: StartedSearch, embedded: EmbeddedSearch | Degradation) -> Results:
        if isinstance(embedded, Degradation):
            embedded = EmbeddedSearch(started.query, Serving(None, embedded))
        results = self.syncer.rebuilding(partial(self._searcher.finish, started, embedded))
        if any(hit.fact is not None for hit in results.hits):
            found = self.facts.listed().contradicting
            against = [found.get(hit.fact.id, ()) if hit.fact else () for hit in results.hits]
            hits = (
                replace(hit, contradicts=tuple(f"{each.id} {each.text}" for each in others))
                for hit, others in zip(results.hits, against, strict=True)
            )
            results = replace(results, hits=tuple(hits))
        if started.request.links:
            graph = self.overview.link_graph()
            linked = (
                replace(
                    hit,
                    links=graph.links.get(hit.path, ()),
                    backlinks=graph.backlinks.get(hit.path, ()),
                )
                for hit in results.hits
            )
            results = replace(results, hits=tuple(linked))
        notices = (*started.notices, *self.syncer.take_notices(), *results.notices)
        return replace(results, notices=notices)

    @staticmethod
    def recall_request(prompt: str, *, scopes: Iterable[str] = ()) -> SearchRequest:
        """Return the search that a recall makes."""
        from recollect.browse.recall import CANDIDATES

        return SearchRequest(
            prompt[:MAX_QUERY_CHARS],  # beyond this, it is mostly pasted text
            max_results=CANDIDATES,
            scopes=tuple(scopes),
            phrases=False,
            explain=True,
        )

    def recall_from(
        self, results: Results, *, budget_tokens: int, form: RecallForm | str = RecallForm.FULL
    ) -> Recalled:
        """Return the block for a turn, from the results of its search."""
        from recollect.browse.recall import keep_cost, recall_block

        recalled = recall_block(results, budget_tokens=budget_tokens, form=RecallForm(form))
        if self.folder is not None and self.store.is_shared:
            keep_cost(self.setup.places.recalls_of(self.agent), recalled.tokens)
        return recalled

    @synchronized
    def get(self, path: str, *, start_line: int = 1, lines: int = 120) -> Excerpt:
        """Read part of a document."""
        from recollect.facts.page import visible_text
        from recollect.ingest.read import excerpt
        from recollect.ingest.walk import missing

        if place := self._elsewhere(path):
            name, inner = place
            found = self._others[name]().get(inner, start_line=start_line, lines=lines)
            return replace(found, path=f"{name}/{found.path}")
        if self._transcripts is not None and self._transcripts.has(path):
            return self._transcripts.excerpt(path, start_line=start_line, lines=lines)
        path, text = self._text_of(path)
        scopes = self.setup.scopes
        if scopes is not None and path.startswith(f"{FACTS_FOLDER}/"):
            text = visible_text(path.rpartition("/")[2], text, scopes=scopes)
            if not text:
                raise missing(path, workspace=self.setup.workspace)
        return excerpt(text, path=path, start_line=start_line, lines=lines)

    def _elsewhere(self, path: str) -> tuple[str, str] | None:
        """Return the other memory that a path as it is shown is of, and the path there."""
        shown = shown_path(path, home=self.setup.places.user)
        if self.store.known([(SourceKind.AGENTS, shown)]):  # agents keep their notes anywhere
            return None
        by_length = sorted(self._others, key=len, reverse=True)  # one may be inside another
        name = next((each for each in by_length if shown.startswith(f"{each}/")), None)
        return (name, shown.removeprefix(f"{name}/")) if name else None

    def picture(self, path: str, *, note: str) -> tuple[bytes, str]:
        """Return the bytes and the media type of a picture, as `note` names it."""
        from recollect.browse.pictures import read_picture

        return read_picture(path, note=note, folder=self.folder, options=self.config.ingest.walk)

    @property
    def _audience(self) -> frozenset[str] | None:
        """The scopes whose facts may be seen; None for all."""
        allowed = self.setup.scopes
        return None if allowed is None else audience_of(allowed, allowed=allowed)

    @synchronized
    @rebuilds
    def status(self, *, deep: bool = False) -> Status:
        """Return what is indexed, how, and what is stale; `deep` embeds a text to try it."""
        from recollect.browse.recall import costs_in
        from recollect.ingest.documents import find_staleness
        from recollect.ingest.lease import at_work

        config = self.config
        try:
            staleness = find_staleness(self.syncer.sources, store=self.store)
        except ElsewhereError:  # whether its files changed, only their machine can tell
            staleness = Staleness((), (), ())
        stored_spaces = self.store.spaces()
        published = published_in(stored_spaces)
        held = held_space(self.store, chain=self.chain)
        probe = self.chain.probe(held) if deep else None
        expected = self.chain.expected(held)
        space = stored_spaces.get(expected) if expected else None
        audience = self._audience
        counted = SpaceTexts(expected, config.ingest.walk.media) if expected else None
        stored = self.store.status(counted, audience=audience)
        others = self._ask_others(MemoryParts.stored)
        failed = {at: each for at, each in others.items() if isinstance(each, RecollectError)}
        # Neither the cache nor the recalls of a server are for its clients; others add to both.
        is_own = self.folder is not None and audience is None
        cache, trouble = (None, ()) if self.folder is None else cache_status_of(self.cache)
        return Status(
            workspace=str(self.setup.workspace),
            agent=self.agent,
            index=stored,
            provider=ProviderStatus(
                requested=config.provider.provider,
                name=expected.provider if expected else None,
                model=expected.model if expected else None,
                dimensions=(space.dimensions if space else None)
                or (expected.dimensions if expected else None),
                skipped=self.chain.choice.skipped if self.chain.choice else {},
            ),
            legs=LegsStatus(
                KeywordStatus(stored.chunks),
                VectorStatus(
                    stored.engine,
                    stored.vectors,
                    stored.pending,
                    space=str(expected) if expected else None,
                    served_from=str(published) if published else None,
                ),
            ),
            cache=cache if is_own else None,
            stale=staleness if audience is None else _without_facts(staleness),
            probe=probe,
            at_work=at_work(self.store) if self.store.is_writable else None,
            notices=(*self.syncer.take_notices(), *trouble, *notices_of(failed)),
            also={
                name: Amount(each.documents, each.chunks)
                for name, each in others.items()
                if not isinstance(each, RecollectError)
            },
            checkouts=tuple(map(str, self.setup.checkout.others())),
            recalls=costs_in(self.setup.places.recalls_of(self.agent)) if is_own else (),
        )

    @synchronized
    @rebuilds
    def stored(self) -> IndexStatus:
        """Return how much is indexed, as far as this memory may tell."""
        return self.store.status(None, audience=self._audience)

    @synchronized
    @rebuilds
    def paths(self) -> frozenset[str]:
        """Return the paths of indexed documents, and of pages with a visible fact."""
        known = self.store.known()
        if self._audience is None:
            return frozenset(path for _, path in known)
        scope = Scope(source=SourceKind.FACTS, audience=self._audience, with_superseded=True)
        ledger = self.store.documents(scope, limit=len(known), offset=0).documents
        notes = (path for source, path in known if source is not SourceKind.FACTS)
        return frozenset((*notes, *(each.path for each in ledger)))

    @synchronized
    def shows(self, path: str) -> bool:
        """Return whether hits can have this path: here, or in a memory searched with this one."""
        place = self._elsewhere(path)
        return self._others[place[0]]().shows(place[1]) if place else path in self.paths()

    @synchronized
    @rebuilds
    def verify_store(self) -> Sequence[str]:
        """Read the whole index and return what is broken: nothing if it is sound."""
        return self.store.check()

    def verify_models(self) -> Sequence[Failure]:
        """Hash every model file and return which are missing or not the published ones."""
        from recollect.providers.local import changed_models
        from recollect.reports import Failure

        changed = changed_models(self.config.provider)
        return [Failure("model", each.message, each.action) for each in changed]

    @synchronized
    def take_notices(self) -> tuple[str, ...]:
        """Return what happened to the index and was not reported yet; most reports contain it."""
        return self.syncer.take_notices()

    @synchronized
    def close(self) -> None:
        """Release the index and the models."""
        self.store.close()
        if self.cache is not None:
            self.cache.close()
        if self._owns_models:
            self.models.close()


def _tried(work: Callable[..., Answer], *given: object) -> Answer | RecollectError:
    try:
        return work(*given)
    except RecollectError as error:
        return error


def _open_chat(options: ChatOptions) -> Chat | None:
    return open_chat(options) if options.provider is not None else None


def _now() -> datetime:
    return datetime.now(tz=UTC)


def today() -> date:
    """Return the day by the user's own calendar."""
    return _now().astimezone().date()


def _without_facts(staleness: Staleness) -> Staleness:
    """Return the same without the files of the ledger: they change with the facts of others too."""

    def notes(paths: Iterable[str]) -> tuple[str, ...]:
        return tuple(path for path in paths if not path.startswith(f"{FACTS_FOLDER}/"))

    return replace(staleness, changed=notes(staleness.changed), gone=notes(staleness.gone))
