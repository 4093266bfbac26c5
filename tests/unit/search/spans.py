"""Spans of chunks that no store has yet."""

from __future__ import annotations

from tests.support.notes import put_document

from recollect.search.select import Span, cut
from recollect.stores.ram import RamStore
from recollect.types import Chunk, ChunkKey, Document, SourceKind, Stat, digest_of


def spans_of(chunks: list[Chunk], *, order: list[int], max_results: int) -> list[Span]:
    """Return the spans of chunks that were ranked in this order."""
    store = RamStore()
    document = Document("all.md", SourceKind.MEMORY, "", digest_of(b""), Stat(0, 0), when=None)
    put_document(store, document, chunks, recipe="r1")
    keys = [ChunkKey(number) for number in range(1, len(chunks) + 1)]
    loaded = store.load(keys, terms=[], fingerprint=None)
    return cut(order, loaded=loaded, max_results=max_results)
