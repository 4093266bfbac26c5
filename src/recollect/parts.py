"""The parts of an open memory: the store, the providers, the cache, and their upkeep.

What Memory promises is written there; how the parts are kept together is written here: a damaged
index is set aside and rebuilt in the middle of whatever was asked of it.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from datetime import UTC, datetime
from threading import RLock
from typing import TYPE_CHECKING

from recollect.errors import ProviderError, StoreCorruptError, StoreError
from recollect.facts.book import FactBook, audience_of
from recollect.facts.extract.run import Extractor
from recollect.facts.source import FACTS_FOLDER, FactsSource
from recollect.ingest.refresh import RefreshOptions, refresh
from recollect.ingest.source import NotesSource
from recollect.ingest.sync import look
from recollect.ingest.upkeep import Upkeep
from recollect.ingest.walk import Watched, watched
from recollect.providers.chain import Chain
from recollect.providers.chat.table import open_chat, prepared_chat
from recollect.providers.cross_encoder import open_cross_encoder
from recollect.reports import Status
from recollect.search.answer_cache import AnswerCache
from recollect.search.expand import Wording, worded
from recollect.search.overview import Atlas, Drawer
from recollect.sessions.book import SessionBook
from recollect.sessions.project import ProjectOptions
from recollect.sessions.source import SessionPlaces, SessionSource
from recollect.stores.registry import open_cache, open_store
from recollect.types import Degradation, Leg

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import date
    from typing import TypeVar

    from recollect.config import Setup
    from recollect.ingest.source import Source
    from recollect.providers.chat.base import Chat
    from recollect.reports import Report
    from recollect.stores.base import Store
    from recollect.types import Progress, Query

    Answer = TypeVar("Answer")


class Parts:
    """What belongs to one open memory. Use `Parts.open`."""

    def __init__(
        self, setup: Setup, *, store: Store, notices: tuple[str, ...], purpose: str
    ) -> None:
        self.setup = setup
        self.lock = RLock()
        """A connection serves one thread at a time."""
        self._purpose = purpose
        self.store = store
        self.chain = Chain(setup.config.provider, cache=setup.places.models)
        self.cache = open_cache(
            setup.store_address, setup.places.cache, max_bytes=setup.config.cache_bytes
        )
        self.reranker = open_cross_encoder(setup.config.provider, cache=setup.places.models)
        self.sessions = SessionSource(_session_places(setup), options=_projection(setup))
        self.is_behind = False
        self.trouble: Degradation | None = None
        """Why the last sync of a search could not embed."""
        self._upkeep = Upkeep(store, refresh=self._refresh)
        self._notices = notices
        self._chat: Chat | None = None
        self._answers = AnswerCache()
        self._drawer = Drawer()

    @classmethod
    def open(
        cls, setup: Setup, *, purpose: str = "recollect index", share: Store | None = None
    ) -> Parts:
        """Open the index, creating it if there is none.

        Args:
            setup: of the memory.
            purpose: by what name others are told who is at work on it.
            share: a store that is open already, to be used by another thread.

        Raises:
            StoreError: the index cannot be used.

        """
        if share is None:
            store, notices = open_store(setup.store_address, engine=setup.config.vector_engine)
        else:
            store, notices = share.share()
        if store.is_writable:
            former = store.claim(str(setup.workspace))
            if former is not None:
                notices += (f"This index was that of {former}; it becomes this workspace's.",)
        return cls(setup, store=store, notices=notices, purpose=purpose)

    @property
    def sources(self) -> list[Source]:
        """Where texts come from, by the settings."""
        wanted = self.setup.config.sources
        ingest = self.setup.config.ingest
        # What stands in the ledger is found as facts, not a second time as a note.
        walk = replace(ingest.walk, exclude=(*ingest.walk.exclude, FACTS_FOLDER))
        notes = NotesSource(self.setup.workspace, options=replace(ingest, walk=walk))
        chosen = [source for source in (notes, self.sessions) if source.kind.value in wanted]
        return [*chosen, FactsSource(self.setup.workspace, store=self.store)]

    @property
    def session_book(self) -> SessionBook:
        """What can be done with the conversations."""
        return SessionBook(self.sessions, store=self.store, lock=self.lock)

    @property
    def facts(self) -> FactBook:
        """The book of facts."""
        return FactBook(
            self.setup.workspace,
            store=self.store,
            chain=self.chain,
            lock=self.lock,
            now=lambda: datetime.now(tz=UTC),
        )

    @property
    def atlas(self) -> Atlas:
        """What shows the index as a whole."""
        return Atlas(
            self.store,
            chain=self.chain,
            lock=self.lock,
            drawer=self._drawer,
            audience=lambda scopes: audience_of(scopes, allowed=self.setup.scopes),
            now=lambda: datetime.now(tz=UTC),
        )

    def chat(self) -> Chat:
        """Return the language model that is set.

        Raises:
            ProviderSetupError: none is, or it has no key.

        """
        return prepared_chat(self._opened_chat())

    def _opened_chat(self) -> Chat | None:
        """Return the language model that is set, which may have no key yet."""
        if self._chat is None and self.setup.config.chat.provider is not None:
            self._chat = open_chat(self.setup.config.chat)
        return self._chat

    @property
    def extractor(self) -> Extractor:
        """What takes facts out of files."""
        state = self.setup.places.ingested_of(self.setup.agent)
        return Extractor(
            self.setup.workspace,
            book=self.facts,
            state=state,
            chat=self._opened_chat(),
            usual=self.setup.config.ingest_paths,
        )

    def worded(self, query: Query) -> tuple[Query, Mapping[str, Degradation]]:
        """Return the question with what a model adds to it, as is wanted, and what it could not."""
        options = self.setup.config.wording
        wording = Wording()
        if options.wanted and Leg.VECTOR in query.legs:
            try:
                wording = worded(query.text, self.chat(), options=options, cache=self._answers)
            except ProviderError as error:
                why = Degradation(error.message, error.action)
                wording = Wording(degraded=dict.fromkeys(options.wanted, why))
        asked = replace(query, imagined=wording.imagined, rewordings=wording.rewordings)
        return asked, wording.degraded

    def watched(self) -> list[Watched]:
        """Return where changes concern this memory."""
        found = watched(self.setup.workspace, options=self.setup.config.ingest.walk)
        if self.sessions.kind.value in self.setup.config.sources:
            found += [Watched(place, is_deep=True) for place in self.sessions.places()]
        return found

    def recovering(self, work: Callable[[], Answer]) -> Answer:
        """Do the work; a damaged index is set aside and rebuilt from the files, then once more."""
        try:
            return work()
        except StoreCorruptError as error:
            notices = self.store.recover(error)
            self._refresh(RefreshOptions(retry=False))
            self._notices = notices
            return work()

    def sync(self, options: RefreshOptions, *, told: Callable[[str], None]) -> Report:
        """Bring everything up to date, after whoever is at it."""
        report = self.recovering(
            lambda: self._upkeep.run(options, purpose=self._purpose, told=told)
        )
        self.is_behind = False
        return report

    def freshen(self, progress: Progress) -> None:
        """Bring up to date what is cheap; what is left becomes a notice."""
        if not self.store.is_writable:
            return
        try:
            fresh = self.recovering(lambda: self._upkeep.freshen(progress=progress))
        except StoreError as error:  # a full disk does not keep what is indexed from answering
            self._notices += (f"Not brought up to date: {error.message} {error.action}",)
        else:
            self.is_behind = fresh.is_behind
            self.trouble = (fresh.report.degraded or {}).get(Leg.VECTOR)
            self._notices += tuple(fresh.notices())

    def fetch_reranker(self, progress: Progress) -> None:
        """Fetch the model of the second look, showing how far that is."""
        # The stage itself reports a model that cannot be had; here only the wait is shown.
        with contextlib.suppress(ProviderError):
            self.reranker.prepare(progress=progress, retry=False)

    def status(self, *, deep: bool) -> Status:
        """Return what is indexed, by whom it is embedded and what is stale."""
        staleness = look(self.sources, store=self.store)
        published = self.store.published()
        probe = self.chain.probe(published) if deep else None
        fingerprint = self.chain.expected(published)
        space = self.store.space(fingerprint) if fingerprint else None
        config = self.setup.config
        return Status(
            workspace=str(self.setup.workspace),
            agent=self.setup.agent,
            store=self.store.status(fingerprint, media=config.ingest.takes_media),
            requested_provider=config.provider.provider,
            provider=fingerprint.provider if fingerprint else None,
            model=fingerprint.model if fingerprint else None,
            dimensions=(space.dimensions if space else None)
            or (fingerprint.dimensions if fingerprint else None),
            fingerprint=str(fingerprint) if fingerprint else None,
            published=str(published) if published else None,
            staleness=staleness,
            skipped=self.chain.choice.skipped if self.chain.choice else {},
            cache=self.cache.status() if self.cache else None,
            probe=probe,
            notices=self.take_notices(),
        )

    def take_notices(self) -> tuple[str, ...]:
        """Return what is to be said, once."""
        notices, self._notices = self._notices, ()
        return notices

    def close(self) -> None:
        """Release the index and the models."""
        self.store.close()
        self.reranker.close()
        self.chain.close()
        if self._chat is not None:
            self._chat.close()
        if self.cache is not None:
            self.cache.close()

    def _refresh(self, options: RefreshOptions) -> Report:
        config = self.setup.config
        return refresh(
            self.sources,
            store=self.store,
            media_root=self.setup.workspace if config.ingest.takes_media else None,
            chain=self.chain,
            cache=self.cache,
            wants_batches=config.provider.remote.batch,
            today=today_here(),
            options=options,
        )


def today_here() -> date:
    """Return the day by the user's own calendar."""
    return datetime.now(tz=UTC).astimezone().date()


def _session_places(setup: Setup) -> SessionPlaces:
    return SessionPlaces(
        workspace=setup.workspace,
        agent=setup.named_agent,
        user_home=setup.places.user,
        environ=setup.environ,
        extra=setup.config.session_paths,
        archive=setup.places.archive_of(setup.agent),
    )


def _projection(setup: Setup) -> ProjectOptions:
    chunk = setup.config.ingest.chunk
    return ProjectOptions(tokens=chunk.tokens, overlap=chunk.overlap, zone=None)
