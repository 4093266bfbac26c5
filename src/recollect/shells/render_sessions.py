"""What `sessions` says of transcripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.shells.render import failure_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from recollect.reports import Failure, SessionStatus
    from recollect.shells.render import Json, Line


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


def list_text(sessions: Sequence[SessionStatus]) -> Iterator[Line]:
    """Yield what `sessions list` prints."""
    if not sessions:
        yield "No transcript belongs to this memory.", ""
    for each in sessions:
        kept = ", imported" if each.is_imported else ""
        yield f"{each.path}  {each.size_bytes / 1e3:.0f} kB, {state_of(each)}{kept}", ""


def list_remarks(failures: Sequence[Failure], *, is_wanted: bool) -> Iterator[Line]:
    """Yield what is in the way of searching them."""
    for failure in failures:
        yield f"{failure.path}: {failure.reason}", "yellow"
        yield f"  → {failure.action}", "yellow"
    if not is_wanted:
        yield "Transcripts are not searched.", "yellow"
        yield '  → Set sources = ["memory", "sessions"] in your settings.', "yellow"


def state_of(session: SessionStatus) -> str:
    """Return what became of a transcript, in a word or two."""
    if session.is_forgotten:
        return "forgotten"
    if session.excluded:
        return f"left out: {session.excluded}"
    return "indexed" if session.is_indexed else "not indexed"
