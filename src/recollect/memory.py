"""Memory: the façade, and the only place where settings, stores, providers and stages meet.

It composes the parts and hands the work to them; it has no logic of its own. What a plain search
does not need is imported by the method that needs it: a command starts faster.
"""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import cached_property, partial
from threading import RLock
from typing import TYPE_CHECKING, Self

from recollect.config import Setup
from recollect.errors import (
    ElsewhereError,
    NotFoundError,
    UsageError,
    explains_system_failures,
)
from recollect.facts.files import FACTS_FOLDER, FolderFiles
from recollect.facts.scope import audience_of
from recollect.facts.source import FactsSource
from recollect.ingest.fill import Embedder
from recollect.ingest.source import NotesSource
from recollect.ingest.spaces import Budget, held_space, pending_later, spaces_of
from recollect.ingest.sync import Syncer, SyncOptions, rebuilds
from recollect.ingest.vectors import cache_status_of
from recollect.ingest.walk import Watched, roots, watched
from recollect.providers.chain import Chain
from recollect.providers.registry import open_chat
from recollect.reports import (
    RECALL_TOKENS,
    Amount,
    IndexStatus,
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
from recollect.stores.base import published_in
from recollect.stores.notes import claim
from recollect.stores.pushed import PUSHED
from recollect.stores.registry import is_store_file, open_cache, open_store
from recollect.stores.synchronized import synchronized
from recollect.text.days import day_of, moment_of
from recollect.types import (
    MAX_QUERY_CHARS,
    Degradation,
    Leg,
    Scope,
    SearchRequest,
    SourceKind,
    silent,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from recollect.background.watch import Watcher
    from recollect.background.worker import Worker
    from recollect.browse.overview import Overview
    from recollect.config import Config
    from recollect.errors import RecollectError
    from recollect.facts.book import FactBook
    from recollect.facts.extract.run import Extractor
    from recollect.facts.files import LedgerFiles
    from recollect.ingest.source import Source
    from recollect.providers.base import Chat
    from recollect.providers.cross_encoder import CrossEncoder
    from recollect.providers.options import ChatOptions
    from recollect.reports import (
        CacheStatus,
        Difference,
        Excerpt,
        FoundSecret,
        Recalled,
        Report,
        Verification,
    )
    from recollect.search.answer import StartedSearch
    from recollect.search.expand import QueryExpander
    from recollect.sessions.book import SessionBook
    from recollect.sessions.source import SessionSource
    from recollect.stores.base import Store
    from recollect.types import Progress, Results, Sending


class Models:
    """The models of a memory, which its readers and other memories may use as well."""

    def __init__(
        self,
        config: Config,
        *,
        cache: Path,
        may_send: Callable[[Sending], bool] = lambda _: True,
    ) -> None:
        self.chain = Chain(config.provider, cache=cache, may_send=may_send)
        self.chat = _open_chat(config.chat)
        self.wording_chat = _open_chat(
            replace(config.chat, model=config.wording.model or config.chat.model)
        )
        self._config, self._cache = config, cache

    @cached_property
    def reranker(self) -> CrossEncoder:
        """Reads a question together with a text."""
        from recollect.providers.cross_encoder import open_cross_encoder

        return open_cross_encoder(self._config.provider, cache=self._cache)

    def close(self) -> None:
        """Release them."""
        if "reranker" in vars(self):  # opened
            self.reranker.close()
        self.chain.close()
        for chat in (self.chat, self.wording_chat):
            if chat is not None:
                chat.close()


_INTERNAL = (
    "open_setup", "start_search", "embed_search", "finish_search", "recall_request", "recall_from",
    "finish_in_background", "reader", "verify_models", "exposed", "receivers",
    "verify_store", "take_notices", "is_behind", "has_lost_index",
)  # fmt: skip
"""What our own programs call, and nobody else needs."""


class _WithoutInternal(type):
    """Leaves what is internal out of `help`."""

    def __dir__(cls) -> list[str]:
        return [name for name in super().__dir__() if name not in _INTERNAL]


@explains_system_failures
class Memory(metaclass=_WithoutInternal):
    """An agent's memory: index it, search it, read it. Use `Memory.open`.

    Threads may share one: their calls run one after the other.
    """

    def __init__(  # noqa: PLR0913 - the parts that memories share
        self,
        setup: Setup,
        *,
        store: Store,
        notices: Sequence[str] = (),
        purpose: str,
        models: Models | None = None,
        watcher: Watcher | None = None,
        is_hosted: bool = False,
    ) -> None:
        """Compose the parts around an open store.

        Args:
            setup: what the memory was opened with.
            store: holds its chunks, terms and vectors.
            notices: what the user should know of how the store was opened.
            purpose: the name under which other processes see this one at work.
            models: those of another memory, which closes them; None opens its own.
            watcher: that of another memory, which stops it.
            is_hosted: whether the home's cache takes no vector of it.

        """
        config = setup.config
        self.workspace = setup.workspace
        self.agent = setup.agent
        self.lock = RLock()
        """Held by the thread that is at work: a connection serves one thread at a time."""
        self._setup = setup
        self._store = store
        self._cache = open_cache(
            setup.store_address,
            setup.places.cache,
            max_bytes=config.cache_bytes,
            is_hosted=is_hosted,
        )
        self._owns_models = models is None
        self._models = models or Models(config, cache=setup.places.models, may_send=setup.may_send)
        self._chain = self._models.chain
        self._watcher = watcher
        self._syncer = Syncer(
            store,
            sources=self._sources(),
            embedder=Embedder(
                store=store,
                chain=self._chain,
                cache=self._cache,
                media_roots=roots(setup.workspace, options=config.ingest.walk)
                if config.ingest.takes_media
                else (),
                uses_batches=config.provider.remote.batch,
                today=_today,
            ),
            purpose=purpose,
            notices=notices,
            tells_counts=setup.scopes is None,
            changes=self._file_changes,
        )
        self._audience_of = partial(audience_of, allowed=setup.scopes)
        self._searcher = Searcher(
            store=store,
            expander=self._expander(),
            chain=self._chain,
            reranker=lambda: self._models.reranker,
            options=config.search,
            audience=self._audience_of,
            workspace=self._folder(),
            sources=config.sources,
            sync_on_search=config.sync_on_search,
            today=_today,
        )

    @classmethod
    def open(  # noqa: PLR0913 - the ways to name a memory
        cls,
        workspace: Path | str | None = None,
        *,
        agent: str | None = None,
        config_file: Path | None = None,
        settings: Mapping[str, object] | None = None,
        scopes: Iterable[str] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Self:
        """Open the memory of a workspace, creating its index if there is none.

        Args:
            workspace: the folder with your notes; None searches from the current folder upwards
                for one with MEMORY.md or recollect.toml.
            agent: id of the index; None derives one that only this workspace has.
            config_file: read instead of your own settings file.
            settings: override every file and variable; `recollect config show --all` lists them.
            scopes: the only scopes of facts that may be seen or named; None allows all.
            environ: read instead of the environment of this process.

        Raises:
            WorkspaceError: the folder does not exist, or is a home or system folder without notes.
            ConfigError: a setting is wrong.
            StoreError: the index cannot be used.

        """
        setup = Setup.of(
            workspace, agent=agent, config_file=config_file, settings=settings, environ=environ
        )
        setup.require_layout()
        return cls.open_setup(setup.limited_to(scopes))

    @classmethod
    def open_setup(cls, setup: Setup) -> Self:
        """Open the memory that settings were read for.

        Raises:
            StoreError: the index cannot be used.

        """
        store, notices = open_store(
            setup.store_address, engine=setup.config.vector_engine, agent=setup.agent
        )
        if store.is_writable:
            told: list[str] = []
            previous = store.recovering(
                lambda: claim(store, str(setup.workspace)), tell=told.extend
            )
            if previous == PUSHED:
                claim(store, PUSHED)
                raise ElsewhereError(
                    f"The memory {setup.agent} is made from pushed documents, not from files.",
                    action="`recollect server push` changes it; or name another with --agent.",
                )
            if previous is not None:
                told.append(
                    f"This index was built for {previous}; it is now used for {setup.workspace}."
                )
            notices += tuple(told)
        return cls(setup, store=store, notices=notices, purpose="recollect index")

    @cached_property
    def facts(self) -> FactBook:
        """The facts of this memory: remember, look up, supersede, forget."""
        from recollect.facts.book import FactBook
        from recollect.facts.ledger import Ledger
        from recollect.facts.likeness import Meanings

        meanings = Meanings(self._syncer, self._chain, self.lock)
        return FactBook(Ledger(self._ledger_files), meanings=meanings, now=_now)

    @cached_property
    def _ledger_files(self) -> LedgerFiles:
        return FolderFiles(self.workspace / FACTS_FOLDER, inside=self.workspace)

    @cached_property
    def sessions(self) -> SessionBook:
        """The conversations of this memory: list, import, forget."""
        from recollect.sessions.book import SessionBook

        return SessionBook(self._session_source, syncer=self._syncer, lock=self.lock)

    @cached_property
    def overview(self) -> Overview:
        """An overview of this memory: documents, days and a map by meaning."""
        from recollect.browse.overview import Overview

        return Overview(
            self._syncer, chain=self._chain, lock=self.lock, audience=self._audience_of, now=_now
        )

    @cached_property
    def extractor(self) -> Extractor:
        """Extracts facts from files with the configured language model."""
        from recollect.facts.extract.run import Extractor

        return Extractor(
            self.workspace,
            book=self.facts,
            state=self._setup.places.ingested_of(self.agent),
            chat=self._models.chat,
            options=self.config.extract,
        )

    @cached_property
    def _session_source(self) -> SessionSource:
        from recollect.sessions.project import ProjectOptions
        from recollect.sessions.source import SessionPlaces, SessionSource

        setup, chunk = self._setup, self.config.ingest.chunk
        places = SessionPlaces(
            workspace=setup.workspace,
            agent=setup.named_agent,
            user_home=setup.places.user,
            environ=setup.environ,
            extra=setup.config.session_paths,
            archive=setup.places.archive_of(setup.agent),
        )
        options = ProjectOptions(tokens=chunk.tokens, overlap=chunk.overlap, zone=None)
        return SessionSource(places, options=options)

    def _sources(self) -> list[Source]:
        """Return the configured places that texts come from."""
        config = self.config
        facts = FactsSource(self._ledger_files, store=self._store)
        sources: list[Source] = []
        if SourceKind.MEMORY in config.sources:
            # The ledger is found as facts, not a second time as a note.
            exclude = (*config.ingest.walk.exclude, FACTS_FOLDER)
            walk = replace(config.ingest.walk, exclude=exclude)
            sources.append(NotesSource(self.workspace, options=replace(config.ingest, walk=walk)))
        if SourceKind.SESSIONS in config.sources:
            sources.append(self._session_source)
        return [*sources, facts]

    def _folder(self) -> Path | None:
        """Return the folder whose files answer a search; None if there are no files."""
        return self.workspace

    def _cache_of_home(self) -> tuple[CacheStatus | None, Sequence[str]]:
        """Return the state of the cache as its owner may see it, and notices about it."""
        return cache_status_of(self._cache)

    def _expander(self) -> QueryExpander | None:
        if not self.config.wording.wanted:
            return None
        from recollect.search.expand import AnswerCache, QueryExpander

        return QueryExpander(
            self._models.wording_chat, options=self.config.wording, cache=AnswerCache()
        )

    @property
    def config(self) -> Config:
        """The settings in force, and where each was set."""
        return self._setup.config

    @property
    def is_writable(self) -> bool:
        """False if the index can be searched but not brought up to date."""
        return self._store.is_writable

    @property
    def is_behind(self) -> bool:
        """True if the last search left work that another process can take up."""
        return self._syncer.is_behind and self._store.is_shared

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
        """Update the index to match the files; wait if another process is doing so.

        Args:
            force: read every file again, whatever its stat says.
            retry: try to fetch a missing model even if that failed a moment ago.
            max_texts: embed at most this many texts; None embeds all.
            progress: called with each step.
            on_wait: called with a sentence if another process has to finish first.

        Raises:
            WorkspaceError: the folder is gone; nothing was changed.
            StoreError: the index cannot be written; what it held is intact.

        """
        options = SyncOptions(force, Budget(retry, max_texts), progress=progress)
        report = self._syncer.sync(options, on_wait=on_wait)
        return replace(report, notices=(*self._syncer.take_notices(), *report.notices))

    def search(  # noqa: PLR0913 - each argument narrows the question
        self,
        text: str,
        *,
        max_results: int | None = None,
        min_score: float | None = None,
        source: SourceKind | str | None = None,
        since: date | str | None = None,
        before: date | str | None = None,
        path: str | None = None,
        tags: Iterable[str] | str = (),
        scopes: Iterable[str] = (),
        as_of: date | str | None = None,
        include_superseded: bool = False,
        fusion: str | None = None,
        vector_weight: float | None = None,
        legs: Iterable[Leg | str] = tuple(Leg),
        rerank: bool | None = None,
        today: date | None = None,
        explain: bool = False,
        tail: bool = True,
        sync: bool | None = None,
        progress: Progress = silent,
    ) -> Results:
        """Search memory, after indexing what changed if that is quick.

        Args:
            text: the question, in any words and any language; what is in double quotes must occur
                as written, unless it occurs nowhere: then a notice says so.
            max_results: the most hits to return; None uses the setting.
            min_score: leave out hits with a lower score; None is the fusion's own floor.
            source: only this kind of source: `memory`, `sessions` or `facts`.
            since: only hits dated on or after this day: a date, or `2026-02-01`, `7d`, `last week`.
            before: only hits dated before this day.
            path: only files that match this glob.
            tags: only notes with this tag, or with all of these: in their front matter or as
                `#tag` in their text.
            scopes: also facts of these scopes, such as `user:ada`, besides the global ones.
            as_of: facts as they held at this moment, or at the end of this day; None is now.
            include_superseded: also facts that others have replaced.
            fusion: `calibrated`, `weighted` or `rrf`; None uses the setting.
            vector_weight: the vector leg's weight in the last two; None uses the setting.
            legs: the retrieval paths that may answer; all by default.
            rerank: let a model read the best candidates again; None uses the setting.
            today: the day that "yesterday" in the question counts from; None is the clock's day.
            explain: keep in each hit the trace of how its score came about.
            tail: False leaves out hits far below the best, as the command line does.
            sync: look for changed files first; None uses the setting.
            progress: called with each step of reading, embedding or downloading.

        Raises:
            QueryError: the question is empty or an argument is out of range.
            StoreError: the index cannot be read.

        """
        request = SearchRequest(
            text=text,
            max_results=max_results,
            min_score=min_score,
            source=source,
            since=day_of(since),
            before=day_of(before),
            path=path,
            tags=(tags,) if isinstance(tags, str) else tuple(tags),
            scopes=tuple(scopes),
            as_of=moment_of(as_of),
            include_superseded=include_superseded,
            fusion=fusion,
            vector_weight=vector_weight,
            legs=tuple(legs),
            rerank=rerank,
            today=today,
            explain=explain,
            tail=tail,
            sync=sync,
        )
        return self.answer(request, progress=progress)

    def answer(self, request: SearchRequest, *, progress: Progress = silent) -> Results:
        """Answer a request: `search` with its arguments in one record.

        Other threads may use the memory while the question is embedded.

        Raises:
            QueryError: the question is empty or an argument is out of range.
            StoreError: the index cannot be read.

        """
        started = self.start_search(request, progress=progress)
        return self.finish_search(started, self.embed_search(started, progress=progress))

    @synchronized
    def start_search(self, request: SearchRequest, *, progress: Progress = silent) -> StartedSearch:
        """Do the first step of `answer`: read the request, and bring in what changed.

        Raises:
            QueryError: the question is empty or an argument is out of range.
            StoreError: the index cannot be read.

        """
        started = self._searcher.start(request, progress=progress)
        left_undone = self._syncer.freshen(progress) if self._searcher.syncs(request) else ()
        spaces = self._syncer.rebuilding(self._searcher.spaces)
        # Another memory of the same index may finish it, which knows nothing of these notices.
        notices = (*self._syncer.take_notices(), *left_undone)
        return replace(started, spaces=spaces, notices=notices, trouble=self._syncer.trouble)

    def embed_search(
        self, started: StartedSearch, *, progress: Progress = silent
    ) -> EmbeddedSearch:
        """Do the second step: embed the question, in any thread; nobody waits for it."""
        return self._searcher.embed(started, progress=progress)

    @synchronized
    def finish_search(
        self, started: StartedSearch, embedded: EmbeddedSearch | Degradation
    ) -> Results:
        """Do the last step, also in another memory of the same index.

        Args:
            started: the result of the first step.
            embedded: the result of the second, or why it is not waited for any longer.

        Raises:
            StoreError: the index cannot be read.

        """
        if isinstance(embedded, Degradation):
            embedded = EmbeddedSearch(started.query, Serving(None, embedded))
        results = self._syncer.rebuilding(partial(self._searcher.finish, started, embedded))
        notices = (*started.notices, *self._syncer.take_notices(), *results.notices)
        return replace(results, notices=notices)

    def recall(
        self,
        prompt: str,
        *,
        budget_tokens: int = RECALL_TOKENS,
        form: RecallForm | str = RecallForm.FULL,
        scopes: Iterable[str] = (),
    ) -> Recalled:
        """Return the block to put in front of a turn: what memory holds about a prompt.

        Args:
            prompt: what the turn starts with; of a long one, the first 4,000 characters count.
            budget_tokens: the most tokens the block may take, by our own estimate.
            form: how much of each hit to show: `full`, `short` or `index`.
            scopes: also facts of these scopes.

        Raises:
            UsageError: the budget is too small for any block; the error names one that is enough.

        """
        results = self.answer(self.recall_request(prompt, scopes=scopes))
        return self.recall_from(results, budget_tokens=budget_tokens, form=form)

    @staticmethod
    def recall_request(prompt: str, *, scopes: Iterable[str] = ()) -> SearchRequest:
        """Return the search that `recall` makes."""
        from recollect.browse.recall import CANDIDATES

        return SearchRequest(
            prompt[:MAX_QUERY_CHARS],  # beyond this, it is mostly pasted text
            max_results=CANDIDATES,
            scopes=tuple(scopes),
            phrases=False,
            explain=True,
            tail=False,
        )

    def recall_from(
        self, results: Results, *, budget_tokens: int, form: RecallForm | str = RecallForm.FULL
    ) -> Recalled:
        """Return the block of `recall` from the results of its search.

        Raises:
            UsageError: the budget is too small for any block; the error names one that is enough.

        """
        from recollect.browse.recall import recall_block

        return recall_block(results, budget_tokens=budget_tokens, form=RecallForm(form))

    def finish_in_background(self) -> int:
        """Start a process that does what the last search left; return its id.

        Raises:
            UsageError: the index is in RAM, where no other process can finish it.

        """
        if not self._store.is_shared:
            raise UsageError(
                "The index is in RAM: no other process can finish it.",
                action='Call `sync`, or set store = "file:".',
            )
        from recollect.background.spawn import spawn

        options, environ = self._setup.command()
        self._syncer.hand_over()
        return spawn([*options, "index"], environ=environ)

    def worker(
        self,
        *,
        on_sync: Callable[[Report | RecollectError], None],
        on_notice: Callable[[str], None],
        purpose: str = "recollect index --watch",
    ) -> Worker:
        """Return a worker that keeps the index fresh; start and stop it.

        Args:
            on_sync: called in the worker's thread with how each sync ended.
            on_notice: called with a sentence if the system cannot watch the files.
            purpose: the name under which other processes see it at work.

        """
        from recollect.background.watch import Watcher
        from recollect.background.worker import Worker

        watch = self.config.watch

        def watcher(on_change: Callable[[], None]) -> Watcher:
            self._watcher = Watcher(
                self._watched,
                on_change=on_change,
                on_notice=on_notice,
                pause_ms=watch.debounce_ms,
                is_own=_is_own_file,
            )
            return self._watcher

        return Worker(
            partial(self._for_another_thread, purpose),
            watcher=watcher,
            on_sync=on_sync,
            interval_seconds=watch.interval_minutes * 60.0,
        )

    @synchronized
    def has_lost_index(self) -> bool:
        """Return whether the index was deleted, replaced or emptied since the last sync."""
        return self._syncer.has_lost_index()

    def reader(self) -> Self:
        """Return a memory of the same index for another thread, with the same models.

        Close it before this one.
        """
        store, _ = self._store.share()
        return type(self)(
            self._setup,
            store=store,
            purpose="recollect serve",
            models=self._models,
            watcher=self._watcher,
        )

    def _file_changes(self) -> object | None:
        """Return what differs after a change of a file; None if no watcher would notice it.

        Facts are compared themselves: one that was just saved has to be found.
        """
        changes = self._watcher.changes if self._watcher is not None else None
        return None if changes is None else (changes, self._ledger_files.versions())

    def _for_another_thread(self, purpose: str) -> Self:
        store, notices = self._store.share()
        return type(self)(self._setup, store=store, notices=notices, purpose=purpose)

    @property
    def _audience(self) -> frozenset[str] | None:
        """The scopes whose facts may be seen; None for all."""
        allowed = self._setup.scopes
        return None if allowed is None else audience_of(allowed, allowed=allowed)

    def _watched(self) -> list[Watched]:
        found = watched(self.workspace, options=self.config.ingest.walk)
        if SourceKind.SESSIONS in self.config.sources:
            found += [Watched(place, is_deep=True) for place in self._session_source.places()]
        return found

    @synchronized
    def get(self, path: str, *, start_line: int = 1, lines: int = 120) -> Excerpt:
        """Read part of a memory file.

        Raises:
            NotFoundError: the file does not exist, or is not a memory file.

        """
        from recollect.facts.page import visible_text
        from recollect.ingest.locate import missing
        from recollect.ingest.read import excerpt

        if SourceKind.SESSIONS in self.config.sources and self._session_source.has(path):
            return self._session_source.excerpt(path, start_line=start_line, lines=lines)
        path, text = self._whole_text(path)
        scopes = self._setup.scopes
        if scopes is not None and path.startswith(f"{FACTS_FOLDER}/"):
            text = visible_text(path.rpartition("/")[2], text, scopes=scopes)
            if not text:
                raise missing(path, workspace=self.workspace)
        return excerpt(text, path=path, start_line=start_line, lines=lines)

    def _whole_text(self, path: str) -> tuple[str, str]:
        """Return the path and the text of a memory file.

        Raises:
            NotFoundError: the file does not exist, or is not a memory file.

        """
        from recollect.ingest.locate import locate
        from recollect.ingest.read import UnreadableError, read

        found = locate(path, workspace=self.workspace, options=self.config.ingest.walk)
        try:
            return found.path, read(found, now_ns=time.time_ns()).text
        except UnreadableError as error:
            raise NotFoundError(
                f"{found.path}: {error.failure.reason}", action=error.failure.action
            ) from error

    @synchronized
    @rebuilds
    def status(self, *, deep: bool = False) -> Status:
        """Return what is indexed, which provider embeds it, and what is stale.

        Args:
            deep: also embed one text, to see that the provider really works.

        """
        from recollect.ingest.documents import find_staleness
        from recollect.ingest.lease import at_work

        config = self.config
        try:
            staleness = find_staleness(self._syncer.sources, store=self._store)
        except ElsewhereError:  # whether its files changed, only their machine can tell
            staleness = Staleness((), (), ())
        stored_spaces = self._store.spaces()
        published = published_in(stored_spaces)
        held = held_space(self._store, chain=self._chain)
        probe = self._chain.probe(held) if deep else None
        expected = self._chain.expected(held)
        space = stored_spaces.get(expected) if expected else None
        audience = self._audience
        spaces = spaces_of(self._chain, held)
        second = spaces[0].other if spaces else None
        stored = self._store.status(
            expected, media=config.ingest.takes_media, audience=audience, other=second
        )
        cache, trouble = self._cache_of_home()
        return Status(
            workspace=str(self.workspace),
            agent=self.agent,
            index=IndexStatus(
                stored.location,
                stored.size_bytes,
                stored.is_writable,
                stored.documents,
                stored.chunks,
                {source: Amount(*held) for source, held in stored.by_source.items()},
            ),
            provider=ProviderStatus(
                requested=config.provider.provider,
                name=expected.provider if expected else None,
                model=expected.model if expected else None,
                dimensions=(space.dimensions if space else None)
                or (expected.dimensions if expected else None),
                second_model=second.model if second and second in stored_spaces else None,
                # Counts of all scopes together are not for a reader of some.
                pending_later=pending_later(spaces, store=self._store) if audience is None else 0,
                skipped=self._chain.choice.skipped if self._chain.choice else {},
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
            cache=cache if audience is None else None,  # others fill it as well
            stale=staleness if audience is None else _without_facts(staleness),
            probe=probe,
            at_work=at_work(self._store) if self._store.is_writable else None,
            notices=(*self._syncer.take_notices(), *trouble),
        )

    @synchronized
    def cache_status(self) -> CacheStatus | None:
        """Return how full the embedding cache of this home is; None if there is none."""
        return self._cache.status() if self._cache else None

    @synchronized
    def prune_cache(self, *, unused_days: int | None = None) -> int:
        """Drop cached vectors unused for so many days, or all; return how many. Indexes stay."""
        since = None if unused_days is None else _today() - timedelta(days=unused_days)
        return self._cache.prune(unused_since=since) if self._cache else 0

    @synchronized
    @rebuilds
    def paths(self) -> frozenset[str]:
        """Return the paths of indexed files, and of pages with a visible fact."""
        known = self._store.known()
        if self._audience is None:
            return frozenset(path for _, path in known)
        scope = Scope(source=SourceKind.FACTS, audience=self._audience, with_superseded=True)
        ledger = self._store.documents(scope, limit=len(known), offset=0).documents
        notes = (path for source, path in known if source is not SourceKind.FACTS)
        return frozenset((*notes, *(each.path for each in ledger)))

    @synchronized
    def reset(self) -> None:
        """Drop the derived index; the files it came from are not touched."""
        self._store.clear()

    @synchronized
    @rebuilds
    def verify(self, *, progress: Progress = silent) -> Verification:
        """Compare the index with the files and its legs with each other; check model files."""
        from recollect.ingest.verify import verify

        held = held_space(self._store, chain=self._chain)
        found = verify(
            self._syncer.sources,
            store=self._store,
            spaces=spaces_of(self._chain, held),
            progress=progress,
        )
        return replace(
            found,
            differences=(*found.differences, *self.verify_models()),
            notices=self._syncer.take_notices(),
        )

    def verify_models(self) -> Sequence[Difference]:
        """Hash every model file that is there and return which are not the published ones."""
        from recollect.providers.local import changed_models
        from recollect.reports import Difference

        changed = changed_models(self.config.provider, cache=self._setup.places.models)
        return [Difference("model", each.message, each.action) for each in changed]

    @synchronized
    @rebuilds
    def find_secrets(self, *, progress: Progress = silent) -> Sequence[FoundSecret]:
        """Return where notes and facts contain keys or passwords; nothing is changed.

        Transcripts are left out: their secrets are hidden when they are read.
        """
        from recollect.ingest.leaks import find_leaks

        sources = [each for each in self._syncer.sources if each.kind is not SourceKind.SESSIONS]
        return find_leaks(sources, progress=progress)

    def receivers(self) -> Iterator[tuple[str, str | None]]:
        """Yield each provider that may get notes and questions, with its address if known."""
        return self._chain.servers()

    def exposed(self) -> Sequence[Path]:
        """Return the files and folders of the home that other users of the machine can read."""
        from recollect.text.files import open_to_others

        return open_to_others(self._setup.places.home)

    @synchronized
    @rebuilds
    def verify_store(self) -> Sequence[str]:
        """Read the whole index and return what is broken: nothing if it is sound."""
        return self._store.check()

    @synchronized
    def take_notices(self) -> tuple[str, ...]:
        """Return what happened to the index and was not reported yet; most reports contain it."""
        return self._syncer.take_notices()

    @synchronized
    def close(self) -> None:
        """Release the index and the models."""
        self._store.close()
        if self._cache is not None:
            self._cache.close()
        if self._owns_models:
            self._models.close()

    def __repr__(self) -> str:
        """Return which memory this is."""
        return f"<Memory of {self.workspace}, agent {self.agent}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _open_chat(options: ChatOptions) -> Chat | None:
    return open_chat(options) if options.provider is not None else None


def _now() -> datetime:
    return datetime.now(tz=UTC)


def _today() -> date:
    """Return the day by the user's own calendar."""
    return _now().astimezone().date()


def _without_facts(staleness: Staleness) -> Staleness:
    """Return the same without the files of the ledger: they change with the facts of others too."""

    def notes(paths: Iterable[str]) -> tuple[str, ...]:
        return tuple(path for path in paths if not path.startswith(f"{FACTS_FOLDER}/"))

    return replace(staleness, changed=notes(staleness.changed), gone=notes(staleness.gone))


def _is_own_file(path: str) -> bool:
    from recollect.sessions.openclaw_database import is_database_file

    return is_store_file(path) and not is_database_file(path)
