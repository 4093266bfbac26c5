"""`recollect remember`: write a fact down."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recollect.shells.cli.dates import DAY, start_of
from recollect.shells.cli.proposal import program
from recollect.shells.cli.shared import (
    given,
    open_memory,
    print_json,
    print_lines,
    shared_options,
)

if TYPE_CHECKING:
    from datetime import date


@click.command("remember")
@click.argument("text", nargs=-1, required=True)
@click.option("--category", default="other", help="What kind of fact: preference, decision, …")
@click.option("--entity", default="", help="Whom or what it is about.")
@click.option("--key", default="", help="Which property of the entity.")
@click.option("--value", default="", help="The property's value.")
@click.option("--tag", "tags", multiple=True, help="A word to find it by; may be repeated.")
@click.option("--scope", default="global", help="global, user:NAME, agent:NAME or session:NAME.")
@click.option("--valid-from", type=DAY, metavar="DAY", help="Since when it holds.")
@click.option("--supersedes", multiple=True, metavar="ID", help="The fact that it replaces.")
@shared_options
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    text: tuple[str, ...],
    category: str,
    entity: str,
    key: str,
    value: str,
    tags: tuple[str, ...],
    scope: str,
    valid_from: date | None,
    supersedes: tuple[str, ...],
    **options: object,
) -> None:
    """Write TEXT down as a fact, in memory/facts/ of the workspace."""
    from recollect.shells import render_facts  # noqa: PLC0415 - not needed for --help

    common = given(context, options)
    with open_memory(common) as memory:
        remembered = memory.facts.remember(
            " ".join(text),
            category=category,
            entity=entity,
            key=key,
            value=value,
            tags=tags,
            scope=scope,
            valid_from=start_of(valid_from),
            supersedes=supersedes,
        )
    if common["as_json"]:
        print_json(render_facts.remembered_json(remembered, program=program(common)))
    else:
        print_lines(render_facts.remembered_text(remembered, program=program(common)))
    print_lines(((notice, "yellow") for notice in remembered.notices), to_stderr=True)
