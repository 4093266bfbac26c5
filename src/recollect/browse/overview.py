"""A memory seen from above: its documents, its days, related notes, and a map by meaning."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from recollect.browse.layout import MAX_LAID_OUT, evenly, lay_out
from recollect.browse.links import LinkGraph, link_graph
from recollect.errors import UsageError, explains_system_failures
from recollect.ingest.sync import rebuilds
from recollect.reports import Amounts, ChunkMap, MapPoint, Related, RelatedNote, Timeline
from recollect.search.request import required_tags, source_kind
from recollect.stores.base import SpaceVectors, published_in
from recollect.stores.synchronized import synchronized
from recollect.text.days import day_of
from recollect.text.globs import escaped
from recollect.text.tags import shown_tags, tags_whole_document
from recollect.types import ChunkKey, Degradation, Leg, Scope, SourceKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import date
    from threading import RLock

    import numpy.typing as npt

    from recollect.ingest.sync import Syncer
    from recollect.providers.chain import Chain
    from recollect.reports import Documents, DocumentSummary
    from recollect.stores.base import Name
    from recollect.types import Chunk, Fingerprint, Hit, Known, Vectors

    Floats = npt.NDArray[np.float64]

MAX_DOCUMENTS = 1000  # on one page
MAX_RELATED = 50
_PASSAGES = 8  # of a document, whose neighbours are looked for
_NEIGHBOURS = 24  # of each passage; some are of the document itself
_BATCH = 1000
"""Chunks that are read at a time."""
_NS_PER_SECOND = 1_000_000_000
_NOTES = (SourceKind.MEMORY, SourceKind.AGENTS)
_NO_PROSE = ("#", "|", "`", "~", "---", "===", "![")
"""How a line starts that says little by itself."""
_NO_SPACE = Degradation(
    "No vectors are complete yet, so there is nothing to draw.",
    action="Wait until the index is embedded; `recollect status` shows how far it is.",
)
_NO_PROVIDER = Degradation(
    "Nothing embeds texts here: the provider is none.",
    action='Set provider = "local", or another one, and run `recollect index`.',
)


@explains_system_failures
class Overview:
    """Shows what a store holds as a whole."""

    def __init__(
        self,
        syncer: Syncer,
        *,
        chain: Chain,
        lock: RLock,
        audience: Callable[[Iterable[str]], frozenset[str]],
        now: Callable[[], datetime],
    ) -> None:
        """Store the parts; `audience` returns the scopes that may be seen, of those asked for."""
        self.lock = lock
        self.syncer = syncer
        self._store = syncer.store
        self._chain = chain
        self._audience = audience
        self._now = now
        self._map: ChunkMap | None = None
        self._map_origin: object = None
        """Differs if the map would."""
        self._links: tuple[object, LinkGraph] | None = None
        self._said: dict[Name, tuple[str, str, tuple[str, ...]]] = {}
        """Digest, first line and tags of the notes that were listed."""

    @synchronized
    @rebuilds
    def documents(  # noqa: PLR0913 - each argument narrows the list
        self,
        *,
        limit: int = 100,
        offset: int = 0,
        source: SourceKind | str | None = None,
        since: date | str | None = None,
        before: date | str | None = None,
        path: str | None = None,
        tags: Sequence[str] | str = (),
        type: str | None = None,  # noqa: A002 - the name in a SearchRequest
        scopes: Iterable[str] = (),
    ) -> Documents:
        """Return the documents that can be found, newest first, undated last.

        Args:
            limit: the most documents to return.
            offset: how many to skip.
            source: only this kind of source.
            since: only documents dated on or after this day: a date, or `2026-02-01`, `last week`.
            before: only documents dated before this day.
            path: only files that match this glob, or the note that a `[[link]]` means.
            tags: only notes with all of these tags.
            type: only notes of this type.
            scopes: also facts of these scopes, besides the global ones.

        Raises:
            UsageError: an argument is out of range.

        """
        _check(limit, name="limit", low=1, high=MAX_DOCUMENTS)
        _check(offset, name="offset", low=0, high=None)
        kind = source_kind(source)
        if path and path.startswith("[["):
            path = escaped(self.link_graph().targets.path_of(path.strip("[]")) or path)
        scope = replace(
            self._scope(scopes),
            source=kind,
            since=day_of(since),
            before=day_of(before),
            path=path,
            tags=required_tags(tags, note_type=type),
        )
        found = self._store.documents(scope, limit=limit, offset=offset)
        known = self._store.known((each.source, each.path) for each in found.documents)
        described = (self._described(each, known) for each in found.documents)
        return replace(found, documents=tuple(described))

    def _described(self, found: DocumentSummary, known: Mapping[Name, Known]) -> DocumentSummary:
        """Return a summary with what the file and the texts of a note say."""
        name = found.source, found.path
        # A page of facts changes with those that may not be seen, and would tell.
        if name not in known or found.source not in _NOTES:
            return found
        digest, seconds = known[name].digest, known[name].stat.mtime_ns // _NS_PER_SECOND
        found = replace(found, changed=datetime.fromtimestamp(seconds, tz=UTC) if seconds else None)
        if self._said.get(name, ("",))[0] != digest:
            chunks = self._store.chunks_of(found.path, source=found.source)
            tags = (tag for each in chunks for tag in shown_tags(each.text, each.triggers))
            self._said[name] = digest, _first_line(chunks), tuple(dict.fromkeys(tags))
        _, first_line, own = self._said[name]
        return replace(found, first_line=first_line, tags=own)

    @synchronized
    @rebuilds
    def timeline(self, *, scopes: Iterable[str] = ()) -> Timeline:
        """Return how much is stored of each day; `scopes` adds facts besides the global ones."""
        days = self._store.days(self._scope(scopes))
        undated = next((day.amounts for day in days if day.date is None), Amounts({}))
        return Timeline(tuple(day for day in days if day.date is not None), undated)

    @synchronized
    @rebuilds
    def related(self, path: str, *, limit: int = 6, scopes: Iterable[str] = ()) -> Related:
        """Return the documents whose passages mean what passages of this one mean, and its links.

        `scopes` adds facts besides the global ones.
        """
        graph = self.link_graph()
        linked = Related((), None, graph.links.get(path, ()), graph.backlinks.get(path, ()))
        _check(limit, name="limit", low=1, high=MAX_RELATED)
        scope = self._scope(scopes)
        within = replace(scope, path=escaped(path))
        fingerprint = published_in(self._store.spaces())
        if fingerprint is None:
            return replace(linked, degraded={Leg.VECTOR: self._why_none()})
        own = self._store.embedded(fingerprint, scope=within)
        _, vectors = self._embedded(own[evenly(len(own), _PASSAGES)], fingerprint)
        proposals = self._store.propose(
            (), asked=SpaceVectors(fingerprint, vectors), scope=scope, limit=_NEIGHBOURS
        )
        cosines: dict[ChunkKey, float] = {}
        for pool in proposals.near.pools if proposals.near else ():
            for key, cosine in zip(pool.keys, pool.cosines, strict=True):
                cosines[key] = max(cosine, cosines.get(key, -1.0))
        chunks, _ = self._embedded(cosines, fingerprint)
        return replace(linked, notes=_closest(chunks, cosines, without=path)[:limit])

    @synchronized
    @rebuilds
    def tags_of(self, hit: Hit) -> tuple[str, ...]:
        """Return the tags of a hit's note; those of an entry, a fact or a turn are its own."""
        if hit.source is SourceKind.SESSIONS:  # of which a document may have thousands of chunks
            return tuple(shown_tags(hit.text))
        chunks = self._store.chunks_of(hit.path, source=hit.source)
        if not tags_whole_document(hit.source, hit.path):
            lines = range(hit.start_line, hit.end_line + 1)
            chunks = [each for each in chunks if each.start_line in lines]
        found = (tag for each in chunks for tag in shown_tags(each.text, each.triggers))
        return tuple(dict.fromkeys(found))

    @synchronized
    @rebuilds
    def link_graph(self) -> LinkGraph:
        """Return which notes link to which, read from all their texts."""
        version = self._store.version()
        if self._links is None or self._links[0] != version:
            notes = replace(self._scope(()), source=SourceKind.MEMORY)
            keys = self._store.embedded(None, scope=notes)
            parts = (keys[at : at + _BATCH].tolist() for at in range(0, len(keys), _BATCH))
            loaded = (self._store.load(part, terms=(), fingerprint=None) for part in parts)
            chunks = (chunk for part in loaded for chunk in part.chunks)
            paths = [path for _, path in self._store.known()]
            self._links = version, link_graph(chunks, paths=paths)
        return self._links[1]

    @synchronized
    @rebuilds
    def map(self, *, scopes: Iterable[str] = ()) -> ChunkMap:
        """Return chunks as points, close together if they mean similar things.

        Of more than MAX_LAID_OUT every second, third or so is shown. `scopes` adds facts besides
        the global ones.
        """
        scope = self._scope(scopes)
        fingerprint = published_in(self._store.spaces())
        if fingerprint is None:
            return ChunkMap((), total=0, degraded={Leg.VECTOR: self._why_none()})
        keys = self._store.embedded(fingerprint, scope=scope)
        origin = (fingerprint, self._store.version(), keys.tobytes())
        if self._map is None or self._map_origin != origin:
            points = self._points(fingerprint, keys[evenly(len(keys), MAX_LAID_OUT)])
            self._map, self._map_origin = ChunkMap(points, total=len(keys)), origin
        return self._map

    def _points(
        self, fingerprint: Fingerprint, keys: npt.NDArray[np.int64]
    ) -> tuple[MapPoint, ...]:
        chunks, vectors = self._embedded(keys, fingerprint)
        return tuple(
            MapPoint(*_passage(chunk), float(x), float(y))
            for chunk, (x, y) in zip(chunks.values(), lay_out(vectors), strict=True)
        )

    def _embedded(
        self, keys: Iterable[int], fingerprint: Fingerprint
    ) -> tuple[dict[ChunkKey, Chunk], Vectors]:
        """Return those of the chunks that have a vector in a space, and these vectors."""
        asked = [ChunkKey(int(key)) for key in keys]
        loaded = self._store.load(asked, terms=(), fingerprint=fingerprint)
        rows = np.flatnonzero(loaded.has_vector)
        found = {loaded.keys[row]: loaded.chunks[row] for row in rows.tolist()}
        return found, loaded.vectors[rows]

    def _scope(self, scopes: Iterable[str]) -> Scope:
        return Scope(audience=self._audience(scopes), as_of=self._now())

    def _why_none(self) -> Degradation:
        return _NO_SPACE if self._chain.expected(None) else _NO_PROVIDER


def _closest(
    chunks: Mapping[ChunkKey, Chunk], cosines: Mapping[ChunkKey, float], *, without: str
) -> tuple[RelatedNote, ...]:
    """Return one note per document, best first: its passage with the highest cosine."""
    best: dict[str, ChunkKey] = {}
    for key in sorted(chunks, key=cosines.__getitem__, reverse=True):
        if chunks[key].path != without:
            best.setdefault(chunks[key].path, key)
    return tuple(
        RelatedNote(*_passage(chunks[key]), similarity=cosines[key]) for key in best.values()
    )


def _first_line(chunks: Sequence[Chunk]) -> str:
    lines = (line.strip() for chunk in chunks for line in chunk.text.split("\n"))
    return next((each[:200] for each in lines if each and not each.startswith(_NO_PROSE)), "")


def _passage(
    chunk: Chunk,
) -> tuple[str, SourceKind, int, int, tuple[str, ...], date | None]:
    lines = chunk.start_line, chunk.end_line
    return chunk.path, chunk.source, *lines, chunk.heading, chunk.when


def _check(value: int, *, name: str, low: int, high: int | None) -> None:
    if value < low or (high is not None and value > high):
        allowed = f"from {low} to {high}" if high is not None else f"at least {low}"
        raise UsageError(
            f"{name} must be {allowed}, not {value}.", action=f"Give {name} {allowed}."
        )
