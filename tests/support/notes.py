"""Documents and chunks for tests of stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.stores.base import DocumentWrite
from recollect.types import Chunk, Document, SourceKind, Stat, digest_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.stores.base import Expected, Store
    from recollect.types import Known


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
