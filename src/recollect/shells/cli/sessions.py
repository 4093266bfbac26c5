"""Transcripts of past sessions: `sessions list`, `import`, `forget`."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from recollect.shells.cli.shared import Group, SharedOptions, notify, print_remarks, shared_options
from recollect.shells.render.shared import warning_lines

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from recollect.reports import SessionStatus
    from recollect.shells.render.shared import Line

ENABLE = (
    'Set sources = ["memory", "sessions"] in your settings:'
    " `recollect config set sources memory,sessions`."
)


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
    for each in failures:
        print_remarks(warning_lines(f"{each.path}: {each.reason}", each.action))
    if not is_searched:
        print_remarks(warning_lines("Transcripts are not searched.", ENABLE))
    options.print(
        {
            "searched": is_searched,
            "sessions": sessions,
            "forgotten": sorted(forgotten),
            "failed": failures,
        },
        _list_text(sessions, forgotten=forgotten, program=options.program),
    )


@sessions_command.command("import")
@click.argument("paths", nargs=-1, type=click.Path())
@shared_options
def import_sessions(options: SharedOptions, *, paths: tuple[str, ...]) -> None:
    """Copy transcripts, so that they are kept when their agent deletes them.

    PATHS are files or folders of transcripts, data exports of ChatGPT or claude.ai (the zip file,
    or the folder it unpacks to), or ~/.claude-mem; without any, all transcripts of this memory.
    """
    notices: list[str] = []

    def note(notice: str) -> None:
        notices.append(notice)
        notify(notice)

    with options.open_memory(may_be_empty=True) as memory:
        imported = memory.sessions.import_transcripts(paths, on_notice=note)
        is_searched = "sessions" in memory.config.sources
        has_copies = any(each.is_imported for each in memory.sessions.all()[0])
    is_unchanged = has_copies and not notices and not imported
    why = ": already imported, unchanged" if is_unchanged else ""
    lines = [(f"{len(imported)} imported{why}", ""), *((path, "dim") for path in imported)]
    options.print({"imported": imported}, lines)
    if imported and not is_searched:
        print_remarks(warning_lines("They are not searched.", ENABLE))


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
        options.print({"restored": chosen}, _restored_text(chosen, existing=existing))
    else:
        lines = _forgotten_text(chosen, last=last, program=options.program)
        options.print({"forgotten": chosen, "deleted": last}, lines)


def _list_text(
    sessions: Sequence[SessionStatus], *, forgotten: Collection[str], program: str
) -> Iterator[Line]:
    """Yield what `sessions list` prints: transcripts, then those that are forgotten and gone."""
    if not sessions:
        yield "No transcripts belong to this memory.", ""
    for each in sessions:
        about = (
            f'"{each.title}"' if each.title else "",
            each.changed.isoformat() if each.changed else "",
            f"{max(1, round(each.size_bytes / 1e3))} kB",
            each.state,
            "imported" if each.is_imported else "",
        )
        yield f"{each.path}  {', '.join(filter(None, about))}", ""
        if each.is_forgotten:
            yield f"  → `{_undo(each.path, program)}` makes it searchable again.", "dim"
    for path in sorted({*forgotten}.difference(each.path for each in sessions)):
        yield f"{path}  forgotten, and no longer there", ""
        yield f"  → `{_undo(path, program)}` allows it to be imported again.", "dim"


def _forgotten_text(paths: Sequence[str], *, last: Collection[str], program: str) -> Iterator[Line]:
    """Yield what `sessions forget` prints; of the `last` ones, the only copy was deleted."""
    for path in paths:
        yield f"Forgotten: {path}", ""
        if path in last:
            yield "  The only copy was deleted; it cannot be restored.", "dim"
        else:
            yield f"  → `{_undo(path, program)}` undoes that.", "dim"


def _restored_text(paths: Sequence[str], *, existing: Collection[str]) -> Iterator[Line]:
    """Yield what `sessions forget --undo` prints."""
    for path in paths:
        yield f"No longer forgotten: {path}", ""
        if path not in existing:
            yield "  The file is missing: import it with `recollect sessions import FILE`.", ""


def _undo(path: str, program: str) -> str:
    return f"{program} sessions forget --undo {shlex.quote(path)}"
