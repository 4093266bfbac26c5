"""`recollect get`: read part of a memory file."""

from __future__ import annotations

import re

import click

from recollect.shells.cli.shared import given, open_memory, print_json, shared_options

_LOCATION = re.compile(r"(?P<path>.+?)(?::(?P<start>\d+))?(?::(?P<lines>\d+))?")


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
    """Read part of a memory file, by the path that search shows."""
    from recollect.shells import render  # noqa: PLC0415 - not needed for --help

    parts = _LOCATION.fullmatch(location)
    if parts is None:
        raise click.BadParameter("give a path, as search shows it", param_hint="PATH")
    common = given(context, options)
    with open_memory(common) as memory:
        excerpt = memory.get(
            parts["path"],
            start_line=start or int(parts["start"] or 1),
            lines=lines or int(parts["lines"] or 120),
        )
    if common["as_json"]:
        print_json(render.excerpt_json(excerpt))
        return
    click.echo(excerpt.text)
    if excerpt.next_line is not None:
        click.echo(f"More from line {excerpt.next_line}: --from {excerpt.next_line}", err=True)
