"""Tells whether two facts say the same in other words.

Words decide (`text/claims.py`) and vectors confirm; docs/decisions/facts.md has the numbers. Facts
with the same words in the same order are sure; all others are likely, and a person decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.errors import ProviderError
from recollect.ingest.spaces import held_space
from recollect.providers.base import READS_ENOUGH
from recollect.providers.deadline import within
from recollect.records import dataclass
from recollect.text.claims import Wording, claim_key, compare_claims, may_agree
from recollect.text.scripts import normalised
from recollect.types import Role, silent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from threading import RLock

    from recollect.facts.record import Fact
    from recollect.ingest.sync import Syncer
    from recollect.providers.base import Provider
    from recollect.providers.chain import Chain
    from recollect.types import Fingerprint, Vector

LEAST_SHARE = 0.85
"""How far the cosine of two duplicates is at least from unrelated texts (0) to equal ones (1)."""
_SECONDS = 8.0  # like a question's


@dataclass(frozen=True, slots=True)
class Likeness:
    """A finding that two facts say the same, and why."""

    is_sure: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A stored fact that probably says the same as another."""

    fact: Fact
    reason: str


def compare(one: Fact, other: Fact) -> Likeness | None:
    """Compare two facts by words; None if they do not seem to say the same."""
    if one.scope != other.scope:
        return None
    wording = compare_claims(one.text, other.text)
    if wording is None and not (one.entity and one.key and one.value):
        return None
    details, others = _details(one), _details(other)
    if any(a and b and a != b for a, b in zip(details, others, strict=True)):
        return None
    if wording is not None:
        return Likeness(wording is Wording.SAME, wording.value)
    if all(details) and details == others and may_agree(one.text, other.text):
        return Likeness(is_sure=False, reason="the same entity, key and value")
    return None


def likely_key(fact: Fact) -> tuple[object, ...]:
    """Return what facts have in common that say the same by their words."""
    return fact.scope, claim_key(fact.text)


def subject_key(fact: Fact) -> tuple[object, ...] | None:
    """Return what facts have in common that say the same by their details; None without them."""
    details = _details(fact)
    return (fact.scope, *details) if all(details) else None


def confirm(likeness: Likeness, *, share: float | None) -> Likeness | None:
    """Return a likeness by words if the meanings are near as well, or not known."""
    return likeness if share is None or share >= LEAST_SHARE else None


def _details(fact: Fact) -> tuple[str, str, str]:
    return normalised(fact.entity), normalised(fact.key), normalised(fact.value)


@dataclass(frozen=True, slots=True)
class Meanings:
    """Compares facts by the vectors of their texts."""

    syncer: Syncer
    """Has the store, and rebuilds it if it is damaged."""
    chain: Chain
    lock: RLock
    """Held while the store is used."""

    def shares(self, pairs: Sequence[tuple[Fact, Fact]]) -> Mapping[frozenset[str], float]:
        """Return how near the two facts of each pair are, by their ids; nothing if unknown."""
        if not pairs:
            return {}
        facts = {fact.id: fact for pair in pairs for fact in pair}
        with self.lock:
            held = self.syncer.rebuilding(lambda: held_space(self.syncer.store, chain=self.chain))
        if any(self.chain.servers()) and self.chain.expected(held) != held:
            return {}  # saving a fact does not send the first texts of a memory
        try:
            # Whoever saves a fact waits for it, and words can decide alone.
            provider, vectors = within(_SECONDS, lambda: self._embed(facts.values(), held))
        except ProviderError:
            return {}
        if provider is None:
            return {}
        with self.lock:
            space = self.syncer.rebuilding(self.syncer.store.spaces).get(provider.fingerprint)
        background = (space.background if space else None) or provider.background
        return _shares(pairs, vectors, mean=background.mean) if background else {}

    def _embed(
        self, facts: Iterable[Fact], held: Fingerprint | None
    ) -> tuple[Provider | None, Mapping[str, Vector]]:
        """Return the vectors of the texts that the provider reads, by the ids of the facts."""
        provider = self.chain.choose(held, progress=silent, retry=False).provider
        vectors: dict[str, Vector] = {}
        if provider is None:
            return None, vectors
        readable = [fact for fact in facts if provider.reads(fact.text) >= READS_ENOUGH]
        for start in range(0, len(readable), provider.limits.texts):
            part = readable[start : start + provider.limits.texts]
            embedded = provider.embed([fact.text for fact in part], role=Role.DOCUMENT)
            vectors |= {fact.id: vector for fact, vector in zip(part, embedded, strict=True)}
        return provider, vectors


def _shares(
    pairs: Sequence[tuple[Fact, Fact]], vectors: Mapping[str, Vector], *, mean: float
) -> Mapping[frozenset[str], float]:
    return {
        frozenset({one.id, other.id}): (float(vectors[one.id] @ vectors[other.id]) - mean)
        / (1 - mean)
        for one, other in pairs
        if one.id in vectors and other.id in vectors
    }
