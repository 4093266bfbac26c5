"""Asking the memory: `search`, `recall`, `get`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from recollect.shells.parse import parse_location
from recollect.shells.render import search as render
from recollect.shells.running_server import Ask, ask
from recollect.text.confined import is_inside
from recollect.text.globs import escaped, is_literal
from recollect.text.phrases import PATH_HINT, read_filters
from recollect.types import SearchRequest, search_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from recollect.memory import Memory
    from recollect.types import Results

_FORMS = [form.value for form in RecallForm]
_MOST_LISTED = 100  # notes; -n gives another number
_FILTERS = ("path", "tags", "type", "source", "since", "before", "scopes")
_TYPES = {"integer": int, "number": float, "day": DAY}
_NAMES = {"max_results": ("-n", "--max-results"), "tail": ("--all",)}
"""Options that are not named like their fields."""


def _search_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a search, in their order."""
    for each in reversed(search_arguments("cli")):
        names = _NAMES.get(each.name) or ("--" + each.name.replace("_", "-"),)
        how: dict[str, Any] = {"type": _TYPES.get(each.type)}
        if each.choices:
            how = {"type": click.Choice(each.choices)}
        elif each.type == "array":
            names, how = (names[0].removesuffix("s"),), {"multiple": True}
        elif each.type == "boolean" and each.default is None:
            names, how = (f"{names[0]}/--no-{each.name}",), {"default": None}
        elif each.type == "boolean":
            how = {"is_flag": True}
        command = click.option(*names, each.name, help=each.about, **how)(command)
    return command


@click.command("search", cls=TextCommand)
@click.argument("query", nargs=-1, metavar="[QUERY...]")
@_search_options
@click.option("--why", metavar="PATH", help="Say how this note was ranked, and what cut it.")
@click.option("--right", type=int, multiple=True, help="Keep that this hit, 1 to n, answers QUERY.")
@click.option("--wrong", type=int, multiple=True, help="Keep that this hit does not.")
@click.option("-v", "--verbose", is_flag=True, help="Show whole chunks, not the best lines.")
@shared_options
def search_command(
    options: SharedOptions,
    *,
    query: tuple[str, ...],
    path: str | None,
    why: str | None,
    right: tuple[int, ...],
    wrong: tuple[int, ...],
    verbose: bool,
    **fields: Any,  # noqa: ANN401 - options that are named like their fields
) -> None:
    """Find the passages that answer QUERY, one word or many.

    Words in double quotes must occur side by side: recollect search 'undo "blue button"'. If they
    do so nowhere, they are searched as ordinary words, with a notice. `tag:recipe` and
    `path:journal` in QUERY are filters. With filters alone, the notes are listed, newest first.
    """
    setup = options.announced()
    glob = glob_in(setup.workspace, path) if path else None
    request = read_filters(SearchRequest(" ".join(query), path=glob, **fields))
    if not request.query.strip():
        _list_notes(options, request)
        return
    if both := {*right} & {*wrong}:
        raise click.UsageError(f"Hit {min(both)} cannot be both right and wrong.")
    if why is not None:
        with options.open_memory(setup=setup) as memory:
            told = memory.why(request, path=path_in(memory.workspace, why))
        options.print(told, render.why_text(told))
        return
    shown = Ask(request, as_json=options.as_json, width=terminal_width(), is_verbose=verbose)
    if not (right or wrong) and (reply := ask(setup, shown)) is not None:
        options.print_reply(reply)
        return
    with options.open_memory(setup=setup) as memory:
        with progress_bar() as progress:
            results = memory.answer(request, progress=progress)
        if right or wrong:
            _keep_feedback(memory, results, right, right=True)
            _keep_feedback(memory, results, wrong, right=False)
        if memory.is_behind:
            memory.finish_in_background()
            notify("The rest is indexed in the background.")
    text = render.results_text(results, width=terminal_width(), verbose=verbose)
    print_remarks(render.results_remarks(results))
    options.print(results, text)


def _keep_feedback(memory: Memory, results: Results, places: Sequence[int], *, right: bool) -> None:
    from recollect.evaluate.feedback import keep_feedback  # noqa: PLC0415 - slow to load

    for place in places:
        if not 0 < place <= len(results):
            raise click.UsageError(f"There is no hit {place}: {len(results)} were found.")
        hit = results[place - 1]
        file = keep_feedback(memory.parts, results.query, hit.citation, right=right)
        notify(f"{hit.citation} is kept as {'right' if right else 'wrong'} in {file}.")


def _list_notes(options: SharedOptions, request: SearchRequest) -> None:
    """Print the notes that the filters of a search leave."""
    asked = {name: getattr(request, name) for name in _FILTERS}
    filters = {name: value for name, value in asked.items() if value and value != "all"}
    if not filters:
        raise click.UsageError("Give a QUERY, or a filter such as --tag.")
    with options.open_memory() as memory:
        memory.sync(max_texts=0)
        found = memory.overview.documents(limit=request.max_results or _MOST_LISTED, **filters)
    hint = PATH_HINT if request.path else ""
    options.print(found, render.documents_text(found, hint=hint))


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
    setup = options.announced()
    request = SearchRequest(" ".join(prompt), scopes=scopes)
    wanted = Ask(request, budget_tokens=budget, form=form, as_json=options.as_json)
    if (reply := ask(setup, wanted)) is not None:
        options.print_reply(reply)
        return
    with options.open_memory(setup=setup) as memory:
        recalled = memory.recall(" ".join(prompt), budget_tokens=budget, form=form, scopes=scopes)
    print_remarks(render.recalled_remarks(recalled))
    options.print(recalled, recalled.block or ())


@click.command("get")
@click.argument("location", metavar="PATH[:FROM[:LINES]]")
@click.option("--from", "start", type=click.IntRange(min=1), help="First line.  [default: 1]")
@click.option("--lines", type=click.IntRange(min=1), help="How many lines.  [default: 120]")
@shared_options
def get_command(
    options: SharedOptions, *, location: str, start: int | None, lines: int | None
) -> int:
    """Read part of a memory file.

    Write PATH, PATH:FROM or PATH:FROM:LINES, or what search shows: PATH:FROM-TO or
    PATH#LFROM-LTO.
    """
    if not location:
        raise click.BadParameter("give a path that search shows", param_hint="PATH")
    place = parse_location(location)
    first, count = place.window(start, lines)
    with options.open_memory() as memory:
        excerpt = memory.get(path_in(memory.workspace, place.path), start_line=first, lines=count)
    options.print(excerpt, excerpt.text if excerpt.lines else ())
    if not options.as_json:
        print_remarks(render.excerpt_remarks(excerpt))
    return int(not excerpt.lines and excerpt.start_line > 1)


def path_in(workspace: Path, named: str) -> str:
    """Return a path as the memory stores it; it may be relative to this subfolder."""
    if os.path.isabs(named) and is_inside(os.path.normpath(named), workspace):  # noqa: PTH117
        return os.path.relpath(named, workspace).replace(os.sep, "/")
    here = Path.cwd()
    is_below = here != workspace and is_inside(here, workspace)
    is_own = not named.startswith(".") and os.path.lexists(workspace / named)
    if not is_below or is_own or not os.path.lexists(here / named):
        return named
    stored = os.path.relpath(here / named, workspace).replace(os.sep, "/")
    notify(f"Using {stored} of {workspace}.")
    return stored


def glob_in(workspace: Path, named: str) -> str | None:
    """Return the glob to search by; None for everything.

    A folder stands for everything in it; a file or folder with wildcards in its name is not a glob.
    """
    if not (is_literal(named) or os.path.lexists(workspace / named) or os.path.lexists(named)):
        return named
    stored = path_in(workspace, named)
    folder = stored.removeprefix("./").strip("/")
    if folder in {"", "."}:
        return None
    if (workspace / folder).is_dir():
        return f"{escaped(folder)}/"
    return stored if is_literal(stored) else escaped(stored)
