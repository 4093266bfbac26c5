"""What in a memory needs care: copies, contradictions, dead links, forgotten work. It only reads.

Near copies are found by the signs of random projections of the stored vectors (Charikar 2002): two
notes are compared only if they fall into one bucket.
"""

from __future__ import annotations

import os
import re
import shlex
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from recollect.browse.links import places_of
from recollect.evaluate.cases import read_cases
from recollect.records import dataclass
from recollect.search.copies import sentences_of
from recollect.search.duplicates import wording
from recollect.search.interpret import term_question
from recollect.stores.base import published_in
from recollect.text.claims import contradict
from recollect.text.confined import is_inside
from recollect.text.globs import near_path
from recollect.types import CURATED, ChunkKey, Scope, SearchRequest, SourceKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from recollect.facts.record import Fact
    from recollect.parts import MemoryParts
    from recollect.stores.base import Loaded
    from recollect.types import Chunk, Vectors

_TABLES, _BITS, _NEIGHBOURS = 16, 14, 6
"""Two texts with a cosine of 0.95 share a bucket of one of the tables in 98 of 100 cases."""
_FEW = 1000  # vectors of which all pairs are compared
_LEAST_COSINE, _LEAST_SHARE = 0.9, 0.8
"""What near copies have at least in common: the meaning, and the share of their words."""
_LEAST_SPACES = 7  # a shorter text may well be said twice
_STALE = timedelta(days=31)
_IN_PROGRESS = re.compile(
    r"(?:status:?\W{0,5}|[(\[*]{1,3})((?:work )?in[ -]progress|wip|ongoing)\b", re.IGNORECASE
)
_MOST_FACTS, _PER_FACT = 500, 8  # facts, and the chunks of notes that each is compared with
_LEAST_LINKING = 0.2  # share of notes from which a note without links is an exception
_MOST_COMPARED = 50  # dead links whose target is compared with every name
_LEAST_QUESTIONS = 50  # fewer leave most notes out by chance


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to mend."""

    kind: str
    place: str
    """A path with its line, or the id of a fact."""
    reason: str
    action: str


@dataclass(frozen=True, slots=True)
class TidyReport:
    """The health of a memory."""

    notes: int
    findings: tuple[Finding, ...]
    notices: tuple[str, ...]
    """What was not looked at, and why."""


def tidy(memory: MemoryParts, *, scopes: frozenset[str] | None = None) -> TidyReport:
    """Look for what needs care in a memory; `scopes` are those whose facts may be seen."""
    store, file = memory.store, memory.setup.places.cases_of(memory.agent)
    questions = read_cases(file) if memory.folder and file.exists() else ()
    with memory.lock:
        scope = Scope(source=SourceKind.MEMORY, as_of=datetime.now(tz=UTC))
        keys = [ChunkKey(key) for key in store.embedded(None, scope=scope).tolist()]
        loaded = store.load(keys, terms=(), fingerprint=published_in(store.spaces()))
        notes = {path: [*own] for path, own in groupby(loaded.chunks, lambda chunk: chunk.path)}
        found = [
            *_copies(loaded),
            *_contradictions(memory, memory.facts.all(scopes=scopes), scope),
            *_links(memory, notes),
            *_stale(memory, loaded.chunks),
        ]
    notices = []
    if not loaded.has_vector.any():
        notices.append("There are no vectors, so only texts that are equal count as copies.")
    if not _are_linked(memory, notes):
        notices.append("Few notes link to others, so notes without links are not listed.")
    if len(questions) >= _LEAST_QUESTIONS:
        requests = (SearchRequest(each.query, max_results=20, sync=False) for each in questions)
        answered = {hit.path for each in requests for hit in memory.answer(each).hits}
        reason = f"is found by none of {len(questions)} recorded questions"
        found += (_edit("unfound", path, reason) for path in notes if path not in answered)
    else:
        notices.append(
            f"{len(questions)} questions are recorded, by `search --right` and `--wrong`. With "
            f"{_LEAST_QUESTIONS}, the notes that none of them finds are listed."
        )
    return TidyReport(len(notes), tuple(found), tuple(notices))


def _edit(kind: str, path: str, reason: str, *, line: int = 1, hint: str = "Edit it") -> Finding:
    action = f"{hint}: `$EDITOR +{line} {shlex.quote(path)}`"  # anyone may have named the file
    return Finding(kind, f"{path}:{line}", reason, action)


def _copies(loaded: Loaded) -> Iterator[Finding]:
    """Yield texts that an earlier one says as well, each once."""
    chunks, vectors = loaded.chunks, loaded.vectors
    said = [" ".join(chunk.text.casefold().split()) for chunk in chunks]
    long = {row for row, text in enumerate(said) if text.count(" ") >= _LEAST_SPACES}
    first = {said[row]: row for row in sorted(long, reverse=True)}
    pairs = [(first[said[row]], row) for row in sorted(long)]
    rows = [row for row in long if loaded.has_vector[row] and first[said[row]] == row]
    near = (sorted((rows[one], rows[other])) for one, other in _near(vectors[rows]))
    pairs += ((kept, row) for kept, row in near if _are_alike(chunks[kept], chunks[row]))
    for kept, row in pairs:
        copy, other = chunks[row], chunks[kept]
        if kept != row and row in long and not _overlap(other, copy):
            long.remove(row)
            nearly = "" if said[kept] == said[row] else "nearly "
            reason = f"says {nearly}the same as {other.path}:{other.start_line}"
            yield _edit("copy", copy.path, reason, line=copy.start_line, hint="Delete one of them")


def _near(vectors: Vectors) -> Iterator[tuple[int, int]]:
    """Yield pairs of vectors that are close together, nearly all of them."""
    if len(vectors) <= _FEW:
        ones, others = np.nonzero(np.triu(vectors @ vectors.T >= _LEAST_COSINE, k=1))
        yield from zip(ones.tolist(), others.tolist(), strict=True)
        return
    random, centred = np.random.default_rng(0), vectors - vectors.mean(axis=0)
    for _ in range(_TABLES):
        planes = random.standard_normal((vectors.shape[1], _BITS), dtype=np.float32)
        buckets = (centred @ planes > 0) @ (1 << np.arange(_BITS))
        order = np.argsort(buckets, kind="stable")
        for step in range(1, _NEIGHBOURS + 1):
            same = buckets[order[:-step]] == buckets[order[step:]]
            ones, others = order[:-step][same], order[step:][same]
            close = np.einsum("ij,ij->i", vectors[ones], vectors[others]) >= _LEAST_COSINE
            yield from zip(ones[close].tolist(), others[close].tolist(), strict=True)


def _overlap(one: Chunk, other: Chunk) -> bool:
    return one.path == other.path and one.end_line >= other.start_line


def _are_alike(one: Chunk, other: Chunk) -> bool:
    if _overlap(one, other):
        return False  # the end of a chunk is repeated in the next one
    first, second = ({*wording(each.text).split()} for each in (one, other))
    has_other_number = any(char.isdigit() for word in first ^ second for char in word)
    return not has_other_number and len(first & second) >= _LEAST_SHARE * len(first | second)


def _contradictions(memory: MemoryParts, facts: Sequence[Fact], scope: Scope) -> Iterator[Finding]:
    """Yield facts that contradict each other, and sentences of notes that contradict a fact."""
    store, contradicting = memory.store, memory.facts.listed().contradicting
    for fact in facts:
        for other in contradicting.get(fact.id, ()):
            if fact.id < other.id:
                reason = f"{fact.text!r} contradicts {other.id}, {other.text!r}"
                action = f"Keep one: `recollect facts supersede {fact.id} {other.id}`"
                yield Finding("contradiction", fact.id, reason, action)
    for fact in facts[:_MOST_FACTS]:
        words = term_question(f"{fact.entity} {fact.text}")
        found = store.propose(words.terms, asked=None, scope=scope, limit=_PER_FACT)
        for note in store.load(found.keyword.keys, terms=(), fingerprint=None).chunks:
            for said in map(str.strip, sentences_of(note.text)):
                if contradict(fact.text, said):
                    reason = f"{said!r} contradicts the fact {fact.id}, {fact.text!r}"
                    hint = f"`recollect facts forget {fact.id}`, or correct the note"
                    yield _edit("contradiction", note.path, reason, line=note.start_line, hint=hint)


def _are_linked(memory: MemoryParts, notes: dict[str, list[Chunk]]) -> bool:
    return len(memory.overview.link_graph().links) >= max(_LEAST_LINKING * len(notes), 1)


def _links(memory: MemoryParts, notes: dict[str, list[Chunk]]) -> Iterator[Finding]:
    """Yield links to nothing, and undated notes that nothing links to if many notes link."""
    graph, folder = memory.overview.link_graph(), memory.folder
    root = os.path.realpath(folder or "")
    for place, (path, line, target) in enumerate(graph.dead):
        places = [folder / each for each in places_of(target, source=path)] if folder else []
        own = [each for each in places if is_inside(os.path.realpath(each.parent), root)]
        # Whether something outside of the workspace exists is not told.
        if own[:1] == places[:1] and not any(map(os.path.lexists, own)):
            near = near_path(target, graph.targets.paths) if place < _MOST_COMPARED else ""
            reason = f"links to {target!r}, which does not exist"
            hint = f"Did you mean {near}? Correct the link" if near else "Correct the link"
            yield _edit("dead-link", path, reason, line=line, hint=hint)
    for path, chunks in notes.items() if _are_linked(memory, notes) else ():
        if not (path in graph.backlinks or path in CURATED or chunks[0].when):
            yield _edit("unlinked", path, "is linked from no note", hint="Link to it, or edit it")


def _stale(memory: MemoryParts, chunks: Sequence[Chunk]) -> Iterator[Finding]:
    """Yield what is in progress for more than a month, by its date or that of the file."""
    before = datetime.now(tz=UTC) - _STALE
    changed = {path: known.stat.mtime_ns / 1e9 for (_, path), known in memory.store.known().items()}
    for chunk in chunks:
        if found := _IN_PROGRESS.search("\n".join((*chunk.fields, chunk.text))):
            since = chunk.when or datetime.fromtimestamp(changed[chunk.path], UTC).date()
            if since < before.date():
                reason = f"says {found[1]!r} since {since}"
                hint = "Say what became of it"
                yield _edit("stale", chunk.path, reason, line=chunk.start_line, hint=hint)
