"""Opens files inside a folder that someone else may have made, and nothing outside of it.

Threat: a workspace is a cloned repository. A link in it leads to the user's other files, a pipe or
a device stands in a file's place, a file is endless. So everything of a workspace is read and
written through this module. What a path leads to, with all links resolved, must be inside the
folder, and a regular file of at most a given size; else it is a RefusedError.

The resolved path is then opened folder by folder without following links, so what was checked is
what is read. A folder that the user named is trusted itself, and may be reached by a link.
"""

from __future__ import annotations

import errno
import os
import stat as modes
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.text.files import make_folder, replace_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

_HAS_FOLDER_DESCRIPTORS = os.open in os.supports_dir_fd and os.scandir in os.supports_fd
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_READ = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_NONBLOCK", 0)  # opening a pipe would wait for its writer forever
)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_LINK_ERRORS = (errno.ELOOP, errno.EMLINK)
"""What opening a link without following it fails with."""


class RefusedError(OSError):
    """A path that must not be opened; `strerror` says why, and follows the path in a sentence."""

    def __init__(self, reason: str) -> None:
        """Keep the reason where every OSError has it."""
        super().__init__(errno.EACCES, reason)

    def __str__(self) -> str:
        """Return the reason alone."""
        return str(self.strerror)


class TooLargeError(RefusedError):
    """A file that has more bytes than it may."""

    def __init__(self, max_bytes: int) -> None:
        """Make the reason."""
        super().__init__(too_large(max_bytes))


def is_inside(real: Path | str, folder: Path | str) -> bool:
    """Return whether a resolved path is a resolved folder, or below it."""
    inner, outer = os.fspath(real), os.fspath(folder)
    return inner == outer or inner.startswith(outer.rstrip(os.sep) + os.sep)


def shown_path(path: Path | str, *, home: Path) -> str:
    """Return a path outside of a workspace as hits show it: below `~` if it is in the home."""
    text, own = os.fspath(path), os.path.realpath(home)
    return f"~{text.removeprefix(own)}" if is_inside(text, own) else text


def resolve_inside(path: Path, root: Path) -> Path:
    """Return what a path leads to; it need not exist."""
    real = os.path.realpath(path)
    if not is_inside(real, os.path.realpath(root)):
        raise RefusedError(f"is a link that leaves the folder: {real}")
    try:
        mode = os.lstat(real).st_mode
    except OSError:  # it does not exist, or cannot be looked at: that is for the caller to find out
        return Path(real)
    if not (modes.S_ISREG(mode) or modes.S_ISDIR(mode)):
        raise RefusedError(_NOT_REGULAR)
    return Path(real)


def open_inside(path: Path, root: Path) -> BinaryIO:
    """Open a regular file for reading."""
    return _checked(os.fdopen(_open_inside(path, root), "rb"))


def read_inside(path: Path, root: Path, *, max_bytes: int) -> bytes:
    """Return the content of a regular file."""
    with open_inside(path, root) as stream:
        return read_bounded(stream, max_bytes=max_bytes)


def read_regular(path: Path, *, max_bytes: int) -> bytes:
    """Return the content of a regular file that the user named, wherever it is."""
    with _checked(os.fdopen(os.open(path, _READ), "rb")) as stream:
        return read_bounded(stream, max_bytes=max_bytes)


def read_named(path: Path, workspace: Path | None, *, max_bytes: int) -> bytes:
    """Return the content of a file that the user named for a command.

    It may be anywhere, and a pipe. But one in the workspace is the workspace's: the name does not
    show that it is a link.
    """
    if workspace is not None and _is_named_inside(path, workspace):
        return read_inside(path, workspace, max_bytes=max_bytes)
    with path.open("rb") as stream:
        content = stream.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise TooLargeError(max_bytes)
    return content


def check_named(path: Path, workspace: Path) -> None:
    """Check a file or folder that the user named for a command; see `read_named`."""
    if _is_named_inside(path, workspace):
        resolve_inside(path, workspace)


def _is_named_inside(path: Path, folder: Path) -> bool:
    """Return whether a path is below a folder by its name alone, whatever it leads to."""
    named = Path(os.path.abspath(path))  # noqa: PTH100 - pathlib has no such function
    # A folder above may be a link, such as /tmp on a Mac.
    return is_inside(named, os.path.realpath(folder)) or is_inside(
        os.path.realpath(named.parent), os.path.realpath(folder)
    )


def read_bounded(stream: BinaryIO, *, max_bytes: int) -> bytes:
    """Return the rest of a file."""
    size = os.fstat(stream.fileno()).st_size
    # Not max_bytes at once: that much memory would be reserved for every note.
    content = stream.read(size + 1) if size <= max_bytes else b""
    # The size alone does not tell: some files have none, and others grow.
    if len(content) > size:
        content += stream.read(max_bytes + 1 - len(content))
    if max(size, len(content)) > max_bytes:
        raise TooLargeError(max_bytes)
    return content


NOT_TEXT = ("has a name that is not valid UTF-8", "Rename it.")
"""Reason and next step for a file whose name is only bytes, which no store can hold."""


def shown_instead(path: str) -> str | None:
    """Return how to show a path that is not valid UTF-8; None if it can be used as it is."""
    if path.isascii():
        return None
    try:
        path.encode()
    except UnicodeEncodeError:
        return os.fsencode(path).decode("utf-8", "backslashreplace")
    return None


def too_large(max_bytes: int) -> str:
    """Return the reason to give for a file that has more bytes than it may."""
    mebibytes = max_bytes / 1024**2
    size = f"{mebibytes:.3g} MiB" if mebibytes >= 1 else f"{max_bytes / 1024:.3g} KiB"
    return f"is larger than {size}"


@contextmanager
def scan_inside(folder: Path | str, root: Path) -> Iterator[Iterator[os.DirEntry[str]]]:
    """List a folder below a root, both resolved, until the context ends; no link is followed."""
    if not _HAS_FOLDER_DESCRIPTORS:
        with os.scandir(resolve_inside(Path(folder), root)) as entries:
            yield entries
        return
    if not is_inside(folder, root):
        raise RefusedError("leads out of the folder")
    # A Path for each folder would cost as much as listing it.
    below = os.fspath(folder)[len(os.fspath(root)) :].split(os.sep)  # noqa: PTH206
    descriptor = _open_folder(filter(None, below), root)
    try:
        with os.scandir(descriptor) as entries:
            yield entries
    finally:
        os.close(descriptor)


def make_folder_inside(folder: Path, root: Path) -> Path:
    """Create a folder with its missing parents; return where it really is."""
    real = resolve_inside(folder, root)
    make_folder(real)
    return real


def replace_inside(path: Path, content: bytes, root: Path) -> None:
    """Replace the content of a file, or create it with its folder."""
    real = resolve_inside(path, root)
    make_folder_inside(real.parent, root)
    replace_file(real, content, follow_links=False)


_NOT_REGULAR = "is not a regular file"


def _open_inside(path: Path, root: Path) -> int:
    if not _HAS_FOLDER_DESCRIPTORS:
        return os.open(resolve_inside(path, root), _READ)
    parts = resolve_inside(path, root).relative_to(os.path.realpath(root)).parts
    if not parts:  # the root itself: a file that the user named, or a link to the folder
        if root.is_dir():
            raise RefusedError(_NOT_REGULAR)
        parts, root = (Path(os.path.realpath(root)).name,), Path(os.path.realpath(root)).parent
    return _open_parts(parts, root)


def _open_parts(parts: tuple[str, ...], root: Path) -> int:
    folder = _open_folder(parts[:-1], root)
    try:
        # Before it is opened: opening a device or a pipe can have an effect by itself.
        status = os.stat(parts[-1], dir_fd=folder, follow_symlinks=False)
        if not modes.S_ISREG(status.st_mode):
            raise RefusedError(_NOT_REGULAR)
        return os.open(parts[-1], _READ | _NO_LINK, dir_fd=folder)
    except OSError as error:
        _refuse_link(error)
        raise
    finally:
        os.close(folder)


def _open_folder(parts: Iterable[str], root: Path) -> int:
    """Open a folder below a root, one part at a time and following no link."""
    descriptor = os.open(root, _FOLDER)
    for part in parts:
        try:
            inner = os.open(part, _FOLDER | _NO_LINK, dir_fd=descriptor)
        except OSError as error:
            _refuse_link(error)
            raise
        finally:
            os.close(descriptor)
        descriptor = inner
    return descriptor


def _refuse_link(error: OSError) -> None:
    if error.errno in _LINK_ERRORS:
        raise RefusedError("was replaced by a link while it was opened") from error


def _checked(stream: BinaryIO) -> BinaryIO:
    if modes.S_ISREG(os.fstat(stream.fileno()).st_mode):
        return stream
    stream.close()
    raise RefusedError(_NOT_REGULAR)
