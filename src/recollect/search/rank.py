"""From evidence to one order: fuse, lift what is exact, age, diversify.

Every stage's numbers are kept, so that the explanation is the computation and not a second one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from recollect.search.decay import DecayOptions, decay_factor
from recollect.search.exact import exactness, lift
from recollect.search.fuse import Fused, FusionOptions, fuse
from recollect.search.mmr import MmrOptions, Pick, mmr
from recollect.text.terms import terms

if TYPE_CHECKING:
    from datetime import date

    import numpy.typing as npt

    from recollect.search.legs import Evidence

    Floats = npt.NDArray[np.float64]

_DIVERSIFIED = 100  # hits beyond this place are not read; similarity is quadratic


@dataclass(frozen=True, slots=True)
class RankOptions:
    """The settings of the stages after retrieval."""

    fusion: FusionOptions = field(default_factory=FusionOptions)
    decay: DecayOptions = field(default_factory=DecayOptions)
    mmr: MmrOptions = field(default_factory=MmrOptions)


@dataclass(frozen=True, slots=True)
class Ranking:
    """The union in its final order, with what each stage did."""

    fused: Fused
    lifted: Floats
    """After exactness."""
    scores: Floats
    """After age: final."""
    is_exact: npt.NDArray[np.bool_]
    picks: tuple[Pick, ...]
    """Rows of the union that are eligible, best first."""


def rank(text: str, *, evidence: Evidence, options: RankOptions, today: date) -> Ranking:
    """Order the union. At least one leg must have run."""
    fused = fuse(evidence.legs, options=options.fusion)
    tiers = exactness(
        text,
        question=evidence.question,
        loaded=evidence.loaded,
        corpus=evidence.corpus,
        scores=fused.scores,
    )
    lifted = lift(fused.scores, tiers)
    factors = [
        # What was asked for by name is wanted whatever its age.
        1.0 if tier else decay_factor(chunk.when, today=today, options=options.decay)
        for chunk, tier in zip(evidence.loaded.chunks, tiers, strict=True)
    ]
    scores = lifted * np.array(factors)
    eligible = fused.eligible | (tiers > 0)
    return Ranking(
        fused=fused,
        lifted=lifted,
        scores=scores,
        is_exact=tiers > 0,
        picks=_order(scores, eligible, evidence=evidence, options=options.mmr),
    )


def _order(
    scores: Floats,
    eligible: npt.NDArray[np.bool_],
    *,
    evidence: Evidence,
    options: MmrOptions,
) -> tuple[Pick, ...]:
    chunks = evidence.loaded.chunks
    rows = sorted(
        (int(row) for row in np.flatnonzero(eligible)),
        key=lambda row: (-scores[row], chunks[row].path, chunks[row].start_line),
    )
    if not options.enabled:
        return tuple(Pick(row, None) for row in rows)
    varied, rest = rows[:_DIVERSIFIED], rows[_DIVERSIFIED:]
    picks = mmr(
        [float(scores[row]) for row in varied],
        terms=[frozenset(terms(chunks[row].text)) for row in varied],
        balance=options.balance,
    )
    return (
        *(Pick(varied[pick.place], pick.similarity) for pick in picks),
        *(Pick(row, None) for row in rest),
    )
