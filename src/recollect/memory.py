"""Memory: the façade. Opens the parts, hands the work to them, holds no logic of its own.

The only place where settings, stores, providers and stages meet.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Self

from recollect.config import Places, agent_of, find_workspace, load_config
from recollect.config.schema import read_setting
from recollect.errors import (
    NotFoundError,
    ProviderError,
    StoreCorruptError,
    WorkspaceError,
)
from recollect.ingest.excerpt import excerpt
from recollect.ingest.locate import locate
from recollect.ingest.read import UnreadableError, read
from recollect.ingest.refresh import RefreshOptions, refresh
from recollect.ingest.sync import look
from recollect.ingest.vectors import Batching
from recollect.providers.chain import Chain
from recollect.providers.cross_encoder import open_cross_encoder
from recollect.reports import Status
from recollect.search.fuse.base import VECTOR
from recollect.search.options import adapted
from recollect.search.pipeline import search
from recollect.search.question import ask
from recollect.search.serve import serve
from recollect.stores.sqlite.cache import VectorCache
from recollect.stores.sqlite.recover import open_store, replace_store
from recollect.types import Leg, Scope, SourceKind, silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import date
    from types import TracebackType
    from typing import TypeVar

    from recollect.config import Config
    from recollect.providers.base import Provider
    from recollect.reports import CacheStatus, Excerpt, Report
    from recollect.stores.sqlite import SqliteStore
    from recollect.types import Degradation, Progress, Results

    Answer = TypeVar("Answer")


class Memory:
    """An agent's memory: index it, search it, read it. Use `Memory.open`."""

    def __init__(
        self, workspace: Path, *, agent: str, places: Places, config: Config, store: SqliteStore
    ) -> None:
        self.workspace = workspace
        self.agent = agent
        self._places = places
        self._config = config
        self._store = store
        self._chain = Chain(config.provider, cache=places.models)
        limit = config.cache_bytes
        self._cache = VectorCache(places.cache, max_bytes=limit) if limit else None
        self._reranker = open_cross_encoder(config.provider, cache=places.models)
        self._notices: tuple[str, ...] = ()

    @classmethod
    def open(
        cls,
        workspace: Path | str | None = None,
        *,
        agent: str | None = None,
        config_file: Path | None = None,
        settings: Mapping[str, object] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Self:
        """Open the memory of a workspace, creating its index if there is none.

        Args:
            workspace: the folder with MEMORY.md and memory/; None looks from the current one up.
            agent: id of the index; None derives one that only this workspace has.
            config_file: read instead of the user's own settings file.
            settings: win over every file and variable, by the names of docs/settings.md.
            environ: read instead of the process' environment.

        Raises:
            WorkspaceError: there is no such folder.
            ConfigError: a setting is wrong.
            StoreError: the index cannot be used.

        """
        environ = os.environ if environ is None else environ
        named = None if workspace is None else Path(workspace)
        root = find_workspace(named, environ=environ, current=Path.cwd())
        if not root.is_dir():
            raise WorkspaceError(
                f"The workspace {root} is not a folder.",
                action="Name the folder that holds MEMORY.md or memory/ with -w.",
            )
        places = Places.of(environ)
        config = load_config(
            root,
            user_file=config_file or places.settings,
            environ=environ,
            arguments=settings or {},
        )
        identity = agent_of(root, named=agent or environ.get("RECOLLECT_AGENT"))
        store, notices = open_store(places.index_of(identity), engine=config.vector_engine)
        memory = cls(root, agent=identity, places=places, config=config, store=store)
        memory._notices = notices
        return memory

    @property
    def config(self) -> Config:
        """The settings in force, and where each was set."""
        return self._config

    @property
    def is_writable(self) -> bool:
        """False when the index can be searched but not brought up to date."""
        return self._store.is_writable

    @property
    def has_vectors(self) -> bool:
        """True once an index was embedded in full."""
        # Not the method itself: it would stay with a store that recovering replaces.
        return self._recovering(lambda: self._store.published()) is not None  # noqa: PLW0108

    def sync(
        self,
        *,
        force: bool = False,
        retry: bool = True,
        most: int | None = None,
        progress: Progress = silent,
    ) -> Report:
        """Bring the index into agreement with the files.

        Args:
            force: look at every file again, whatever its stat says.
            retry: try to fetch a missing model even if that failed a moment ago.
            most: embed so many texts at most; None is all of them.
            progress: is told how far the work has come.

        Raises:
            WorkspaceError: the folder is gone; nothing was changed.
            StoreError: the index cannot be written; what it held is intact.

        """
        options = RefreshOptions(force=force, retry=retry, most=most, progress=progress)
        report = self._recovering(lambda: self._refresh(options))
        return replace(report, notices=(*self._take_notices(), *report.notices))

    def _refresh(self, options: RefreshOptions) -> Report:
        return refresh(
            self.workspace,
            store=self._store,
            ingest=self._config.ingest,
            chain=self._chain,
            cache=self._cache,
            batching=Batching(self._store.batches, self._config.provider.remote.batch),
            today=_today(),
            options=options,
        )

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
        fusion: str | None = None,
        vector_weight: float | None = None,
        legs: Iterable[Leg | str] = tuple(Leg),
        rerank: bool | None = None,
        today: date | None = None,
        explain: bool = False,
        progress: Progress = silent,
    ) -> Results:
        """Answer a question from the index as it is; `sync` first if files may have changed.

        Args:
            text: the question, in any words and any language.
            max_results: how many hits at most; None is the setting.
            min_score: leave out hits that score lower; None is the fusion's own floor.
            source: only this kind of source.
            since: only hits dated on or after this day.
            before: only hits dated before this day.
            path: only files that match this glob.
            fusion: `calibrated`, `weighted` or `rrf`; None is the setting.
            vector_weight: the vector leg's part in the last two; None is the settings' weights.
            legs: which retrieval paths may answer; all unless one is to be seen alone.
            rerank: let a model read the best candidates again; None is the setting.
            today: what "yesterday" in the question counts from; None is the clock's day.
            explain: keep in each hit the trace of how its score came about.
            progress: is told how far the download of a model has come.

        Raises:
            QueryError: the question is empty or an argument is out of range.
            StoreError: the index cannot be read.

        """
        if vector_weight is not None:
            read_setting("vector_weight", vector_weight, origin="search")
        options = adapted(
            self._config.search,
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
                source=SourceKind(source) if source else None, since=since, before=before, path=path
            ),
            legs=legs,
        )
        if options.rank.rerank.enabled:
            self._fetch_reranker(progress)

        def answered(provider: Provider | None) -> Results:
            return self._recovering(
                lambda: search(
                    query,
                    store=self._store,
                    provider=provider,
                    reranker=self._reranker,
                    options=options,
                    today=today or _today(),
                )
            )

        serving = self._recovering(lambda: serve(self._store, chain=self._chain, progress=progress))
        results = answered(serving.provider)
        if serving.second is not None and VECTOR in (results.degraded or {}):
            results = answered(serving.second)
        notices = self._take_notices()
        if serving.notice is not None:
            notices = (*notices, serving.notice)
        if not results.hits and not self._store.known():
            empty = f"{self.workspace} holds no memory files. Name a workspace with -w."
            notices = (*notices, empty)
        return _finished(results, degradation=serving.degradation, notices=notices, explain=explain)

    def get(self, path: str, *, start_line: int = 1, lines: int = 120) -> Excerpt:
        """Read part of a memory file.

        Raises:
            NotFoundError: there is no such file, or it is not a memory file.

        """
        found = locate(path, workspace=self.workspace, options=self._config.ingest.walk)
        try:
            document = read(found, now_ns=time.time_ns())
        except UnreadableError as error:
            raise NotFoundError(
                f"{path}: {error.failure.reason}", action=error.failure.action
            ) from error
        return excerpt(document.text, path=found.path, start_line=start_line, lines=lines)

    def status(self, *, deep: bool = False) -> Status:
        """Tell what is indexed, by whom it is embedded and what is stale.

        Args:
            deep: also embed one text, to see that the provider really works.

        """
        staleness = look(self.workspace, store=self._store, options=self._config.ingest)
        published = self._store.published()
        probe = self._chain.probe(published) if deep else None
        fingerprint = self._chain.expected(published)
        space = self._store.space(fingerprint) if fingerprint else None
        return Status(
            workspace=str(self.workspace),
            agent=self.agent,
            store=self._store.status(fingerprint),
            requested_provider=self._config.provider.provider,
            provider=fingerprint.provider if fingerprint else None,
            model=fingerprint.model if fingerprint else None,
            dimensions=(space.dimensions if space else None)
            or (fingerprint.dimensions if fingerprint else None),
            fingerprint=str(fingerprint) if fingerprint else None,
            published=str(published) if published else None,
            staleness=staleness,
            skipped=self._chain.choice.skipped if self._chain.choice else {},
            cache=self.cache_status(),
            probe=probe,
            notices=self._take_notices(),
        )

    def cache_status(self) -> CacheStatus | None:
        """Tell how full the embedding cache of this home is; None when there is none."""
        return self._cache.status() if self._cache else None

    def prune_cache(self, *, unused_days: int | None = None) -> int:
        """Drop vectors unused for so many days, or all; return how many. Indexes keep theirs."""
        since = None if unused_days is None else _today() - timedelta(days=unused_days)
        return self._cache.prune(unused_since=since) if self._cache else 0

    def paths(self) -> frozenset[str]:
        """Return the paths of all indexed files."""
        return frozenset(path for _, path in self._store.known())

    def reset(self) -> None:
        """Drop the derived index; the files it came from are not touched."""
        self._store.clear()

    def verify_store(self) -> list[str]:
        """Return what is wrong with the index file, read in full: nothing when it is sound."""
        return self._store.check()

    def close(self) -> None:
        """Release the index and the models."""
        self._store.close()
        self._reranker.close()
        self._chain.close()
        if self._cache is not None:
            self._cache.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _fetch_reranker(self, progress: Progress) -> None:
        # The stage itself reports a model that cannot be had; here only the wait is shown.
        with contextlib.suppress(ProviderError):
            self._reranker.prepare(progress=progress, retry=False)

    def _recovering(self, work: Callable[[], Answer]) -> Answer:
        """Do the work; a damaged index is set aside and rebuilt from the files, then once more."""
        try:
            return work()
        except StoreCorruptError as error:
            path = self._places.index_of(self.agent)
            self._store.close()
            self._store, notices = replace_store(
                path, engine=self._config.vector_engine, error=error
            )
            self._refresh(RefreshOptions(retry=False))
            self._notices = notices
            return work()

    def _take_notices(self) -> tuple[str, ...]:
        notices, self._notices = self._notices, ()
        return notices


def _today() -> date:
    """Return the day by the user's own calendar."""
    return datetime.now(tz=UTC).astimezone().date()


def _finished(
    results: Results,
    *,
    degradation: Degradation | None,
    notices: tuple[str, ...],
    explain: bool,
) -> Results:
    degraded = dict(results.degraded or {})
    if degradation is not None:
        degraded[VECTOR] = degradation
    hits = results.hits if explain else tuple(replace(hit, trace=None) for hit in results.hits)
    notices = (*notices, *results.notices)
    return replace(results, hits=hits, degraded=degraded or None, notices=notices)
