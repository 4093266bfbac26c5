"""The vector space of a memory: who fills it, which texts belong to it, and how much is done now.

A text that the model does not read has no vector: keywords find it.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.providers.base import READS_ENOUGH
from recollect.records import dataclass
from recollect.stores.base import SpaceTexts, published_in

if TYPE_CHECKING:
    from pathlib import Path

    from recollect.providers.base import Provider
    from recollect.providers.chain import Chain
    from recollect.stores.base import Store
    from recollect.types import Fingerprint


@dataclass(frozen=True, slots=True)
class Budget:
    """How much one sync does."""

    retries: bool = True
    """Try a provider again that failed a moment ago."""
    texts: int | None = None
    """Embed at most so many texts; None embeds all."""
    read_seconds: float | None = None
    """Stop reading files after so long; None reads all."""
    embed_seconds: float | None = None
    """Stop embedding after so long; None embeds all."""
    deadline: float | None = None
    """The time of the monotonic clock at which embedding stops, once it began."""

    @property
    def is_whole(self) -> bool:
        """Whether all texts may be embedded."""
        return self.texts is None

    def within(self, seconds: float | None) -> Budget:
        """Return the same with a deadline so soon, or sooner."""
        if seconds is None:
            return self
        end = time.monotonic() + seconds
        return replace(self, deadline=end if self.deadline is None else min(end, self.deadline))


@dataclass(frozen=True, slots=True)
class VectorSpace:
    """A vector space: who fills it, and which texts belong to it."""

    provider: Provider
    media_roots: tuple[Path, ...] = ()
    """The folders of media files, the workspace first; empty leaves media alone."""

    @property
    def fingerprint(self) -> Fingerprint:
        """Return the identity of the space."""
        return self.provider.fingerprint

    @property
    def texts(self) -> SpaceTexts:
        """Return which texts need a vector in it."""
        return SpaceTexts(self.fingerprint, media=bool(self.media_roots))

    def wants(self, text: str) -> bool:
        """Return whether a text belongs to it."""
        return self.provider.reads(text) >= READS_ENOUGH


def space_of(
    chain: Chain, held: Fingerprint | None, *, media_roots: tuple[Path, ...] = ()
) -> VectorSpace | None:
    """Return the space of a memory; nothing is loaded. None without a provider."""
    provider = chain.first(held)
    return VectorSpace(provider, media_roots) if provider else None


def held_space(store: Store, *, chain: Chain) -> Fingerprint | None:
    """Return the space that an index has vectors in; None if it has none that can be used.

    That is the published one, or one that a run began to fill.
    """
    with store.snapshot():
        spaces = store.spaces()
        published = published_in(spaces)
        if published is not None or not store.holds():
            return published
        begun = (each for each in chain.spaces() if each in spaces)
        return next((each for each in begun if store.status(SpaceTexts(each)).vectors), None)
