"""Proving that an index equals the files: read everything again and compare.

Nothing is repaired here, and nothing is believed: every file is read, divided and compared with
what is stored, character by character.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from recollect.ingest.chunk import chunk
from recollect.ingest.read import UnreadableError, read
from recollect.ingest.walk import walk
from recollect.reports import Difference, Verification
from recollect.types import Step

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from recollect.ingest.sync import IngestOptions
    from recollect.ingest.walk import Found
    from recollect.stores.sqlite import SqliteStore
    from recollect.types import Document, Fingerprint, Progress

_RESYNC = "Run `recollect index`."


def verify(
    workspace: Path,
    *,
    store: SqliteStore,
    options: IngestOptions,
    fingerprint: Fingerprint | None,
    progress: Progress,
) -> Verification:
    """Compare every file with its chunks, and every leg with the chunks."""
    found, failures = walk(workspace, options=options.walk)
    differences = [Difference(each.path, each.reason, each.action) for each in failures]
    for done, each in enumerate(found):
        progress(Step("read", done, len(found)))
        differences += _compared(each, store=store, options=options)
    present = {(each.source, each.path) for each in found}
    differences += [
        Difference(known.path, "is indexed and no longer there", _RESYNC)
        for key, known in store.known().items()
        if key not in present
    ]
    differences += [
        Difference(store.inspection.location, problem, _RESYNC)
        for problem in store.inspection.audit()
    ]
    status = store.status(fingerprint)
    return Verification(
        files=len(found),
        chunks=status.chunks,
        vectors=status.vectors,
        pending=status.pending,
        differences=tuple(differences),
    )


def _compared(found: Found, *, store: SqliteStore, options: IngestOptions) -> Iterator[Difference]:
    try:
        document = read(found, now_ns=time.time_ns())
    except UnreadableError as error:
        yield Difference(error.failure.path, error.failure.reason, error.failure.action)
        return
    known = store.inspection.known_of(document.path, source=document.source)
    if known is None:
        yield Difference(document.path, "is not indexed", _RESYNC)
    elif known.digest != document.digest:
        yield Difference(document.path, "is indexed with another content", _RESYNC)
    elif known.recipe != options.recipe:
        yield Difference(document.path, "is indexed by other rules than those in force", _RESYNC)
    elif not _has_these_chunks(document, store=store, options=options):
        yield Difference(
            document.path,
            "has other chunks than its content gives",
            "Run `recollect index --force`.",
        )


def _has_these_chunks(document: Document, *, store: SqliteStore, options: IngestOptions) -> bool:
    stored = store.inspection.chunks_of(document.path, source=document.source)
    return stored == chunk(document, options=options.chunk)
