"""Runs the cases against an open Memory in one or more ways, and summarises the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.evaluate.cases import case_json, unfindable
from recollect.evaluate.metrics import (
    DEPTH,
    MARKS,
    Interval,
    Marks,
    auroc,
    difference_interval,
    marks_of,
    mean_interval,
    ranks_of,
)
from recollect.records import dataclass
from recollect.search.fuse import FUSIONS
from recollect.shape import Shape
from recollect.types import Leg, Mode, Step, silent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from recollect.evaluate.cases import Case
    from recollect.memory import Memory
    from recollect.types import Degradation, Hit, Progress


@dataclass(frozen=True, slots=True)
class Variant:
    """One way of searching, as its differences from the current settings."""

    name: str
    fusion: str | None = None
    """Fusion to use; None, here and below, is the current setting."""
    legs: tuple[Leg, ...] = tuple(Leg)


@dataclass(frozen=True, slots=True)
class CaseAnswer:
    """The answer to one case."""

    shape = Shape(
        {"citations": "hits"},
        hidden="case hits degraded",
        merged="question",
        added="question best_score wrong_ranks citations",
    )
    case: Case
    hits: tuple[Hit, ...]
    mode: Mode
    confident: bool
    ranks: tuple[int | None, ...]
    """Rank of the first hit that overlaps each expected place."""
    marks: Marks | None
    """Marks of the question; None without an expected place."""
    degraded: Degradation | None
    """Why the vector leg did not run."""

    @property
    def question(self) -> Mapping[str, object]:
        """The case as its file has it, and its line."""
        return {"line": self.case.line, **case_json(self.case)}

    @property
    def best_score(self) -> float:
        """Return the score of the first hit; 0 without hits."""
        return self.hits[0].score if self.hits else 0.0

    @property
    def wrong_ranks(self) -> tuple[int, ...]:
        """Return the ranks of places that are known to be wrong."""
        return tuple(rank for rank in ranks_of(self.case.wrong, self.hits) if rank is not None)

    @property
    def citations(self) -> tuple[str, ...]:
        """Return where the hits are."""
        return tuple(hit.citation for hit in self.hits)


@dataclass(frozen=True, slots=True)
class Summary:
    """The mean metrics of some cases."""

    shape = Shape(merged="marks")
    cases: int
    marks: Mapping[str, Interval]
    """Mean of each mark, by the names in MARKS."""


@dataclass(frozen=True, slots=True)
class Abstention:
    """How well the search knows whether memory has the answer."""

    shape = Shape({"trusted": "confidentAnswerable", "refused": "unconfidentAbsent"})
    trusted: Interval | None
    """Share of the answerable questions answered with `confident` true; None without any."""
    refused: Interval | None
    """Share of the other questions answered with `confident` false; None without any."""
    auroc: float | None
    """Probability that an answerable question has a higher best score than another one."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one way of searching achieved."""

    shape = Shape(
        {"answers": "perCase", "kinds": "byKind"},
        hidden="lacking",
        merged="variant",
        added="without_vector",
    )
    variant: Variant
    lacking: tuple[CaseAnswer, ...]
    """Answers without the vector leg although the variant uses it."""
    ran: bool
    """False if the only leg never ran: then the metrics say nothing about the variant."""
    overall: Summary | None
    """Over the answerable cases; None if there are none, or if no leg ran."""
    kinds: Mapping[str, Summary]
    gain: Interval | None
    """Difference in nDCG@10 to the current settings, case by case; None for those themselves."""
    abstention: Abstention
    answers: tuple[CaseAnswer, ...]

    @property
    def without_vector(self) -> int:
        """How many answers lack the vector leg."""
        return len(self.lacking)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How well one memory answers one file of cases."""

    shape = Shape({"file": "cases", "cases": "count", "outcomes": "variants"}, added="configured")
    file: Path
    workspace: Path
    k: int
    """The number of hits that count for hit, recall and all."""
    cases: int
    outcomes: tuple[Outcome, ...]
    """The first is that of the current settings."""
    warnings: tuple[str, ...]
    """Expected places that no search of this workspace can find."""

    @property
    def configured(self) -> str:
        """The name of the variant that has the current settings."""
        return self.outcomes[0].variant.name


def evaluate(  # noqa: PLR0913 - what to ask, of which memory, and how
    memory: Memory,
    cases: Sequence[Case],
    *,
    file: Path,
    compare: bool = False,
    k: int | None = None,
    progress: Progress = silent,
) -> Evaluation:
    """Search the index as it is for every case, from `file`; `sync` first if files may differ.

    `compare` also tries the other fusions, and each leg alone. `k` hits count; None: `max_results`.
    """
    depth = memory.config.search.max_results if k is None else k
    variants = variants_of(memory)[: None if compare else 1]
    warnings = tuple(unfindable(cases, memory=memory, file=file))
    return Evaluation(
        file=file,
        workspace=memory.workspace,
        k=depth,
        cases=len(cases),
        outcomes=run_cases(memory, cases, variants=variants, k=depth, progress=progress),
        warnings=warnings,
    )


def variants_of(memory: Memory) -> tuple[Variant, ...]:
    """Return the current settings, named after their fusion, the other fusions, each leg alone."""
    configured = Variant(str(memory.config.values["fusion"]))
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
) -> tuple[Outcome, ...]:
    """Search the index as it is for every case, in every way; the first is what others gain on."""
    total = len(variants) * len(cases)
    outcomes: list[Outcome] = []
    for number, variant in enumerate(variants):
        answers = []
        for place, case in enumerate(cases, start=1):
            answers.append(_answer(memory, case, variant=variant, k=k))
            progress(Step("ask", number * len(cases) + place, total))
        outcomes.append(
            outcome_of(variant, answers, present=outcomes[0].answers if outcomes else None)
        )
    return tuple(outcomes)


def _answer(memory: Memory, case: Case, *, variant: Variant, k: int) -> CaseAnswer:
    results = memory.search(
        case.query,
        max_results=max(k, DEPTH),
        since=case.since,
        before=case.before,
        path=case.path,
        today=case.asked_on,
        fusion=variant.fusion,
        legs=variant.legs,
        sync=False,  # every case must see the same index
    )
    ranks = ranks_of(case.expected, results.hits)
    return CaseAnswer(
        case=case,
        hits=results.hits,
        mode=results.mode,
        confident=results.confident,
        ranks=ranks,
        marks=marks_of(case.expected, ranks, k=k) if case.is_answerable else None,
        degraded=(results.degraded or {}).get(Leg.VECTOR),
    )


def best_first(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return the outcomes by nDCG@10; those without one come last."""
    return sorted(
        outcomes,
        key=lambda outcome: -outcome.overall.marks["ndcg"].mean if outcome.overall else 1.0,
    )


def outcome_of(
    variant: Variant, answers: Sequence[CaseAnswer], *, present: Sequence[CaseAnswer] | None
) -> Outcome:
    """Return the outcome of a way of searching, compared with the present one if it is another."""
    uses_vectors = Leg.VECTOR in variant.legs
    lacking = tuple(each for each in answers if uses_vectors and each.mode is Mode.KEYWORD)
    ran = variant.legs != (Leg.VECTOR,) or len(lacking) < len(answers)
    marked = [(each.case.kind, each.marks) for each in answers if each.marks and ran]
    kinds = dict.fromkeys(kind for kind, _ in marked)
    is_compared = present is not None and marked
    return Outcome(
        variant=variant,
        answers=tuple(answers),
        lacking=lacking,
        ran=ran,
        overall=_summary([marks for _, marks in marked]) if marked else None,
        kinds={name: _summary([marks for kind, marks in marked if kind == name]) for name in kinds},
        gain=difference_interval(_ndcgs(answers), _ndcgs(present or ())) if is_compared else None,
        abstention=abstention_of(answers),
    )


def _ndcgs(answers: Sequence[CaseAnswer]) -> list[float]:
    return [each.marks.ndcg for each in answers if each.marks is not None]


def _summary(marks: Sequence[Marks]) -> Summary:
    return Summary(
        cases=len(marks),
        marks={name: mean_interval([getattr(mark, name) for mark in marks]) for name in MARKS},
    )


def abstention_of(answers: Sequence[CaseAnswer]) -> Abstention:
    """Return how well confidence and the best score separate the two kinds of question."""
    answerable = [answer for answer in answers if answer.case.is_answerable]
    absent = [answer for answer in answers if answer.case.is_absent]
    return Abstention(
        trusted=mean_interval([answer.confident for answer in answerable]) if answerable else None,
        refused=mean_interval([not answer.confident for answer in absent]) if absent else None,
        auroc=auroc(
            [answer.best_score for answer in answerable], [answer.best_score for answer in absent]
        ),
    )
