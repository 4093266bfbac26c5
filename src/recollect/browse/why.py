"""Why one note is, or is not, among the hits of a search: which leg ranked it, and what cut it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.reports import Why

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from recollect.types import Hit


def why(
    path: str, shown: Sequence[Hit], ranked: Sequence[Hit], *, paths: Collection[str], most: int
) -> Why:
    """Return what became of a note among the hits that are shown, and among all candidates."""
    place, at = _place(path, ranked), _place(path, shown)
    hit = ranked[place - 1] if place else None
    if at is not None:
        reason = "" if hit is None or hit.path == path else f"It only repeats {hit.citation}."
    elif path not in paths:
        reason = "It is not indexed: `recollect status` says which files are left out, and why."
    elif hit is None or place is None:
        reason = "No leg proposed it: others have more of the words and are nearer in meaning."
    elif place > len(shown) == most:
        reason = "Others rank higher, and no more are shown: raise -n."
    else:
        reason = f"Its score {hit.score:.3f} is far below the best, {ranked[0].score:.3f}: --all."
    return Why(path, at, place, len(ranked), hit, reason)


def _place(path: str, hits: Sequence[Hit]) -> int | None:
    """Return the 1-based place of the first hit with a passage of a note."""
    for place, hit in enumerate(hits, start=1):
        if path in (hit.path, *(each.path for each in hit.also_in)):
            return place
    return None
