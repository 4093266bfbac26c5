"""Replaces a file in one step, so that a reader sees the old content or the new, never half of it.

A killed process leaves the old file untouched, and at most a hidden temporary file beside it.
"""

from __future__ import annotations

import os
import stat
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_OWNER_ONLY = 0o600
_AS_UMASK_ALLOWS = 0o666
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL


def replace_file(
    file: Path, content: bytes, *, private: bool = False, follow_links: bool = True
) -> None:
    """Replace the content of a file, or create it. See `replacing` for the arguments.

    Raises:
        OSError: the file cannot be written; its old content is intact.

    """
    with replacing(file, private=private, follow_links=follow_links) as staged:
        staged.write_bytes(content)


@contextmanager
def replacing(file: Path, *, private: bool = False, follow_links: bool = True) -> Iterator[Path]:
    """Yield an empty file beside `file` to write to; on exit it takes the place of `file`.

    The new content is on disk before the old one is given up. An existing file keeps its mode and,
    when written by root, its owner.

    Args:
        file: its folder must exist.
        private: make a file that did not exist readable by its owner only.
        follow_links: replace what a link points to. If False, replace the link itself: following
            one in a folder that came from elsewhere could overwrite a stranger's file.

    Raises:
        OSError: the file cannot be written; its old content is intact.

    """
    real = file.resolve() if follow_links else file
    staged = real.with_name(f".{real.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    staged.unlink(missing_ok=True)  # left by a killed process that had the same ids
    previous = None
    with suppress(FileNotFoundError):
        previous = real.lstat()
    try:
        # The copy is never readable by more people than the file, not even for a moment.
        restricted = private or previous is not None
        os.close(os.open(staged, _CREATE, _OWNER_ONLY if restricted else _AS_UMASK_ALLOWS))
        yield staged
        _flush(staged, os.O_RDWR)
        if previous is not None:
            if os.name == "posix" and os.geteuid() == 0:
                os.chown(staged, previous.st_uid, previous.st_gid)
            staged.chmod(stat.S_IMODE(previous.st_mode))
        staged.replace(real)
    except BaseException:
        staged.unlink(missing_ok=True)
        raise
    with suppress(OSError):  # not every system can flush a folder
        _flush(real.parent, os.O_RDONLY)


def _flush(path: Path, flags: int) -> None:
    """Write a file, or the names in a folder, through to the disk."""
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
