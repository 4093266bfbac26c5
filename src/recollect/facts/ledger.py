"""Ledger: the facts of a workspace as Markdown files that people can read, edit and version.

A fact goes to the file of its category (`preference.md`, then `preference-2.md` after a thousand)
and never moves: files cover one subject, are short enough to read, and a change is one line of one
file. Superseded facts stay where they are, struck out.

Programs write one at a time, under a lock, based on what they read while holding it. Reading needs
no lock, because files are replaced in one step. A person's editor takes no lock: if a file changed
since it was read, the edit is repeated on its new content.

Threat: a folder that came from elsewhere has a link in place of a file. Following it would take in
a stranger's file as facts, so links are refused.
"""

from __future__ import annotations

import codecs
import errno
import os
import re
import stat as modes
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from recollect.errors import StoreBusyError, StoreError, StoreFullError, StoreReadOnlyError
from recollect.facts.draft import Draft, forgotten_lines, state_of
from recollect.facts.folder import LedgerFolder
from recollect.facts.page import BulletIds, Problem, parse_page
from recollect.facts.record import ID_PATTERN
from recollect.records import dataclass
from recollect.text.confined import (
    RefusedError,
    TooLargeError,
    make_folder_inside,
    read_inside,
)
from recollect.text.files import PartlyWrittenError, leftovers, replace_files
from recollect.types import digest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from recollect.facts.draft import LedgerState
    from recollect.facts.page import Page

LOCK = ".lock"
FORGOTTEN = ".forgotten"
"""Digests and ids of forgotten facts, one per line: the file must not reveal their text."""
_FORGOTTEN_LINE = re.compile(f"[0-9a-f]{{64}}|{ID_PATTERN}")
DEFAULT_WAIT_SECONDS = 10.0

_TRIES = 5
"""How often files may change meanwhile before an edit fails, or a read takes them as they are."""
_POLL_SECONDS = 0.01
_FULL = frozenset({errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)})
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LOCK_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_MAX_FILE_BYTES = 16 * 1024 * 1024
"""A file of a thousand facts has a tenth of it."""
Outcome = TypeVar("Outcome")


class Ledger(LedgerFolder):
    """The facts in a folder."""

    def __init__(
        self,
        folder: Path,
        *,
        inside: Path | None = None,
        wait_seconds: float = DEFAULT_WAIT_SECONDS,
    ) -> None:
        """Store the arguments.

        Args:
            folder: the ledger's files.
            inside: the workspace, which the folder may not lead out of; None trusts the folder.
            wait_seconds: how long another program may hold the ledger.

        """
        super().__init__(folder, inside=inside)
        self._wait_seconds = wait_seconds

    def read(self) -> LedgerState:
        """Return the content of the ledger; a missing folder is empty.

        Raises:
            StoreError: the folder leads out of the workspace.

        """
        self.check()
        files = _LedgerFiles.load(self)
        state = state_of(files.pages, unusable=files.unusable, forgotten=files.forgotten)
        return replace(state, digests=files.digests())

    def edit(self, work: Callable[[Draft], Outcome]) -> Outcome:
        """Change facts: all changes are written, or none.

        Args:
            work: applies the changes to the draft; called again if a file changed meanwhile.

        Raises:
            StoreBusyError: another program did not release the ledger.
            StoreError: it cannot be written.

        """
        self.check()
        with self.locked():
            for _ in range(_TRIES):
                files = _LedgerFiles.load(self)
                draft = Draft(files.pages, unusable=files.unusable, forgotten=files.forgotten)
                outcome = work(draft)
                with _os_errors_explained(self.folder):
                    if files.publish(draft):
                        return outcome
        raise StoreBusyError(
            f"The files in {self.folder} keep changing while facts are written.",
            action="Close the program that writes them, and try again.",
        )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the ledger against other writers.

        Raises:
            StoreBusyError: another program did not release the ledger.
            StoreError: it cannot be written.

        """
        with ExitStack() as stack:
            with _os_errors_explained(self.folder):
                make_folder_inside(self.folder, self._root)
                stack.enter_context(lock(self.folder / LOCK, wait_seconds=self._wait_seconds))
                self._finish_forgetting()
            yield

    def _finish_forgetting(self) -> None:
        """Write what a process could not, after it had removed the facts that it forgot."""
        wanted: list[str] = []
        for leftover in leftovers(self.folder, of=FORGOTTEN):
            with suppress(FileNotFoundError, UnusableFileError):
                wanted += _decoded(_bytes_of(leftover)).text.split()
        if wanted:
            _LedgerFiles.load(self).publish_forgotten(wanted)

    def identities(self) -> dict[str, tuple[int, ...]]:
        """Return the state by which replaced and rewritten files are noticed, for all files."""
        found: dict[str, tuple[int, ...]] = {}
        for name in (*self.names(), FORGOTTEN):
            with suppress(OSError):  # reading it says what is wrong
                status = (self.folder / name).lstat()
                found[name] = (status.st_ino, status.st_size, status.st_mtime_ns)
        return found

    def content(self, name: str) -> bytes:
        """Return the bytes of a file.

        Raises:
            FileNotFoundError: there is no such file.
            UnusableFileError: it cannot or must not be read.

        """
        return _bytes_of(self.folder / name)

    def replace(self, changes: Mapping[str, tuple[bytes | None, bytes]]) -> None:
        """Replace or create files, given their contents before and after: all, or none."""
        replace_files({self.folder / name: change for name, change in changes.items()})

    def drop_history(self) -> None:
        """Leave a forgotten fact in no earlier version of a file; none are kept here."""


class UnusableFileError(Exception):
    """A file of the ledger that cannot or must not be read. Never leaves the ledger."""

    def __init__(self, reason: str, action: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.action = action


@dataclass(frozen=True, slots=True)
class _Content:
    """The bytes of a file, and its text and encoding."""

    raw: bytes
    text: str
    bom: bytes = b""
    encoding: str = "utf-8"

    def encoded(self, text: str) -> bytes:
        """Return another text in the file's encoding."""
        return self.bom + text.encode(self.encoding)


_ABSENT = _Content(b"", "")
"""Content of a file that does not exist yet."""


class _LedgerFiles:
    """The files of the ledger as they were when loaded."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._contents: dict[str, _Content] = {}
        self.pages: dict[str, Page] = {}
        self.unusable: dict[str, Problem] = {}
        """Files that cannot be read, by path in the folder."""
        self.forgotten: frozenset[str] = frozenset()

    @classmethod
    def load(cls, ledger: Ledger) -> _LedgerFiles:
        """Read all files, ordered by name, as they were at one moment.

        If they keep changing, each is read as it was at its own moment.
        """
        before = ledger.identities()
        for _ in range(_TRIES):
            files = cls(ledger)
            names = [name for name in ledger.names() if files._take(name) is not None]
            files._take(FORGOTTEN)
            after = ledger.identities()
            if before == after:
                break
            before = after
        derive = BulletIds()
        for name in names:
            files.pages[name] = parse_page(name, files._contents[name].text, derive=derive)
        files.unusable |= {path: Problem(path, 0, *why) for path, why in ledger.strays().items()}
        files.forgotten = frozenset(files._contents.get(FORGOTTEN, _ABSENT).text.split())
        return files

    def digests(self) -> dict[str, str]:
        """Return the digest of each file's content."""
        return {name: digest_of(self._contents[name].raw) for name in self.pages}

    def publish(self, draft: Draft) -> bool:
        """Write the changes of a draft; if a file changed since loading, write nothing: False."""
        texts = draft.texts()
        if added := [each for each in draft.forgotten if each not in self.forgotten]:
            before = self._contents.get(FORGOTTEN, _ABSENT).text
            # Last: the pages alone decide whether a change that was cut short is done.
            texts[FORGOTTEN] = before + "".join(f"{each}\n" for each in added)
        if any(self._current(name) != self._contents.get(name, _ABSENT).raw for name in texts):
            return False
        self._ledger.replace({name: self._change(name, text) for name, text in texts.items()})
        if draft.forgotten:
            self._ledger.drop_history()
        return True

    def publish_forgotten(self, wanted: Iterable[str]) -> None:
        """Write digests and ids to FORGOTTEN, except those of facts that are still there."""
        draft = Draft(self.pages, unusable=self.unusable, forgotten=self.forgotten)
        known = {each for fact in draft.facts.values() for each in forgotten_lines(fact)}
        known |= self.forgotten
        added = [each for each in wanted if each not in known and _FORGOTTEN_LINE.fullmatch(each)]
        if added:
            draft.note_forgotten(added)
            self.publish(draft)

    def _change(self, name: str, text: str) -> tuple[bytes | None, bytes]:
        """Return the content of a file before and after."""
        content = self._contents.get(name)
        return (None, text.encode()) if content is None else (content.raw, content.encoded(text))

    def _take(self, name: str) -> _Content | None:
        try:
            content = _decoded(self._ledger.content(name))
        except FileNotFoundError:
            return None
        except UnusableFileError as error:
            self.unusable[name] = Problem(name, 0, error.reason, error.action)
            return None
        self._contents[name] = content
        return content

    def _current(self, name: str) -> bytes:
        try:
            return self._ledger.content(name)
        except FileNotFoundError:
            return _ABSENT.raw
        except UnusableFileError as error:
            raise StoreError(f"{name} {error.reason}.", action=error.action) from error


def _decoded(raw: bytes) -> _Content:
    bom, encoding = next((pair for pair in _BOMS if raw.startswith(pair[0])), (b"", "utf-8"))
    try:
        return _Content(raw, raw[len(bom) :].decode(encoding), bom, encoding)
    except UnicodeDecodeError as error:
        reason = f"is not valid {encoding.upper()} (at byte {error.start + len(bom)})"
        raise UnusableFileError(reason, "Save it as UTF-8.") from error


def _bytes_of(file: Path) -> bytes:
    try:
        if modes.S_ISLNK(file.lstat().st_mode):
            raise UnusableFileError("is a link", "Replace it with the file itself.")
        return read_inside(file, file.parent, max_bytes=_MAX_FILE_BYTES)
    except FileNotFoundError:
        raise
    except TooLargeError as error:
        raise UnusableFileError(str(error), "Divide it into several files.") from error
    except RefusedError as error:
        raise UnusableFileError(str(error), "Rename or remove it.") from error
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
        raise UnusableFileError(reason, "Make it readable.") from error


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
        if error.errno in _FULL:
            raise StoreFullError(
                f"The disk of {folder} is full: facts were not written.",
                action="Free space and run again; what was there is intact.",
            ) from error
        if error.errno == errno.ELOOP:
            raise StoreError(
                f"{folder / LOCK} is a link.", action="Remove it; it is created again."
            ) from error
        raise StoreReadOnlyError(
            f"Facts cannot be written to {folder} ({error.strerror}).",
            action="Change the permissions of the folder.",
        ) from error


if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


@contextmanager
def lock(file: Path, *, wait_seconds: float) -> Iterator[None]:
    """Lock a file, creating it if missing; the system releases the lock if the process dies.

    The file is never deleted: a process waiting for it would then lock a file nobody else sees.

    Raises:
        StoreBusyError: another process or thread held it all the time.
        OSError: the file cannot be created or opened.

    """
    descriptor = os.open(file, _LOCK_FLAGS, 0o666)
    try:
        _wait(descriptor, file, wait_seconds=wait_seconds)
        try:
            yield
        finally:
            _unlock(descriptor)
    finally:
        os.close(descriptor)


def _wait(descriptor: int, file: Path, *, wait_seconds: float) -> None:
    until = time.monotonic() + wait_seconds
    while True:
        try:
            _try_lock(descriptor)
        except (BlockingIOError, PermissionError):  # Windows raises the latter
            if time.monotonic() >= until:
                raise StoreBusyError(
                    f"Another program is writing facts: it held {file} for {wait_seconds:g} s.",
                    action="Try again; the lock is released when that program ends.",
                ) from None
            time.sleep(_POLL_SECONDS)
        else:
            return
