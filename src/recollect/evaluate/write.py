"""The files that an evaluation leaves: into folders that are there, whole or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.errors import RecollectError, UsageError
from recollect.text.files import replace_file

if TYPE_CHECKING:
    from pathlib import Path


def check_folder(file: Path, *, option: str) -> None:
    """Refuse a file whose folder is not there: a mistyped name must not make one.

    Raises:
        UsageError: there is no such folder.
        RecollectError: it cannot be looked at.

    """
    try:
        is_there = file.parent.is_dir()
    except OSError as error:
        raise unwritable(file, error, option=option) from error
    if not is_there:
        raise UsageError(
            f"There is no folder {file.parent}.",
            action=f"Make it first, or name a file in another folder with {option}.",
        )


def write_file(file: Path, text: str, *, option: str) -> None:
    """Give a file a new content in one step.

    Raises:
        UsageError: its folder is not there.
        RecollectError: it cannot be written; it is left as it was.

    """
    check_folder(file, option=option)
    try:
        replace_file(file, text.encode())
    except OSError as error:
        raise unwritable(file, error, option=option) from error


def unwritable(file: Path, error: OSError, *, option: str) -> RecollectError:
    """Return what to raise; only the reason is told, the error may name a temporary file."""
    return RecollectError(
        f"{file} cannot be written ({error.strerror or type(error).__name__}).",
        action=f"Allow writing there, or name another file with {option}.",
    )
