"""Copies a memory from one store to another of any kind, and compares the two.

What is copied is what cannot be made again for free: documents with their chunks, and the vectors
of every space: the one that searches use, one beside it for other scripts, one that is being
filled. Pushed documents are copied with their versions. Open batches and leases stay behind.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from recollect.reports import CopiedMemory
from recollect.stores import notes
from recollect.stores.base import DocumentWrite, published_in
from recollect.types import ChunkKey, Document, Scope, SourceKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import date

    from recollect.stores.base import Loaded, Name, Store
    from recollect.stores.postgres.pushed import PostgresPushed
    from recollect.types import Fingerprint, Known


_DOCUMENTS = 100  # in one transaction
_VECTORS = 500  # in one transaction
_LISTED = 1000  # documents asked for at once


def copy_store(source: Store, target: Store) -> CopiedMemory:
    """Make the target hold what the source holds; what the source lacks is dropped from it."""
    with source.snapshot():
        known = source.known()
        held = target.known()
        target.drop_many([held[name] for name in held.keys() - known.keys()])
        everyone = _everyone(source, known)
        days = _days(source, scope=everyone)
        names, chunks = list(known), 0
        for start in range(0, len(names), _DOCUMENTS):
            part = [
                _write_of(source, known[name], when=days.get(name))
                for name in names[start : start + _DOCUMENTS]
            ]
            target.put_many(part)
            chunks += sum(len(write.chunks or ()) for write in part)
        vectors = sum(
            _copy_vectors(source, target, space, scope=everyone) for space in source.spaces()
        )
        if (published := published_in(source.spaces())) is not None:
            target.put_space(published, publish=True)
        if (workspace := notes.workspace_of(source)) is not None:
            notes.claim(target, workspace)
    return CopiedMemory(len(names), chunks, vectors)


def differences(source: Store, target: Store) -> Iterator[str]:
    """Yield where the target does not hold what the source holds."""
    known, copied = source.known(), target.known()
    for name in sorted(known.keys() | copied.keys()):
        path = name[1]
        if known.get(name) != copied.get(name):
            yield f"{path} is not the same document"
        elif list(source.chunks_of(path, source=name[0])) != list(
            target.chunks_of(path, source=name[0])
        ):
            yield f"{path} has other chunks"
    if published_in(source.spaces()) != published_in(target.spaces()):
        yield "searches use another vector space"
    everyone = _everyone(source, known)
    for space in source.spaces():
        wrong = _marks(source, space, scope=everyone) ^ _marks(target, space, scope=everyone)
        if wrong:
            texts = len({digest for digest, _ in wrong})
            yield f"vectors differ in the space of {space.model} (texts: {texts})"


def _marks(store: Store, space: Fingerprint, *, scope: Scope) -> set[tuple[str, bytes]]:
    """Return the digest of each embedded text, with one of its vector and word codes."""
    marks = set()
    for loaded, worded in _loaded(store, space, scope=scope):
        for key, chunk, vector in zip(loaded.keys, loaded.chunks, loaded.vectors, strict=True):
            held = vector.tobytes() + worded.get(key, b"")
            marks.add((chunk.digest, hashlib.blake2b(held, digest_size=16).digest()))
    return marks


def _loaded(
    store: Store, space: Fingerprint, *, scope: Scope
) -> Iterator[tuple[Loaded, Mapping[ChunkKey, bytes]]]:
    """Yield what is embedded in a space, part by part."""
    keys = [ChunkKey(int(key)) for key in store.embedded(space, scope=scope)]
    for start in range(0, len(keys), _VECTORS):
        loaded = store.load(keys[start : start + _VECTORS], terms=(), fingerprint=space)
        yield loaded, store.word_codes(space, keys=loaded.keys)


def _everyone(source: Store, known: Iterable[Name]) -> Scope:
    """Return a scope that hides no fact."""
    files = [path for kind, path in known if kind is SourceKind.FACTS]
    scopes = {
        chunk.fact.scope
        for path in files
        for chunk in source.chunks_of(path, source=SourceKind.FACTS)
        if chunk.fact is not None
    }
    return Scope(audience=frozenset(scopes), with_superseded=True)


def _days(source: Store, *, scope: Scope) -> dict[Name, date | None]:
    days: dict[Name, date | None] = {}
    while True:
        page = source.documents(scope, limit=_LISTED, offset=len(days)).documents
        if not page:
            return days
        days |= {(each.source, each.path): each.date for each in page}


def _write_of(source: Store, known: Known, *, when: date | None) -> DocumentWrite:
    document = Document(
        path=known.path,
        source=known.source,
        text="",
        digest=known.digest,
        stat=known.stat,
        when=when,
        is_settled=known.is_settled,
    )
    return DocumentWrite(document, source.chunks_of(known.path, source=known.source), known.recipe)


def _copy_vectors(source: Store, target: Store, space: Fingerprint, *, scope: Scope) -> int:
    copied = 0
    for loaded, worded in _loaded(source, space, scope=scope):
        copied += len(loaded.keys)
        for has_words in (True, False):
            rows = [row for row, key in enumerate(loaded.keys) if (key in worded) == has_words]
            target.put_vectors(
                space,
                digests=[loaded.chunks[row].digest for row in rows],
                vectors=loaded.vectors[rows],
                words=[worded[loaded.keys[row]] for row in rows] if has_words else None,
            )
    target.put_space(space, background=source.spaces()[space].background)
    return copied


def copy_pushed(source: PostgresPushed, target: PostgresPushed) -> None:
    """Make the target hold the pushed documents of the source, each with its versions."""
    current = {each.path for each in source.listed()}
    paths = current | {each.path for each in source.deleted()}
    for each in (*target.listed(), *target.deleted()):
        if each.path not in paths:
            target.purge(each.path)
    for path in sorted(paths):
        versions = [source.content(path, version=each.version) for each in source.versions(path)]
        target.restore(versions, is_deleted=path not in current)


def pushed_differences(source: PostgresPushed, target: PostgresPushed) -> Iterator[str]:
    """Yield where the target does not hold the pushed documents that the source holds."""
    if source.listed() != target.listed():
        yield "the pushed documents are not the same"
    for each in (*source.listed(), *source.deleted()):
        if source.versions(each.path) != target.versions(each.path):
            yield f"{each.path} has other versions"
