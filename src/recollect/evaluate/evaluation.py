"""The whole of one evaluation: cases asked, checked and summed up, in the order of the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.evaluate.check import unfindable
from recollect.evaluate.outcome import Outcome, outcomes_of
from recollect.evaluate.run import compared_variants, configured_variant, run_cases
from recollect.types import silent

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from recollect.evaluate.case import Case
    from recollect.memory import Memory
    from recollect.types import Progress


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How well one memory answers one file of cases."""

    file: Path
    workspace: Path
    k: int
    """How many hits count for hit, recall and all."""
    cases: int
    outcomes: tuple[Outcome, ...]
    """That of the settings in force first."""
    warnings: tuple[str, ...]
    """Expected places that no search of this workspace could find."""


def evaluate(  # noqa: PLR0913 - what is asked, of whom, and how
    memory: Memory,
    cases: Sequence[Case],
    *,
    file: Path,
    compare: bool = False,
    k: int | None = None,
    progress: Progress = silent,
) -> Evaluation:
    """Ask the cases of the index as it is; `sync` first if files may have changed.

    Args:
        memory: who is asked.
        cases: as `read_cases` returns them.
        file: where they come from, for what is said about them.
        compare: also ask the other fusions, and each leg alone.
        k: how many hits count; None is as many as the settings show.
        progress: is told how far the work has come.

    """
    depth = memory.config.search.max_results if k is None else k
    variants = compared_variants(memory) if compare else (configured_variant(memory),)
    warnings = unfindable(cases, memory=memory, file=file)
    runs = run_cases(memory, cases, variants=variants, k=depth, progress=progress)
    return Evaluation(
        file=file,
        workspace=memory.workspace,
        k=depth,
        cases=len(cases),
        outcomes=outcomes_of(runs),
        warnings=warnings,
    )
