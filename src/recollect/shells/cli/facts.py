"""`recollect facts`: look facts up, supersede, forget, take them along."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect.shells.cli.dates import DAY, end_of
from recollect.shells.cli.shared import (
    given,
    open_memory,
    print_json,
    print_lines,
    shared_options,
)

if TYPE_CHECKING:
    from datetime import date


@click.group("facts")
@shared_options
@click.pass_context
def command(context: click.Context, /, **options: object) -> None:
    """Look up, supersede, forget, export and import facts."""
    context.obj = given(context, options)


@command.command("list")
@click.option("--as-of", type=DAY, metavar="DAY", help="As they held on this day.")
@click.option("--include-superseded", is_flag=True, help="Also those that others replaced.")
@click.option("--scope", "scopes", multiple=True, help="Only of this scope; may be repeated.")
@shared_options
@click.pass_context
def list_command(
    context: click.Context,
    /,
    *,
    as_of: date | None,
    include_superseded: bool,
    scopes: tuple[str, ...],
    **options: object,
) -> None:
    """Show the facts that hold."""
    from recollect.shells import render_facts  # noqa: PLC0415 - not needed for --help

    common = given(context, options)
    with open_memory(common) as memory:
        facts = memory.facts.all(
            scopes=frozenset(scopes) or None,
            as_of=end_of(as_of),
            include_superseded=include_superseded,
        )
    if common["as_json"]:
        print_json(render_facts.facts_json(facts))
    else:
        print_lines(render_facts.facts_text(facts))


@command.command("show")
@click.argument("fact_id", metavar="ID")
@shared_options
@click.pass_context
def show_command(context: click.Context, /, *, fact_id: str, **options: object) -> None:
    """Show a fact with its history, oldest first."""
    from recollect.shells import render_facts  # noqa: PLC0415 - not needed for --help

    common = given(context, options)
    with open_memory(common) as memory:
        history = memory.facts.history(fact_id)
    if common["as_json"]:
        print_json(render_facts.facts_json(history))
    else:
        print_lines(render_facts.facts_text(history))


@command.command("supersede")
@click.argument("old", metavar="OLD-ID")
@click.argument("new", metavar="NEW-ID")
@shared_options
@click.pass_context
def supersede_command(context: click.Context, /, *, old: str, new: str, **options: object) -> None:
    """Mark OLD-ID as superseded by NEW-ID."""
    from recollect.shells import render_facts  # noqa: PLC0415 - not needed for --help

    common = given(context, options)
    with open_memory(common) as memory:
        fact = memory.facts.supersede(old, by=new)
    if common["as_json"]:
        print_json(render_facts.fact_json(fact))
    else:
        print_lines(render_facts.facts_text([fact]))


@command.command("forget")
@click.argument("fact_id", metavar="ID")
@shared_options
@click.pass_context
def forget_command(context: click.Context, /, *, fact_id: str, **options: object) -> None:
    """Remove a fact for good."""
    from recollect.shells import render_facts  # noqa: PLC0415 - not needed for --help

    common = given(context, options)
    with open_memory(common) as memory:
        fact = memory.facts.forget(fact_id)
    if common["as_json"]:
        print_json({"forgotten": render_facts.fact_json(fact)})
    else:
        print_lines([(f"forgotten: {fact.text}", "")])


@command.command("prune")
@click.option("--dry-run", is_flag=True, help="Only say what would go, and why.")
@shared_options
@click.pass_context
def prune_command(context: click.Context, /, *, dry_run: bool, **options: object) -> None:
    """Remove facts that expired."""
    from recollect.shells import render_facts  # noqa: PLC0415 - not needed for --help

    common = given(context, options)
    with open_memory(common) as memory:
        pruned = memory.facts.prune(dry_run=dry_run)
    if common["as_json"]:
        print_json(render_facts.pruned_json(pruned, dry_run=dry_run))
    else:
        print_lines(render_facts.pruned_text(pruned, dry_run=dry_run))


@command.command("export")
@shared_options
@click.pass_context
def export_command(context: click.Context, /, **options: object) -> None:
    """Print every fact as a line of JSON."""
    with open_memory(given(context, options)) as memory:
        lines = memory.facts.export()
    for line in lines:
        click.echo(line)


@command.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@shared_options
@click.pass_context
def import_command(context: click.Context, /, *, file: Path, **options: object) -> None:
    """Take in facts that `facts export` printed; FILE may be - for standard input."""
    from recollect.shells import render_facts  # noqa: PLC0415 - not needed for --help

    common = given(context, options)
    if str(file) == "-":
        lines = sys.stdin.read().splitlines()
    elif file.is_file():
        lines = file.read_text(encoding="utf-8").splitlines()
    else:
        raise click.BadParameter(f"there is no file {file}")
    with open_memory(common) as memory:
        plan = memory.facts.bring(lines)
    if common["as_json"]:
        print_json(render_facts.import_json(plan))
    else:
        print_lines(render_facts.import_text(plan))
