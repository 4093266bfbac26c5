"""Asking the memory: `search`, `recall`, `get`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recollect.reports import RECALL_TOKENS, RecallForm
from recollect.shells.cli.shared import (
    DAY,
    SharedOptions,
    TextCommand,
    notify,
    print_remarks,
    progress_bar,
    shared_options,
    terminal_width,
)
from recollect.shells.parse import SOURCES, parse_location, parse_source
from recollect.shells.render import search as render
from recollect.text.days import end_of
from recollect.types import SearchRequest

if TYPE_CHECKING:
    from datetime import date

    from recollect.memory import Memory

_FUSIONS = ("calibrated", "weighted", "rrf")
_FORMS = [form.value for form in RecallForm]


@click.command("search", cls=TextCommand)
@click.argument("query", nargs=-1, required=True, metavar="QUERY...")
@click.option("-n", "--max-results", type=int, help="Most hits to show.  [default: 6]")
@click.option("--all", "tail", is_flag=True, help="Also show hits far below the best.")
@click.option("--min-score", type=float, help="Leave out hits with a lower score.")
@click.option("--source", type=click.Choice(SOURCES), default="all", help="Only this source.")
@click.option(
    "--since", type=DAY, help="Only notes dated on or after: 2026-02-01, 7d, 'last week'."
)
@click.option("--before", type=DAY, help="Only notes dated before this day.")
@click.option("--path", metavar="GLOB", help="Only a folder, or files that match: 'memory/2026-*'.")
@click.option("--tag", "tags", multiple=True, help="Only notes with this tag; may be repeated.")
@click.option("--scope", "scopes", multiple=True, help="Also facts of this scope: user:ada.")
@click.option("--as-of", type=DAY, metavar="DAY", help="Facts that were valid on this day.")
@click.option("--include-superseded", is_flag=True, help="Also facts that were replaced.")
@click.option("--explain", is_flag=True, help="Show how each score was computed.")
@click.option("-v", "--verbose", is_flag=True, help="Show whole chunks, not the best lines.")
@click.option("--fusion", type=click.Choice(_FUSIONS), help="How to combine the two legs.")
@click.option("--rerank/--no-rerank", default=None, help="Let a model rerank the best hits.")
@click.option("--sync/--no-sync", default=None, help="Index changed files first, or not.")
@shared_options
def search_command(
    options: SharedOptions,
    *,
    query: tuple[str, ...],
    source: str,
    path: str | None,
    as_of: date | None,
    verbose: bool,
    **fields: object,
) -> None:
    """Find the passages that answer QUERY, one word or many.

    Words in double quotes must occur side by side: recollect search 'undo "blue button"'. If they
    do so nowhere, they are searched as ordinary words, with a notice.
    """
    with options.open_memory() as memory:
        with progress_bar() as progress:
            request = SearchRequest(
                " ".join(query),
                source=parse_source(source),
                path=_glob(memory, path) if path else None,
                as_of=end_of(as_of),
                **fields,  # type: ignore[arg-type]  # options that are named like their fields
            )
            results = memory.answer(request, progress=progress)
        if memory.is_behind:
            memory.finish_in_background()
            notify("The rest is indexed in the background.")
    text = render.results_text(results, width=terminal_width(), verbose=verbose)
    options.print(results, text)
    print_remarks(render.results_remarks(results))


def _glob(memory: Memory, path: str) -> str | None:
    from recollect.shells.cli.paths import glob_in  # noqa: PLC0415 - few searches need it

    return glob_in(memory.workspace, path, paths=memory.paths)


@click.command("recall")
@click.argument("prompt", nargs=-1, required=True)
@click.option(
    "--budget", type=int, default=RECALL_TOKENS, show_default=True, help="Most tokens to print."
)
@click.option(
    "--form", type=click.Choice(_FORMS), default="full", help="How much of each hit to print."
)
@click.option("--scope", "scopes", multiple=True, help="Also facts of this scope: user:ada.")
@shared_options
def recall_command(
    options: SharedOptions,
    *,
    prompt: tuple[str, ...],
    budget: int,
    form: str,
    scopes: tuple[str, ...],
) -> None:
    """Print what memory holds about PROMPT, marked as data, within a token budget."""
    with options.open_memory() as memory:
        recalled = memory.recall(" ".join(prompt), budget_tokens=budget, form=form, scopes=scopes)
    options.print(recalled, recalled.block or ())
    print_remarks(render.recalled_remarks(recalled))


@click.command("get")
@click.argument("location", metavar="PATH[:FROM[:LINES]]")
@click.option("--from", "start", type=click.IntRange(min=1), help="First line.  [default: 1]")
@click.option("--lines", type=click.IntRange(min=1), help="How many lines.  [default: 120]")
@shared_options
def get_command(
    options: SharedOptions, *, location: str, start: int | None, lines: int | None
) -> None:
    """Read part of a memory file.

    Write PATH, PATH:FROM or PATH:FROM:LINES, or what search shows: PATH:FROM-TO or
    PATH#LFROM-LTO.
    """
    from recollect.shells.cli.paths import path_in  # noqa: PLC0415 - not for the help

    if not location:
        raise click.BadParameter("give a path that search shows", param_hint="PATH")
    place = parse_location(location)
    first, count = place.window(start, lines)
    with options.open_memory() as memory:
        path = path_in(memory.workspace, place.path, paths=memory.paths)
        excerpt = memory.get(path, start_line=first, lines=count)
    options.print(excerpt, excerpt.text if excerpt.lines else ())
    if not options.as_json:
        print_remarks(render.excerpt_remarks(excerpt))
