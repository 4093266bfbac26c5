"""A Scope as masks: for each segment which of its chunks a query may see.

Masks are kept by scope, as a segment never changes but for removed chunks; the facts that hold at
the moment of a query stand for that moment.
"""

from __future__ import annotations

import json
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from recollect.records import dataclass
from recollect.stores.postings import holders
from recollect.stores.sqlite.rows import hidden_sql, phrase_fields
from recollect.stores.sqlite.segments import ids_of, places_in, segments
from recollect.text.globs import matcher
from recollect.text.phrases import contains_all
from recollect.text.tags import has_tag, tags_whole_document

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    import apsw
    import numpy.typing as npt

    from recollect.stores.postings import Mask
    from recollect.stores.sqlite.segments import Segment
    from recollect.types import Scope, Tag

_TEXTS = """
    SELECT c.id, c.text, c.heading, d.path FROM json_each(?) asked
    JOIN chunks c ON c.id = asked.value JOIN documents d ON d.id = c.document
"""
_DESCRIBED = """
    SELECT c.id, c.text, c.triggers, c.document, d.source, d.path FROM json_each(?) asked
    JOIN chunks c ON c.id = asked.value JOIN documents d ON d.id = c.document
"""
_CHUNKS_OF = """
    SELECT c.id FROM json_each(?) asked JOIN chunks c ON c.document = asked.value
"""


@dataclass(frozen=True, slots=True)
class View:
    """What a scope sees of a segment."""

    mask: Mask | None
    """Mask over its chunks; None is all of them."""
    chunks: int
    length: int
    """Body terms in them."""


class Filter:
    """A scope, applied to the segments of one snapshot."""

    def __init__(
        self, connection: apsw.Connection, scope: Scope, pieces: Sequence[Segment] | None = None
    ) -> None:
        self._connection = connection
        self._scope = scope
        self.pieces = segments(connection) if pieces is None else pieces
        self._tagged: dict[Tag, npt.NDArray[np.int64]] = {}

    def view(self, segment: Segment) -> View:
        """Return what the scope sees of a segment."""
        return segment.kept(self._key, lambda: self._look(segment))

    @cached_property
    def _hidden(self) -> npt.NDArray[np.int64]:
        """The chunks of facts that may not be seen, in order."""
        sql, bindings = hidden_sql(self._scope)
        rows = self._connection.execute(f"{sql} ORDER BY chunk", bindings)
        return np.array([key for (key,) in rows], dtype=np.int64)

    @cached_property
    def _key(self) -> Hashable:
        """What a view of an unchanged segment depends on: not the moment, but what it hides."""
        scope = self._scope
        limits = (scope.source, scope.since, scope.before, scope.path, scope.tags, scope.phrases)
        return limits, self._hidden.tobytes()

    @property
    def _excludes_nothing(self) -> bool:
        return self._scope.is_open and not len(self._hidden)

    def condition(self) -> tuple[str, tuple[str, ...]]:
        """Return the scope as a condition on chunks `c` in SQL, and its bindings."""
        if self._excludes_nothing:
            return "true", ()
        seen: list[int] = []
        for segment in self.pieces:
            mask = self.view(segment).mask
            seen += ids_of(segment)[slice(None) if mask is None else mask].tolist()
        return "c.id IN (SELECT value FROM json_each(?))", (json.dumps(seen),)

    def texts(self) -> Mask | None:
        """Return which texts, by their number, a chunk in scope has; None if nothing is excluded.

        The mask ends with the last of them. Texts of removed chunks are not excluded by None.
        """
        if self._excludes_nothing:
            return None
        parts = [(piece.column("texts"), self.view(piece).mask) for piece in self.pieces]
        seen = [texts if mask is None else texts[mask] for texts, mask in parts]
        last = max((int(own.max()) for own in seen if len(own)), default=0)
        allowed = np.zeros(1 + last, np.bool_)
        for own in seen:
            allowed[own] = True
        return allowed

    def chunks_with(
        self, texts: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the chunks in scope that have one of these texts, in the order of the texts.

        That is for each chunk the place of its text, and its id.
        """
        places = [np.zeros(0, dtype=np.int64)]
        chunks = [np.zeros(0, dtype=np.int64)]
        for segment in self.pieces:
            ordered, order = segment.kept("by text", partial(_by_text, segment))
            first = np.searchsorted(ordered, texts)
            counts = np.searchsorted(ordered, texts, side="right") - first
            own = np.repeat(np.arange(len(texts)), counts)
            before = np.repeat(np.cumsum(counts) - counts, counts)
            found = order[np.arange(len(own)) - before + first[own]]
            mask = self.view(segment).mask
            seen = slice(None) if mask is None else mask[found]
            places.append(own[seen])
            chunks.append(segment.column("ids")[found[seen]].astype(np.int64) + segment.first)
        own, ids = np.concatenate(places), np.concatenate(chunks)
        by_text = np.lexsort((ids, own))
        return own[by_text], ids[by_text]

    def _look(self, segment: Segment) -> tuple[View, int]:
        lengths = segment.column("lengths")
        mask: Mask | None = None
        for condition in self._conditions(segment):
            mask = condition if mask is None else mask & condition
        if self._scope.phrases:
            mask = self._with_phrases(segment, mask)
        if mask is None:
            return View(None, segment.chunks, int(lengths.sum(dtype=np.int64))), 0
        seen = int(np.count_nonzero(mask))
        return View(mask, seen, int(lengths[mask].sum(dtype=np.int64))), segment.chunks

    def _conditions(self, segment: Segment) -> Iterator[Mask]:
        """Yield the masks of all parts of the scope that exclude something."""
        scope = self._scope
        live = segment.live()
        if live is not None:
            yield live
        if len(places_in(segment, self._hidden)):
            yield ~_marked(segment, self._hidden)
        if scope.since is not None:
            yield segment.column("days") >= scope.since.toordinal()
        if scope.before is not None:
            days = segment.column("days")
            yield (days < scope.before.toordinal()) & (days > 0)
        if scope.source is not None:
            wanted = scope.source.value
            yield _spread(segment, [own == wanted for own in segment.names("sources")])
        if scope.path is not None:
            yield _spread(segment, list(map(matcher(scope.path), segment.names("paths"))))
        for tag in scope.tags:
            yield _marked(segment, self._with_tag(tag))

    def _with_tag(self, tag: Tag) -> npt.NDArray[np.int64]:
        """Return the chunks of notes with a tag, in order, whatever segments they are in."""
        if tag in self._tagged:
            return self._tagged[tag]
        keys: list[int] = []
        for segment in self.pieces:
            keys += ids_of(segment)[holders(segment, tag.terms)].tolist()
        found: set[int] = set()
        documents: set[int] = set()
        rows = self._connection.execute(_DESCRIBED, (json.dumps(keys),))
        for key, text, triggers, document, source, path in rows:
            if has_tag(text, triggers, tag.name):
                found.add(key)
                if tags_whole_document(source, path):
                    documents.add(document)
        rows = self._connection.execute(_CHUNKS_OF, (json.dumps(sorted(documents)),))
        found.update(key for (key,) in rows)
        self._tagged[tag] = np.array(sorted(found), dtype=np.int64)
        return self._tagged[tag]

    def _with_phrases(self, segment: Segment, mask: Mask | None) -> Mask:
        """Return which of the chunks contain all phrases: their terms first, then their texts."""
        phrases = self._scope.phrases
        candidates = holders(segment, [term for phrase in phrases for term in phrase.terms])
        if mask is not None:
            candidates &= mask
        keys = json.dumps(ids_of(segment)[candidates].tolist())
        found = [
            key
            for key, *fields in self._connection.execute(_TEXTS, (keys,))
            if contains_all(phrase_fields(*fields), phrases)
        ]
        return _marked(segment, np.sort(np.array(found, dtype=np.int64)))


def _by_text(segment: Segment) -> tuple[tuple[npt.NDArray[np.int64], npt.NDArray[np.intp]], int]:
    """Return the texts of a segment's chunks in order, and the chunks that have them."""
    texts = segment.column("texts").astype(np.int64)
    order = np.argsort(texts, kind="stable")
    return (texts[order], order), 2 * texts.nbytes


def _marked(segment: Segment, ids: npt.NDArray[np.int64]) -> Mask:
    """Return which chunks of a segment are among these."""
    mask = np.zeros(segment.chunks, dtype=np.bool_)
    mask[places_in(segment, ids)] = True
    return mask


def _spread(segment: Segment, by_document: Sequence[bool]) -> Mask:
    """Return for each chunk what holds for its document."""
    mask: Mask = np.take(np.array(by_document, dtype=np.bool_), segment.column("documents"))
    return mask
