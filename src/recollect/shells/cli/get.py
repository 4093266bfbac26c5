"""`recollect get`: read part of a memory file."""

from __future__ import annotations

import click

from recollect.shells.cli.shared import given, open_memory, print_json, shared_options
from recollect.shells.location import parse_location

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
    from recollect.shells.render import search as render  # noqa: PLC0415 - not needed for --help

    if not location:
        raise click.BadParameter("give a path, as search shows it", param_hint="PATH")
    place = parse_location(location)
    first = start or place.start_line or 1
    count = lines or place.lines_from(first) or _LINES
    common = given(context, options)
    with open_memory(common) as memory:
        excerpt = memory.get(place.path, start_line=first, lines=count)
    if common["as_json"]:
        print_json(render.excerpt_json(excerpt))
        return
    if not excerpt.lines:
        click.echo(f"{excerpt.path} has no line {first}.", err=True)
        return
    click.echo(excerpt.text)
    if excerpt.next_line is not None:
        click.echo(f"There is more: {excerpt.path}:{excerpt.next_line}", err=True)
