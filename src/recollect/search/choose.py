"""Chooses whose vectors answer while a store changes its model: a complete space before a new one.

A question is embedded by one provider and compared in that provider's space alone. Until the wanted
space is complete, the one that was complete before serves, if its model still answers; otherwise
whatever the new one has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.ingest.vectors import held_space
from recollect.types import Degradation

if TYPE_CHECKING:
    from recollect.providers.base import Provider
    from recollect.providers.chain import Chain
    from recollect.stores.base import Store
    from recollect.types import Fingerprint, Progress


@dataclass(frozen=True, slots=True)
class Serving:
    """The provider to ask, and what the user should know about it."""

    provider: Provider | None
    degradation: Degradation | None = None
    """Why the wanted provider does not serve."""
    notice: str | None = None
    second: Provider | None = None
    """The provider to ask if the first one does not answer."""


def choose_provider(store: Store, *, chain: Chain, progress: Progress) -> Serving:
    """Return whose vectors answer now."""
    published = store.published()
    held = held_space(store, chain=chain)
    choice = chain.choose(held, progress=progress, retry=False)
    wanted = choice.provider
    if published is None or (wanted is None and choice.degradation is None):
        return Serving(wanted, choice.degradation)
    if wanted is not None and wanted.fingerprint == published:
        return Serving(wanted)
    previous = chain.previous(published)
    if isinstance(previous, Degradation):
        notice = _filling(store, wanted) if wanted is not None else None
        return Serving(wanted, choice.degradation, notice)
    if wanted is None:
        assert choice.degradation is not None  # noqa: S101 - tested above
        why = choice.degradation
        return Serving(previous, Degradation(f"{why.reason} {_meanwhile(published)}", why.action))
    return Serving(
        previous, notice=f"{_filling(store, wanted)} {_meanwhile(published)}", second=wanted
    )


def _filling(store: Store, wanted: Provider) -> str:
    status = store.status(wanted.fingerprint)
    done = f"{100 * status.vectors // max(status.chunks, 1)} % is done"
    return f"The index is being embedded again with {wanted.fingerprint.model}: {done}."


def _meanwhile(published: Fingerprint) -> str:
    return f"Meanwhile the vectors of {published.model} answer."
