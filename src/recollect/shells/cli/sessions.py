"""`recollect sessions`: the conversations that belong to a memory."""

from __future__ import annotations

import click

from recollect.shells.cli.proposal import program
from recollect.shells.cli.shared import (
    given,
    open_memory,
    print_json,
    print_lines,
    shared_options,
)


@click.group("sessions")
@shared_options
@click.pass_context
def command(context: click.Context, /, **options: object) -> None:
    """List, keep and forget the transcripts that belong to this memory."""
    context.obj = given(context, options)


@command.command("list")
@shared_options
@click.pass_context
def list_command(context: click.Context, /, **options: object) -> None:
    """Show the transcripts that belong to this memory and what became of them."""
    from recollect.shells.render import sessions as render_sessions  # noqa: PLC0415 - not needed for --help

    common = given(context, options)
    with open_memory(common) as memory:
        sessions, failures = memory.sessions.all()
        is_wanted = "sessions" in memory.config.sources
    print_lines(render_sessions.list_remarks(failures, is_wanted=is_wanted), to_stderr=True)
    if common["as_json"]:
        print_json(render_sessions.list_json(sessions, failures, is_wanted=is_wanted))
    else:
        print_lines(render_sessions.list_text(sessions, program=program(common)))


@command.command("import")
@click.argument("paths", nargs=-1, type=click.Path())
@shared_options
@click.pass_context
def import_command(context: click.Context, /, *, paths: tuple[str, ...], **options: object) -> None:
    """Keep transcripts in the home, so that they outlive their agent's clean-up.

    PATHS are files or folders; without any, all transcripts that belong to this memory.
    """
    from recollect.shells.render import sessions as render_sessions  # noqa: PLC0415 - not needed for --help

    common = given(context, options)
    with open_memory(common) as memory:
        brought = memory.sessions.bring(paths)
        is_wanted = "sessions" in memory.config.sources
        has_forgotten = bool(memory.sessions.forgotten())
    if common["as_json"]:
        print_json({"imported": brought})
    else:
        print_lines([(f"{len(brought)} imported", ""), *((path, "dim") for path in brought)])
    lines = render_sessions.import_remarks(
        brought, is_wanted=is_wanted, has_forgotten=has_forgotten, program=program(common)
    )
    print_lines(lines, to_stderr=True)


@command.command("forget")
@click.argument("names", nargs=-1, required=True)
@click.option("--undo", is_flag=True, help="Let them be searched again.")
@click.option("--yes", is_flag=True, help="Delete imported copies that are the only ones, too.")
@shared_options
@click.pass_context
def forget_command(
    context: click.Context, /, *, names: tuple[str, ...], undo: bool, yes: bool, **options: object
) -> None:
    """Take transcripts out of the index for good, and delete imported copies.

    NAMES are paths as `sessions list` shows them, file names or session ids. The agent's own
    files are not touched, so --undo brings back what the agent still has. Where it has none any
    more, the imported copy is the only one, and goes only with --yes.
    """
    from recollect.shells.render import sessions as render_sessions  # noqa: PLC0415 - not needed for --help

    common = given(context, options)
    with open_memory(common) as memory:
        book = memory.sessions
        last = [] if undo else book.last_copies(names)
        chosen = book.restore(names) if undo else book.forget(names, last_copies=yes)
        there = {each.path for each in book.all()[0]}
    if common["as_json"]:
        print_json({"restored": chosen} if undo else {"forgotten": chosen, "deleted": last})
    elif undo:
        print_lines(render_sessions.restored_text(chosen, there=there))
    else:
        print_lines(render_sessions.forgotten_text(chosen, last=last, program=program(common)))
