"""`recollect get`: read part of a memory file."""

from __future__ import annotations

import re

import click

from recollect.shells.cli.shared import given, open_memory, print_json, shared_options

_LOCATION = re.compile(
    r"(?P<path>.+?)"
    r"(?:(?::|\#L)(?P<start>[1-9][0-9]*)(?:-L?(?P<end>[1-9][0-9]*)|:(?P<lines>[1-9][0-9]*))?)?"
)
_LINES = 120


@click.command("get")
@click.argument("location", metavar="PATH[:FROM[:LINES]]")
@click.option("--from", "start", type=click.IntRange(min=1), help="First line.  [default: 1]")
@click.option("--lines", type=click.IntRange(min=1), help="How many lines.  [default: 120]")
@shared_options
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    location: str,
    start: int | None,
    lines: int | None,
    **options: object,
) -> None:
    """Read part of a memory file.

    Understood are PATH, PATH:FROM, PATH:FROM:LINES, and what search shows: PATH:FROM-TO and
    PATH#LFROM-LTO.
    """
    from recollect.shells import render  # noqa: PLC0415 - not needed for --help

    parts = _LOCATION.fullmatch(location)
    if parts is None:
        raise click.BadParameter("give a path, as search shows it", param_hint="PATH")
    first = start or int(parts["start"] or 1)
    count = lines or int(parts["lines"] or _LINES)
    if parts["end"] and not lines:
        count = max(int(parts["end"]) - first + 1, 1)
    common = given(context, options)
    with open_memory(common) as memory:
        excerpt = memory.get(parts["path"], start_line=first, lines=count)
    if common["as_json"]:
        print_json(render.excerpt_json(excerpt))
        return
    if not excerpt.lines:
        click.echo(f"{excerpt.path} has no line {first}.", err=True)
        return
    click.echo(excerpt.text)
    if excerpt.next_line is not None:
        click.echo(f"There is more: {excerpt.path}:{excerpt.next_line}", err=True)
