"""What `sessions` says of transcripts."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from recollect.shells.render.search import failure_json

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from recollect.reports import Failure, SessionStatus
    from recollect.shells.render.search import Json, Line

_WANTED = (
    'Set sources = ["memory", "sessions"] in your settings:'
    " `recollect config set sources memory,sessions`."
)


def list_json(
    sessions: Sequence[SessionStatus], failures: Sequence[Failure], *, is_wanted: bool
) -> Json:
    """Return the contract of `sessions list --json`."""
    return {
        "searched": is_wanted,
        "sessions": [
            {
                "path": each.path,
                "file": each.file,
                "format": each.format,
                "bytes": each.size_bytes,
                "state": state_of(each),
                "imported": each.is_imported,
            }
            for each in sessions
        ],
        "failed": [failure_json(failure) for failure in failures],
    }


def list_text(sessions: Sequence[SessionStatus], *, program: str) -> Iterator[Line]:
    """Yield what `sessions list` prints."""
    if not sessions:
        yield "No transcript belongs to this memory.", ""
    for each in sessions:
        kept = ", imported" if each.is_imported else ""
        yield f"{each.path}  {each.size_bytes / 1e3:.0f} kB, {state_of(each)}{kept}", ""
        if each.is_forgotten:
            yield f"  → `{_undo(each.path, program)}` lets it be searched again.", "dim"


def list_remarks(failures: Sequence[Failure], *, is_wanted: bool) -> Iterator[Line]:
    """Yield what is in the way of searching them."""
    for failure in failures:
        yield f"{failure.path}: {failure.reason}", "yellow"
        yield f"  → {failure.action}", "yellow"
    if not is_wanted:
        yield "Transcripts are not searched.", "yellow"
        yield f"  → {_WANTED}", "yellow"


def import_remarks(
    brought: Sequence[str], *, is_wanted: bool, has_forgotten: bool, program: str
) -> Iterator[Line]:
    """Yield why something may not have been imported, or is not searched."""
    if has_forgotten and not brought:
        yield "Those that were forgotten are left out.", "yellow"
        yield f"  → `{_undo('NAME', program)}` lets one be imported again.", "yellow"
    if not is_wanted:
        yield "They are not searched.", "yellow"
        yield f"  → {_WANTED}", "yellow"


def forgotten_text(paths: Sequence[str], *, last: Collection[str], program: str) -> Iterator[Line]:
    """Yield what `sessions forget` prints.

    Args:
        paths: of what was forgotten.
        last: of those whose only copy was deleted.
        program: begins the commands that are proposed.

    """
    for path in paths:
        yield f"forgotten: {path}", ""
        if path in last:
            yield "  The only copy was deleted; it cannot be brought back.", "dim"
        else:
            yield f"  → `{_undo(path, program)}` takes that back.", "dim"


def restored_text(paths: Sequence[str], *, there: Collection[str]) -> Iterator[Line]:
    """Yield what `sessions forget --undo` prints."""
    for path in paths:
        yield f"no longer forgotten: {path}", ""
        if path not in there:
            yield (
                "  It is not there: `recollect sessions import FILE` brings it, if you have it.",
                "",
            )


def _undo(path: str, program: str) -> str:
    return f"{program} sessions forget --undo {shlex.quote(path)}"


def state_of(session: SessionStatus) -> str:
    """Return what became of a transcript, in a word or two."""
    if session.is_forgotten:
        return "forgotten"
    if session.excluded:
        return f"left out: {session.excluded}"
    return "indexed" if session.is_indexed else "not indexed"
