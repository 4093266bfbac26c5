"""A memory seen from above: its documents, its days, related notes, and a map by meaning."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from recollect.browse.labels import LabelText, name_groups
from recollect.browse.layout import MAX_LAID_OUT, PlaneLayout, evenly, grouped, lay_out, trust
from recollect.errors import UsageError, explains_system_failures
from recollect.ingest.sync import rebuilds
from recollect.records import dataclass
from recollect.reports import (
    Amounts,
    ChunkMap,
    MapGroup,
    MapPlace,
    MapPoint,
    Related,
    RelatedNote,
    Timeline,
)
from recollect.search.embed import Serving, StoredSpaces, choose_provider, embed_question
from recollect.search.interpret import Question, term_question
from recollect.search.propose import retrieve
from recollect.search.request import make_query, source_kind
from recollect.stores.synchronized import synchronized
from recollect.text.days import day_of
from recollect.text.globs import escaped
from recollect.text.tags import shown_tags, tags_whole_document
from recollect.types import ChunkKey, Degradation, Leg, Scope, SourceKind, silent

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from datetime import date, datetime
    from threading import RLock

    import numpy.typing as npt

    from recollect.ingest.sync import Syncer
    from recollect.providers.chain import Chain
    from recollect.reports import Documents
    from recollect.types import Chunk, Fingerprint, Hit, Vectors

    Floats = npt.NDArray[np.float64]

MAX_POINTS = 20_000  # beyond this a screen has fewer pixels than there are points
MAX_DOCUMENTS = 1000  # on one page
_READ_FOR_NAMES = 40  # texts of a group whose words may become its name
_NEAREST = 12  # chunks named beside a query
MAX_RELATED = 50
_PASSAGES = 8  # of a document, whose neighbours are looked for
_NEIGHBOURS = 24  # of each passage; some are of the document itself
_NO_SPACE = Degradation(
    "No vectors are complete yet, so there is nothing to draw.",
    action="Wait until the index is embedded; `recollect status` shows how far it is.",
)
_NO_PROVIDER = Degradation(
    "Nothing embeds texts here: the provider is none.",
    action='Set provider = "local", or another one, and run `recollect index`.',
)


@dataclass(frozen=True, slots=True)
class _Map:
    """A map without a query, and what it was made from."""

    layout: PlaneLayout
    keys: tuple[ChunkKey, ...]
    drawn: ChunkMap


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
        self._map: _Map | None = None
        self._map_origin: object = None
        """Differs if the map would."""

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
        scopes: Iterable[str] = (),
    ) -> Documents:
        """Return the documents that can be found, newest first, undated last.

        Args:
            limit: the most documents to return.
            offset: how many to skip.
            source: only this kind of source.
            since: only documents dated on or after this day: a date, or `2026-02-01`, `last week`.
            before: only documents dated before this day.
            path: only files that match this glob.
            scopes: also facts of these scopes, besides the global ones.

        Raises:
            UsageError: an argument is out of range.

        """
        _check(limit, name="limit", low=1, high=MAX_DOCUMENTS)
        _check(offset, name="offset", low=0, high=None)
        kind = source_kind(source)
        scope = replace(
            self._scope(scopes),
            source=kind,
            since=day_of(since),
            before=day_of(before),
            path=path,
        )
        return self._store.documents(scope, limit=limit, offset=offset)

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
        """Return the documents whose passages mean what passages of this one mean.

        `scopes` adds facts besides the global ones.

        Raises:
            UsageError: `limit` is out of range.

        """
        _check(limit, name="limit", low=1, high=MAX_RELATED)
        scope = self._scope(scopes)
        within = replace(scope, path=escaped(path))
        fingerprint = self._fullest_space(within)
        if fingerprint is None:
            return Related((), {Leg.VECTOR: self._why_none()})
        own = self._store.embedded(fingerprint, scope=within)
        _, vectors = self._embedded(own[evenly(len(own), _PASSAGES)], fingerprint)
        proposals = self._store.propose(
            (), vectors={fingerprint: vectors}, scope=scope, limit=_NEIGHBOURS
        )
        cosines: dict[ChunkKey, float] = {}
        for pool in proposals.near[fingerprint].pools if proposals.near else ():
            for key, cosine in zip(pool.keys, pool.cosines, strict=True):
                cosines[key] = max(cosine, cosines.get(key, -1.0))
        chunks, _ = self._embedded(cosines, fingerprint)
        return Related(_closest(chunks, cosines, without=path)[:limit])

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
    def map(
        self, query: str | None = None, *, most: int = 5000, scopes: Iterable[str] = ()
    ) -> ChunkMap:
        """Return chunks as points, close together if they mean similar things.

        Args:
            query: placed by the same projection, with the chunks nearest to it.
            most: the most points; of more chunks every second, third or so is shown.
            scopes: also facts of these scopes, besides the global ones.

        Raises:
            UsageError: `most` is out of range.
            QueryError: the query is empty.

        """
        _check(most, name="most", low=1, high=MAX_POINTS)
        scope = self._scope(scopes)
        fingerprint = self._fullest_space(scope)
        if query is None:
            if fingerprint is None:
                return _empty_map(self._why_none())
            return self._map_of(fingerprint, scope=scope, most=most).drawn
        spaces = StoredSpaces.of(self._store, chain=self._chain)
        if fingerprint is not None and fingerprint == spaces.second:
            serving = Serving(self._chain.second(spaces.held))
        else:
            serving = choose_provider(spaces, chain=self._chain, progress=silent)
        fingerprint = serving.provider.fingerprint if serving.provider else fingerprint
        if fingerprint is None:
            return _empty_map(serving.degradation or self._why_none())
        found = self._map_of(fingerprint, scope=scope, most=most)
        if serving.provider is None:
            why = serving.degradation or _NO_PROVIDER
            return replace(found.drawn, degraded={Leg.VECTOR: why})
        asked = make_query(query, max_results=_NEAREST, scope=scope, legs=[Leg.VECTOR])
        pools = retrieve(
            Question(asked, term_question(asked.text)),
            store=self._store,
            asked=[embed_question(asked, serving.provider)],
            limit=_NEAREST,
        )
        if not pools.spaces:
            return replace(found.drawn, degraded=pools.degraded or None)
        (near,) = pools.spaces
        return self._with_query(
            found, near.vectors[:1], nearest=near.pool.keys, fingerprint=fingerprint
        )

    def _fullest_space(self, scope: Scope) -> Fingerprint | None:
        """Return the space with most vectors in scope: two cannot be drawn together."""
        sizes = self._sizes(scope)
        return max(sizes, key=sizes.__getitem__, default=None)

    def _sizes(self, scope: Scope) -> dict[Fingerprint, int]:
        """Return how many chunks in scope have vectors in each space that searches use."""
        spaces = StoredSpaces.of(self._store, chain=self._chain)
        return {
            each: len(self._store.embedded(each, scope=scope))
            for each in (spaces.published, spaces.second)
            if each is not None
        }

    def _with_query(
        self,
        found: _Map,
        vector: Vectors,
        *,
        nearest: Sequence[ChunkKey],
        fingerprint: Fingerprint,
    ) -> ChunkMap:
        """Place the query, and those of its nearest chunks that the map left out."""
        at = {key: place for place, key in enumerate(found.keys)}
        chunks, vectors = self._embedded((key for key in nearest if key not in at), fingerprint)
        added = _points(chunks.values(), found.layout.place(vectors)) if chunks else ()
        at |= {key: len(found.keys) + place for place, key in enumerate(chunks)}
        ((x, y),) = found.layout.place(vector)
        return replace(
            found.drawn,
            points=(*found.drawn.points, *added),
            query=MapPlace(float(x), float(y)),
            nearest=tuple(at[key] for key in nearest if key in at),
        )

    def _map_of(self, fingerprint: Fingerprint, *, scope: Scope, most: int) -> _Map:
        """Return the map of the present state, drawn again only if that has changed."""
        keys = self._store.embedded(fingerprint, scope=scope)
        total = sum(self._sizes(scope).values())
        origin = (fingerprint, self._store.version(), most, keys.tobytes(), total)
        if self._map is None or self._map_origin != origin:
            found = self._draw(fingerprint, keys=keys[evenly(len(keys), most)])
            drawn = replace(found.drawn, total=total, left_out=total - len(keys))
            self._map, self._map_origin = replace(found, drawn=drawn), origin
        return self._map

    def _draw(self, fingerprint: Fingerprint, *, keys: npt.NDArray[np.int64]) -> _Map:
        chunks, vectors = self._embedded(keys, fingerprint)
        if not chunks:
            nowhere = PlaneLayout(
                np.zeros(0, np.float32), np.zeros((0, 0), np.float32), np.zeros((0, 2))
            )
            return _Map(nowhere, (), _empty_map(_NO_SPACE))
        chosen = evenly(len(vectors), MAX_LAID_OUT)
        layout = lay_out(vectors[chosen])
        places = layout.places if len(chosen) == len(vectors) else layout.place(vectors)
        groups = grouped(places)
        drawn = ChunkMap(
            _points(chunks.values(), places, groups),
            total=len(chunks),
            trust=trust(vectors, places),
            groups=_named([*chunks.values()], places, groups),
        )
        return _Map(layout, tuple(chunks), drawn)

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


def _named(
    chunks: Sequence[Chunk], places: Floats, groups: npt.NDArray[np.intp]
) -> tuple[MapGroup, ...]:
    """Return the groups with the words that tell them apart, of some of their texts."""
    members = [np.flatnonzero(groups == number) for number in range(int(groups.max()) + 1)]
    read = [own[evenly(len(own), _READ_FOR_NAMES)].tolist() for own in members]
    names = name_groups([[_label_of(chunks[place]) for place in own] for own in read])
    middles = [places[own].mean(axis=0) for own in members]
    return tuple(
        MapGroup(words, x=float(x), y=float(y), size=len(own))
        for words, (x, y), own in zip(names, middles, members, strict=True)
    )


def _label_of(chunk: Chunk) -> LabelText:
    """Return what names a group: a title that repeats the name of the file says nothing."""
    title = " ".join(part for part in chunk.heading if not chunk.path.endswith(part))
    return LabelText(title, chunk.text)


def _points(
    chunks: Collection[Chunk], places: Floats, groups: Iterable[int] | None = None
) -> tuple[MapPoint, ...]:
    numbers = [None] * len(chunks) if groups is None else [int(number) for number in groups]
    return tuple(
        MapPoint(*_passage(chunk), float(x), float(y), number)
        for chunk, (x, y), number in zip(chunks, places, numbers, strict=True)
    )


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


def _passage(
    chunk: Chunk,
) -> tuple[str, SourceKind, int, int, tuple[str, ...], date | None]:
    lines = chunk.start_line, chunk.end_line
    return chunk.path, chunk.source, *lines, chunk.heading, chunk.when


def _empty_map(why: Degradation) -> ChunkMap:
    degraded: Mapping[str, Degradation] = {Leg.VECTOR: why}
    return ChunkMap((), total=0, trust=0.0, degraded=degraded)


def _check(value: int, *, name: str, low: int, high: int | None) -> None:
    if value < low or (high is not None and value > high):
        allowed = f"from {low} to {high}" if high is not None else f"at least {low}"
        raise UsageError(
            f"{name} must be {allowed}, not {value}.", action=f"Give {name} {allowed}."
        )
