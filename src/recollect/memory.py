"""Memory: the façade. Opens the parts, hands the work to them, holds no logic of its own.

The only place where settings, stores, providers and stages meet.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import replace
from datetime import UTC, datetime
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
from recollect.ingest.embed import embed_missing
from recollect.ingest.excerpt import excerpt
from recollect.ingest.locate import locate
from recollect.ingest.read import UnreadableError, read
from recollect.ingest.sync import look, sync
from recollect.providers.chain import Choice, choose, expected
from recollect.providers.cross_encoder import open_cross_encoder
from recollect.search.fuse.base import VECTOR
from recollect.search.pipeline import search
from recollect.search.question import ask
from recollect.stores.sqlite.recover import open_store, replace_store
from recollect.types import (
    Degradation,
    Leg,
    Probe,
    Role,
    Scope,
    SourceKind,
    Status,
    silent,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import date
    from types import TracebackType
    from typing import TypeVar

    from recollect.config import Config
    from recollect.stores.sqlite import SqliteStore
    from recollect.types import Excerpt, Fingerprint, Progress, Report, Results

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
        self._choice: Choice | None = None
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

    def sync(
        self, *, force: bool = False, retry: bool = True, progress: Progress = silent
    ) -> Report:
        """Bring the index into agreement with the files.

        Args:
            force: look at every file again, whatever its stat says.
            retry: try to fetch a missing model even if that failed a moment ago.
            progress: is told how far the work has come.

        Raises:
            WorkspaceError: the folder is gone; nothing was changed.
            StoreError: the index cannot be written; what it held is intact.

        """
        return self._recovering(lambda: self._sync(force=force, retry=retry, progress=progress))

    def _sync(self, *, force: bool, retry: bool, progress: Progress) -> Report:
        started = time.perf_counter()
        report = sync(
            self.workspace,
            store=self._store,
            options=self._config.ingest,
            force=force,
            progress=progress,
        )
        before = self._store.status(self._fingerprint())
        embedded = 0
        degradation = None
        if before.pending or retry:
            choice = self._provider(retry=retry, progress=progress)
            degradation = choice.degradation
            if choice.provider is not None and before.pending:
                embedded, degradation = embed_missing(
                    self._store,
                    provider=choice.provider,
                    pending=before.pending,
                    progress=progress,
                )
        after = self._store.status(self._fingerprint()) if embedded else before
        return replace(
            report,
            chunks=before.chunks,
            embedded=embedded,
            pending=after.pending,
            degraded={VECTOR: degradation} if degradation else None,
            notices=self._take_notices(),
            took_ms=(time.perf_counter() - started) * 1000,
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
        options = self._config.search
        scope = Scope(
            source=SourceKind(source) if source else None, since=since, before=before, path=path
        )
        query = ask(
            text,
            max_results=options.max_results if max_results is None else max_results,
            min_score=min_score,
            scope=scope,
            legs=legs,
        )
        chosen = replace(
            options.rank.fusion,
            fusion=fusion or options.rank.fusion.fusion,
            min_score=options.rank.fusion.min_score if min_score is None else min_score,
        )
        if vector_weight is not None:
            read_setting("vector_weight", vector_weight, origin="search")
            chosen = replace(chosen, vector_weight=vector_weight, text_weight=1 - vector_weight)
        again = options.rank.rerank
        again = replace(again, enabled=again.enabled if rerank is None else rerank)
        options = replace(options, rank=replace(options.rank, fusion=chosen, rerank=again))
        choice = self._provider(retry=False, progress=progress)
        if again.enabled:
            self._fetch_reranker(progress)
        results = self._recovering(
            lambda: search(
                query,
                store=self._store,
                provider=choice.provider,
                reranker=self._reranker,
                options=options,
                today=today or datetime.now(tz=UTC).astimezone().date(),
            )
        )
        notices = self._take_notices()
        if not results.hits and not self._store.known():
            empty = f"{self.workspace} holds no memory files. Name a workspace with -w."
            notices = (*notices, empty)
        return _finished(results, degradation=choice.degradation, notices=notices, explain=explain)

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
        probe = self._probe() if deep else None
        fingerprint = self._fingerprint()
        return Status(
            workspace=str(self.workspace),
            agent=self.agent,
            store=self._store.status(fingerprint),
            requested_provider=self._config.provider.provider,
            provider=fingerprint.provider if fingerprint else None,
            model=fingerprint.model if fingerprint else None,
            dimensions=fingerprint.dimensions if fingerprint else None,
            staleness=staleness,
            skipped=self._choice.skipped if self._choice else {},
            probe=probe,
            notices=self._take_notices(),
        )

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
        if self._choice and self._choice.provider:
            self._choice.provider.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _provider(self, *, retry: bool, progress: Progress) -> Choice:
        if self._choice is None or (retry and self._choice.provider is None):
            self._choice = choose(
                self._config.provider, cache=self._places.models, progress=progress, retry=retry
            )
        return self._choice

    def _fingerprint(self) -> Fingerprint | None:
        return expected(self._config.provider, cache=self._places.models)

    def _probe(self) -> Probe:
        started = time.perf_counter()
        choice = self._provider(retry=False, progress=silent)
        degradation = choice.degradation
        if choice.provider is not None:
            try:
                choice.provider.embed(["ping"], role=Role.QUERY)
            except ProviderError as error:
                degradation = Degradation(error.message, error.action)
        return Probe(
            works=choice.provider is not None and degradation is None,
            took_ms=(time.perf_counter() - started) * 1000,
            degradation=degradation,
        )

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
            self._sync(force=False, retry=False, progress=silent)
            self._notices = notices
            return work()

    def _take_notices(self) -> tuple[str, ...]:
        notices, self._notices = self._notices, ()
        return notices


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
