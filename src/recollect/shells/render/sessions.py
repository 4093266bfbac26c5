"""What `sessions` prints."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from recollect.shells.render.shared import warning_lines

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from recollect.reports import Failure, SessionStatus
    from recollect.shells.render.shared import Line

_ENABLE = (
    'Set sources = ["memory", "sessions"] in your settings:'
    " `recollect config set sources memory,sessions`."
)


def list_text(
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


def list_remarks(failures: Sequence[Failure], *, is_searched: bool) -> Iterator[Line]:
    """Yield why transcripts are not searched."""
    for failure in failures:
        yield from warning_lines(f"{failure.path}: {failure.reason}", failure.action)
    if not is_searched:
        yield from warning_lines("Transcripts are not searched.", _ENABLE)


def import_text(imported: Sequence[str], *, is_unchanged: bool) -> Iterator[Line]:
    """Yield what `sessions import` prints."""
    why = ": already imported, unchanged" if is_unchanged and not imported else ""
    yield f"{len(imported)} imported{why}", ""
    for path in imported:
        yield path, "dim"


def import_remarks(imported: Sequence[str], *, is_searched: bool) -> Iterator[Line]:
    """Yield why imported transcripts are not searched."""
    if imported and not is_searched:
        yield from warning_lines("They are not searched.", _ENABLE)


def forgotten_text(paths: Sequence[str], *, last: Collection[str], program: str) -> Iterator[Line]:
    """Yield what `sessions forget` prints; of the `last` ones, the only copy was deleted."""
    for path in paths:
        yield f"Forgotten: {path}", ""
        if path in last:
            yield "  The only copy was deleted; it cannot be restored.", "dim"
        else:
            yield f"  → `{_undo(path, program)}` undoes that.", "dim"


def restored_text(paths: Sequence[str], *, existing: Collection[str]) -> Iterator[Line]:
    """Yield what `sessions forget --undo` prints."""
    for path in paths:
        yield f"No longer forgotten: {path}", ""
        if path not in existing:
            yield "  The file is missing: import it with `recollect sessions import FILE`.", ""


def _undo(path: str, program: str) -> str:
    return f"{program} sessions forget --undo {shlex.quote(path)}"
