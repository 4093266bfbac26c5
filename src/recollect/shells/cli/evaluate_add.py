"""`recollect eval add`: ask a question, accept the hits that answer it, keep both as a case."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect.evaluate.cases import CASES_FILE
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

_NONE = "none"
_NUMBERS = re.compile(r"[1-9][0-9]*(\s*,\s*[1-9][0-9]*)*")


@click.command("add")
@click.argument("query", nargs=-1, required=True, metavar="QUERY")
@click.option(
    "--to",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="CASES",
    help=f"File to add to.  [default: {CASES_FILE} in the workspace]",
)
@click.option("--accept", metavar="1,3", help="Hits that answer; 'none': memory has no answer.")
@click.option(
    "--expect",
    multiple=True,
    metavar="PATH[:FROM-TO]",
    help="A place that answers, for what search missed; may be repeated.",
)
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
    expect: tuple[str, ...],
    kind: str | None,
    max_results: int | None,
    **options: object,
) -> None:
    """Add QUERY to the cases, with the hits you accept and the places you name."""
    from recollect.evaluate.cases import (  # noqa: PLC0415 - not needed for --help
        DEFAULT_KIND,
        Case,
        append_case,
        case_from_hits,
        parse_place,
        unfindable,
    )
    from recollect.evaluate.write import check_folder  # noqa: PLC0415
    from recollect.shells.render import evaluate as render_evaluate  # noqa: PLC0415
    from recollect.shells.render import search as render  # noqa: PLC0415

    common = given(context, options)
    as_json = bool(common["as_json"])
    asks = accept is None and not expect
    if asks and (as_json or not sys.stdin.isatty()):
        raise click.UsageError(
            "eval add asks which hits to accept: add --accept 1,3 or none, or --expect PATH."
        )
    if expect and accept is not None and _is_none(accept):
        raise click.UsageError("--accept none says that there is no answer, --expect names one.")
    places = [parse_place(text, where="--expect") for text in expect]
    if to is not None:
        check_folder(to, option="--to")  # before the work, not after it
    with open_memory(common) as memory:
        bring_up_to_date(memory)
        results = memory.search(" ".join(query), max_results=max_results)
        warnings = unfindable([Case(results.query, tuple(places))], memory=memory)
    print_lines(render.results_remarks(results), to_stderr=True)
    if asks or accept is not None:
        numbered = render_evaluate.numbered_hits(results.hits)
        print_lines(numbered, to_stderr=asks or as_json)
    hits = _asked(results.hits) if asks else _accepted(accept or _NONE, results.hits)
    file = to or memory.workspace / CASES_FILE
    case = case_from_hits(results.query, hits=hits, kind=kind or DEFAULT_KIND, places=places)
    count = append_case(case, to=file)
    print_lines(render_evaluate.unfindable_lines(warnings, cases_file=file), to_stderr=True)
    if as_json:
        print_json(render_evaluate.added_json(case, file=file, count=count, warnings=warnings))
    else:
        print_lines(render_evaluate.added_text(case, file=file, count=count))


def _asked(hits: Sequence[Hit]) -> list[Hit]:
    """Ask until the answer is one; click says what was wrong with the last."""
    chosen: list[Hit] = click.prompt(
        "Which answer it? Numbers such as 1,3, or none",
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
            f"there is no hit {max(numbers)}: {_range(len(hits))}", param_hint="--accept"
        )
    return [hits[number - 1] for number in dict.fromkeys(numbers)]


def _range(count: int) -> str:
    match count:
        case 0:
            return "there are no hits; answer none, or name the place with --expect"
        case 1:
            return "there is 1 hit, numbered 1"
        case _:
            return f"there are {count} hits, numbered 1 to {count}"


def _is_none(text: str) -> bool:
    return text.strip().lower() == _NONE
