"""Asking all cases, one way of searching after the other, of one open Memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.evaluate.metrics import DEPTH, Marks, marks_of, ranks_of
from recollect.search.fuse import FUSIONS
from recollect.types import Leg, Mode, Step, silent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.evaluate.case import Case
    from recollect.memory import Memory
    from recollect.types import Degradation, Hit, Progress, Results


@dataclass(frozen=True, slots=True)
class Variant:
    """One way of searching: what differs from the settings in force; None differs in nothing."""

    name: str
    fusion: str | None = None
    legs: tuple[Leg, ...] = tuple(Leg)
    vector_weight: float | None = None
    """The text weight is what is left of 1."""
    min_score: float | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What one case got."""

    case: Case
    hits: tuple[Hit, ...]
    mode: Mode
    confident: bool
    ranks: tuple[int | None, ...]
    """For each expected place the rank of the first hit that overlaps it."""
    marks: Marks | None
    """None for a question that has no expected place."""
    degraded: Degradation | None
    """Why the vector leg did not run."""

    @property
    def best_score(self) -> float:
        """Return the first hit's score, 0 without one."""
        return self.hits[0].score if self.hits else 0.0


@dataclass(frozen=True, slots=True)
class Run:
    """All cases asked in one way."""

    variant: Variant
    answers: tuple[Answer, ...]

    @property
    def without_vector(self) -> tuple[Answer, ...]:
        """Return the answers in which the vector leg was wanted and did not run."""
        if Leg.VECTOR not in self.variant.legs:
            return ()
        return tuple(answer for answer in self.answers if answer.mode is Mode.KEYWORD)

    @property
    def ran(self) -> bool:
        """False when the only leg never ran: then the marks say nothing about the variant."""
        return self.variant.legs != (Leg.VECTOR,) or len(self.without_vector) < len(self.answers)


def configured_variant(memory: Memory) -> Variant:
    """Return the settings in force, under the name of their fusion."""
    return Variant(str(memory.config.values["fusion"]))


def compared_variants(memory: Memory) -> tuple[Variant, ...]:
    """Return the settings in force, then the other fusions, then each leg alone."""
    configured = configured_variant(memory)
    others = [Variant(name, fusion=name) for name in FUSIONS if name != configured.name]
    alone = [Variant(f"{leg} alone", legs=(leg,)) for leg in (Leg.KEYWORD, Leg.VECTOR)]
    return (configured, *others, *alone)


def run_cases(
    memory: Memory,
    cases: Sequence[Case],
    *,
    variants: Sequence[Variant],
    k: int,
    progress: Progress = silent,
) -> tuple[Run, ...]:
    """Ask every case in every way; the index is searched as it is."""
    total = len(variants) * len(cases)
    runs = []
    for number, variant in enumerate(variants):
        answers = []
        for place, case in enumerate(cases, start=1):
            answers.append(_answer(memory, case, variant=variant, k=k))
            progress(Step("ask", number * len(cases) + place, total))
        runs.append(Run(variant, tuple(answers)))
    return tuple(runs)


def _answer(memory: Memory, case: Case, *, variant: Variant, k: int) -> Answer:
    results = _ask(memory, case, variant=variant, max_results=max(k, DEPTH))
    ranks = ranks_of(case.expected, results.hits)
    return Answer(
        case=case,
        hits=results.hits,
        mode=results.mode,
        confident=results.confident,
        ranks=ranks,
        marks=marks_of(case.expected, ranks, k=k) if case.is_answerable else None,
        degraded=(results.degraded or {}).get(Leg.VECTOR),
    )


def _ask(memory: Memory, case: Case, *, variant: Variant, max_results: int) -> Results:
    return memory.search(
        case.query,
        max_results=max_results,
        min_score=variant.min_score,
        since=case.since,
        before=case.before,
        path=case.path,
        today=case.asked,
        fusion=variant.fusion,
        vector_weight=variant.vector_weight,
        legs=variant.legs,
        sync=False,  # all cases are asked of one state
    )
