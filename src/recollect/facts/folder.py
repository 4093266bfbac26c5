"""The folder of the ledger, seen from outside: which files hold facts, and whether they changed.

A search looks no further while they did not. What is in the files is for `ledger`.

Threat: the folder may be a link, but not one that leads out of the workspace.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from recollect.errors import StoreError
from recollect.ingest.read import read
from recollect.text.confined import NOT_TEXT, RefusedError, resolve_inside, shown_instead
from recollect.types import Stat

if TYPE_CHECKING:
    from pathlib import Path

    from recollect.facts.ledger import Ledger
    from recollect.ingest.folders import Found
    from recollect.types import Document

FACTS_FOLDER = "memory/facts"
_NOT_FACTS = frozenset({"readme.md"})
STRAY = (
    "is in a subfolder of memory/facts, where files are not read",
    "Move it up if it contains facts; a note belongs elsewhere in memory/.",
)
_MAX_DEPTH = 16
"""Nested folders in which files are looked for only to say that they are not read."""


class LedgerFolder:
    """The files of a ledger."""

    def __init__(self, folder: Path, *, inside: Path | None = None) -> None:
        """Store the arguments.

        Args:
            folder: the ledger's files.
            inside: the workspace, which the folder may not lead out of; None trusts the folder.

        """
        self.folder = folder
        self._root = inside or folder

    def check(self) -> None:
        """Refuse a folder that leads out of the workspace.

        Raises:
            StoreError: it does.

        """
        try:
            resolve_inside(self.folder, self._root)
        except RefusedError as error:
            raise StoreError(
                f"{self.folder} {error}. Facts are neither read nor written there.",
                action="Put the folder itself in place of the link, or name the workspace that the "
                "facts belong to with -w.",
            ) from error

    def strays(self) -> dict[str, tuple[str, str]]:
        """Return the Markdown files that are not read, why, and what to do about it."""
        return stray_files(self.folder)

    def names(self) -> list[str]:
        """Return the names of the files that hold facts, in order."""
        return fact_files(self.folder)

    def document(self, found: Found) -> Document:
        """Read a file as a document.

        Raises:
            UnreadableError: it is gone, or cannot be read.

        """
        return read(found, now_ns=time.time_ns())

    def ledger(self) -> Ledger:
        """Return the ledger in this folder."""
        from recollect.facts.ledger import Ledger  # noqa: PLC0415 - few searches need it

        return Ledger(self.folder, inside=self._root)

    def stats(self) -> dict[str, Stat]:
        """Return size and time of each file, readable or not, without reading it."""
        found: dict[str, Stat] = {}
        for name in self.names():
            with suppress(FileNotFoundError):  # deleted since the folder was listed
                status = (self.folder / name).lstat()
                found[name] = Stat(status.st_size, status.st_mtime_ns)
        return found


def fact_files(folder: Path) -> list[str]:
    """Return the names of the files that hold facts, in order."""
    try:
        names = [entry.name for entry in folder.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(name for name in names if holds_facts(name) and shown_instead(name) is None)


def holds_facts(name: str) -> bool:
    """Return whether a file of this name in the ledger's folder holds facts."""
    return name.endswith(".md") and name[0] != "." and name.lower() not in _NOT_FACTS


def stray_files(folder: Path) -> dict[str, tuple[str, str]]:
    """Return the Markdown files that are not read, why, and what to do about it.

    They are in subfolders, or their names are not text. A folder that is not listed has none.
    """
    found: dict[str, tuple[str, str]] = {}
    folders = [""]
    while folders:
        below = folders.pop()
        with suppress(OSError), os.scandir(folder / below) as entries:
            for entry in entries:
                path = f"{below}/{entry.name}" if below else entry.name
                if entry.name[0] == ".":
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if path.count("/") < _MAX_DEPTH:
                        folders.append(path)
                elif entry.name.lower().endswith(".md"):
                    shown = shown_instead(path)
                    if shown is not None:
                        found[shown] = NOT_TEXT
                    elif below:
                        found[path] = STRAY
    return dict(sorted(found.items()))
