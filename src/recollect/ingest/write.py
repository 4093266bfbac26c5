"""Stores documents in batches: a transaction for each would be half of a first index.

A batch is bounded, so that other writers wait a fraction of a second, readers soon find what was
read, and a killed process loses little. Each document of it is still compared with what is stored.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from recollect.ingest.read import UnreadableError
from recollect.records import dataclass
from recollect.stores.base import DocumentWrite

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recollect.ingest.source import Source, Taken
    from recollect.ingest.walk import Found
    from recollect.stores.base import Store
    from recollect.types import Document, Known, SourceKind

    Stored = Mapping[tuple[SourceKind, str], Known]

BATCH_DOCUMENTS = 256
BATCH_CHARS = 1 << 20
"""Both bounds are a tenth of a second of writing, and larger batches gain nothing."""
BATCH_SECONDS = 1.0
"""Files that are slow to read are found soon, too."""
MOST_RACES = 5  # times another process may store a file before us until we leave it to them


@dataclass(frozen=True, slots=True)
class _Waiting:
    write: DocumentWrite
    suspect: Found
    source: Source


class DocumentWriter:
    """Collects documents, and stores them when there are enough; call `flush` at the end."""

    def __init__(self, store: Store, *, known: Stored) -> None:
        """Store the arguments.

        Args:
            store: where documents go.
            known: what was stored when the caller decided to write.

        """
        self._store = store
        self._known = known
        self._waiting: list[_Waiting] = []
        self._touched: list[Document] = []
        self._chars = 0
        self._since = 0.0

    def put(self, taken: Taken, suspect: Found, source: Source) -> None:
        """Store a document with its chunks."""
        write = write_of(taken, self._known, recipe=source.recipe)
        self._waiting.append(_Waiting(write, suspect, source))
        self._added(len(write.document.text))

    def touch(self, document: Document) -> None:
        """Update the stat of a document whose content is stored."""
        self._touched.append(document)
        self._added(0)

    def flush(self) -> None:
        """Store what is collected, in one step."""
        waiting, touched = self._waiting, self._touched
        self._waiting, self._touched, self._chars = [], [], 0
        if touched:
            self._store.touch_many(touched)
        if waiting:
            stored = self._store.put_many([each.write for each in waiting])
            for each, is_stored in zip(waiting, stored, strict=True):
                if not is_stored:
                    self._put_after_race(each)

    def _added(self, chars: int) -> None:
        now = time.monotonic()
        count = len(self._waiting) + len(self._touched)
        self._since = now if count == 1 else self._since
        self._chars += chars
        is_large = count >= BATCH_DOCUMENTS or self._chars >= BATCH_CHARS
        if is_large or now - self._since >= BATCH_SECONDS:
            self.flush()

    def _put_after_race(self, lost: _Waiting) -> None:
        """Read the file again that another process stored first, and compare.

        Without that a slow process would put an old content over a newer one.
        """
        document = lost.write.document
        for _ in range(MOST_RACES - 1):
            before = self._store.known_of(document.path, source=document.source)
            try:
                taken = lost.source.take(lost.suspect)
            except UnreadableError:
                return  # gone or unreadable by now: the next sync sees it
            if before is not None and before.digest == taken.document.digest:
                return
            recipe = lost.source.recipe
            if self._store.put(taken.document, taken.chunks(), recipe=recipe, expected=before):
                return


def write_of(taken: Taken, known: Stored, *, recipe: str) -> DocumentWrite:
    """Return what to store for a file, expecting the known state to be stored."""
    document = taken.document
    before = known.get((document.source, document.path))
    return DocumentWrite(document, taken.chunks(), recipe, before)
