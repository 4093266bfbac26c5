"""A store in plain Python objects: the executable definition of what a Store does.

Exact in both legs. It lives as long as the process; handles that share it may be used by several
threads.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from dataclasses import field, replace
from datetime import date
from threading import RLock
from typing import TYPE_CHECKING

import numpy as np

from recollect.errors import StoreError
from recollect.records import dataclass
from recollect.reports import Amount, Documents, IndexStatus
from recollect.stores import bm25, term_counts
from recollect.stores.base import (
    Corpus,
    KeywordPool,
    Loaded,
    Missing,
    Space,
    Store,
    VectorPool,
    is_expected,
)
from recollect.stores.summary import loaded_of, summarize, summarize_days
from recollect.stores.synchronized import synchronized
from recollect.stores.vectors import check_vectors, propose_by, top
from recollect.text.globs import matches
from recollect.text.phrases import contains_all
from recollect.text.size import tokens_of
from recollect.text.tags import has_tag, tags_whole_document
from recollect.types import ChunkKey, Known, Scope, SourceKind, SupersededFact

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    import numpy.typing as npt

    from recollect.reports import DaySummary
    from recollect.stores.base import (
        DocumentWrite,
        Holder,
        Name,
        Proposals,
        SpaceTexts,
        SpaceVectors,
    )
    from recollect.types import Background, Chunk, Fingerprint, Tag, Vector, Vectors


@dataclass(frozen=True, slots=True)
class _Row:
    chunk: Chunk
    digest: str
    words: frozenset[str]
    length: int
    bag: bytes

    @property
    def name(self) -> Name:
        return self.chunk.source, self.chunk.path

    @property
    def text_bytes(self) -> int:
        return len(self.chunk.text.encode("utf-8", "surrogatepass"))


@dataclass(slots=True)
class _Contents:
    """Everything that the handles of one store share."""

    lock: RLock = field(default_factory=RLock)
    known: dict[Name, Known] = field(default_factory=dict)
    days: dict[Name, date | None] = field(default_factory=dict)
    rows: dict[ChunkKey, _Row] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    """Texts in the order they were first stored, by digest."""
    vectors: dict[tuple[str, str], Vector] = field(default_factory=dict)
    words: dict[tuple[str, str], bytes] = field(default_factory=dict)
    """Word codes, by the same keys as vectors."""
    spaces: dict[Fingerprint, Space] = field(default_factory=dict)
    leases: dict[str, Holder] = field(default_factory=dict)
    meta: dict[str, str] = field(default_factory=dict)
    keys: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    changes: int = 0
    """Counts added and removed chunks and vectors."""


class RamStore(Store):
    """A Store in memory."""

    is_shared = False  # only threads of this process can share it

    def __init__(self, contents: _Contents | None = None) -> None:
        self._contents: _Contents | None = contents or _Contents()
        self.lock = self._contents.lock

    @property
    def _all(self) -> _Contents:
        if self._contents is None:
            raise StoreError("The index in RAM is closed.", action="Open the memory again.")
        return self._contents

    # Documents

    @synchronized
    def known(self, names: Iterable[Name] | None = None) -> Mapping[Name, Known]:
        known = self._all.known
        return {name: known[name] for name in (known if names is None else names) if name in known}

    @synchronized
    def put_many(self, writes: Sequence[DocumentWrite], *, jointly: bool = False) -> list[bool]:
        if jointly and not all(is_expected(write, self.known) for write in writes):
            return [False] * len(writes)
        return [self._put(write) for write in writes]

    def _put(self, write: DocumentWrite) -> bool:
        if not is_expected(write, self.known):
            return False
        name, new = write.name, write.known
        known = self._all.known.get(name)
        if write.chunks is None:
            if known is not None and known.digest == new.digest:
                self._all.known[name] = new._replace(recipe=known.recipe)
            return True
        self._drop(name)
        self._all.known[name] = new
        self._all.days[name] = write.document.when
        for chunk in write.chunks:
            fields = term_counts.field_terms(chunk)
            words = frozenset(itertools.chain.from_iterable(fields))
            self._all.numbers.setdefault(chunk.digest, len(self._all.numbers) + 1)
            row = _Row(chunk, chunk.digest, words, len(fields[0]), term_counts.pack(fields))
            self._all.rows[ChunkKey(next(self._all.keys))] = row
            self._all.changes += 1
        return True

    @synchronized
    def drop_many(self, gone: Sequence[Known]) -> None:
        for each in gone:
            if each == self._all.known.get((each.source, each.path)):
                self._drop((each.source, each.path))

    def _drop(self, name: Name) -> None:
        self._all.known.pop(name, None)
        self._all.days.pop(name, None)
        for key in [key for key, row in self._all.rows.items() if row.name == name]:
            del self._all.rows[key]
            self._all.changes += 1

    @synchronized
    def chunks_of(self, path: str, *, source: SourceKind) -> Sequence[Chunk]:
        return [row.chunk for row in self._all.rows.values() if row.name == (source, path)]

    @synchronized
    def load(
        self, keys: Sequence[ChunkKey], *, terms: Sequence[str], fingerprint: Fingerprint | None
    ) -> Loaded:
        present = [key for key in keys if key in self._all.rows]
        rows = [self._all.rows[key] for key in present]
        return loaded_of(
            present,
            [row.chunk for row in rows],
            lengths=[row.length for row in rows],
            counts=term_counts.count([row.bag for row in rows], terms),
            vectors=[self._vector(fingerprint, row) for row in rows],
        )

    @synchronized
    def superseded(self, scope: Scope) -> Sequence[SupersededFact]:
        chunks = [row.chunk for row in self._all.rows.values()]
        texts = {chunk.fact.id: chunk.text for chunk in reversed(chunks) if chunk.fact}
        return [
            SupersededFact(
                id=fact.id,
                text=chunk.text,
                about=chunk.prefix,
                by=fact.superseded_by,
                instead=texts.get(fact.superseded_by, ""),
            )
            for chunk in chunks
            if (fact := chunk.fact) is not None
            and fact.superseded_by
            and fact.scope in scope.audience
            and fact.until is not None
            and (scope.as_of is None or fact.until <= scope.as_of)
        ]

    # Both legs

    @synchronized
    def propose(
        self,
        terms: Sequence[str],
        *,
        asked: SpaceVectors | None,
        scope: Scope,
        limit: int,
        stop: Collection[str] = (),
    ) -> Proposals:
        return propose_by(
            lambda space, vector: self._nearest(space, vector, scope=scope, limit=limit),
            self._keyword(terms, scope=scope, limit=limit, stop=stop),
            asked=asked,
            space=self.spaces().get(asked.fingerprint) if asked else None,
        )

    def _keyword(
        self, terms: Sequence[str], *, scope: Scope, limit: int, stop: Collection[str]
    ) -> KeywordPool:
        asked = list(dict.fromkeys(terms))
        # The score of a word must not tell how often it occurs in the facts of others.
        visible = Scope(audience=scope.audience, with_superseded=True)
        rows = [row for _, row in self._seen(visible)]
        corpus = Corpus(
            chunks=len(rows),
            mean_length=sum(row.length for row in rows) / len(rows) if rows else 0.0,
            frequencies={term: sum(term in row.words for row in rows) for term in asked},
        )
        held = [(key, row) for key, row in self._seen(scope) if not row.words.isdisjoint(asked)]
        scores = bm25.scores(
            term_counts.count([row.bag for _, row in held], asked),
            lengths=np.array([row.length for _, row in held], dtype=np.int64),
            weights=bm25.term_weights(asked, stop=stop, corpus=corpus),
            corpus=corpus,
        )
        order = np.argsort(-scores, kind="stable")[:limit]  # ties by key
        return KeywordPool(tuple(held[place][0] for place in order.tolist()), corpus)

    def _nearest(
        self, fingerprint: Fingerprint, vector: Vector, *, scope: Scope, limit: int
    ) -> VectorPool:
        embedded = [
            (key, stored)
            for key, row in self._seen(scope)
            if (stored := self._vector(fingerprint, row)) is not None
        ]
        if not embedded:
            return VectorPool((), ())
        cosines = np.stack([stored for _, stored in embedded]) @ vector
        best = top(cosines, limit)
        return VectorPool(
            keys=tuple(embedded[row][0] for row in best),
            cosines=tuple(float(cosines[row]) for row in best),
        )

    # Vectors

    @synchronized
    def missing(self, texts: SpaceTexts, *, limit: int, after: int = 0) -> Sequence[Missing]:
        rows = [row for row in self._all.rows.values() if bool(row.chunk.media) == texts.media]
        first = {self._all.numbers[row.digest]: row for row in reversed(rows)}
        lacking = [
            Missing(
                row.digest,
                row.chunk.embedded_text,
                path=row.chunk.path if texts.media else "",
                size_bytes=self._all.known[row.name].stat.size_bytes if texts.media else 0,
                number=number,
            )
            for number, row in sorted(first.items())
            if number > after and self._vector(texts.fingerprint, row) is None
        ]
        return lacking[:limit]

    @synchronized
    def put_vectors(
        self,
        fingerprint: Fingerprint,
        *,
        digests: Sequence[str],
        vectors: Vectors,
        words: Sequence[bytes] | None = None,
    ) -> None:
        space = self._space(fingerprint)
        width = space.dimensions or vectors.shape[-1]
        check_vectors(vectors, count=len(digests), dimensions=width, words=words)
        if len(digests):
            self._all.spaces[fingerprint] = replace(space, dimensions=width)
        for digest, vector in zip(digests, vectors, strict=True):
            if (str(fingerprint), digest) not in self._all.vectors:
                self._all.vectors[str(fingerprint), digest] = vector.copy()
                self._all.changes += 1
        for digest, codes in zip(digests, words or (), strict=bool(words)):
            if codes:
                self._all.words.setdefault((str(fingerprint), digest), codes)

    @synchronized
    def word_codes(
        self, fingerprint: Fingerprint, *, keys: Sequence[ChunkKey]
    ) -> Mapping[ChunkKey, bytes]:
        rows, words, space = self._all.rows, self._all.words, str(fingerprint)
        held = {key: (space, rows[key].digest) for key in keys if key in rows}
        return {key: words[own] for key, own in held.items() if own in words}

    @synchronized
    def spaces(self) -> Mapping[Fingerprint, Space]:
        return dict(sorted(self._all.spaces.items(), key=lambda each: str(each[0])))

    def _space(self, fingerprint: Fingerprint) -> Space:
        unknown = Space(fingerprint.dimensions or 0, None, is_published=False)
        return self._all.spaces.get(fingerprint, unknown)

    @synchronized
    def put_background(self, fingerprint: Fingerprint, background: Background) -> None:
        self._all.spaces[fingerprint] = replace(self._space(fingerprint), background=background)

    @synchronized
    def publish(self, fingerprint: Fingerprint) -> None:
        spaces = {**self._all.spaces, fingerprint: self._space(fingerprint)}
        for each, space in spaces.items():
            self._all.spaces[each] = replace(space, is_published=each == fingerprint)

    @synchronized
    def prune(self, *, keep: Collection[Fingerprint]) -> int:
        used = {row.digest for row in self._all.rows.values()}
        kept = {str(fingerprint) for fingerprint in keep}
        unused = [key for key in self._all.vectors if key[0] not in kept or key[1] not in used]
        for key in unused:
            del self._all.vectors[key]
            self._all.words.pop(key, None)
        for fingerprint in set(self._all.spaces) - set(keep):
            del self._all.spaces[fingerprint]
        return len(unused)

    # Overview

    @synchronized
    def version(self) -> tuple[int, ...]:
        return (self._all.changes,)

    @synchronized
    def holds(self, scope: Scope | None = None) -> bool:
        return bool(self._all.known if scope is None else any(True for _ in self._seen(scope)))

    @synchronized
    def documents(self, scope: Scope, *, limit: int, offset: int) -> Documents:
        rows: defaultdict[Name, list[_Row]] = defaultdict(list)
        for _, row in self._seen(scope):
            rows[row.name].append(row)
        days = self._all.days

        def size_bytes(name: Name) -> int:
            if name[0] is SourceKind.FACTS:
                return sum(row.text_bytes for row in rows[name])
            return self._all.known[name].stat.size_bytes

        names = sorted(  # the newest first
            rows, key=lambda name: (-(days[name] or date.min).toordinal(), name[1], name[0])
        )
        found = tuple(
            summarize(
                name[1],
                source=name[0],
                when=days[name],
                size_bytes=size_bytes(name),
                headings=[row.chunk.heading for row in rows[name]],
            )
            for name in names[offset : offset + limit]
        )
        return Documents(found, total=len(names))

    @synchronized
    def days(self, scope: Scope) -> tuple[DaySummary, ...]:
        paths: defaultdict[tuple[date, SourceKind], list[str]] = defaultdict(list)
        for _, row in self._seen(scope):
            paths[row.chunk.when or date.min, row.chunk.source].append(row.chunk.path)
        return summarize_days(
            (None if day == date.min else day, source, len(set(own)), len(own))
            for (day, source), own in sorted(paths.items())
        )

    @synchronized
    def embedded(self, fingerprint: Fingerprint | None, *, scope: Scope) -> npt.NDArray[np.int64]:
        is_any, rows = fingerprint is None, self._seen(scope)
        keys = [key for key, row in rows if is_any or self._vector(fingerprint, row) is not None]
        return np.array(keys, dtype=np.int64)

    # Sharing

    def share(self) -> tuple[RamStore, tuple[str, ...]]:
        return RamStore(self._all), ()

    def snapshot(self) -> AbstractContextManager[None]:
        """Keep other threads from writing while the body reads."""
        return self.lock  # type: ignore[return-value]  # its value is not used

    @synchronized
    def lease(self, name: str, decide: Callable[[Holder | None], Holder | None]) -> Holder | None:
        after = decide(self._all.leases.pop(name, None))
        if after is not None:
            self._all.leases[name] = after
        return after

    # Upkeep

    @property
    def location(self) -> str:
        return "ram:"

    @synchronized
    def meta(self, prefix: str) -> Mapping[str, str]:
        kept = sorted(self._all.meta.items())
        return {key: value for key, value in kept if key.startswith(prefix)}

    @synchronized
    def put_meta(self, key: str, value: str | None) -> None:
        self._all.meta.pop(key, None)
        if value is not None:
            self._all.meta[key] = value

    @synchronized
    def status(
        self, texts: SpaceTexts | None, *, audience: frozenset[str] | None = None
    ) -> IndexStatus:
        rows = list(self._all.rows.values())
        known = set(self._all.known)
        if audience is not None:
            scope = Scope(audience=audience, with_superseded=True)
            rows = [row for _, row in self._seen(scope)]
            seen = {row.name for row in rows}
            known = {each for each in known if each[0] != SourceKind.FACTS or each in seen}
        documents = Counter(source for source, _ in known)
        chunks = Counter(row.chunk.source for row in rows)
        space = texts.fingerprint if texts else None
        bare = [row.chunk for row in rows if self._vector(space, row) is None]
        text_bytes = sum(row.text_bytes for row in rows)
        return IndexStatus(
            location=self.location,
            size_bytes=0 if audience is None else text_bytes,
            documents=len(known),
            chunks=len(rows),
            tokens=tokens_of(text_bytes),
            by_source={source: Amount(documents[source], chunks[source]) for source in documents},
            vectors=len(rows) - len(bare),
            pending=sum(texts.media or not chunk.media for chunk in bare) if texts else 0,
            engine="exact",
            is_writable=self.is_writable,
        )

    @synchronized
    def clear(self) -> None:
        held = self._all
        for part in (held.known, held.days, held.rows, held.vectors, held.words, held.spaces):
            part.clear()
        for key in self.meta("batch "):
            del held.meta[key]
        held.changes += 1

    def close(self) -> None:
        """Release this handle; the last one takes the contents with it."""
        self._contents = None

    def _seen(self, scope: Scope) -> Iterator[tuple[ChunkKey, _Row]]:
        rows = self._all.rows
        tagged = [_with_tag(rows, tag) for tag in scope.tags]
        needed = {term for phrase in scope.phrases for term in phrase.terms}
        return (
            (key, row)
            for key, row in rows.items()
            if needed <= row.words
            and _in_scope(row.chunk, scope)
            and all(key in keys for keys in tagged)
        )

    def _vector(self, fingerprint: Fingerprint | None, row: _Row) -> Vector | None:
        return self._all.vectors.get((str(fingerprint), row.digest))


def _in_scope(chunk: Chunk, scope: Scope) -> bool:
    when = chunk.when
    return (
        (scope.source is None or chunk.source == scope.source)
        and (scope.since is None or (when is not None and when >= scope.since))
        and (scope.before is None or (when is not None and when < scope.before))
        and (scope.path is None or matches(chunk.path, scope.path))
        and (chunk.fact is None or scope.shows(chunk.fact))
        and (
            not scope.phrases
            or contains_all((chunk.text, " ".join(chunk.heading), chunk.path), scope.phrases)
        )
    )


def _with_tag(rows: Mapping[ChunkKey, _Row], tag: Tag) -> set[ChunkKey]:
    """Return the chunks with a tag; that of a whole document is one of all its chunks."""
    found = {
        key for key, row in rows.items() if has_tag(row.chunk.text, row.chunk.triggers, tag.name)
    }
    documents = {rows[key].name for key in found if tags_whole_document(*rows[key].name)}
    return found | {key for key, row in rows.items() if row.name in documents}
