"""`recollect recall`: the block to inject at the start of a turn."""

from __future__ import annotations

import click

from recollect.shells.cli.shared import given, open_memory, print_json, print_lines, shared_options

_FORMS = ("full", "short", "index")


@click.command("recall")
@click.argument("prompt", nargs=-1, required=True)
@click.option(
    "--budget", type=int, default=800, help="The most tokens it may take.  [default: 800]"
)
@click.option("--form", type=click.Choice(_FORMS), default="full", help="How much of each hit.")
@click.option("--scope", "scopes", multiple=True, help="Facts of this scope too: user:ada.")
@shared_options
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    prompt: tuple[str, ...],
    budget: int,
    form: str,
    scopes: tuple[str, ...],
    **options: object,
) -> None:
    """Print what memory holds on PROMPT, fenced as data, within a budget of tokens."""
    from recollect.shells.render import search as render  # noqa: PLC0415 - not needed for --help

    common = given(context, options)
    with open_memory(common) as memory:
        recalled = memory.recall(" ".join(prompt), budget_tokens=budget, form=form, scopes=scopes)
    if common["as_json"]:
        print_json(render.recalled_json(recalled))
    elif recalled.block:
        click.echo(recalled.block)
    print_lines(render.results_remarks(recalled.results), to_stderr=True)
