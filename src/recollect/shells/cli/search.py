"""`recollect search`: sync what changed, then answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recollect.shells.cli.dashes import TextCommand
from recollect.shells.cli.shared import (
    given,
    open_memory,
    print_json,
    print_lines,
    progress_bar,
    say,
    shared_options,
)
from recollect.shells.dates import DAY, end_of

if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path

_SOURCES = ("memory", "sessions", "facts", "all")
_FUSIONS = ("calibrated", "weighted", "rrf")


@click.command("search", cls=TextCommand)
@click.argument("query", nargs=-1, required=True, metavar="QUERY")
@click.option("-n", "--max-results", type=int, help="How many hits at most.  [default: 6]")
@click.option("--min-score", type=float, help="Leave out hits that score lower.")
@click.option("--source", type=click.Choice(_SOURCES), default="all", help="Only this source.")
@click.option("--since", type=DAY, help="Only notes dated on or after: 2026-02-01, yesterday, 7d.")
@click.option("--before", type=DAY, help="Only notes dated before this day.")
@click.option("--path", metavar="GLOB", help="Only a folder, or files that match: 'memory/2026-*'.")
@click.option("--scope", "scopes", multiple=True, help="Facts of this scope too: user:ada.")
@click.option("--as-of", type=DAY, metavar="DAY", help="Facts as they held on this day.")
@click.option("--include-superseded", is_flag=True, help="Also facts that others replaced.")
@click.option("--explain", is_flag=True, help="Show how each score came about.")
@click.option("--fusion", type=click.Choice(_FUSIONS), help="How the legs become one score.")
@click.option("--rerank/--no-rerank", default=None, help="Let a model read the best hits again.")
@click.option("--no-sync", is_flag=True, help="Search the index as it is.")
@shared_options
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    query: tuple[str, ...],
    max_results: int | None,
    min_score: float | None,
    source: str,
    since: date | None,
    before: date | None,
    path: str | None,
    scopes: tuple[str, ...],
    as_of: date | None,
    include_superseded: bool,
    explain: bool,
    fusion: str | None,
    rerank: bool | None,
    no_sync: bool,
    **options: object,
) -> None:
    """Find the passages that answer QUERY, one word or many."""
    from recollect.shells.render import search as render  # noqa: PLC0415 - not needed for --help

    common = given(context, options)
    with open_memory(common) as memory:
        with progress_bar() as progress:
            results = memory.search(
                " ".join(query),
                max_results=max_results,
                min_score=min_score,
                source=None if source == "all" else source,
                since=since,
                before=before,
                path=_glob(path, memory.workspace),
                scopes=scopes,
                as_of=end_of(as_of),
                include_superseded=include_superseded,
                explain=explain,
                fusion=fusion,
                sync=not no_sync,
                progress=progress,
                rerank=rerank,
            )
        if memory.is_behind:
            memory.finish_in_background()
            say("A process in the background does what is left.")
    if common["as_json"]:
        print_json(render.results_json(results))
    else:
        print_lines(render.results_text(results))
    print_lines(render.results_remarks(results), to_stderr=True)


def _glob(path: str | None, workspace: Path) -> str | None:
    """Return the glob that is meant: of a folder of the workspace, all that is in it."""
    if path is None or not (workspace / path).is_dir():
        return path
    return f"/{path.removeprefix('./').strip('/')}/"
