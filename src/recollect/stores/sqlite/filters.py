"""A Scope as masks: for each segment which of its chunks a query may see.

A segment never changes but for removed chunks, so its masks are kept by scope. Documents are
compared once per segment, and a literal beginning of the glob decides about most of them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from recollect.records import dataclass
from recollect.stores import term_counts
from recollect.stores.sqlite.rows import check_terms, hidden_sql, phrase_in, text_of, whole_of
from recollect.stores.sqlite.segments import ids_of, places_in, segments
from recollect.text.globs import matches_of
from recollect.text.tags import has_tag, tags_whole_document

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import apsw
    import numpy.typing as npt

    from recollect.stores.postings import Mask
    from recollect.stores.sqlite.segments import Segment
    from recollect.types import Phrase, Scope, Tag

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
    """None is all of its chunks."""
    chunks: int
    length: int
    """Body terms in them."""


class Filter:
    """A scope, applied to the segments of one snapshot."""

    def __init__(self, connection: apsw.Connection, scope: Scope) -> None:
        self._connection = connection
        self._scope = scope
        self._hidden: npt.NDArray[np.int64] | None = None
        self._tagged: dict[Tag, npt.NDArray[np.int64]] = {}

    def view(self, segment: Segment) -> View:
        """Return what the scope sees of a segment."""
        return segment.kept(self._scope, lambda: self._look(segment))

    @property
    def hidden(self) -> npt.NDArray[np.int64]:
        """The chunks of facts that may not be seen, in order."""
        if self._hidden is None:
            sql, bindings = hidden_sql(self._scope)
            rows = self._connection.execute(f"{sql} ORDER BY chunk", bindings)
            self._hidden = np.array([whole_of(row[0]) for row in rows], dtype=np.int64)
        return self._hidden

    def _look(self, segment: Segment) -> tuple[View, int]:
        lengths = segment.column("lengths")
        mask: Mask | None = None
        for condition in self._conditions(segment):
            mask = condition if mask is None else mask & condition
        for phrase in self._scope.phrases:
            mask = self._with_phrase(segment, phrase, mask)
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
        hidden = places_in(segment, self.hidden)
        if len(hidden):
            seen = np.ones(segment.chunks, dtype=np.bool_)
            seen[hidden] = False
            yield seen
        if scope.since is not None:
            yield segment.column("days") >= scope.since.toordinal()
        if scope.before is not None:
            days = segment.column("days")
            yield (days < scope.before.toordinal()) & (days > 0)
        if scope.source is not None:
            wanted = scope.source.value
            yield _spread(segment, [own == wanted for own in segment.names("sources")])
        if scope.path is not None:
            yield _spread(segment, matches_of(segment.names("paths"), scope.path))
        for tag in scope.tags:
            tagged = np.zeros(segment.chunks, dtype=np.bool_)
            tagged[places_in(segment, self._with_tag(tag))] = True
            yield tagged

    def _with_tag(self, tag: Tag) -> npt.NDArray[np.int64]:
        """Return the chunks of notes with a tag, in order, whatever segments they are in."""
        if tag in self._tagged:
            return self._tagged[tag]
        keys: list[int] = []
        for segment in segments(self._connection):
            candidates = np.ones(segment.chunks, dtype=np.bool_)
            for term in tag.terms:
                candidates &= _holders(segment, term)
            keys += ids_of(segment)[candidates].tolist()
        found: set[int] = set()
        documents: set[int] = set()
        for row in self._connection.execute(_DESCRIBED, (json.dumps(keys),)):
            text, triggers, source, path = map(text_of, (row[1], row[2], row[4], row[5]))
            if has_tag(text, triggers, tag.name):
                found.add(whole_of(row[0]))
                if tags_whole_document(source, path):
                    documents.add(whole_of(row[3]))
        rows = self._connection.execute(_CHUNKS_OF, (json.dumps(sorted(documents)),))
        found.update(whole_of(row[0]) for row in rows)
        self._tagged[tag] = np.array(sorted(found), dtype=np.int64)
        return self._tagged[tag]

    def _with_phrase(self, segment: Segment, phrase: Phrase, mask: Mask | None) -> Mask:
        """Return which of the chunks contain a phrase: its terms first, then their texts."""
        candidates = np.ones(segment.chunks, dtype=np.bool_) if mask is None else mask
        for term in phrase.terms:
            candidates = candidates & _holders(segment, term)
        held = np.zeros(segment.chunks, dtype=np.bool_)
        keys = ids_of(segment)[candidates].tolist()
        rows = self._connection.execute(_TEXTS, (json.dumps(keys),)) if keys else ()
        found = [
            whole_of(key)
            for key, *fields in rows
            if phrase_in(*map(text_of, fields), words=phrase.words)
        ]
        held[places_in(segment, np.sort(np.array(found, dtype=np.int64)))] = True
        return held


def allowed_texts(connection: apsw.Connection, scope: Scope) -> npt.NDArray[np.bool_] | None:
    """Return which texts, by their number, a chunk in scope has; None if a scope excludes nothing.

    Runs on the caller's snapshot. Texts of removed chunks may be among them if it is None.
    """
    sieve = Filter(connection, scope)
    if scope.is_open and not len(sieve.hidden):
        return None
    parts = [
        (segment.column("texts"), sieve.view(segment).mask) for segment in segments(connection)
    ]
    seen = [texts if mask is None else texts[mask] for texts, mask in parts]
    allowed = np.zeros(1 + max((int(own.max()) for own in seen if len(own)), default=0), np.bool_)
    for own in seen:
        allowed[own] = True
    return allowed


def in_scope(
    connection: apsw.Connection, scope: Scope, chunks: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Return which of these chunks a scope sees. Runs on the caller's snapshot."""
    sieve = Filter(connection, scope)
    seen = np.zeros(len(chunks), dtype=np.bool_)
    for segment in segments(connection):
        inside = np.flatnonzero((chunks >= segment.first) & (chunks <= segment.last))
        if not len(inside):
            continue
        mask, own = sieve.view(segment).mask, segment.column("ids")
        wanted = chunks[inside] - segment.first
        places = np.minimum(np.searchsorted(own, wanted), len(own) - 1)
        seen[inside] = (own[places] == wanted) & (True if mask is None else mask[places])
    return seen


def _spread(segment: Segment, by_document: Sequence[bool]) -> Mask:
    """Return for each chunk what holds for its document."""
    mask: Mask = check_terms(
        np.take, np.array(by_document, dtype=np.bool_), segment.column("documents")
    )
    return mask


def _holders(segment: Segment, term: str) -> Mask:
    """Return which chunks contain a term."""
    found = segment.find(term_counts.hash_of(term))
    if found is None:
        return np.zeros(segment.chunks, dtype=np.bool_)
    if found.places is None:
        return found.frequencies.astype(np.bool_)
    held = np.zeros(segment.chunks, dtype=np.bool_)
    held[found.places] = True
    return held
