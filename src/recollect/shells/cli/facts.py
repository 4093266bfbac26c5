"""`recollect facts`: look facts up, supersede, forget, take them along."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect.shells.cli.proposal import program
from recollect.shells.cli.shared import (
    given,
    open_memory,
    print_json,
    print_lines,
    shared_options,
)
from recollect.shells.dates import DAY, end_of

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
@click.option("--category", default="", help="Only of this category: preference, decision, …")
@click.option("--entity", default="", help="Only about this person or thing.")
@click.option(
    "--tag", "tags", multiple=True, help="Only with this tag; repeated, with all of them."
)
@click.option("--text", default="", help="Only those that say these words.")
@shared_options
@click.pass_context
def list_command(
    context: click.Context,
    /,
    *,
    as_of: date | None,
    include_superseded: bool,
    scopes: tuple[str, ...],
    category: str,
    entity: str,
    tags: tuple[str, ...],
    text: str,
    **options: object,
) -> None:
    """Show the facts that hold, and mark those that contradict one another."""
    from recollect.facts.listing import Wanted  # noqa: PLC0415 - not needed for --help
    from recollect.shells.render import facts as render_facts  # noqa: PLC0415

    common = given(context, options)
    wanted = Wanted(scopes=scopes, category=category, entity=entity, tags=tags, text=text)
    with open_memory(common) as memory:
        listing = memory.facts.listed(
            wanted, as_of=end_of(as_of), include_superseded=include_superseded
        )
    if common["as_json"]:
        print_json(render_facts.listing_json(listing))
    else:
        is_narrowed = not wanted.is_everything
        begin = program(common)
        print_lines(
            render_facts.listing_text(listing, program=begin, is_narrowed=is_narrowed, as_of=as_of)
        )
    print_lines(render_facts.listing_remarks(listing), to_stderr=True)


@command.command("show")
@click.argument("fact_id", metavar="ID")
@shared_options
@click.pass_context
def show_command(context: click.Context, /, *, fact_id: str, **options: object) -> None:
    """Show a fact with its history, oldest first."""
    from recollect.shells.render import facts as render_facts  # noqa: PLC0415 - not needed for --help

    common = given(context, options)
    with open_memory(common) as memory:
        history = memory.facts.history(fact_id)
    if common["as_json"]:
        print_json(render_facts.facts_json(history))
    else:
        print_lines(render_facts.facts_text(history))


@command.command("supersede")
@click.argument("old", metavar="OLD-ID")
@click.argument("new", metavar="[NEW-ID]", required=False)
@click.option("--undo", is_flag=True, help="Let OLD-ID, which was superseded, hold again.")
@shared_options
@click.pass_context
def supersede_command(
    context: click.Context, /, *, old: str, new: str | None, undo: bool, **options: object
) -> None:
    """Mark OLD-ID as superseded by NEW-ID, or take that back with --undo OLD-ID."""
    from recollect.facts.listing import Wanted  # noqa: PLC0415 - not needed for --help
    from recollect.shells.render import facts as render_facts  # noqa: PLC0415

    if undo == (new is not None):
        raise click.UsageError("Name OLD-ID and NEW-ID, or --undo and OLD-ID alone.", context)
    common = given(context, options)
    begin = program(common)
    with open_memory(common) as memory:
        if new is None:
            restored = memory.facts.restore(old)
            listing = memory.facts.listed(Wanted())
            shape = render_facts.restored_json(restored, listing)
            lines = render_facts.restored_text(restored, listing, program=begin)
        else:
            done = memory.facts.supersede(old, by=new)
            shape = render_facts.superseded_json(done, program=begin)
            lines = render_facts.superseded_text(done, program=begin)
    if common["as_json"]:
        print_json(shape)
    else:
        print_lines(lines)


@command.command("forget")
@click.argument("fact_id", metavar="ID")
@shared_options
@click.pass_context
def forget_command(context: click.Context, /, *, fact_id: str, **options: object) -> None:
    """Remove a fact for good; what it had replaced holds again."""
    from recollect.shells.render import facts as render_facts  # noqa: PLC0415 - not needed for --help

    common = given(context, options)
    with open_memory(common) as memory:
        before = {fact.id for fact in memory.facts.all()}
        fact = memory.facts.forget(fact_id)
        restored = [each for each in memory.facts.all() if each.id not in before]
    if common["as_json"]:
        print_json(render_facts.forgotten_json(fact, restored))
    else:
        print_lines(render_facts.forgotten_text(fact, restored))


@command.command("prune")
@click.option("--dry-run", is_flag=True, help="Only say what would go, and why.")
@shared_options
@click.pass_context
def prune_command(context: click.Context, /, *, dry_run: bool, **options: object) -> None:
    """Remove facts that expired."""
    from recollect.shells.render import facts as render_facts  # noqa: PLC0415 - not needed for --help

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
    """Print every fact as a line of JSON; with --json all of them as one document."""
    common = given(context, options)
    with open_memory(common) as memory:
        lines = memory.facts.export()
    if common["as_json"]:
        print_json({"facts": [json.loads(line) for line in lines]})
    else:
        click.echo("\n".join(lines), nl=bool(lines))


@command.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@shared_options
@click.pass_context
def import_command(context: click.Context, /, *, file: Path, **options: object) -> None:
    """Take in facts that `facts export` printed; FILE may be - for standard input."""
    from recollect.shells.render import facts as render_facts  # noqa: PLC0415 - not needed for --help

    common = given(context, options)
    lines = _read(file).splitlines()
    with open_memory(common) as memory:
        plan = memory.facts.bring(lines)
    if common["as_json"]:
        print_json(render_facts.import_json(plan))
    else:
        print_lines(render_facts.import_text(plan, program=program(common)))


def _read(file: Path) -> str:
    from recollect.errors import NotFoundError, UsageError  # noqa: PLC0415 - not needed for --help

    is_piped = str(file) == "-"
    if not is_piped and not file.is_file():
        raise NotFoundError(
            f"There is no file {file}.", action="`recollect facts export > FILE` makes one."
        )
    try:
        return (sys.stdin.buffer.read() if is_piped else file.read_bytes()).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(
            f"{file} is no text in UTF-8.", action="Give what `recollect facts export` printed."
        ) from None
