"""Memory: the façade. Opens the parts, hands the work to them, holds no logic of its own.

The only place where settings, stores, providers and stages meet.
"""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Self

from recollect.background.spawn import spawn
from recollect.background.watch import Watcher
from recollect.background.worker import Worker
from recollect.config import Setup
from recollect.config.schema import read_setting
from recollect.errors import NotFoundError
from recollect.facts.book import audience_of
from recollect.facts.source import FACTS_FOLDER
from recollect.facts.visible import visible_text
from recollect.ingest.excerpt import excerpt
from recollect.ingest.locate import locate
from recollect.ingest.read import UnreadableError, read
from recollect.ingest.refresh import RefreshOptions
from recollect.ingest.verify import verify
from recollect.parts import Parts, today_here
from recollect.reports import RecallForm
from recollect.search.copies import mark_copies
from recollect.search.fuse.base import VECTOR
from recollect.search.options import adapted
from recollect.search.pipeline import search
from recollect.search.question import ask, kind_of
from recollect.search.recall import CANDIDATES, recall_block
from recollect.search.serve import finished, serve
from recollect.sessions.source import NOT_SEARCHED, SESSIONS_TOP
from recollect.stores.synchronized import synchronized
from recollect.types import Leg, Scope, SourceKind, silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import date
    from pathlib import Path
    from types import TracebackType

    from recollect.config import Config
    from recollect.errors import RecollectError
    from recollect.facts.book import FactBook
    from recollect.facts.extract.run import Extractor
    from recollect.providers.base import Provider
    from recollect.reports import CacheStatus, Excerpt, Recalled, Report, Status, Verification
    from recollect.search.overview import Atlas
    from recollect.sessions.book import SessionBook
    from recollect.types import Progress, Results


class Memory:
    """An agent's memory: index it, search it, read it. Use `Memory.open`.

    Threads may share one: their calls run one after the other.
    """

    def __init__(self, parts: Parts) -> None:
        self.workspace = parts.setup.workspace
        self.agent = parts.setup.agent
        self.lock = parts.lock
        self._parts = parts

    @classmethod
    def open(  # noqa: PLR0913 - how a memory can be named
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
            workspace: the folder with MEMORY.md and memory/; None looks from the current one up.
            agent: id of the index; None derives one that only this workspace has.
            config_file: read instead of the user's own settings file.
            settings: win over every file and variable, by the names of docs/settings.md.
            scopes: of facts that may ever be seen or named here; None is all, for their owner.
            environ: read instead of the process' environment.

        Raises:
            WorkspaceError: there is no such folder.
            ConfigError: a setting is wrong.
            StoreError: the index cannot be used.

        """
        setup = Setup.of(
            workspace, agent=agent, config_file=config_file, settings=settings, environ=environ
        )
        return cls(Parts.open(setup.limited_to(scopes)))

    @property
    def config(self) -> Config:
        """The settings in force, and where each was set."""
        return self._parts.setup.config

    @property
    def is_writable(self) -> bool:
        """False when the index can be searched but not brought up to date."""
        return self._parts.store.is_writable

    @property
    def is_behind(self) -> bool:
        """True when the last search left work that nobody has taken up."""
        return self._parts.is_behind

    @synchronized
    def sync(
        self,
        *,
        force: bool = False,
        retry: bool = True,
        most: int | None = None,
        progress: Progress = silent,
        told: Callable[[str], None] = lambda _sentence: None,
    ) -> Report:
        """Bring the index into agreement with the files; waits for another process that does.

        Args:
            force: look at every file again, whatever its stat says.
            retry: try to fetch a missing model even if that failed a moment ago.
            most: embed so many texts at most; None is all of them.
            progress: is told how far the work has come.
            told: is called with a sentence when another process has to be waited for.

        Raises:
            WorkspaceError: the folder is gone; nothing was changed.
            StoreError: the index cannot be written; what it held is intact.

        """
        options = RefreshOptions(force=force, retry=retry, most=most, progress=progress)
        report = self._parts.sync(options, told=told)
        return replace(report, notices=(*self._parts.take_notices(), *report.notices))

    @synchronized
    def search(  # noqa: PLR0913 - each argument narrows the question
        self,
        text: str,
        *,
        max_results: int | None = None,
        min_score: float | None = None,
        source: SourceKind | str | None = None,
        since: date | None = None,
        before: date | None = None,
        path: str | None = None,
        scopes: Iterable[str] = (),
        as_of: datetime | None = None,
        include_superseded: bool = False,
        fusion: str | None = None,
        vector_weight: float | None = None,
        legs: Iterable[Leg | str] = tuple(Leg),
        rerank: bool | None = None,
        today: date | None = None,
        explain: bool = False,
        sync: bool | None = None,
        progress: Progress = silent,
    ) -> Results:
        """Answer a question, after bringing in what changed as far as that is cheap.

        Args:
            text: the question, in any words and any language.
            max_results: how many hits at most; None is the setting.
            min_score: leave out hits that score lower; None is the fusion's own floor.
            source: only this kind of source.
            since: only hits dated on or after this day.
            before: only hits dated before this day.
            path: only files that match this glob.
            scopes: facts of these scopes too, besides the global ones: `user:ada`.
            as_of: facts as they held at this moment; None is now.
            include_superseded: also facts that others took the place of.
            fusion: `calibrated`, `weighted` or `rrf`; None is the setting.
            vector_weight: the vector leg's part in the last two; None is the settings' weights.
            legs: which retrieval paths may answer; all unless one is to be seen alone.
            rerank: let a model read the best candidates again; None is the setting.
            today: what "yesterday" in the question counts from; None is the clock's day.
            explain: keep in each hit the trace of how its score came about.
            sync: look for changed files first; None is the setting.
            progress: is told how far reading, embedding or a download has come.

        Raises:
            QueryError: the question is empty or an argument is out of range.
            StoreError: the index cannot be read.

        """
        if vector_weight is not None:
            read_setting("vector_weight", vector_weight, origin="search")
        options = adapted(
            self.config.search,
            fusion=fusion,
            min_score=min_score,
            vector_weight=vector_weight,
            rerank=rerank,
        )
        query = ask(
            text,
            max_results=options.max_results if max_results is None else max_results,
            min_score=min_score,
            scope=Scope(
                source=kind_of(source),
                since=since,
                before=before,
                path=path,
                audience=audience_of(scopes, allowed=self._parts.setup.scopes),
                as_of=as_of or datetime.now(tz=UTC),
                with_superseded=include_superseded,
            ),
            legs=legs,
        )
        query, missed = self._parts.worded(query)
        if options.rank.rerank.enabled:
            self._parts.fetch_reranker(progress)
        if sync or (sync is None and self.config.sync_on_search):
            self._parts.freshen(progress)

        def answered(provider: Provider | None) -> Results:
            return self._parts.recovering(
                lambda: search(
                    query,
                    store=self._parts.store,
                    provider=provider,
                    reranker=self._parts.reranker,
                    options=options,
                    today=today or today_here(),
                )
            )

        serving = self._parts.recovering(
            lambda: serve(self._parts.store, chain=self._parts.chain, progress=progress)
        )
        results = answered(serving.provider)
        if serving.second is not None and VECTOR in (results.degraded or {}):
            results = answered(serving.second)
        notices = self._parts.take_notices()
        if not results.hits and self._parts.store.is_empty():
            notices = (*notices, self._why_empty(sync=sync))
        if source == SourceKind.SESSIONS and SourceKind.SESSIONS.value not in self.config.sources:
            notices = (*notices, NOT_SEARCHED)
        known = self._parts.store.superseded(query.scope)
        results = mark_copies(results, superseded=known)
        return finished(
            results,
            serving=serving,
            trouble=self._parts.trouble,
            missed=missed,
            notices=notices,
            explain=explain,
        )

    def _why_empty(self, *, sync: bool | None) -> str:
        if sync is False or (sync is None and not self.config.sync_on_search):
            return "The index is empty. Run `recollect index`."
        return f"{self.workspace} holds no memory files. Name a workspace with -w."

    def recall(
        self,
        prompt: str,
        *,
        budget_tokens: int,
        form: RecallForm | str = RecallForm.FULL,
        scopes: Iterable[str] = (),
    ) -> Recalled:
        """Return the block to put in front of a turn: what memory holds about a prompt.

        Args:
            prompt: what the turn starts with.
            budget_tokens: the most tokens the block may take, by our own estimate.
            form: how much of each hit to show: `full`, `short` or `index`.
            scopes: also facts of these scopes.

        Raises:
            UsageError: the budget is too small for any block; the error names one that is enough.

        """
        results = self.search(prompt, max_results=CANDIDATES, scopes=scopes)
        return recall_block(results, budget_tokens=budget_tokens, form=RecallForm(form))

    def finish_in_background(self) -> int:
        """Start a process that does what the last search left; return its id."""
        options, environ = self._parts.setup.command()
        self._parts.is_behind = False
        return spawn([*options, "index"], environ=environ)

    def worker(
        self, *, done: Callable[[Report | RecollectError], None], told: Callable[[str], None]
    ) -> Worker:
        """Return a worker that keeps the index fresh; start and stop it.

        Args:
            done: is told, in the worker's thread, how each sync ended.
            told: is called with a sentence when the system cannot watch the files.

        """
        config = self.config
        return Worker(
            lambda: type(self)(
                Parts.open(self._parts.setup, purpose="recollect watch", share=self._parts.store)
            ),
            watcher=lambda changed: Watcher(
                self._parts.watched,
                changed=changed,
                told=told,
                pause_ms=config.watch.debounce_ms,
            ),
            done=done,
            interval_seconds=config.watch.interval_minutes * 60.0,
        )

    @synchronized
    def get(self, path: str, *, start_line: int = 1, lines: int = 120) -> Excerpt:
        """Read part of a memory file.

        Raises:
            NotFoundError: there is no such file, or it is not a memory file.

        """
        if path.startswith(SESSIONS_TOP) and SourceKind.SESSIONS.value in self.config.sources:
            return self._parts.sessions.excerpt(path, start_line=start_line, lines=lines)
        found = locate(path, workspace=self.workspace, options=self.config.ingest.walk)
        try:
            document = read(found, now_ns=time.time_ns())
        except UnreadableError as error:
            raise NotFoundError(
                f"{path}: {error.failure.reason}", action=error.failure.action
            ) from error
        text = document.text
        scopes = self._parts.setup.scopes
        if scopes is not None and found.path.startswith(f"{FACTS_FOLDER}/"):
            text = visible_text(found.path.rpartition("/")[2], text, scopes=scopes)
        return excerpt(text, path=found.path, start_line=start_line, lines=lines)

    @synchronized
    def status(self, *, deep: bool = False) -> Status:
        """Tell what is indexed, by whom it is embedded and what is stale.

        Args:
            deep: also embed one text, to see that the provider really works.

        """
        return self._parts.status(deep=deep)

    @property
    def facts(self) -> FactBook:
        """The facts of this memory: write them down, look them up, supersede, forget."""
        return self._parts.facts

    @property
    def atlas(self) -> Atlas:
        """This memory seen from above: its documents, its days, a map by meaning."""
        return self._parts.atlas

    @property
    def extractor(self) -> Extractor:
        """Takes facts out of files, by the language model that is set."""
        return self._parts.extractor

    @property
    def sessions(self) -> SessionBook:
        """The conversations that belong to this memory: list them, keep them, forget them."""
        return self._parts.session_book

    @synchronized
    def cache_status(self) -> CacheStatus | None:
        """Tell how full the embedding cache of this home is; None when there is none."""
        return self._parts.cache.status() if self._parts.cache else None

    @synchronized
    def prune_cache(self, *, unused_days: int | None = None) -> int:
        """Drop vectors unused for so many days, or all; return how many. Indexes keep theirs."""
        since = None if unused_days is None else today_here() - timedelta(days=unused_days)
        return self._parts.cache.prune(unused_since=since) if self._parts.cache else 0

    @synchronized
    def paths(self) -> frozenset[str]:
        """Return the paths of all indexed files."""
        return frozenset(path for _, path in self._parts.store.known())

    @synchronized
    def reset(self) -> None:
        """Drop the derived index; the files it came from are not touched."""
        self._parts.store.clear()

    @synchronized
    def verify(self, *, progress: Progress = silent) -> Verification:
        """Prove that the index equals the files and that all legs know the same chunks."""
        store = self._parts.store
        found = verify(
            self._parts.sources,
            store=store,
            fingerprint=self._parts.chain.expected(store.published()),
            progress=progress,
        )
        return replace(found, notices=self._parts.take_notices())

    @synchronized
    def verify_store(self) -> list[str]:
        """Return what is wrong with the index file, read in full: nothing when it is sound."""
        return self._parts.store.check()

    @synchronized
    def close(self) -> None:
        """Release the index and the models."""
        self._parts.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
