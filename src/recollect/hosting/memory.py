"""PushedMemory: a memory whose documents are in its store, not in the files of a workspace."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from recollect.errors import explains_system_failures
from recollect.facts.files import FACTS_FOLDER, PushedFiles
from recollect.facts.source import FactsSource
from recollect.ingest.pushed import PushedBook, PushedSource
from recollect.memory import Memory
from recollect.stores.pushed import PUSHED
from recollect.stores.synchronized import synchronized

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from recollect.config import Setup
    from recollect.ingest.source import Source
    from recollect.memory import Models
    from recollect.reports import Status
    from recollect.stores.base import Store
    from recollect.stores.pushed import PushedDocuments


@explains_system_failures
class PushedMemory(Memory):
    """One of many memories of a database. A `MemoryHost` opens it."""

    def __init__(
        self,
        setup: Setup,
        *,
        store: Store,
        documents: PushedDocuments,
        models: Models,
        purpose: str,
    ) -> None:
        """Compose the parts around an open store and its documents."""
        self._documents = documents
        super().__init__(setup, store=store, models=models, purpose=purpose, is_hosted=True)

    @cached_property
    def pushed(self) -> PushedBook:
        """The documents of this memory: write, read, list, delete."""
        return PushedBook(self._documents, on_change=self._read_pushed)

    @synchronized
    def status(self, *, deep: bool = False) -> Status:
        """Return what is indexed, without where the server keeps it: that is not for clients."""
        found = super().status(deep=deep)
        index = replace(found.index, location=self.agent)
        return replace(found, workspace=PUSHED, index=index)

    @synchronized
    def close(self) -> None:
        """Release the documents and the index; the models belong to the host."""
        self._documents.close()
        super().close()

    @cached_property
    def _ledger_files(self) -> PushedFiles:
        return PushedFiles(self._documents, on_change=self._read_ledger)

    def _sources(self) -> list[Source]:
        notes = PushedSource(self._documents, options=self.config.ingest, left_out=FACTS_FOLDER)
        return [notes, FactsSource(self._ledger_files, store=self._store)]

    def _folder(self) -> None:
        return None

    def _cache_of_home(self) -> tuple[None, Sequence[str]]:
        return None, ()

    def _whole_text(self, path: str) -> tuple[str, str]:
        return path, self.pushed.read(path)[1]

    @synchronized
    def _read_ledger(self, gone: Iterable[str] = ()) -> None:
        """Have the facts found that were just written; they are embedded later."""
        source = FactsSource(self._ledger_files, store=self._store)
        names = (f"{FACTS_FOLDER}/{name}" for name in self._ledger_files.versions())
        self._syncer.sync_part(source, {*names, *gone})

    @synchronized
    def _read_pushed(self, paths: Sequence[str]) -> None:
        """Have the documents found that were just written; they are embedded later."""
        source = PushedSource(
            self._documents, options=self.config.ingest, left_out=FACTS_FOLDER, only=paths
        )
        self._syncer.sync_part(source, paths)
        if pages := [path for path in paths if path.startswith(f"{FACTS_FOLDER}/")]:
            self._read_ledger(gone=pages)
