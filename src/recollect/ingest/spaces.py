"""The vector spaces of a memory: which texts belong to each of them, and how much is done now.

Texts that the first model reads are in its space. Those in a script that it does not read are in
the space of a second model. A question in such a script is embedded by the second model alone, so
in a memory of which a tenth is in such scripts, the texts that the first model reads have a vector
of the second one as well, in a third space that no other question uses
(docs/decisions/vectors.md). That space is filled last: a search waits for a few of its texts only.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.providers.base import READS_ENOUGH
from recollect.records import dataclass
from recollect.stores import notes
from recollect.stores.base import SpaceTexts, published_in
from recollect.types import Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from recollect.providers.base import Provider
    from recollect.providers.chain import Chain
    from recollect.stores.base import Store
    from recollect.types import Fingerprint

MIXED_SHARE = 0.1
"""The share of chunks in other scripts from which a memory is mixed."""
FEW = 8
"""Texts of the last space that a search embeds before it answers: about a second."""


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

    @property
    def is_hurried(self) -> bool:
        """Whether someone waits for the end of it."""
        return self.texts is not None or self.embed_seconds is not None

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
    wants: Callable[[str], bool] = lambda _: True
    """Returns whether a text belongs to it."""
    other: Fingerprint | None = None
    """A text with a vector in this other space needs none."""
    media_roots: tuple[Path, ...] = ()
    """The folders of media files, the workspace first; empty leaves media alone."""
    is_last: bool = False
    """Whether it is filled after all others, and only where it is needed."""

    @property
    def fingerprint(self) -> Fingerprint:
        """Return the identity of the space."""
        return self.provider.fingerprint

    @property
    def texts(self) -> SpaceTexts:
        """Return which texts need a vector in it."""
        return SpaceTexts(self.fingerprint, self.other, media=bool(self.media_roots))

    def waiting(self, store: Store) -> int:
        """Return how many chunks have no vector, without the texts that were refused."""
        refused = notes.refused(store, self.fingerprint)
        return max(store.coverage(self.texts).pending - len(refused), 0)

    def is_begun(self, store: Store) -> bool:
        """Return whether something is stored of it."""
        return self.fingerprint in store.spaces()

    def is_needed(self, store: Store) -> bool:
        """Return whether an index run fills it: the last one only in a mixed memory."""
        if not self.is_last or self.other is None or self.is_begun(store):
            return True
        others = len(store.embedded(self.other, scope=Scope()))
        return others > 0 and others >= MIXED_SHARE * store.coverage(None).chunks


def spaces_of(
    chain: Chain, held: Fingerprint | None, *, media_roots: tuple[Path, ...] = ()
) -> tuple[VectorSpace, ...]:
    """Return the spaces of a memory in the order in which they are filled; nothing is loaded."""
    first, second = chain.first(held), chain.second(held)
    if first is None:
        return ()

    def is_read(text: str) -> bool:
        return first.reads(text) >= READS_ENOUGH

    if second is None:
        return (VectorSpace(first, is_read, media_roots=media_roots),)
    return (
        VectorSpace(first, is_read, second.fingerprint, media_roots),
        VectorSpace(second, lambda text: not is_read(text), first.fingerprint),
        VectorSpace(second.in_last_space, is_read, second.fingerprint, is_last=True),
    )


def last_space(spaces: Sequence[VectorSpace], *, store: Store) -> VectorSpace | None:
    """Return the space that is filled last; None while no text is in another script."""
    last = next((each for each in spaces if each.is_last), None)
    return last if last is not None and last.other in store.spaces() else None


def pending_later(spaces: Sequence[VectorSpace], *, store: Store) -> int:
    """Return how many chunks wait for a vector in the space that is filled last."""
    last = last_space(spaces, store=store)
    return last.waiting(store) if last is not None and last.is_needed(store) else 0


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
