"""Reading one file into a Document: its text, its digest and the stat that belongs to both.

It knows encodings and front matter, not chunks. A file that cannot be read as text is a Failure
that names the next step, never a crash and never half a text.
"""

from __future__ import annotations

import codecs
import os
import stat as modes
from typing import TYPE_CHECKING

from recollect.ingest.frontmatter import front_matter
from recollect.ingest.when import when_of
from recollect.reports import Failure
from recollect.types import Document, Stat, digest_of

if TYPE_CHECKING:
    from recollect.ingest.walk import Found

MAX_FILE_BYTES = 16 * 1024 * 1024
"""A thousand times a long note: what is larger is a log or a dump, and would take minutes."""

_SETTLING_NS = 2_000_000_000
"""Coarsest time stamp of a common file system (FAT): within it two writes look like one."""

_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
"""Not blocking, because a pipe that took the file's place would be waited for for ever."""


class UnreadableError(Exception):
    """A file that cannot be taken in, with what to tell the user."""

    def __init__(self, failure: Failure) -> None:
        """Keep what to report."""
        super().__init__(f"{failure.path}: {failure.reason}")
        self.failure = failure


def read(found: Found, *, now_ns: int) -> Document:
    """Return the file as a Document.

    Args:
        found: the file.
        now_ns: the present, to tell whether the file may still be changing unnoticed.

    Raises:
        UnreadableError: it is gone, not to be opened, too large or not text.

    """
    if found.media:
        reason = f"is an {found.media} file of {found.stat.size_bytes:,} bytes, not text"
        raise unreadable(found.path, reason, f"Open the file itself: {found.file}")
    content, stat = content_of(
        found, max_bytes=MAX_FILE_BYTES, action="Divide it into several files, or exclude it."
    )
    text = _decoded(content, found.path).replace("\r\n", "\n").replace("\r", "\n")
    top = front_matter(text)
    return Document(
        path=found.path,
        source=found.source,
        text=text,
        digest=digest_of(content),
        stat=stat,
        when=when_of(found.path, front_matter=top.fields),
        body_line=top.body_line,
        is_settled=is_settled(stat, now_ns=now_ns),
    )


def is_settled(stat: Stat, *, now_ns: int) -> bool:
    """Tell whether a file is old enough that any later write would leave another stat."""
    return now_ns - stat.mtime_ns > _SETTLING_NS


def content_of(found: Found, *, max_bytes: int, action: str) -> tuple[bytes, Stat]:
    """Return the bytes of a file and the stat that belongs to them.

    Args:
        found: the file.
        max_bytes: how many there may be.
        action: what to do where there are more.

    Raises:
        UnreadableError: it is gone, not to be opened or too large.

    """
    try:
        with open(found.file, "rb", opener=opened) as stream:
            # Before reading: should the file grow meanwhile, the next sync sees another stat.
            status = os.fstat(stream.fileno())
            if not modes.S_ISREG(status.st_mode):
                raise unreadable(found.path, "is not a regular file", "Rename or remove it.")
            content = stream.read(max_bytes + 1)
    except FileNotFoundError as error:
        reason = "was deleted while it was being taken in"
        raise unreadable(found.path, reason, "Nothing: the next sync sees it gone.") from error
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
        raise unreadable(found.path, reason, "Make it readable, or exclude it.") from error
    if len(content) > max_bytes:
        raise unreadable(found.path, f"is larger than {max_bytes / 1024**2:.3g} MiB", action)
    return content, Stat(size_bytes=status.st_size, mtime_ns=status.st_mtime_ns)


def opened(path: str, _flags: int) -> int:
    """Open a file for reading without waiting, as the `opener` of `open`."""
    return os.open(path, _OPEN_FLAGS)


def _decoded(content: bytes, path: str) -> str:
    is_utf16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = content.decode("utf-16" if is_utf16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        reason = f"is not valid {'UTF-16' if is_utf16 else 'UTF-8'} (at byte {error.start})"
        raise unreadable(path, reason, "Save it as UTF-8.") from error
    if "\0" in text:
        raise unreadable(path, "holds NUL characters: it is not text", "Rename or exclude it.")
    return text


def unreadable(path: str, reason: str, action: str) -> UnreadableError:
    """Return the error to raise for a file that cannot be taken in."""
    return UnreadableError(Failure(path, reason, action))
