"""Packing texts into requests, and learning how large a request a server takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.text.size import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from recollect.providers.base import Limits
    from recollect.stores.base import Missing


@dataclass(frozen=True, slots=True)
class Parcel:
    """Texts, or media files, that travel in one request."""

    texts: tuple[Missing, ...]
    tokens: int
    attempts: int = 0
    """How often it came back because nobody answered."""

    def halves(self) -> tuple[Parcel, Parcel]:
        """Return two parcels with half of the texts each."""
        middle = len(self.texts) // 2
        return parcel_of(self.texts[:middle]), parcel_of(self.texts[middle:])


def parcel_of(texts: Iterable[Missing]) -> Parcel:
    """Return a parcel of all these texts."""
    held = tuple(texts)
    return Parcel(held, sum(estimate_tokens(missing.text) for missing in held))


class Packer:
    """Fills parcels from a stream of texts, whatever file each came from."""

    def __init__(self, texts: Iterator[Missing], *, limits: Limits) -> None:
        self._texts = texts
        self._limits = limits
        self._held_back: Missing | None = None

    def next(self, most: int | None) -> Parcel | None:
        """Return a parcel as full as the limits and `most` allow; None when there is no text left.

        What is larger than a whole request travels alone: only the server can say whether it fits.
        """
        held: list[Missing] = []
        weight = load_bytes = 0
        while len(held) < min(self._limits.texts, most or self._limits.texts):
            missing = self._held_back or next(self._texts, None)
            self._held_back = None
            if missing is None:
                break
            tokens = estimate_tokens(missing.text)
            weight += tokens
            load_bytes += base64_bytes(missing.size_bytes)
            is_full = weight > self._limits.tokens or load_bytes > self._limits.media_bytes
            if held and is_full:
                self._held_back = missing
                break
            held.append(missing)
        return parcel_of(held) if held else None


def base64_bytes(size_bytes: int) -> int:
    """Return how many bytes a file is when it travels as text; 0 for no file."""
    return -(-size_bytes // 3) * 4


@dataclass(slots=True)
class Sizes:
    """What was learnt of how many texts a request may hold, by what was taken and what refused."""

    most_taken: int = 0
    least_refused: int | None = None

    def taken(self, count: int) -> None:
        """Remember that so many were taken."""
        self.most_taken = max(self.most_taken, count)

    def refused(self, count: int) -> None:
        """Remember that so many were refused."""
        if count > 1:
            self.least_refused = min(count, self.least_refused or count)

    @property
    def most(self) -> int | None:
        """Return how many to send: halfway between what was taken and what was refused.

        None is no limit. Where as many were taken as were refused, it was not the number that was
        refused but a text.
        """
        if self.least_refused is None or self.most_taken >= self.least_refused:
            return None
        return max((self.most_taken + self.least_refused) // 2, 1)
