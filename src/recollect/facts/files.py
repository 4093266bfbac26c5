"""Where the files of the ledger are: in a folder of the workspace, or pushed documents in a store.

Threat: a folder that came from elsewhere is a link out of the workspace, or has a link in place of
a file. Following it would take in a stranger's file as facts, so such links are refused.
"""

from __future__ import annotations

import errno
import os
import stat as modes
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import NotFoundError, StoreBusyError, StoreError
from recollect.ingest.read import read
from recollect.records import dataclass
from recollect.text.confined import (
    NOT_TEXT,
    RefusedError,
    TooLargeError,
    make_folder_inside,
    read_inside,
    resolve_inside,
    shown_instead,
)
from recollect.text.files import PartlyWrittenError, leftovers, replace_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from recollect.ingest.folders import Found
    from recollect.stores.postgres.pushed import PostgresPushed
    from recollect.stores.pushed import PushedDocument
    from recollect.types import Document

    Version = tuple[int, int, int]

FACTS_FOLDER = "memory/facts"
FORGOTTEN = ".forgotten"
"""Digests and ids of forgotten facts, one per line: the file must not reveal their text."""
LOCK = ".lock"
_NOT_FACTS = frozenset({"readme.md"})
_STRAY = (
    "is in a subfolder of memory/facts, where files are not read",
    "Move it up if it contains facts; a note belongs elsewhere in memory/.",
)
_MAX_FILE_BYTES = 16 * 1024 * 1024
"""A file of a thousand facts has a tenth of it."""
_WAIT_SECONDS = 10.0
_POLL_SECONDS = 0.01
_LOCK_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_START = f"{FACTS_FOLDER}/"


class UnusableFileError(Exception):
    """A file of the ledger that cannot or must not be read. Never leaves the ledger."""

    def __init__(self, reason: str, action: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.action = action


@dataclass(frozen=True, slots=True)
class FolderFiles:
    """The files in a folder of the workspace."""

    folder: Path
    inside: Path | None = None
    """The workspace, which the folder may not lead out of; None trusts the folder."""
    wait_seconds: float = _WAIT_SECONDS
    """How long another program may hold the ledger."""

    @property
    def _root(self) -> Path:
        return self.inside or self.folder

    def check(self) -> None:
        """Refuse a folder that leads out of the workspace; raise StoreError."""
        try:
            resolve_inside(self.folder, self._root)
        except RefusedError as error:
            raise StoreError(
                f"{self.folder} {error}. Facts are neither read nor written there.",
                action="Put the folder itself in place of the link, or name the workspace that the "
                "facts belong to with -w.",
            ) from error

    def versions(self) -> dict[str, Version]:
        """Return size, time and inode of each file, by name, without reading any."""
        found: dict[str, Version] = {}
        names = list[str]()
        with suppress(FileNotFoundError, NotADirectoryError):
            names = [entry.name for entry in self.folder.iterdir()]
        for name in sorted(names):
            if name == FORGOTTEN or (holds_facts(name) and shown_instead(name) is None):
                with suppress(FileNotFoundError):  # deleted since the folder was listed
                    status = (self.folder / name).lstat()
                    found[name] = (status.st_size, status.st_mtime_ns, status.st_ino)
        return found

    def strays(self) -> dict[str, tuple[str, str]]:
        """Return the Markdown files that are not read, why, and what to do about it."""
        found: dict[str, tuple[str, str]] = {}
        for folder, folders, names in os.walk(self.folder):
            folders[:] = [name for name in folders if name[0] != "."]
            for name in names:
                if name[0] != "." and name.lower().endswith(".md"):
                    path = Path(folder, name).relative_to(self.folder).as_posix()
                    shown = shown_instead(path)
                    if shown is not None:
                        found[shown] = NOT_TEXT
                    elif "/" in path:
                        found[path] = _STRAY
        return dict(sorted(found.items()))

    def content(self, name: str) -> bytes:
        """Return the bytes of a file, or raise FileNotFoundError or UnusableFileError."""
        file = self.folder / name
        try:
            if modes.S_ISLNK(file.lstat().st_mode):
                raise UnusableFileError("is a link", "Replace it with the file itself.")
            return read_inside(file, self.folder, max_bytes=_MAX_FILE_BYTES)
        except FileNotFoundError:
            raise
        except TooLargeError as error:
            raise UnusableFileError(str(error), "Divide it into several files.") from error
        except RefusedError as error:
            raise UnusableFileError(str(error), "Rename or remove it.") from error
        except OSError as error:
            reason = f"cannot be read: {error.strerror}"
            raise UnusableFileError(reason, "Make it readable.") from error

    def document(self, found: Found) -> Document:
        """Read a file as a document; raise UnreadableError if it is gone or cannot be read."""
        return read(found, now_ns=time.time_ns())

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Create the folder if it is missing, and lock it against other writers."""
        with ExitStack() as stack:
            with _os_errors_explained(self.folder):
                make_folder_inside(self.folder, self._root)
                stack.enter_context(lock(self.folder / LOCK, wait_seconds=self.wait_seconds))
            yield

    def replace(self, changes: Mapping[str, tuple[bytes | None, bytes]]) -> None:
        """Replace or create files, given their contents before and after: all, or none."""
        with _os_errors_explained(self.folder):
            replace_files({self.folder / name: change for name, change in changes.items()})

    def unfinished(self) -> list[bytes]:
        """Return the contents that a killed process was about to give to FORGOTTEN."""
        found: list[bytes] = []
        for leftover in leftovers(self.folder, of=FORGOTTEN):
            with suppress(FileNotFoundError, UnusableFileError):
                found.append(self.content(leftover.name))
        return found

    def drop_history(self) -> None:
        """Do nothing: a folder has no earlier versions."""


@dataclass(frozen=True, slots=True)
class PushedFiles:
    """The files of a memory whose documents were pushed: one transaction reads and writes them."""

    pushed: PostgresPushed
    on_change: Callable[[], object]
    folder: Path = Path(FACTS_FOLDER)

    def check(self) -> None:
        """Refuse the ledger of a memory whose files are on another machine."""
        self.pushed.require_here()

    def versions(self) -> dict[str, Version]:
        """Return size, time and version of each file."""
        return {
            name: (each.size_bytes, each.changed_ns, each.version)
            for name, each in sorted(self._listed().items())
            if name == FORGOTTEN or (holds_facts(name) and "/" not in name)
        }

    def strays(self) -> dict[str, tuple[str, str]]:
        """Return the files in subfolders."""
        return {name: _STRAY for name in self._listed() if holds_facts(name) and "/" in name}

    def content(self, name: str) -> bytes:
        """Return the bytes of a file."""
        try:
            return self.pushed.content(_START + name)[1]
        except NotFoundError as error:
            raise FileNotFoundError(name) from error

    def document(self, found: Found) -> Document:
        """Read a file as a document."""
        from recollect.ingest.pushed import read_pushed  # noqa: PLC0415 - only hosted memories

        return read_pushed(self.pushed, found)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Make everything inside one transaction."""
        with self.pushed.changing():
            yield
        self.on_change()

    def replace(self, changes: Mapping[str, tuple[bytes | None, bytes]]) -> None:
        """Replace or create files: all, or none."""
        from recollect.stores.pushed import PushedChange  # noqa: PLC0415 - only hosted memories

        self.pushed.change(
            [PushedChange(_START + name, after) for name, (_, after) in changes.items()]
        )

    def unfinished(self) -> list[bytes]:
        """Return nothing: a transaction is complete or never happened."""
        return []

    def drop_history(self) -> None:
        """Delete earlier versions of all files, because a forgotten fact may be in any of them."""
        for each in (*self.pushed.listed(start=_START), *self.pushed.deleted()):
            if each.path.startswith(_START):
                self.pushed.purge(each.path, keep_current=True)

    def _listed(self) -> dict[str, PushedDocument]:
        return {each.path.removeprefix(_START): each for each in self.pushed.listed(start=_START)}


LedgerFiles = FolderFiles | PushedFiles


def holds_facts(name: str) -> bool:
    """Return whether a file of this name in the ledger's folder holds facts."""
    return name.endswith(".md") and name[0] != "." and name.lower() not in _NOT_FACTS


@contextmanager
def _os_errors_explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except PartlyWrittenError as error:
        names = ", ".join(file.name for file in error.written)
        raise StoreError(
            f"The change was written only in part, to {names} in {folder} ({error.strerror}).",
            action="Check the disk, then run the same again.",
        ) from error
    except OSError as error:
        is_link = error.errno == errno.ELOOP
        reason = f"{LOCK} is a link" if is_link else error.strerror
        raise StoreError(
            f"Facts cannot be written to {folder} ({reason}).",
            action="Remove it; it is created again."
            if is_link
            else "Check the disk and the permissions of the folder; what was there is intact.",
        ) from error


def _is_locked(descriptor: int) -> bool:
    """Lock a file for this process alone; return False if another has it."""
    try:
        if sys.platform == "win32":
            import msvcrt  # noqa: PLC0415 - only there

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl  # noqa: PLC0415 - not there on Windows

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # Windows raises the latter
        return False
    return True


@contextmanager
def lock(file: Path, *, wait_seconds: float) -> Iterator[None]:
    """Lock a file, creating it if missing; the system releases the lock if the process dies.

    It is never deleted: a process waiting for it would then lock a file nobody else sees.
    """
    descriptor = os.open(file, _LOCK_FLAGS, 0o666)
    until = time.monotonic() + wait_seconds
    try:
        while not _is_locked(descriptor):
            if time.monotonic() >= until:
                raise StoreBusyError(
                    f"Another program is writing: it held {file} for {wait_seconds:g} s.",
                    action="Try again; the lock is released when that program ends.",
                )
            time.sleep(_POLL_SECONDS)
        yield
    finally:
        os.close(descriptor)  # also unlocks
