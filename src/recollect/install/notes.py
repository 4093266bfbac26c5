"""What was added to which file, kept in the home, so that exactly that can be taken out again.

Holds the pieces of text that this package wrote itself, nothing else of anyone's file. Without it
an entry can still be taken out, but tables made for it stay behind, empty.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from recollect.text.files import replace_file

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Note:
    """What was added to one file."""

    pieces: tuple[str, ...] = ()
    """In the order in which they were added."""
    made: tuple[tuple[str, ...], ...] = ()
    """Tables and lists that were made on the way, outermost first."""
    made_file: bool = False
    made_folders: tuple[str, ...] = ()
    """Outermost first."""


class Notes:
    """The notes of one home."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def of(self, file: Path) -> Note | None:
        """Return the note on a file; None where there is none, or it cannot be read."""
        try:
            kept = self._all()[str(file)]
            return Note(
                pieces=tuple(map(str, kept["pieces"])),
                made=tuple(tuple(map(str, path)) for path in kept["made"]),
                made_file=bool(kept["made_file"]),
                made_folders=tuple(map(str, kept["made_folders"])),
            )
        except (KeyError, TypeError):
            return None

    def keep(self, file: Path, note: Note | None) -> None:
        """Write the note on a file down; None removes it.

        Raises:
            OSError: it cannot be written.

        """
        notes = self._all()
        if note is None and str(file) not in notes:
            return
        notes.pop(str(file), None)
        if note is not None:
            notes[str(file)] = asdict(note)
        self._file.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(notes, ensure_ascii=False, indent=2) + "\n"
        replace_file(self._file, text.encode(), private=True)

    def _all(self) -> dict[str, dict[str, list[str]]]:
        try:
            notes = json.loads(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return notes if isinstance(notes, dict) else {}
