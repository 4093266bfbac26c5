"""Reading the files of the ledger: bytes and encodings.

Threat: a folder that came from elsewhere holds a link in place of a file. Following it would take
in a stranger's file as facts; so links are refused.
"""

from __future__ import annotations

import codecs
import os
import stat as modes
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_READ_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a pipe in the file's place would be waited for for ever
)


class UnusableError(Exception):
    """A file of the ledger that must not or cannot be read. Never leaves the ledger."""

    def __init__(self, reason: str, action: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.action = action


@dataclass(frozen=True, slots=True)
class Content:
    """What a file holds, and how it is written."""

    raw: bytes
    text: str
    bom: bytes = b""
    encoding: str = "utf-8"

    def encoded(self, text: str) -> bytes:
        """Return another text in the way the file is written."""
        return self.bom + text.encode(self.encoding)


ABSENT = Content(b"", "")
"""What a file holds that is not there yet."""


def read_content(file: Path) -> Content:
    """Return what a file holds.

    Raises:
        FileNotFoundError: it is not there.
        UnusableError: it is a link, not a regular file, not readable or not text.

    """
    raw = _bytes_of(file)
    bom, encoding = next((pair for pair in _BOMS if raw.startswith(pair[0])), (b"", "utf-8"))
    try:
        return Content(raw, raw[len(bom) :].decode(encoding), bom, encoding)
    except UnicodeDecodeError as error:
        reason = f"is not valid {encoding.upper()} (at byte {error.start + len(bom)})"
        raise UnusableError(reason, "Save it as UTF-8.") from error


def _bytes_of(file: Path) -> bytes:
    is_link = UnusableError("is a link", "Put the file itself there.")
    try:
        status = file.lstat()
        if modes.S_ISLNK(status.st_mode):
            raise is_link
        with open(file, "rb", opener=lambda path, _flags: os.open(path, _READ_FLAGS)) as stream:
            if not modes.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise UnusableError("is not a regular file", "Rename or remove it.")
            return stream.read()
    except FileNotFoundError:
        raise
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
        raise UnusableError(reason, "Make it readable.") from error
