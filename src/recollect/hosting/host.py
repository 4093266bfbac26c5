"""MemoryHost: opens any memory of a database, with the same settings and models for all.

It is opened for one call, without a connection, so that no server has a state another lacks.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.config.load import Setup
from recollect.facts.files import FACTS_FOLDER, PushedFiles
from recollect.facts.source import FactsSource
from recollect.ingest.pushed import MOST_PATH_CHARS, PushedBook, PushedSource
from recollect.parts import MemoryParts, Models
from recollect.stores.pushed import PUSHED, PushedChange, PushedDocument
from recollect.stores.registry import open_host
from recollect.stores.synchronized import synchronized

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path
    from typing import Self

    from recollect.config.schema import Config
    from recollect.reports import Status
    from recollect.stores.base import Store
    from recollect.stores.postgres.host import PostgresHost
    from recollect.stores.postgres.pushed import PostgresPushed


__all__ = ["MOST_PATH_CHARS", "PushedBook", "PushedChange", "PushedDocument", "PushedMemory"]


class PushedMemory(MemoryParts):
    """One of many memories of a database. A `MemoryHost` opens it."""

    def __init__(
        self, setup: Setup, *, store: Store, documents: PostgresPushed, models: Models, purpose: str
    ) -> None:
        """Compose the parts around an open store and its documents."""
        self._documents = documents
        self.pushed = PushedBook(documents, on_change=self._read_pushed)
        """The documents of this memory: write, read, list, delete."""
        notes = PushedSource(documents, options=setup.config.ingest, left_out=FACTS_FOLDER)
        super().__init__(
            setup,
            store=store,
            notes=[notes],
            ledger=PushedFiles(documents, on_change=self._read_ledger),
            text_of=lambda path: (path, self.pushed.shown(path)),
            folder=None,
            purpose=purpose,
            models=models,
        )

    def status(self, *, deep: bool = False) -> Status:
        """Return what is indexed, without where the server keeps it: that is not for clients."""
        found = super().status(deep=deep)
        return replace(found, workspace=PUSHED, index=replace(found.index, location=self.agent))

    def close(self) -> None:
        """Release the documents and the index; the models belong to the host."""
        self._documents.close()
        super().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    @synchronized
    def _read_ledger(self, gone: Iterable[str] = ()) -> None:
        """Have the facts found that were just written; they are embedded later."""
        source = FactsSource(self.ledger, store=self.store)
        names = (f"{FACTS_FOLDER}/{name}" for name in self.ledger.versions())
        self.syncer.sync_part(source, {*names, *gone})

    @synchronized
    def _read_pushed(self, paths: Sequence[str]) -> None:
        """Have the documents found that were just written; they are embedded later."""
        source = PushedSource(
            self._documents, options=self.config.ingest, left_out=FACTS_FOLDER, only=paths
        )
        self.syncer.sync_part(source, paths)
        if pages := [path for path in paths if path.startswith(f"{FACTS_FOLDER}/")]:
            self._read_ledger(gone=pages)


class MemoryHost:
    """The memories of one database. Threads may share it."""

    def __init__(self, setup: Setup, database: PostgresHost) -> None:
        self._setup = setup
        self.database = database
        """Has the tokens and the queue of work."""
        self._models = Models(setup.config)

    @classmethod
    def open(
        cls,
        *,
        config_file: Path | None = None,
        settings: Mapping[str, object] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Self:
        """Open the database that the settings name."""
        setup = Setup.of_host(config_file=config_file, settings=settings, environ=environ)
        return cls(setup, open_host(setup.config.store, limits=setup.config.limits))

    @property
    def config(self) -> Config:
        """The settings in force."""
        return self._setup.config

    @property
    def location(self) -> str:
        """Where the database is, without a password; for operators."""
        return self.database.location

    def memory(
        self,
        agent: str,
        *,
        scopes: frozenset[str] | None = None,
        purpose: str = "a server of many memories",
    ) -> PushedMemory:
        """Return a memory for one thread, to be closed; it sees facts of `scopes`, None: all."""
        return PushedMemory(
            self._setup.for_agent(agent).limited_to(scopes),
            store=self.database.store(agent),
            documents=self.database.pushed(agent),
            models=self._models,
            purpose=purpose,
        )

    def close(self) -> None:
        """Release the connections and the models."""
        self.database.close()
        self._models.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
