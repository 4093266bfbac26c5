"""Transcripts of past sessions: `sessions list`, `import`, `forget`."""

from __future__ import annotations

import click

from recollect.shells.cli.shared import Group, SharedOptions, notify, print_remarks, shared_options
from recollect.shells.render import sessions as render


@click.group("sessions", cls=Group)
@shared_options
def sessions_command(_options: SharedOptions) -> None:
    """List, import and forget the transcripts that belong to this memory."""


@sessions_command.command("list")
@shared_options
def list_sessions(options: SharedOptions) -> None:
    """Show the transcripts that belong to this memory and whether they are indexed."""
    with options.open_memory(may_be_empty=True) as memory:
        sessions, failures = memory.sessions.all()
        forgotten = memory.sessions.forgotten()
        is_searched = "sessions" in memory.config.sources
    print_remarks(render.list_remarks(failures, is_searched=is_searched))
    options.print(
        {
            "searched": is_searched,
            "sessions": sessions,
            "forgotten": sorted(forgotten),
            "failed": failures,
        },
        render.list_text(sessions, forgotten=forgotten, program=options.program),
    )


@sessions_command.command("import")
@click.argument("paths", nargs=-1, type=click.Path())
@shared_options
def import_sessions(options: SharedOptions, *, paths: tuple[str, ...]) -> None:
    """Copy transcripts, so that they are kept when their agent deletes them.

    PATHS are files or folders of transcripts, or data exports of ChatGPT or claude.ai (the zip
    file, or the folder it unpacks to); without any, all transcripts that belong to this memory.
    """
    notices: list[str] = []

    def note(notice: str) -> None:
        notices.append(notice)
        notify(notice)

    with options.open_memory(may_be_empty=True) as memory:
        imported = memory.sessions.import_transcripts(paths, on_notice=note)
        is_searched = "sessions" in memory.config.sources
        has_copies = any(each.is_imported for each in memory.sessions.all()[0])
    is_unchanged = has_copies and not notices
    options.print({"imported": imported}, render.import_text(imported, is_unchanged=is_unchanged))
    print_remarks(render.import_remarks(imported, is_searched=is_searched))


@sessions_command.command("forget")
@click.argument("names", nargs=-1, required=True)
@click.option("--undo", is_flag=True, help="Make them searchable again.")
@click.option(
    "--yes", is_flag=True, help="Also delete imported copies that are the only ones left."
)
@shared_options
def forget_sessions(
    options: SharedOptions, *, names: tuple[str, ...], undo: bool, yes: bool
) -> None:
    """Remove transcripts from the index for good, and delete their imported copies.

    NAMES are paths as shown by `sessions list`, file names, session ids, or titles that only one
    transcript has. The agent's own files are not touched, so --undo restores what the agent still
    has. If it has none, the imported copy is the only one left and is deleted only with --yes.
    """
    with options.open_memory(may_be_empty=True) as memory:
        book = memory.sessions
        last = [] if undo else book.last_copies(names)
        chosen = book.restore(names) if undo else book.forget(names, last_copies=yes)
        existing = {each.path for each in book.all()[0]}
    if undo:
        options.print({"restored": chosen}, render.restored_text(chosen, existing=existing))
    else:
        lines = render.forgotten_text(chosen, last=last, program=options.program)
        options.print({"forgotten": chosen, "deleted": last}, lines)
