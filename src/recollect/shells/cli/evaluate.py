"""Measuring search on your own questions, and the health of a memory: `eval`, `tidy`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect.errors import RecollectError, UsageError
from recollect.shells.cli.shared import (
    SharedOptions,
    notify,
    print_remarks,
    progress_bar,
    shared_options,
)
from recollect.shells.render.status import report_remarks

if TYPE_CHECKING:
    from recollect.memory import Memory


@click.command("eval")
@click.argument("file", metavar="[CASES]", type=click.Path(path_type=Path), required=False)
@click.option("--compare", is_flag=True, help="Also measure the other fusions and each leg alone.")
@click.option(
    "-k",
    "-n",
    "--max-results",
    "k",
    type=click.IntRange(1, 1000),
    help="How many hits count for hit, recall and all.  [default: as many as search shows]",
)
@shared_options
def eval_command(
    options: SharedOptions, *, file: Path | None, compare: bool, k: int | None
) -> None:
    """Ask every question in CASES and report how well it was answered.

    CASES is a file with one question per line and the places that answer it:
    {"query": "who is Ada", "expected": ["memory/people.md:10-24"]}.

    Without CASES, the questions are those for which you said `search --right` or `--wrong`.

    Numbers are means with 95% intervals in brackets. hit: an expected place is among the hits;
    recall: the share of the expected places among them; all: whether all of them are; MRR and
    nDCG: also how high they rank.
    """
    from recollect.evaluate.cases import read_cases  # noqa: PLC0415 - not needed for --help
    from recollect.evaluate.run import evaluate  # noqa: PLC0415
    from recollect.shells.render import evaluate as render  # noqa: PLC0415

    setup = options.announced()
    file = file or setup.places.cases_of(setup.agent)
    cases = read_cases(file, workspace=options.folder)
    with options.open_memory(setup=setup) as memory:
        _sync(memory)
        with progress_bar() as progress:
            evaluation = evaluate(memory, cases, file=file, compare=compare, k=k, progress=progress)
    print_remarks(render.evaluation_remarks(evaluation))
    options.print(evaluation, render.evaluation_text(evaluation))


@click.command("tidy")
@shared_options
def tidy_command(options: SharedOptions) -> int:
    """Report what in the memory needs care, with the command that mends it; change nothing.

    Copies, contradictions, dead links, notes without links, work "in progress" for more than a
    month, and notes that no recorded question finds. Exits 0 if there is nothing, 1 if there is
    something, and 2 if it could not look, as grep and ruff do.
    """
    from recollect.evaluate.tidy import tidy  # noqa: PLC0415 - not needed for --help
    from recollect.shells.render.evaluate import tidy_text  # noqa: PLC0415

    try:
        with options.open_memory() as memory:
            _sync(memory)
            report = tidy(memory.parts)
    except RecollectError as error:
        raise UsageError(error.message, action=error.action) from error
    options.print(report, tidy_text(report))
    print_remarks((notice, "dim") for notice in report.notices)
    return int(bool(report.findings))


def _sync(memory: Memory) -> None:
    """Sync before cases are asked, unless the index is read-only."""
    if not memory.is_writable:
        return
    with progress_bar() as progress:
        report = memory.sync(retry=False, progress=progress, on_wait=notify)
    print_remarks(report_remarks(report))
