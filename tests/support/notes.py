"""Documents and chunks for tests of stores."""

from __future__ import annotations

from recollect.types import Chunk, Document, SourceKind, Stat, digest_of


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
