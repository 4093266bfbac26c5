"""Writes the files of an evaluation: atomically, and only into folders that exist."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.errors import RecollectError, UsageError
from recollect.text.confined import replace_named

if TYPE_CHECKING:
    from pathlib import Path


def check_folder(file: Path, *, option: str) -> None:
    """Refuse a file whose folder does not exist: a typo must not create one.

    Raises:
        UsageError: the folder does not exist.
        RecollectError: the folder cannot be accessed.

    """
    try:
        exists = file.parent.is_dir()
    except OSError as error:
        raise unwritable(file, error, option=option) from error
    if not exists:
        raise UsageError(
            f"The folder {file.parent} does not exist.",
            action=f"Create it first, or name a file in another folder with {option}.",
        )


def write_file(file: Path, text: str, *, workspace: Path | None, option: str) -> None:
    """Replace the content of a file; one in the workspace may not lead out of it.

    Raises:
        UsageError: its folder does not exist.
        RecollectError: it cannot be written; its old content is intact.

    """
    check_folder(file, option=option)
    try:
        replace_named(file, text.encode(), workspace)
    except OSError as error:
        raise unwritable(file, error, option=option) from error


def unwritable(file: Path, error: OSError, *, option: str) -> RecollectError:
    """Return the error to raise. It gives only the reason: `error` may name a temporary file."""
    return RecollectError(
        f"{file} cannot be written ({error.strerror or type(error).__name__}).",
        action=f"Allow writing there, or name another file with {option}.",
    )
