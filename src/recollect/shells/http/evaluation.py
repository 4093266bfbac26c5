"""The operation that measures search on the questions of the workspace."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from recollect.errors import NotFoundError
from recollect.shells.http.models import ResponseModel

if TYPE_CHECKING:
    from recollect.evaluate.run import CaseAnswer
    from recollect.shells.http.state import ServerState
    from recollect.shells.http.status import NoParameters
    from recollect.shells.render.shared import Json

EVALUATION_SECONDS = 600.0
"""Enough for a hundred questions asked in five ways on a slow machine."""


class EvaluationResponse(ResponseModel):
    """The output of `recollect eval --compare --json`."""

    cases: str
    workspace: str
    count: int
    k: int
    configured: str
    variants: list[dict[str, object]]
    warnings: list[str]


class EvaluationProgressResponse(ResponseModel):
    """How many questions of the running evaluation were asked; zero of zero if none runs."""

    done: int
    total: int


async def evaluation_progress(state: ServerState, _: NoParameters) -> Json:
    """Tell how far the running evaluation is."""
    done, total = state.evaluated
    return {"done": done, "total": total}


async def evaluation(state: ServerState, _: NoParameters) -> Json:
    """Measure how well search answers the questions of the workspace."""
    from recollect.evaluate.cases import (  # noqa: PLC0415 - few servers are asked for it
        CASES_FILE,
        read_cases,
        unfindable,
    )
    from recollect.evaluate.run import (  # noqa: PLC0415
        Evaluation,
        VariantRun,
        compared_variants,
        outcomes_of,
        run_cases,
    )
    from recollect.shells.render import evaluate as render_evaluate  # noqa: PLC0415

    run = state.memory.run
    workspace, k = await run(lambda memory: (memory.workspace, memory.config.search.max_results))
    file = workspace / CASES_FILE
    if not await asyncio.to_thread(file.is_file):
        raise NotFoundError(
            f"The workspace has no {CASES_FILE}, so there is nothing to measure.",
            action='Add questions with `recollect eval add "…"`; see `recollect eval --help`.',
        )
    cases = await asyncio.to_thread(partial(read_cases, file, workspace=workspace))
    warnings = await run(lambda memory: unfindable(cases, memory=memory, file=file))
    runs: list[VariantRun] = []
    variants = await run(compared_variants)
    try:
        for variant in variants:
            answers: list[CaseAnswer] = []
            for case in cases:  # one at a time, so that other requests get their turn
                done = len(runs) * len(cases) + len(answers)
                state.evaluated = (done, len(variants) * len(cases))
                [asked] = await run(partial(run_cases, cases=[case], variants=[variant], k=k))
                answers += asked.answers
            runs.append(VariantRun(variant, tuple(answers)))
    finally:
        state.evaluated = (0, 0)
    measured = Evaluation(
        file=file,
        workspace=workspace,
        k=k,
        cases=len(cases),
        outcomes=await asyncio.to_thread(outcomes_of, tuple(runs)),
        warnings=warnings,
    )
    return render_evaluate.evaluation_json(measured)
