"""Measuring search on your own questions: `eval CASES` and `eval add`."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect.evaluate.cases import CASES_FILE
from recollect.shells.cli.output import write_lines
from recollect.shells.cli.shared import (
    Group,
    SharedOptions,
    notify,
    print_remarks,
    progress_bar,
    shared_options,
)
from recollect.shells.render.search import results_remarks
from recollect.shells.render.status import report_remarks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.evaluate.cases import Case
    from recollect.memory import Memory
    from recollect.types import Hit

_RUN = "run"
_NONE = "none"
_NUMBERS = re.compile(r"[1-9][0-9]*(\s*,\s*[1-9][0-9]*)*")


class _RunByDefault(Group):
    """A group that runs `run` unless another command is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert `run` if no command is named."""
        if args and args[0] not in {*self.commands, *ctx.help_option_names}:
            args = [_RUN, *args]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Also list the options of `run`, which work without its name."""
        super().format_options(ctx, formatter)
        records = [option.get_help_record(ctx) for option in self.commands[_RUN].params]
        with formatter.section("Options of `eval CASES`"):
            formatter.write_dl([record for record in records if record])


@click.group("eval", cls=_RunByDefault, subcommand_metavar="CASES | add QUERY")
def eval_command() -> None:
    """Measure search on your own questions: `eval CASES`.

    CASES is a file with one question per line and the places that answer it; `eval add` writes
    one. `eval CASES` is short for `eval run CASES`; its options are listed below.

    Numbers are means with 95% intervals in brackets. hit: an expected place is among the hits;
    recall: the share of the expected places among them; all: whether all of them are; MRR and
    nDCG: also how high they rank.
    """


@eval_command.command(_RUN)
@click.argument("file", metavar="CASES", type=click.Path(path_type=Path))
@click.option("--compare", is_flag=True, help="Also measure the other fusions and each leg alone.")
@click.option(
    "-k",
    "-n",
    "--max-results",
    "k",
    type=click.IntRange(1, 1000),
    help="How many hits count for hit, recall and all.  [default: as many as search shows]",
)
@click.option(
    "--tune",
    "tunes",
    is_flag=True,
    help="Instead find the settings that answer CASES best; propose them only if the gain is "
    "significant.",
)
@click.option("--write", is_flag=True, help="With --tune: write them into your settings file.")
@shared_options
def run_cases(
    options: SharedOptions, *, file: Path, compare: bool, k: int | None, tunes: bool, write: bool
) -> None:
    """Ask every question in CASES and report how well it was answered."""
    from recollect.evaluate.cases import read_cases  # noqa: PLC0415 - not needed for --help
    from recollect.evaluate.run import evaluate  # noqa: PLC0415
    from recollect.shells.render import evaluate as render  # noqa: PLC0415

    if tunes and (compare or k is not None):
        raise click.UsageError("--tune tries settings itself: leave out --compare and -k.")
    if write and not tunes:
        raise click.UsageError("--write needs --tune.")
    cases = read_cases(file, workspace=options.folder)
    with options.open_memory() as memory:
        _sync(memory)
        if tunes:
            _tune(options, memory, cases, file=file, write=write)
            return
        with progress_bar() as progress:
            evaluation = evaluate(memory, cases, file=file, compare=compare, k=k, progress=progress)
    print_remarks(render.evaluation_remarks(evaluation))
    options.print(render.evaluation_json(evaluation), render.evaluation_text(evaluation))


def _tune(
    options: SharedOptions, memory: Memory, cases: Sequence[Case], *, file: Path, write: bool
) -> None:
    from recollect.evaluate.cases import unfindable  # noqa: PLC0415 - not needed for --help
    from recollect.evaluate.tune import tune, write_proposal  # noqa: PLC0415
    from recollect.shells.render import evaluate as render  # noqa: PLC0415

    warnings = tuple(unfindable(cases, memory=memory, file=file))
    with progress_bar() as progress:
        tuning = tune(memory, cases, progress=progress)
    diff = write_proposal(tuning) if write and tuning.changes else None
    print_remarks(render.tuning_remarks(tuning, warnings=warnings, cases_file=file))
    options.print(
        render.tuning_json(tuning, diff=diff, warnings=warnings),
        render.tuning_text(tuning, diff=diff, cases_file=file, write=write),
    )


def _sync(memory: Memory) -> None:
    """Sync before cases are asked, unless the index is read-only."""
    if not memory.is_writable:
        return
    with progress_bar() as progress:
        report = memory.sync(retry=False, progress=progress, on_wait=notify)
    print_remarks(report_remarks(report))


@eval_command.command("add")
@click.argument("query", nargs=-1, required=True, metavar="QUERY...")
@click.option(
    "--to",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="CASES",
    help=f"File to add to.  [default: {CASES_FILE} in the workspace]",
)
@click.option("--accept", metavar="1,3", help="Hits that answer; 'none' if memory has no answer.")
@click.option(
    "--expect",
    multiple=True,
    metavar="PATH[:FROM-TO]",
    help="A place that answers but was not found; may be repeated.",
)
@click.option("--kind", metavar="KIND", help="Kind of question, shown separately in the table.")
@click.option("-n", "--max-results", type=int, help="How many hits to choose from.  [default: 6]")
@shared_options
def add_case(
    options: SharedOptions,
    *,
    query: tuple[str, ...],
    to: Path | None,
    accept: str | None,
    expect: tuple[str, ...],
    kind: str | None,
    max_results: int | None,
) -> None:
    """Add QUERY to the cases, with the hits you accept and the places you name."""
    from recollect.evaluate.cases import (  # noqa: PLC0415 - not needed for --help
        DEFAULT_KIND,
        Case,
        append_case,
        case_from_hits,
        case_json,
        check_folder,
        parse_place,
        unfindable,
    )
    from recollect.shells.render import evaluate as render  # noqa: PLC0415

    asks = accept is None and not expect
    if asks and (options.as_json or not sys.stdin.isatty()):
        raise click.UsageError(
            "eval add asks which hits to accept: add --accept 1,3 or none, or --expect PATH."
        )
    if expect and accept is not None and _is_none(accept):
        raise click.UsageError("--accept none says there is no answer, but --expect names one.")
    places = [parse_place(text, where="--expect") for text in expect]
    if to is not None:
        check_folder(to)  # fail before the work, not after it
    with options.open_memory() as memory:
        _sync(memory)
        results = memory.search(" ".join(query), max_results=max_results)
        warnings = tuple(unfindable([Case(results.query, tuple(places))], memory=memory))
    print_remarks(results_remarks(results))
    if asks or accept is not None:
        write_lines(render.numbered_hits(results.hits), to_stderr=asks or options.as_json)
    hits = _ask(results.hits) if asks else _accepted(accept or _NONE, results.hits)
    file = to or memory.workspace / CASES_FILE
    case = case_from_hits(results.query, hits=hits, kind=kind or DEFAULT_KIND, places=places)
    count = append_case(case, to=file, workspace=memory.workspace)
    print_remarks(render.unfindable_lines(warnings, cases_file=file))
    answers = ", ".join(place.citation for place in case.expected) or "nothing: not in memory"
    added = {"added": count is not None, "cases": file, "count": count}
    options.print(
        {**added, **case_json(case), "warnings": warnings},
        f"{file} already has this case."
        if count is None
        else f"Case {count} of {file}: {case.query} → {answers}",
    )


def _ask(hits: Sequence[Hit]) -> list[Hit]:
    """Ask until the answer is valid; click prints what was wrong with the last one."""
    chosen: list[Hit] = click.prompt(
        "Which hits answer it? Numbers such as 1,3, or none",
        value_proc=lambda text: _accepted(text, hits),
        err=True,
    )
    return chosen


def _accepted(text: str, hits: Sequence[Hit]) -> list[Hit]:
    if _is_none(text):
        return []
    if not _NUMBERS.fullmatch(text.strip()):
        raise click.BadParameter("give numbers such as 1,3, or none", param_hint="--accept")
    numbers = [int(number) for number in text.split(",")]
    if max(numbers) > len(hits):
        raise click.BadParameter(
            f"there are {len(hits)} hits, numbered from 1; name other places with --expect",
            param_hint="--accept",
        )
    return [hits[number - 1] for number in dict.fromkeys(numbers)]


def _is_none(text: str) -> bool:
    return text.strip().lower() == _NONE
