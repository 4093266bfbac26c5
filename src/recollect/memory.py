"""Memory: what a Python program uses. Its work is done by its parts.

What a plain search does not need is imported by the method that needs it: a command starts faster.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self

from recollect.config.load import Setup
from recollect.config.paths import agent_of
from recollect.errors import (
    ElsewhereError,
    NotFoundError,
    RecollectError,
    UsageError,
    explains_system_failures,
)
from recollect.facts.files import FACTS_FOLDER, FolderFiles
from recollect.ingest.source import NotesSource
from recollect.ingest.spaces import held_space, space_of
from recollect.ingest.walk import Watched, watched
from recollect.parts import MemoryParts
from recollect.reports import RECALL_TOKENS, RecallForm
from recollect.stores.notes import claim, former_places
from recollect.stores.pushed import PUSHED
from recollect.stores.registry import is_store_file, open_store
from recollect.stores.synchronized import synchronized
from recollect.text.confined import shown_path
from recollect.text.globs import escaped
from recollect.types import MAX_RESULTS, SearchRequest, SourceKind, silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from recollect.background.watch import Watcher
    from recollect.background.worker import Worker
    from recollect.browse.overview import Overview
    from recollect.config.schema import Config
    from recollect.facts.book import FactBook
    from recollect.facts.extract.run import Extractor
    from recollect.ingest.source import Source
    from recollect.parts import Models
    from recollect.reports import Excerpt, FoundSecret, Recalled, Report, Status, Verification, Why
    from recollect.sessions.agent_notes import AgentNotes
    from recollect.sessions.book import SessionBook
    from recollect.sessions.source import SessionPlaces, SessionSource
    from recollect.stores.base import Store
    from recollect.types import Progress, Results

P = ParamSpec("P")
_REPAIR = (
    "The repository that {} is a worktree of is no longer where it was: `git worktree repair` in "
    "its main checkout connects them again."
)


def _takes(
    make: Callable[P, SearchRequest],
) -> Callable[[Callable[..., Results]], Callable[Concatenate[Memory, P], Results]]:
    """Type a method as taking what a request is made from: its fields are declared once."""
    del make
    return lambda method: method


@explains_system_failures
class Memory:
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
        others: Mapping[str, Callable[[Models], Memory]] | None = None,
    ) -> None:
        """Compose the parts around an open store: see MemoryParts.

        A watcher is that of another memory, which stops it. `others` opens those that are searched
        with this one; None opens those that the settings name.
        """
        self.workspace = setup.workspace
        self.agent = setup.agent
        self._watcher = watcher
        self._setup = setup
        if others is None:
            others = {name: partial(_open_other, each) for name, each in setup.others().items()}
        self._openers = others
        self._store = store
        self._opened: dict[str, Memory] = {}
        self.parts = MemoryParts(
            setup,
            store=store,
            notes=self._notes(),
            ledger=FolderFiles(self.workspace / FACTS_FOLDER, inside=self.workspace),
            text_of=self._text_of,
            folder=self.workspace,
            purpose=purpose,
            notices=notices,
            models=models,
            changes=self._file_changes,
            transcripts=self._transcripts,
            others={name: partial(self._other_parts, name) for name in others},
        )
        """The parts, for programs of this package: it may change at any time."""
        self.lock = self.parts.lock

    @staticmethod
    def open(  # noqa: PLR0913 - the ways to name a memory
        workspace: Path | str | None = None,
        *,
        agent: str | None = None,
        config_file: Path | None = None,
        settings: Mapping[str, object] | None = None,
        scopes: Iterable[str] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Memory:
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
        return open_memory(setup.limited_to(scopes))

    def _other(self, name: str) -> Memory:
        """Return a memory that is searched with this one, opened when it is first needed."""
        with self.lock:
            if name not in self._opened:
                self._opened[name] = self._openers[name](self.parts.models)
            return self._opened[name]

    def _share_other(self, name: str, purpose: str, models: Models) -> Memory:
        return self._other(name)._shared(purpose, models=models)  # noqa: SLF001 - of this class

    def _other_parts(self, name: str) -> MemoryParts:
        return self._other(name).parts

    @property
    def facts(self) -> FactBook:
        """The facts of this memory: remember, look up, supersede, forget."""
        return self.parts.facts

    @cached_property
    def sessions(self) -> SessionBook:
        """The conversations of this memory: list, import, forget."""
        from recollect.sessions.book import SessionBook

        return SessionBook(self._session_source, syncer=self.parts.syncer, lock=self.lock)

    @property
    def overview(self) -> Overview:
        """An overview of this memory: documents, days and a map by meaning."""
        return self.parts.overview

    @cached_property
    def extractor(self) -> Extractor:
        """Extracts facts from files with the configured language model."""
        from recollect.facts.extract.run import Extractor

        return Extractor(
            self.workspace,
            book=self.facts,
            state=self._setup.places.ingested_of(self.agent),
            chat=self.parts.models.chat,
            options=self.config.extract,
        )

    @cached_property
    def _session_places(self) -> SessionPlaces:
        from recollect.sessions.source import SessionPlaces

        setup, checkout = self._setup, self._setup.checkout
        # What is imported is kept for all checkouts, by the main one.
        keeper = agent_of(checkout.main or self.workspace, named=setup.named_agent)
        return SessionPlaces(
            workspace=self.workspace,
            elsewhere=(*checkout.others(), *former_places(self._store)),
            agent=setup.named_agent,
            user_home=setup.places.user,
            environ=setup.environ,
            extra=setup.config.session_paths,
            archive=setup.places.archive_of(keeper),
        )

    @cached_property
    def _session_source(self) -> SessionSource:
        from recollect.sessions.project import ProjectOptions
        from recollect.sessions.source import SessionSource

        chunk = self.config.ingest.chunk
        options = ProjectOptions(tokens=chunk.tokens, overlap=chunk.overlap, zone=None)
        return SessionSource(self._session_places, options=options)

    @property
    def _transcripts(self) -> SessionSource | None:
        """The conversations, if they are searched."""
        return self._session_source if SourceKind.SESSIONS in self.config.sources else None

    def _notes(self) -> list[Source]:
        """Return the configured places that texts come from, besides facts."""
        config = self.config
        sources: list[Source] = []
        if SourceKind.MEMORY in config.sources:
            # The ledger is found as facts, not a second time as a note.
            walk = replace(config.ingest.walk, exclude=(*config.ingest.walk.exclude, FACTS_FOLDER))
            sources.append(NotesSource(self.workspace, options=replace(config.ingest, walk=walk)))
        if SourceKind.AGENTS in config.sources:
            sources.append(self._agent_notes)
        return [*sources, *filter(None, [self._transcripts])]

    @cached_property
    def _agent_notes(self) -> AgentNotes:
        from recollect.sessions.agent_notes import AgentNotes

        is_other = self._setup.is_other
        return AgentNotes(self._session_places, options=self.config.ingest, is_other=is_other)

    @property
    def config(self) -> Config:
        """The settings in force, and where each was set."""
        return self._setup.config

    @property
    def is_writable(self) -> bool:
        """False if the index can be searched but not brought up to date."""
        return self.parts.store.is_writable

    @property
    def is_behind(self) -> bool:
        """True if the last search left work that another process can take up."""
        is_behind = self.parts.syncer.freshness.is_behind or any(
            each.is_behind for each in self._opened.values()
        )
        return is_behind and self.parts.store.is_shared

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
            retry: try providers again that failed a moment ago.
            max_texts: embed at most this many texts; None embeds all.
            progress: called with each step.
            on_wait: called with a sentence if another process has to finish first.

        Raises:
            WorkspaceError: the folder is gone; nothing was changed.
            StoreError: the index cannot be written; what it held is intact.

        """
        return self.parts.sync(
            force=force, retry=retry, max_texts=max_texts, progress=progress, on_wait=on_wait
        )

    @_takes(SearchRequest)
    def search(self, query: str, **fields: Any) -> Results:  # noqa: ANN401
        """Search memory, after indexing what changed if that is quick.

        Args:
            query: the question, in any words and any language; what is in double quotes must occur
                as written, unless it occurs nowhere: then a notice says so.
            fields: those of `SearchRequest`, such as `max_results=3` or `since="last week"`.

        Raises:
            QueryError: the question is empty or an argument is out of range.
            StoreError: the index cannot be read.

        """
        return self.answer(SearchRequest(query, **fields))

    def answer(self, request: SearchRequest, *, progress: Progress = silent) -> Results:
        """Answer a request: `search` with its arguments in one record.

        Other threads may use the memory while the question is embedded.

        Raises:
            QueryError: the question is empty or an argument is out of range.
            StoreError: the index cannot be read.

        """
        return self.parts.answer(request, progress=progress)

    def why(self, request: SearchRequest, *, path: str) -> Why:
        """Return which leg ranked one note where for a request, and what cut it."""
        from recollect.browse.why import why

        every = replace(request, max_results=MAX_RESULTS, min_score=0.0, tail=True, explain=True)
        most = request.max_results or self.config.search.max_results
        shown, ranked = self.answer(request).hits, self.answer(every).hits
        told = why(path, shown, ranked, paths=self.paths(), most=most)
        if told.place is not None or self.overview.documents(path=escaped(path), limit=1).total:
            return told
        try:
            self.get(path, lines=1)
        except RecollectError as error:  # it says which: left out, private, outside
            return replace(told, reason=f"{error.message} {error.action}")
        reason = "All of it is empty or expired; --include-superseded asks for expired."
        return replace(told, reason=reason) if path in self.paths() else told

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
        results = self.answer(self.parts.recall_request(prompt, scopes=scopes))
        return self.parts.recall_from(results, budget_tokens=budget_tokens, form=form)

    def finish_in_background(self) -> int:
        """Start a process that does what the last search left; return its id.

        Raises:
            UsageError: the index is in RAM, where no other process can finish it.

        """
        if not self.parts.store.is_shared:
            raise UsageError(
                "The index is in RAM: no other process can finish it.",
                action='Call `sync`, or set store = "file:".',
            )
        from recollect.background.worker import spawn

        options, environ = self._setup.command()
        self.parts.syncer.hand_over()
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

        def watcher(on_change: Callable[[], None]) -> Watcher:
            self._watcher = Watcher(
                self._watched,
                on_change=on_change,
                on_notice=on_notice,
                pause_ms=self.config.debounce_ms,
                is_own=_is_own_file,
            )
            return self._watcher

        return Worker(partial(self._shared, purpose), watcher=watcher, on_sync=on_sync)

    @synchronized
    def has_lost_index(self) -> bool:
        """Return whether the index was deleted, replaced or emptied since the last sync."""
        return self.parts.syncer.has_lost_index()

    def reader(self) -> Self:
        """Return a memory of the same index for another thread, with the same models.

        Close it before this one.
        """
        return self._shared("recollect serve", models=self.parts.models, watcher=self._watcher)

    def _shared(
        self, purpose: str, *, models: Models | None = None, watcher: Watcher | None = None
    ) -> Self:
        store, notices = self.parts.store.share()
        told = () if models else notices
        return type(self)(
            self._setup,
            store=store,
            notices=told,
            purpose=purpose,
            models=models,
            watcher=watcher,
            others={name: partial(self._share_other, name, purpose) for name in self._openers},
        )

    def _file_changes(self) -> object | None:
        """Return what differs after a change of a file; None if no watcher would notice it.

        Facts are compared themselves: one that was just saved has to be found.
        """
        changes = self._watcher.changes if self._watcher is not None else None
        return None if changes is None else (changes, self.parts.ledger.versions())

    def _watched(self) -> list[Watched]:
        found = watched(self.workspace, options=self.config.ingest.walk)
        if SourceKind.SESSIONS in self.config.sources:
            found += [Watched(place, is_deep=True) for place in self._session_source.places()]
        if SourceKind.AGENTS in self.config.sources:
            found += [Watched(place, is_deep=True) for place in self._agent_notes.places()]
        for name in self._openers:
            with suppress(RecollectError):  # told by each sync
                found += self._other(name)._watched()  # noqa: SLF001 - of this class
        return found

    def get(self, path: str, *, start_line: int = 1, lines: int = 120) -> Excerpt:
        """Read part of a memory file.

        Raises:
            NotFoundError: the file does not exist, or is not a memory file.

        """
        return self.parts.get(path, start_line=start_line, lines=lines)

    def _text_of(self, path: str) -> tuple[str, str]:
        """Return the path and the text of a memory file."""
        from recollect.ingest.read import UnreadableError, read, shown_text
        from recollect.ingest.walk import locate

        found = None
        if SourceKind.AGENTS in self.config.sources:
            shown = shown_path(path, home=self._setup.places.user)
            notes = self._agent_notes.find()[0]
            found = next((each for each in notes if each.path == shown), None)
        found = found or locate(path, workspace=self.workspace, options=self.config.ingest.walk)
        try:
            return found.path, shown_text(read(found, now_ns=time.time_ns()))
        except UnreadableError as error:
            raise NotFoundError(
                f"{found.path}: {error.failure.reason}", action=error.failure.action
            ) from error

    def status(self, *, deep: bool = False) -> Status:
        """Return what is indexed, which provider embeds it, and what is stale.

        `deep` also embeds one text, to see that the provider really works.
        """
        return self.parts.status(deep=deep)

    def paths(self) -> frozenset[str]:
        """Return the paths of indexed files, and of pages with a visible fact."""
        return self.parts.paths()

    @synchronized
    def reset(self) -> None:
        """Drop the derived index; the files it came from are not touched."""
        self.parts.store.clear()

    @synchronized
    def verify(self, *, progress: Progress = silent) -> Verification:
        """Compare the index with the files and its legs with each other; check model files."""
        from recollect.ingest.verify import verify

        parts = self.parts

        def compare() -> Verification:
            space = space_of(parts.chain, held_space(parts.store, chain=parts.chain))
            return verify(parts.syncer.sources, store=parts.store, space=space, progress=progress)

        found = parts.syncer.rebuilding(compare)
        return replace(
            found,
            differences=(*found.differences, *parts.verify_models()),
            notices=parts.take_notices(),
        )

    @synchronized
    def find_secrets(self, *, progress: Progress = silent) -> Sequence[FoundSecret]:
        """Return where notes and facts contain keys or passwords; nothing is changed.

        Transcripts are left out: their secrets are hidden when they are read.
        """
        from recollect.ingest.verify import find_leaks

        syncer = self.parts.syncer
        sources = [each for each in syncer.sources if each.kind is not SourceKind.SESSIONS]
        return syncer.rebuilding(partial(find_leaks, sources, progress=progress))

    def close(self) -> None:
        """Release the index and the models."""
        for each in self._opened.values():
            each.close()
        self.parts.close()

    def __repr__(self) -> str:
        """Return which memory this is."""
        return f"<Memory of {self.workspace}, agent {self.agent}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def open_memory(setup: Setup, *, models: Models | None = None) -> Memory:
    """Open the memory that settings were read for, with the models of another one if given."""
    moved = None
    if setup.checkout.birth and setup.is_new:
        from recollect.config.agents import take_over_moved

        moved = take_over_moved(setup)
    store, notices = open_store(
        setup.store_address, engine=setup.config.vector_engine, agent=setup.agent
    )
    if store.is_writable:
        told: list[str] = []
        workspace, birth = str(setup.workspace), setup.checkout.birth
        previous = store.recovering(
            lambda: claim(store, workspace, checkout=birth), tell=told.extend
        )
        if previous == PUSHED:
            claim(store, PUSHED)
            raise ElsewhereError(
                f"The memory {setup.agent} is made from pushed documents, not from files.",
                action="`recollect server push` changes it; or name another with --agent.",
            )
        if previous is not None:
            told.append(
                f"The memory of {moved} moved to {workspace} with its checkout."
                if moved
                else f"This index was built for {previous}; it is now used for {workspace}."
            )
        notices += tuple(told)
    if setup.checkout.is_cut_off and not store.holds():
        notices += (_REPAIR.format(setup.workspace),)
    return Memory(setup, store=store, notices=notices, purpose="recollect index", models=models)


def _open_other(setup: Callable[[], Setup], models: Models) -> Memory:
    return open_memory(setup(), models=models)


def _is_own_file(path: str) -> bool:
    from recollect.sessions.openclaw_database import is_database_file

    return is_store_file(path) and not is_database_file(path)
