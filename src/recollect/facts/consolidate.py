"""Finds stored facts that say the same, and merges them: one stays and supersedes the others.

Nothing is removed: a merged fact keeps its line and its id, and `facts supersede --undo` makes it
valid again. Facts of different scopes are never merged.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from typing import TYPE_CHECKING

from recollect.facts.history import LONG_AGO, active
from recollect.facts.likeness import Duplicate, compare, confirm, likely_key, subject_key
from recollect.facts.record import EXPLICIT
from recollect.facts.remember import supersede
from recollect.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from recollect.facts.draft import Draft
    from recollect.facts.likeness import Likeness, Meanings
    from recollect.facts.record import Fact


@dataclass(frozen=True, slots=True)
class DuplicateGroup:
    """Valid facts of one scope that say the same."""

    kept: Fact
    """The fact to keep: explicit first, then lasting, confident, detailed, oldest."""
    duplicates: tuple[Duplicate, ...]
    """The others, each with why it says what the kept one says."""
    is_merged: bool = False


def find_groups(
    facts: Mapping[str, Fact], *, meanings: Meanings, now: datetime
) -> tuple[DuplicateGroup, ...]:
    """Return the groups of valid facts that say the same; a fact is in one of them at most."""
    valid = sorted(active(facts, now=now), key=_preference)
    alike = _alike(valid, meanings=meanings)
    groups: list[DuplicateGroup] = []
    grouped: set[str] = set()
    for kept in valid:
        if kept.id in grouped:
            continue
        others = tuple(
            Duplicate(facts[other], likeness.reason)
            for other, likeness in alike.get(kept.id, {}).items()
            if other not in grouped
        )
        if others:
            groups.append(DuplicateGroup(kept, others))
            grouped |= {kept.id, *(each.fact.id for each in others)}
    return tuple(groups)


def merge_group(draft: Draft, group: DuplicateGroup, *, now: datetime) -> bool:
    """Let the kept fact supersede the others; False if one of them changed meanwhile."""
    valid = active(draft.facts, now=now)
    others = [each.fact for each in group.duplicates]
    if any(fact not in valid for fact in (group.kept, *others)):
        return False
    for other in others:
        supersede(draft, other.id, by_id=group.kept.id)
    return True


def _alike(valid: Sequence[Fact], *, meanings: Meanings) -> dict[str, dict[str, Likeness]]:
    """Return by id the facts that say the same as each fact."""
    pairs = [
        (one, other, likeness)
        for one, other in _candidates(valid)
        if (likeness := compare(one, other)) is not None
    ]
    shares = meanings.shares([(one, other) for one, other, _ in pairs])
    found: dict[str, dict[str, Likeness]] = defaultdict(dict)
    for one, other, words in pairs:
        likeness = confirm(words, share=shares.get(frozenset({one.id, other.id})))
        if likeness is not None:
            found[one.id][other.id] = found[other.id][one.id] = likeness
    return found


def _candidates(valid: Sequence[Fact]) -> Iterator[tuple[Fact, Fact]]:
    """Yield the pairs worth comparing, each once: those with equal words or an equal subject."""
    buckets: dict[tuple[object, ...], list[Fact]] = defaultdict(list)
    for fact in valid:
        for key in (likely_key(fact), subject_key(fact)):
            if key is not None:
                buckets[key].append(fact)
    seen: set[frozenset[str]] = set()
    for bucket in buckets.values():
        for one, other in combinations(bucket, 2):
            ids = frozenset({one.id, other.id})
            if ids not in seen:
                seen.add(ids)
                yield one, other


def _preference(fact: Fact) -> tuple[object, ...]:
    details = (fact.entity, fact.key, fact.value, *fact.tags)
    return (
        fact.provenance not in EXPLICIT,
        fact.expires is not None or fact.valid_until is not None,
        -fact.confidence,
        -sum(map(bool, details)),
        fact.begins or LONG_AGO,
        fact.id,
    )
