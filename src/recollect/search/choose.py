"""Chooses the space that answers while a store changes its model: a complete one before a new one.

A question is embedded by one provider and compared in that provider's space alone. Until the wanted
space is complete, the one that was complete before serves, if its model still answers; otherwise
whatever the new one has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.ingest.spaces import held_space
from recollect.records import dataclass
from recollect.stores.base import published_in
from recollect.types import Degradation

if TYPE_CHECKING:
    from recollect.providers.base import Provider
    from recollect.providers.chain import Chain
    from recollect.stores.base import Store
    from recollect.types import Fingerprint, Progress


@dataclass(frozen=True, slots=True)
class StoredSpaces:
    """The spaces that a store has vectors in."""

    published: Fingerprint | None
    """Published space: complete, and used by searches."""
    held: Fingerprint | None
    """Published space, or else one that a run began to fill."""
    supplement: Fingerprint | None = None
    """Space of the second model, for texts that the main model does not read."""
    across: Fingerprint | None = None
    """Third space, for questions that the main model does not read about texts that it reads."""

    @classmethod
    def of(cls, store: Store, *, chain: Chain) -> StoredSpaces:
        """Look them up, all as of one moment if one is published."""
        spaces = store.spaces()
        published = published_in(spaces)
        held = held_space(store, chain=chain) if published is None else published
        supplement = chain.supplement(held)
        if supplement is None or supplement.fingerprint not in spaces:
            return cls(published, held)
        across = supplement.across.fingerprint
        return cls(published, held, supplement.fingerprint, across if across in spaces else None)


@dataclass(frozen=True, slots=True)
class Serving:
    """The provider to ask, and what the user should know about it."""

    provider: Provider | None
    degradation: Degradation | None = None
    """Why the wanted provider does not serve."""
    filling: Fingerprint | None = None
    """The space that is being filled to replace the published one."""
    second: Provider | None = None
    """The provider to ask if the first one does not answer."""

    def notice(self, store: Store) -> str | None:
        """Return how far the new space is; None if there is none."""
        if self.filling is None:
            return None
        status = store.status(self.filling)
        done = f"{100 * status.vectors // max(status.chunks, 1)} % is done"
        filling = f"The index is being embedded again with {self.filling.model}: {done}."
        if self.second is None or self.provider is None:
            return filling
        return f"{filling} {_meanwhile(self.provider.fingerprint)}"


def choose_provider(spaces: StoredSpaces, *, chain: Chain, progress: Progress) -> Serving:
    """Return the provider and space that answer now. May wait for a model, but uses no store."""
    choice = chain.choose(spaces.held, progress=progress, retry=False)
    wanted, published = choice.provider, spaces.published
    if published is None or (wanted is None and choice.degradation is None):
        return Serving(wanted, choice.degradation)
    if wanted is not None and wanted.fingerprint == published:
        return Serving(wanted)
    filling = wanted.fingerprint if wanted is not None else None
    previous = chain.previous(published)
    if isinstance(previous, Degradation):
        return Serving(wanted, choice.degradation, filling)
    if wanted is None:
        assert choice.degradation is not None  # noqa: S101 - tested above
        why = choice.degradation
        return Serving(previous, Degradation(f"{why.reason} {_meanwhile(published)}", why.action))
    return Serving(previous, filling=filling, second=wanted)


def _meanwhile(published: Fingerprint) -> str:
    return f"Meanwhile the vectors of {published.model} answer."
