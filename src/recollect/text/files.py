"""Writes files: in one step, and readable by their owner only where they are private.

A reader sees the old content or the new. A failed write is an OSError and leaves the old file; so
does a killed process, and at most a hidden temporary file, which the next write removes. What
Recollect keeps for itself is 0600 in folders of 0700 from the moment it is created; files that
people share follow the umask when they are created and keep their mode.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import threading
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_OWNER_ONLY = 0o600
_OWNER_ONLY_FOLDER = 0o700
_ANYONES_FOLDER = 0o777
_OF_OTHERS = 0o077
"""The bits that let anyone but the owner in."""
_AS_UMASK_ALLOWS = 0o666
_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL
_LOOK = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # opening a pipe in the file's place would block forever
)
_STAGED_NAME = re.compile(r"\.(.+)\.[0-9]+-[0-9]+\.tmp", re.DOTALL)

if sys.platform == "win32":

    def _locked(_descriptor: int) -> bool:
        return True  # there, a file that a process has open cannot be removed

else:
    import fcntl

    def _locked(descriptor: int) -> bool:
        """Lock a temporary file until its process ends; False if another process has it."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # also a file system without locks: what is on it is left alone
            return False
        return True


def make_private_folder(folder: Path) -> None:
    """Create a folder and missing parents for their owner only; an existing one keeps its mode."""
    make_folder(folder, mode=_OWNER_ONLY_FOLDER)


def make_folder(folder: Path, *, mode: int = _ANYONES_FOLDER) -> None:
    """Create a folder and its missing parents; they are on disk before anything is put in them.

    An existing folder keeps its mode.
    """
    # `Path.mkdir` would create the parents with another mode, and flush nothing.
    missing = [each for each in (folder, *folder.parents) if not each.is_dir()]
    for each in reversed(missing):
        each.mkdir(mode, exist_ok=True)
        _flush_names(each.parent)


def delete_file(file: Path) -> None:
    """Remove a file for good: a power loss does not bring it back."""
    file.unlink(missing_ok=True)
    _flush_names(file.parent)


def make_private_file(file: Path) -> None:
    """Create an empty file for its owner only, or restrict an existing one."""
    try:
        os.close(os.open(file, _CREATE, _OWNER_ONLY))
    except FileExistsError:
        restrict(file)


def restrict(file: Path) -> None:
    """Take the permissions of everyone but the owner from a file; someone else's is left alone."""
    with suppress(FileNotFoundError, PermissionError):
        mode = file.stat().st_mode
        if mode & _OF_OTHERS:
            file.chmod(stat.S_IMODE(mode) & ~_OF_OTHERS)


def open_to_others(folder: Path) -> list[Path]:
    """Return what in a folder, itself included, not only the owner can use; on Windows, nothing."""
    if os.name != "posix":
        return []
    found: list[Path] = []
    for top, _, names in os.walk(folder):
        for path in (Path(top), *(Path(top, name) for name in names)):
            with suppress(FileNotFoundError):
                if path.lstat().st_mode & _OF_OTHERS:
                    found.append(path)
    return found


def replace_file(
    file: Path, content: bytes, *, private: bool = False, follow_links: bool = True
) -> None:
    """Replace the content of a file, or create it. See `replacing` for the arguments."""
    with replacing(file, private=private, follow_links=follow_links) as staged:
        staged.write_bytes(content)


@contextmanager
def replacing(file: Path, *, private: bool = False, follow_links: bool = True) -> Iterator[Path]:
    """Yield an empty file beside `file` to write to; on exit it takes the place of `file`.

    The new content is on disk before the old one is given up. An existing file keeps its mode and,
    when written by root, its owner; `private` restricts it to its owner. A link is replaced itself
    if it is not followed: in a folder from elsewhere it could lead to a stranger's file.
    """
    with _staging(file, private=private, follow_links=follow_links) as staged:
        yield staged.path
        staged.flush()
        staged.put_in_place()


class PartlyWrittenError(OSError):
    """Some of several files were replaced, the others were not, and it cannot be undone."""

    def __init__(self, cause: OSError, written: list[Path]) -> None:
        super().__init__(cause.errno, cause.strerror)
        self.written = written


def replace_files(changes: Mapping[Path, tuple[bytes | None, bytes]]) -> None:
    """Replace several files, or create them: all of them, or none. Links are not followed.

    Given are the present content of each file, None if there is none, and the new one. All new
    contents are on disk before the first takes its place. If the disk fails between two files, and
    again at the attempt to undo, that is a PartlyWrittenError.
    """
    with ExitStack() as stack:
        staged = {}
        for file, (_, content) in changes.items():
            staged[file] = stack.enter_context(_staging(file, follow_links=False))
            staged[file].path.write_bytes(content)
            staged[file].flush()
        written: list[Path] = []
        for file, each in staged.items():
            try:
                each.put_in_place()
            except OSError as error:
                _put_back({file: changes[file][0] for file in written}, error)
                raise
            written.append(file)


def _put_back(contents: Mapping[Path, bytes | None], error: OSError) -> None:
    try:
        for file, content in contents.items():
            if content is None:
                file.unlink(missing_ok=True)
            else:
                replace_file(file, content, follow_links=False)
    except OSError:
        raise PartlyWrittenError(error, list(contents)) from error


@dataclass(slots=True)
class _Staged:
    """New content of a file, under a temporary name."""

    path: Path
    place: Path
    """The file that it replaces."""
    descriptor: int
    previous: os.stat_result | None
    private: bool

    def flush(self) -> None:
        """Write the content through to the disk, and give it the mode and owner of the file."""
        os.fsync(self.descriptor)
        if self.previous is not None:
            if os.name == "posix" and os.geteuid() == 0:
                os.chown(self.path, self.previous.st_uid, self.previous.st_gid)
            mode = stat.S_IMODE(self.previous.st_mode)
            self.path.chmod(mode & ~_OF_OTHERS if self.private else mode)

    def put_in_place(self) -> None:
        """Replace the file."""
        if os.name == "nt":
            self.close()  # there, an open file cannot be renamed
        self.path.replace(self.place)
        _flush_names(self.place.parent)

    def close(self) -> None:
        """Release the temporary file."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


@contextmanager
def _staging(file: Path, *, private: bool = False, follow_links: bool) -> Iterator[_Staged]:
    """Yield an empty temporary file beside `file`; it is removed unless it takes its place."""
    real = file.resolve() if follow_links else file
    remove_leftovers(real.parent, of=real.name)
    path = real.with_name(f".{real.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    path.unlink(missing_ok=True)  # where there are no locks: of a process that had the same ids
    previous = None
    with suppress(FileNotFoundError):
        found = real.lstat()
        previous = found if stat.S_ISREG(found.st_mode) else None
    # The copy is never readable by more people than the file, not even for a moment.
    restricted = private or previous is not None
    descriptor = _created(path, _OWNER_ONLY if restricted else _AS_UMASK_ALLOWS)
    staged = _Staged(path, real, descriptor, previous, private)
    try:
        yield staged
    except BaseException:
        with suppress(OSError):  # what failed is more important; the next write removes it
            path.unlink(missing_ok=True)
        raise
    finally:
        staged.close()


def remove_leftovers(folder: Path, *, of: str = "") -> None:
    """Remove the temporary files of killed processes from a folder; those in use stay.

    The folder may be missing. `of` names the file whose temporary files are removed; empty: any.
    """
    for leftover in leftovers(folder, of=of):
        _remove_unused(leftover)


def leftovers(folder: Path, *, of: str = "") -> list[Path]:
    """Return the temporary files in a folder, also those in use."""
    try:
        names = [each.name for each in folder.iterdir()]
    except FileNotFoundError:
        return []
    found = ((folder / name, _STAGED_NAME.fullmatch(name)) for name in names)
    return [path for path, staged in found if staged is not None and of in ("", staged[1])]


def _remove_unused(leftover: Path) -> None:
    try:
        descriptor = os.open(leftover, _LOOK)
    except OSError:  # removed meanwhile, or not one of ours
        return
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode) and _locked(descriptor):
            leftover.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def _created(staged: Path, mode: int) -> int:
    """Create a temporary file and lock it; return its descriptor."""
    while True:
        descriptor = os.open(staged, _CREATE, mode)
        _locked(descriptor)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), staged.lstat()):
                return descriptor
        # Another process took it for a leftover, in the moment before it was locked.
        os.close(descriptor)


def _flush_names(folder: Path) -> None:
    """Write the names in a folder through to the disk, where the system can do that."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
