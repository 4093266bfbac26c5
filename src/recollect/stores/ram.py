"""A store in plain Python objects: the executable definition of what a Store does.

Exact in both legs, forgets everything when closed; used for tests and throw-away indexes.
"""

from __future__ import annotations

import itertools
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from recollect.reports import StoreStatus
from recollect.stores import bag
from recollect.stores.base import Corpus, KeywordPool, Loaded, Missing, Space, VectorPool
from recollect.stores.vectors import check_vectors, top
from recollect.text.globs import matches
from recollect.types import ChunkKey, Known

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from contextlib import AbstractContextManager

    from recollect.stores.base import Over
    from recollect.types import (
        Background,
        Chunk,
        Document,
        Fingerprint,
        Scope,
        SourceKind,
        Vector,
        Vectors,
    )


@dataclass(frozen=True, slots=True)
class _Row:
    chunk: Chunk
    words: frozenset[str]
    length: int
    bag: bytes


class RamStore:
    """Documents, chunks, terms and vectors in memory."""

    def __init__(self) -> None:
        self._known: dict[tuple[SourceKind, str], Known] = {}
        self._rows: dict[ChunkKey, _Row] = {}
        self._vectors: dict[tuple[str, str], Vector] = {}
        self._dimensions: dict[Fingerprint, int] = {}
        self._backgrounds: dict[Fingerprint, Background] = {}
        self._published: Fingerprint | None = None
        self._next_key = itertools.count(1)

    def known(self) -> Mapping[tuple[SourceKind, str], Known]:
        """Return what is stored of each document, by source and path."""
        return dict(self._known)

    def snapshot(self) -> AbstractContextManager[None]:
        """Do nothing: nobody else writes here."""
        return nullcontext()

    def known_of(self, path: str, *, source: SourceKind) -> Known | None:
        """Return what is stored of one document."""
        return self._known.get((source, path))

    def put(
        self, document: Document, chunks: Sequence[Chunk], *, recipe: str, over: Over = ...
    ) -> bool:
        """Store a document with its chunks, replacing what was there if that is `over`."""
        if not self.drop(document.path, source=document.source, over=over):
            return False
        self._known[document.source, document.path] = Known(
            path=document.path,
            source=document.source,
            digest=document.digest,
            stat=document.stat,
            recipe=recipe,
            is_settled=document.is_settled,
        )
        for chunk in chunks:
            fields = bag.field_terms(chunk)
            words = frozenset(itertools.chain.from_iterable(fields))
            key = ChunkKey(next(self._next_key))
            self._rows[key] = _Row(chunk, words, len(fields[0]), bag.pack(fields))
        return True

    def touch(self, document: Document) -> None:
        """Remember a new stat of a document, where what is stored still has its digest."""
        known = self._known.get((document.source, document.path))
        if known is not None and known.digest == document.digest:
            self._known[document.source, document.path] = replace(
                known, stat=document.stat, is_settled=document.is_settled
            )

    def drop(self, path: str, *, source: SourceKind, over: Over = ...) -> bool:
        """Forget a document, unless another one than `over` is there; vectors stay."""
        if over is not ... and over != self._known.get((source, path)):
            return False
        self._known.pop((source, path), None)
        gone = [
            key
            for key, row in self._rows.items()
            if row.chunk.path == path and row.chunk.source == source
        ]
        for key in gone:
            del self._rows[key]
        return True

    def missing(
        self, fingerprint: Fingerprint, *, limit: int, after: str = "", media: bool = False
    ) -> Sequence[Missing]:
        """Return texts or media without a vector, each once, in the order of digests."""
        chunks = [row.chunk for row in self._rows.values() if bool(row.chunk.media) == media]
        first = {chunk.digest: chunk for chunk in reversed(chunks)}
        wanted = (
            self._missing(digest, chunk)
            for digest, chunk in sorted(first.items())
            if digest > after and (str(fingerprint), digest) not in self._vectors
        )
        return list(itertools.islice(wanted, limit))

    def _missing(self, digest: str, chunk: Chunk) -> Missing:
        if not chunk.media:
            return Missing(digest, chunk.embedded_text)
        size_bytes = self._known[chunk.source, chunk.path].stat.size_bytes
        return Missing(digest, chunk.embedded_text, chunk.path, size_bytes)

    def put_vectors(
        self, fingerprint: Fingerprint, *, digests: Sequence[str], vectors: Vectors
    ) -> None:
        """Store vectors by the digest of their text; the first ones fix the dimensions."""
        known = self._dimensions.get(fingerprint) or fingerprint.dimensions
        check_vectors(vectors, count=len(digests), dimensions=known or vectors.shape[-1])
        if len(digests):
            self._dimensions[fingerprint] = vectors.shape[-1]
        for digest, vector in zip(digests, vectors, strict=True):
            self._vectors[str(fingerprint), digest] = vector.copy()

    def space(self, fingerprint: Fingerprint) -> Space | None:
        """Return what is known of a space; None when nothing of it is stored."""
        if fingerprint not in self._dimensions:
            return None
        return Space(
            self._dimensions[fingerprint],
            self._backgrounds.get(fingerprint),
            is_published=fingerprint == self._published,
        )

    def put_background(self, fingerprint: Fingerprint, background: Background) -> None:
        """Remember how unrelated texts are spread in a space."""
        self._dimensions.setdefault(fingerprint, fingerprint.dimensions or 0)
        self._backgrounds[fingerprint] = background

    def published(self) -> Fingerprint | None:
        """Return the space that searches are served from."""
        return self._published

    def publish(self, fingerprint: Fingerprint) -> None:
        """Serve searches from this space from now on."""
        self._dimensions.setdefault(fingerprint, fingerprint.dimensions or 0)
        self._published = fingerprint

    def prune(self, *, keep: Collection[Fingerprint]) -> int:
        """Drop vectors of other spaces and of texts that no chunk holds; return how many."""
        held = {row.chunk.digest for row in self._rows.values()}
        kept = {str(fingerprint) for fingerprint in keep}
        unused = [key for key in self._vectors if key[0] not in kept or key[1] not in held]
        for key in unused:
            del self._vectors[key]
        for fingerprint in set(self._dimensions) - set(keep):
            del self._dimensions[fingerprint]
            self._backgrounds.pop(fingerprint, None)
        if self._published not in keep:
            self._published = None
        return len(unused)

    def keyword(self, terms: Sequence[str], *, scope: Scope, limit: int) -> KeywordPool:
        """Return up to `limit` chunks in scope that hold any of the terms, most distinct first."""
        asked = set(terms)
        shared = {
            key: len(asked & row.words)
            for key, row in self._rows.items()
            if _in_scope(row.chunk, scope) and asked & row.words
        }
        keys = sorted(shared, key=lambda key: (-shared[key], key))[:limit]
        lengths = [row.length for row in self._rows.values()]
        corpus = Corpus(
            chunks=len(self._rows),
            mean_length=sum(lengths) / len(lengths) if lengths else 0.0,
            frequencies={
                term: sum(term in row.words for row in self._rows.values()) for term in asked
            },
        )
        return KeywordPool(tuple(keys), corpus)

    def nearest(
        self, fingerprint: Fingerprint, *, vector: Vector, scope: Scope, limit: int
    ) -> VectorPool:
        """Return the chunks in scope whose vectors are nearest, by exact cosine."""
        space = str(fingerprint)
        embedded = [
            (key, self._vectors[space, row.chunk.digest], _in_scope(row.chunk, scope))
            for key, row in self._rows.items()
            if (space, row.chunk.digest) in self._vectors
        ]
        if not embedded:
            return VectorPool((), ())
        cosines = np.stack([stored for _, stored, _ in embedded]) @ vector
        allowed = np.flatnonzero([inside for _, _, inside in embedded])
        best = allowed[top(cosines[allowed], limit)]
        return VectorPool(
            keys=tuple(embedded[row][0] for row in best),
            cosines=tuple(float(cosines[row]) for row in best),
        )

    def load(
        self, keys: Sequence[ChunkKey], *, terms: Sequence[str], fingerprint: Fingerprint | None
    ) -> Loaded:
        """Return chunks, term counts and vectors; keys that no longer exist are left out."""
        present = [key for key in keys if key in self._rows]
        rows = [self._rows[key] for key in present]
        found = [self._vectors.get((str(fingerprint), row.chunk.digest)) for row in rows]
        width = next((len(stored) for stored in found if stored is not None), 0)
        vectors = np.zeros((len(rows), width), dtype=np.float32)
        has_vector = np.zeros(len(rows), dtype=np.bool_)
        for place, stored in enumerate(found):
            if stored is not None:
                vectors[place] = stored
                has_vector[place] = True
        return Loaded(
            keys=tuple(present),
            chunks=tuple(row.chunk for row in rows),
            counts=bag.count([row.bag for row in rows], terms),
            lengths=np.array([row.length for row in rows], dtype=np.int64),
            vectors=vectors,
            has_vector=has_vector,
        )

    def status(self, fingerprint: Fingerprint | None, *, media: bool = False) -> StoreStatus:
        """Return sizes and counts."""
        by_source: dict[str, tuple[int, int]] = {}
        for source, _ in self._known:
            documents, chunks = by_source.get(source, (0, 0))
            by_source[source] = (documents + 1, chunks)
        for row in self._rows.values():
            documents, chunks = by_source[row.chunk.source]
            by_source[row.chunk.source] = (documents, chunks + 1)
        bare = [
            row.chunk
            for row in self._rows.values()
            if (str(fingerprint), row.chunk.digest) not in self._vectors
        ]
        return StoreStatus(
            location=":ram:",
            size_bytes=0,
            documents=len(self._known),
            chunks=len(self._rows),
            by_source=by_source,
            vectors=len(self._rows) - len(bare),
            pending=sum(media or not chunk.media for chunk in bare) if fingerprint else 0,
            engine="exact",
            is_writable=True,
        )

    def clear(self) -> None:
        """Forget everything, cached vectors too."""
        self._known.clear()
        self._rows.clear()
        self._vectors.clear()
        self._dimensions.clear()
        self._backgrounds.clear()
        self._published = None

    def close(self) -> None:
        """Release the store."""
        self.clear()


def _in_scope(chunk: Chunk, scope: Scope) -> bool:
    when = chunk.when
    return (
        (scope.source is None or chunk.source == scope.source)
        and (scope.since is None or (when is not None and when >= scope.since))
        and (scope.before is None or (when is not None and when < scope.before))
        and (scope.path is None or matches(chunk.path, scope.path))
        and (chunk.fact is None or scope.shows(chunk.fact))
    )
