"""`recollect eval add`: ask a question, accept the hits that answer it, keep both as a case."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect.shells.cli.shared import (
    bring_up_to_date,
    given,
    open_memory,
    print_json,
    print_lines,
    shared_options,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.types import Hit

_FILE = "memory-cases.jsonl"
_NONE = "none"
_NUMBERS = re.compile(r"[1-9][0-9]*(\s*,\s*[1-9][0-9]*)*")


@click.command("add")
@click.argument("query", nargs=-1, required=True, metavar="QUERY")
@click.option(
    "--to",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="CASES",
    help=f"File to add to.  [default: {_FILE} in the workspace]",
)
@click.option("--accept", metavar="1,3", help="Hits that answer; 'none': memory has no answer.")
@click.option("--kind", metavar="KIND", help="Sort of question, to be told apart in the table.")
@click.option("-n", "--max-results", type=int, help="How many hits to choose from.  [default: 6]")
@shared_options
@click.pass_context
def add(
    context: click.Context,
    /,
    *,
    query: tuple[str, ...],
    to: Path | None,
    accept: str | None,
    kind: str | None,
    max_results: int | None,
    **options: object,
) -> None:
    """Add QUERY to the cases, with the hits you accept."""
    from recollect.evaluate.case import DEFAULT_KIND  # noqa: PLC0415 - not needed for --help
    from recollect.evaluate.cases import append_case, case_from  # noqa: PLC0415
    from recollect.shells import render, render_evaluate  # noqa: PLC0415

    common = given(context, options)
    if accept is None and (common["as_json"] or not sys.stdin.isatty()):
        raise click.UsageError("eval add asks which hits to accept: add --accept 1,3 or none.")
    with open_memory(common) as memory:
        bring_up_to_date(memory)
        results = memory.search(" ".join(query), max_results=max_results)
    print_lines(render.results_remarks(results), to_stderr=True)
    if accept is None:
        print_lines(render_evaluate.numbered_hits(results.hits), to_stderr=True)
        accept = click.prompt("Which answer it? Numbers such as 1,3, or none", err=True)
    file = to or memory.workspace / _FILE
    case = case_from(results.query, hits=_accepted(accept, results.hits), kind=kind or DEFAULT_KIND)
    count = append_case(case, to=file)
    if common["as_json"]:
        print_json(render_evaluate.added_json(case, file=file, count=count))
    else:
        print_lines(render_evaluate.added_text(case, file=file, count=count))


def _accepted(text: str, hits: Sequence[Hit]) -> list[Hit]:
    if text.strip().lower() == _NONE:
        return []
    if not _NUMBERS.fullmatch(text.strip()):
        raise click.BadParameter("give numbers such as 1,3, or none", param_hint="--accept")
    numbers = [int(number) for number in text.split(",")]
    if max(numbers) > len(hits):
        raise click.BadParameter(
            f"there is no hit {max(numbers)}, only {len(hits)}", param_hint="--accept"
        )
    return [hits[number - 1] for number in dict.fromkeys(numbers)]
