"""PushedMemory: a memory whose documents are in its store, not in the files of a workspace."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.facts.files import FACTS_FOLDER, PushedFiles
from recollect.facts.source import FactsSource
from recollect.ingest.pushed import MOST_PATH_CHARS, PushedBook, PushedSource
from recollect.parts import MemoryParts
from recollect.stores.pushed import PUSHED, PushedChange, PushedDocument
from recollect.stores.synchronized import synchronized

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Self

    from recollect.config.load import Setup
    from recollect.parts import Models
    from recollect.reports import Status
    from recollect.stores.base import Store
    from recollect.stores.postgres.pushed import PostgresPushed

__all__ = ["MOST_PATH_CHARS", "PushedBook", "PushedChange", "PushedDocument", "PushedMemory"]


class PushedMemory(MemoryParts):
    """One of many memories of a database. A `MemoryHost` opens it."""

    def __init__(
        self,
        setup: Setup,
        *,
        store: Store,
        documents: PostgresPushed,
        models: Models,
        purpose: str,
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
            text_of=lambda path: (path, self.pushed.read(path)[1]),
            folder=None,
            purpose=purpose,
            models=models,
        )

    def status(self, *, deep: bool = False) -> Status:
        """Return what is indexed, without where the server keeps it: that is not for clients."""
        found = super().status(deep=deep)
        index = replace(found.index, location=self.agent)
        return replace(found, workspace=PUSHED, index=index)

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
