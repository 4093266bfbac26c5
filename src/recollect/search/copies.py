"""Notes that repeat a fact which no longer holds: shown, but never without saying so.

A refutation is written once; the old claim stands in several places. Hiding those would hide what
else they say, so they are marked with what took the claim's place.
"""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.types import Results


def mark_copies(results: Results, *, superseded: Sequence[tuple[str, str]]) -> Results:
    """Return the results with a mark on every hit that holds the words of a superseded fact.

    Args:
        results: of a search.
        superseded: texts of facts that no longer hold, and the ids of those that do instead.

    """
    if not superseded:
        return results
    claims = [(_words(text), by) for text, by in superseded]
    hits = tuple(
        hit
        if hit.fact is not None
        else replace(
            hit,
            superseded_by=next((by for claim, by in claims if claim in _words(hit.snippet)), None),
        )
        for hit in results.hits
    )
    return replace(results, hits=hits)


def _words(text: str) -> str:
    """Return the words of a text, however they are written and set."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    kept = "".join(char if char.isalnum() else " " for char in folded)
    return f" {' '.join(kept.split())} "
