"""The ignore file: what a folder's owner does not want remembered, in the words of .gitignore."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.reports import Failure

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

IGNORE_FILE = ".recollectignore"
_NOTE = ".md"


def ignored_by(folder: Path, *, shown: str) -> tuple[Callable[[str], bool] | None, Failure | None]:
    """Return what a folder's ignore file leaves out, by paths relative to the folder.

    Args:
        folder: where the file would be.
        shown: the folder's path as stored, for a message.

    """
    file = folder / IGNORE_FILE
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return None, None
    except (OSError, UnicodeDecodeError) as error:
        reason = f"cannot be read, so nothing is left out by it: {error}"
        return None, Failure(f"{shown}/{IGNORE_FILE}", reason, "Save it as readable UTF-8 text.")
    import pathspec  # noqa: PLC0415 - only who has such a file pays for it

    try:
        rules = pathspec.GitIgnoreSpec.from_lines(lines)
    except (ValueError, TypeError) as error:
        reason = f"has a line that is no pattern, so nothing is left out by it: {error}"
        return None, Failure(f"{shown}/{IGNORE_FILE}", reason, "Correct the line.")

    def is_ignored(path: str) -> bool:
        # A pattern that ends in a slash means folders only, and what is no note may be one.
        return rules.match_file(path) or (
            not path.lower().endswith(_NOTE) and rules.match_file(f"{path}/")
        )

    return is_ignored, None
