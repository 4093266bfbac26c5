"""Documents and chunks for tests of stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recollect.stores.base import DocumentWrite, SpaceVectors, VectorPool
from recollect.types import Chunk, Document, SourceKind, Stat, digest_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from recollect.stores.base import Expected, KeywordPool, Store
    from recollect.types import Fingerprint, Known, Scope, Vector


def document_of(path: str, text: str = "") -> Document:
    """Return a note."""
    return Document(
        path=path,
        source=SourceKind.MEMORY,
        text=text,
        digest=digest_of(text.encode("utf-8", "surrogatepass")),
        stat=Stat(len(text), 1),
        when=None,
    )


def chunk_of(path: str, text: str, *, line: int = 1) -> Chunk:
    """Return a chunk of a note."""
    return Chunk(path, SourceKind.MEMORY, line, line, text)


def put_document(
    store: Store,
    document: Document,
    chunks: Sequence[Chunk],
    *,
    recipe: str,
    expected: Expected = ...,
) -> bool:
    """Store one document; return whether its stored state was the expected one."""
    return store.put_many([DocumentWrite(document, chunks, recipe, expected)])[0]


def known_document(
    store: Store, path: str, *, source: SourceKind = SourceKind.MEMORY
) -> Known | None:
    """Return the stored state of one document."""
    return store.known([(source, path)]).get((source, path))


def drop_document(store: Store, path: str, *, source: SourceKind = SourceKind.MEMORY) -> None:
    """Remove one document, whatever its state is."""
    known = known_document(store, path, source=source)
    store.drop_many([] if known is None else [known])


def keyword_pool(
    store: Store, terms: Sequence[str], *, scope: Scope, limit: int, stop: Collection[str] = ()
) -> KeywordPool:
    """Return what the keyword leg proposes."""
    return store.propose(terms, asked=None, scope=scope, limit=limit, stop=stop).keyword


def vector_pool(
    store: Store, fingerprint: Fingerprint, *, vector: Vector, scope: Scope, limit: int
) -> VectorPool:
    """Return what the vector leg proposes for one vector."""
    asked = SpaceVectors(fingerprint, vector[np.newaxis])
    found = store.propose((), asked=asked, scope=scope, limit=limit).near
    return found.pools[0] if found else VectorPool((), ())
