"""`recollect cache`: the vectors that all agents of a home share."""

from __future__ import annotations

import click

from recollect.shells.cli.shared import (
    given,
    open_memory,
    print_json,
    print_lines,
    shared_options,
)


@click.group("cache", invoke_without_command=True)
@shared_options
@click.pass_context
def command(context: click.Context, /, **options: object) -> None:
    """Show the embedding cache, or prune it."""
    context.obj = given(context, options)
    if context.invoked_subcommand is None:
        from recollect.shells.render import status as render_status  # noqa: PLC0415 - not needed for --help

        with open_memory(context.obj) as memory:
            status = memory.cache_status()
        if context.obj["as_json"]:
            print_json(render_status.cache_json(status))
        else:
            print_lines(render_status.cache_text(status))


@command.command("prune")
@click.option(
    "--unused-days",
    type=click.IntRange(min=0),
    help="Drop vectors that no index run asked for in so many days.",
)
@click.option("--all", "everything", is_flag=True, help="Drop all of them.")
@shared_options
@click.pass_context
def prune(
    context: click.Context,
    /,
    *,
    unused_days: int | None,
    everything: bool,
    **options: object,
) -> None:
    """Drop vectors from the cache. Indexes keep theirs; searches do not change."""
    from recollect.shells.render import status as render_status  # noqa: PLC0415 - not needed for --help

    if everything == (unused_days is not None):
        raise click.UsageError("Give either --unused-days N or --all.")
    common = given(context, options)
    with open_memory(common) as memory:
        dropped = memory.prune_cache(unused_days=unused_days)
        status = memory.cache_status()
    if common["as_json"]:
        print_json(render_status.cache_json(status, dropped=dropped))
    else:
        print_lines(render_status.cache_text(status, dropped=dropped))
