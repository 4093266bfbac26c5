"""Keeps transcripts from drowning notes: a weight per source, and a quota.

A conversation says everything ten times; a note was written to be found. So a transcript's hit
counts a little less, and while a note is at least half as good, transcripts may not take more than
their share of the answer. Every prefix of the answer keeps to the quota, so the first hits do not
change with how many are asked for.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from recollect.types import SourceKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from recollect.search.options import SourceOptions

    Floats = npt.NDArray[np.float64]

_QUOTA = 0.5  # share of the hits that may be transcripts while comparable notes are left
_COMPARABLE = 0.5  # share of a transcript's score at which a note goes first


def weigh_sources(
    scores: Floats, *, sources: Sequence[SourceKind], options: SourceOptions
) -> Floats:
    """Return the scores with each source's weight."""
    if SourceKind.SESSIONS not in sources:
        return scores
    weights = [
        options.sessions_weight if source is SourceKind.SESSIONS else 1.0 for source in sources
    ]
    weighed: Floats = scores * np.array(weights)
    return weighed


def keep_quota(rows: Sequence[int], *, scores: Floats, sources: Sequence[SourceKind]) -> list[int]:
    """Return the rows with transcripts moved back where they exceed their quota."""
    if SourceKind.SESSIONS not in sources:
        return list(rows)
    talk = [row for row in rows if sources[row] is SourceKind.SESSIONS]
    notes = [row for row in rows if sources[row] is not SourceKind.SESSIONS]
    if not talk or not notes:
        return list(rows)
    rank_of = {row: rank for rank, row in enumerate(rows)}
    kept: list[int] = []
    spoken = 0
    while talk and notes:
        is_full = spoken + 1 > math.ceil(_QUOTA * (len(kept) + 1))
        note_is_good = scores[notes[0]] >= _COMPARABLE * scores[talk[0]]
        if rank_of[notes[0]] < rank_of[talk[0]] or (is_full and note_is_good):
            kept.append(notes.pop(0))
        else:
            kept.append(talk.pop(0))
            spoken += 1
    return [*kept, *talk, *notes]
