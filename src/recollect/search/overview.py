"""A memory seen from above: its documents, its days, and a map of its chunks by meaning.

The map projects the vectors that searches use. Vectors of texts share a large common part, which
says only that they are texts; so the centre of the space is subtracted first, and the two axes are
the directions in which the rest differs most (PCA).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from recollect.errors import UsageError, explains_system_failures
from recollect.ingest.sync import rebuilds
from recollect.records import dataclass
from recollect.reports import ChunkMap, DaySummary, MapPoint, Related, RelatedNote, Timeline
from recollect.search.choose import StoredSpaces, choose_provider
from recollect.search.legs import embed_question, retrieve
from recollect.search.question import make_query, source_kind, term_question
from recollect.stores.synchronized import synchronized
from recollect.text.globs import escaped
from recollect.types import Degradation, Leg, Scope, SourceKind, silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import date, datetime
    from threading import RLock

    import numpy.typing as npt

    from recollect.ingest.sync import Syncer
    from recollect.providers.chain import Chain
    from recollect.reports import Documents
    from recollect.stores.base import ChunkPlace
    from recollect.types import ChunkKey, Fingerprint, Vector, Vectors

    Floats = npt.NDArray[np.float64]

MAX_POINTS = 20_000  # beyond this a screen has fewer pixels than there are points
MAX_DOCUMENTS = 1000  # on one page
_MEASURED = 5000  # vectors that set the axes: more would not turn them visibly
_BLOCK = 8  # directions followed at once, to be sure of two
_ROUNDS = 12  # until they no longer turn
_SEED = 20260201  # any number; fixed, so that the same vectors give the same map
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
class _Plane:
    """A projection: the centre of the space and the two directions it spreads most in."""

    centre: Vector
    axes: Floats
    scale: float
    """Puts the measured vectors between -1 and 1; the same for both axes, to keep distances."""
    spread: float
    """Part of the variance that the axes carry."""

    def place(self, vectors: Vectors) -> Floats:
        """Return a point for each vector."""
        return (vectors - self.centre) @ self.axes.T / self.scale


@dataclass(frozen=True, slots=True)
class _Layout:
    """A map without a query."""

    plane: _Plane
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
        """Store the parts.

        Args:
            syncer: has the store that is shown, and rebuilds it if it is damaged.
            chain: embeds the query of a map.
            lock: held while the store is in use.
            audience: returns the scopes that may be seen, of those asked for.
            now: returns the time: facts that do not hold now are not shown.

        """
        self.lock = lock
        self._syncer = syncer
        self._store = syncer.store
        self._chain = chain
        self._audience = audience
        self._now = now
        self._layout: _Layout | None = None
        self._layout_state: object = None

    @synchronized
    @rebuilds
    def documents(  # noqa: PLR0913 - each argument narrows the list
        self,
        *,
        limit: int = 100,
        offset: int = 0,
        source: SourceKind | str | None = None,
        since: date | None = None,
        before: date | None = None,
        path: str | None = None,
        scopes: Iterable[str] = (),
    ) -> Documents:
        """Return the documents that can be found, newest first, undated last.

        Args:
            limit: the most documents to return.
            offset: how many to skip.
            source: only this kind of source.
            since: only documents dated on or after this day.
            before: only documents dated before this day.
            path: only files that match this glob.
            scopes: also facts of these scopes, besides the global ones.

        Raises:
            UsageError: an argument is out of range.

        """
        _check(limit, name="limit", low=1, high=MAX_DOCUMENTS)
        _check(offset, name="offset", low=0, high=None)
        kind = source_kind(source)
        scope = replace(self._scope(scopes), source=kind, since=since, before=before, path=path)
        return self._store.documents(scope, limit=limit, offset=offset)

    @synchronized
    @rebuilds
    def timeline(self, *, scopes: Iterable[str] = ()) -> Timeline:
        """Return how much is stored of each day; `scopes` adds facts besides the global ones."""
        days = self._store.days(self._scope(scopes))
        undated = next((day for day in days if day.date is None), DaySummary(None, {}))
        return Timeline(tuple(day for day in days if day.date is not None), undated)

    @synchronized
    @rebuilds
    def related(self, path: str, *, limit: int = 6, scopes: Iterable[str] = ()) -> Related:
        """Return the documents whose passages mean what passages of this one mean.

        Args:
            path: of the document.
            limit: the most documents to return.
            scopes: also facts of these scopes, besides the global ones.

        Raises:
            UsageError: `limit` is out of range.

        """
        _check(limit, name="limit", low=1, high=MAX_RELATED)
        fingerprint = self._store.published()
        if fingerprint is None:
            return Related((), {Leg.VECTOR: self._why_none()})
        scope = self._scope(scopes)
        own = self._store.embedded(fingerprint, scope=replace(scope, path=escaped(path)))
        _, vectors = self._store.places(
            own[_evenly(len(own), _PASSAGES)].tolist(), fingerprint=fingerprint
        )
        cosines: dict[ChunkKey, float] = {}
        for vector in vectors:
            pool = self._store.nearest(fingerprint, vector=vector, scope=scope, limit=_NEIGHBOURS)
            for key, cosine in zip(pool.keys, pool.cosines, strict=True):
                cosines[key] = max(cosine, cosines.get(key, -1.0))
        chunks, _ = self._store.places([*cosines], fingerprint=fingerprint)
        return Related(_closest(chunks, cosines, without=path)[:limit])

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
        fingerprint = self._store.published()
        if query is None:
            if fingerprint is None:
                return _empty_map(self._why_none())
            return self._layout_of(fingerprint, scope=scope, most=most).drawn
        spaces = StoredSpaces.of(self._store, chain=self._chain)
        serving = choose_provider(spaces, chain=self._chain, progress=silent)
        fingerprint = serving.provider.fingerprint if serving.provider else fingerprint
        if fingerprint is None:
            return _empty_map(serving.degradation or self._why_none())
        layout = self._layout_of(fingerprint, scope=scope, most=most)
        if serving.provider is None:
            why = serving.degradation or _NO_PROVIDER
            return replace(layout.drawn, degraded={Leg.VECTOR: why})
        asked = make_query(query, max_results=_NEAREST, scope=scope, legs=[Leg.VECTOR])
        pools = retrieve(
            asked,
            question=term_question(asked.text),
            store=self._store,
            asked=embed_question(asked, serving.provider),
            pool=_NEAREST,
        )
        if pools.vector is None or pools.query_vectors is None:
            return replace(layout.drawn, degraded=pools.degraded or None)
        return self._with_query(
            layout, pools.query_vectors[:1], nearest=pools.vector.keys, fingerprint=fingerprint
        )

    def _with_query(
        self,
        layout: _Layout,
        vector: Vectors,
        *,
        nearest: Sequence[ChunkKey],
        fingerprint: Fingerprint,
    ) -> ChunkMap:
        """Place the query, and those of its nearest chunks that the layout left out."""
        at = {key: place for place, key in enumerate(layout.keys)}
        chunks, vectors = self._store.places(
            [key for key in nearest if key not in at], fingerprint=fingerprint
        )
        added = _points(chunks, layout.plane.place(vectors)) if chunks else ()
        at |= {chunk.key: len(layout.keys) + place for place, chunk in enumerate(chunks)}
        ((x, y),) = layout.plane.place(vector)
        return replace(
            layout.drawn,
            points=(*layout.drawn.points, *added),
            query=(float(x), float(y)),
            nearest=tuple(at[key] for key in nearest if key in at),
        )

    def _layout_of(self, fingerprint: Fingerprint, *, scope: Scope, most: int) -> _Layout:
        """Return the layout of the present state, drawn again only if that has changed."""
        # To the minute: a fact may start or stop holding without anything being written.
        minute = self._now().replace(second=0, microsecond=0)
        state = (fingerprint, self._store.version(), scope.audience, most, minute)
        if self._layout is None or self._layout_state != state:
            self._layout = self._draw(fingerprint, scope=scope, most=most)
            self._layout_state = state
        return self._layout

    def _draw(self, fingerprint: Fingerprint, *, scope: Scope, most: int) -> _Layout:
        keys = self._store.embedded(fingerprint, scope=scope)
        chunks, vectors = self._store.places(
            keys[_evenly(len(keys), most)].tolist(), fingerprint=fingerprint
        )
        if not chunks:
            nowhere = _Plane(np.zeros(0, np.float32), np.zeros((2, 0)), 1.0, 0.0)
            return _Layout(nowhere, (), _empty_map(_NO_SPACE))
        plane = _plane_of(vectors)
        points = _points(chunks, plane.place(vectors))
        drawn = ChunkMap(points, total=len(keys), spread=plane.spread)
        return _Layout(plane, tuple(chunk.key for chunk in chunks), drawn)

    def _scope(self, scopes: Iterable[str]) -> Scope:
        return Scope(audience=self._audience(scopes), as_of=self._now())

    def _why_none(self) -> Degradation:
        return _NO_SPACE if self._chain.expected(None) else _NO_PROVIDER


def _plane_of(vectors: Vectors) -> _Plane:
    """Return the plane through the centre of the vectors along their two widest directions.

    By subspace iteration (Halko, Martinsson and Tropp 2011): an exact SVD takes seconds if a model
    has thousands of dimensions.
    """
    measured = vectors[_evenly(len(vectors), _MEASURED)]
    centre = measured.mean(axis=0, dtype=np.float64).astype(np.float32)
    centred = measured - centre
    width = vectors.shape[1]
    basis = np.random.default_rng(_SEED).normal(size=(width, min(_BLOCK, width)))
    basis = basis.astype(np.float32)
    for _ in range(_ROUNDS):
        basis, _ = np.linalg.qr(centred.T @ (centred @ basis))
    _, sizes, turned = np.linalg.svd(centred @ basis, full_matrices=False)
    found = (turned @ basis.T)[:2]
    axes = np.zeros((2, width))
    axes[: len(found)] = found
    # A direction and its opposite are equally right: make the largest part of each positive.
    largest = np.abs(axes).argmax(axis=1)
    axes[axes[np.arange(2), largest] < 0] *= -1
    total = float(np.square(centred, dtype=np.float64).sum())
    return _Plane(
        centre=centre,
        axes=axes,
        scale=float(np.abs(centred @ axes.T).max()) or 1.0,
        spread=min(1.0, float(np.square(sizes[:2]).sum()) / total) if total else 1.0,
    )


def _evenly(count: int, most: int) -> npt.NDArray[np.intp]:
    """Return up to `most` places out of `count`, spread evenly from the first to the last."""
    if count <= most:
        return np.arange(count)
    return np.linspace(0, count - 1, most).round().astype(np.intp)


def _points(chunks: Sequence[ChunkPlace], places: Floats) -> tuple[MapPoint, ...]:
    return tuple(
        MapPoint(
            x=float(x),
            y=float(y),
            path=chunk.path,
            source=chunk.source,
            start_line=chunk.start_line,
            end_line=chunk.end_line,
            heading=chunk.heading,
            date=chunk.when,
        )
        for chunk, (x, y) in zip(chunks, places, strict=True)
    )


def _closest(
    chunks: Sequence[ChunkPlace], cosines: Mapping[ChunkKey, float], *, without: str
) -> tuple[RelatedNote, ...]:
    """Return one note per document, best first: its passage with the highest cosine."""
    best: dict[str, ChunkPlace] = {}
    for chunk in sorted(chunks, key=lambda chunk: cosines[chunk.key], reverse=True):
        if chunk.path != without:
            best.setdefault(chunk.path, chunk)
    return tuple(
        RelatedNote(
            path=chunk.path,
            source=chunk.source,
            start_line=chunk.start_line,
            end_line=chunk.end_line,
            heading=chunk.heading,
            date=chunk.when,
            similarity=cosines[chunk.key],
        )
        for chunk in best.values()
    )


def _empty_map(why: Degradation) -> ChunkMap:
    degraded: Mapping[str, Degradation] = {Leg.VECTOR: why}
    return ChunkMap((), total=0, spread=0.0, degraded=degraded)


def _check(value: int, *, name: str, low: int, high: int | None) -> None:
    if value < low or (high is not None and value > high):
        allowed = f"from {low} to {high}" if high is not None else f"at least {low}"
        raise UsageError(
            f"{name} must be {allowed}, not {value}.", action=f"Give {name} {allowed}."
        )
