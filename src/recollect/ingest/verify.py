"""Verifies that a store equals the files, and finds secrets in them; nothing is changed.

Nothing is trusted either: every file is read, chunked and compared with what is stored, character
by character.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.ingest.read import UnreadableError
from recollect.reports import Failure, FoundSecret, Verification
from recollect.text.secrets import find_secrets
from recollect.types import Step

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from recollect.ingest.folders import Found
    from recollect.ingest.source import Source
    from recollect.ingest.spaces import VectorSpace
    from recollect.stores.base import Store
    from recollect.types import Progress

_RESYNC = "Run `recollect index`."
_REDO = "Run `recollect index --force`."


def verify(
    sources: Sequence[Source],
    *,
    store: Store,
    space: VectorSpace | None,
    progress: Progress,
) -> Verification:
    """Compare every file with its chunks, and every leg with the chunks."""
    differences: list[Failure] = []
    found: list[tuple[Source, Found]] = []
    for source in sources:
        own, failures = source.find()
        found += [(source, each) for each in own]
        # A line that cannot be read is a mistake in a file: the index is not to blame.
        differences += [each for each in failures if not each.is_entry]
    for done, (source, each) in enumerate(found):
        progress(Step("read", done, len(found)))
        differences += _compared(each, source=source, store=store)
    present = {(each.source, each.path) for _, each in found}
    differences += [
        Failure(known.path, "is indexed, but the file is gone", _RESYNC)
        for key, known in store.known().items()
        if key not in present
    ]
    differences += [Failure(store.location, problem, _REDO) for problem in store.check(deep=True)]
    status = store.status(replace(space.texts, media=False) if space else None)
    return Verification(
        files=len(found),
        chunks=status.chunks,
        vectors=status.vectors,
        pending=status.pending,
        differences=tuple(differences),
    )


def _compared(found: Found, *, source: Source, store: Store) -> Iterator[Failure]:
    try:
        taken = source.take(found)
    except UnreadableError as error:
        yield error.failure
        return
    document = taken.document
    name = (document.source, document.path)
    known = store.known([name]).get(name)
    if known is None:
        yield Failure(document.path, "is not indexed", _RESYNC)
    elif known.digest != document.digest:
        # A file that looks unchanged, by its size and time, is read again only if asked to.
        action = _REDO if known.stat == found.stat else _RESYNC
        yield Failure(document.path, "is indexed with different content", action)
    elif known.recipe != source.recipe:
        yield Failure(document.path, "was indexed by earlier rules", _RESYNC)
    elif list(store.chunks_of(document.path, source=document.source)) != taken.chunks():
        yield Failure(document.path, "has chunks that do not match its content", _REDO)


def find_leaks(sources: Sequence[Source], *, progress: Progress) -> list[FoundSecret]:
    """Return the place and kind of each secret in the readable files of some sources."""
    found = [(source, each) for source in sources for each in source.find()[0]]
    secrets: list[FoundSecret] = []
    for done, (source, each) in enumerate(found):
        progress(Step("read", done, len(found)))
        try:
            text = source.take(each).document.text
        except UnreadableError:
            continue
        secrets += [
            FoundSecret(each.path, text.count("\n", 0, secret.start) + 1, secret.kind)
            for secret in find_secrets(text)
        ]
    return secrets
