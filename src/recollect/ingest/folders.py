"""Searches one place for wanted files; each folder is listed once, each file has one stat call.

Symbolic links are followed only while they stay inside a boundary, and reported otherwise: a link
in a note folder is not permission to read the rest of the disk.
"""

from __future__ import annotations

import os
import stat as modes
from contextlib import suppress
from heapq import heappop, heappush
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from recollect.reports import Failure
from recollect.text.confined import NOT_TEXT, is_inside, scan_inside, shown_instead
from recollect.types import SourceKind, Stat

if TYPE_CHECKING:
    from collections.abc import Callable

    from recollect.types import Modality

SKIPPED = frozenset({"node_modules", "__pycache__", "site-packages", "venv"})
"""Folders of other tools. Hidden ones, such as .git, .obsidian and .venv, are always skipped."""
_MAX_DEPTH = 64
_MAX_PATH_CHARS = 4000
"""Folders are opened one by one from the top, so a thousand nested ones would take seconds."""


class Found(NamedTuple):
    """A file to index."""

    path: str
    """Path as stored: relative to the workspace, with forward slashes; may start with `../`."""
    place: Path | str
    """The file; a Path is made of it when it is read, which few are."""
    boundary: Path
    """The folder that the file must not lead out of, with all links resolved."""
    stat: Stat
    source: SourceKind = SourceKind.MEMORY
    media: Modality | None = None
    """Kind of media file; None for a text."""
    command: str = ""
    """The user's command that turns it into text; empty for a text."""
    real: str = ""
    """Its path with all links resolved, which identifies a file that was searched for."""

    @property
    def file(self) -> Path:
        """Where the file is."""
        return Path(self.place)


class _Place(NamedTuple):
    """A link, ordered by its path."""

    path: str
    file: str
    real: str
    depth: int


class FolderSearch:
    """One search of a place: call `at`, then read `seen` and `failures`."""

    def __init__(
        self,
        boundary: str,
        *,
        is_wanted: Callable[[str], bool],
        is_excluded: Callable[[str], bool],
        max_depth: int | None = None,
    ) -> None:
        """Store the limits: no link may leave the boundary, a resolved path."""
        self.seen: list[Found] = []
        self.failures: list[Failure] = []
        self._boundary = boundary
        self._boundary_path = Path(boundary)
        self._is_wanted = is_wanted
        self._is_excluded = is_excluded
        self._max_depth = max_depth
        self._folders: list[_Place] = []
        self._links: list[_Place] = []
        self._visited: set[str] = set()

    def at(self, path: str, file: str) -> None:
        """Search a file or a folder and everything below it."""
        if not self._is_excluded(path):
            self._links.append(_Place(path, file, file, 0))
        # Links come last, so that a file inside the place is found under its own name.
        while self._folders or self._links:
            if self._folders:
                self._list(self._folders.pop())
            else:
                self._follow(heappop(self._links))

    def _list(self, folder: _Place) -> None:
        self._visited.add(folder.real)
        try:
            with scan_inside(folder.real, self._boundary_path) as entries:
                above = "" if folder.path == "." else f"{folder.path}/"
                for entry in entries:
                    name = entry.name
                    if name[0] != ".":
                        self._visit(entry, f"{above}{name}", name, folder)
        except OSError as error:
            self._fail(folder.path, f"cannot be listed: {error.strerror}", "Make it readable.")

    def _visit(self, entry: os.DirEntry[str], path: str, name: str, folder: _Place) -> None:
        is_file = entry.is_file(follow_symlinks=False)
        is_link = not is_file and entry.is_symlink()
        is_folder = not (is_file or is_link) and entry.is_dir(follow_symlinks=False)
        if not (is_link or is_folder or self._is_wanted(path)) or self._is_excluded(path):
            return
        if not path.isascii() and (shown := shown_instead(path)):
            self._fail(shown, *NOT_TEXT)
            return
        file, real = f"{folder.file}{os.sep}{name}", f"{folder.real}{os.sep}{name}"
        if is_link:
            heappush(self._links, _Place(path, file, real, folder.depth + 1))
        elif is_folder:
            self._enter(_Place(path, file, real, folder.depth + 1))
        else:
            self._see(path, file, real, entry)

    def _enter(self, folder: _Place) -> None:
        is_too_deep = self._max_depth is not None and folder.depth > self._max_depth
        name = folder.path.rpartition("/")[2]
        if folder.depth > _MAX_DEPTH or len(folder.real) > _MAX_PATH_CHARS:
            reason = "cannot be listed: it is nested too deeply"
            self._fail(folder.path, reason, "Move its contents up.")
        elif not is_too_deep and name not in SKIPPED and folder.real not in self._visited:
            self._folders.append(folder)

    def _follow(self, link: _Place) -> None:
        is_named = link.depth == 0
        try:
            real = os.path.realpath(link.file, strict=True)
            mode = os.lstat(real).st_mode
        except OSError as error:
            if is_named or self._is_wanted(link.path):
                reason = f"is a broken link: {error.strerror}"
                self._fail(link.path, reason, "Correct or remove the link.")
            return
        is_folder = modes.S_ISDIR(mode)
        if not (is_named or is_folder or self._is_wanted(link.path)):
            return
        place = _Place(link.path, link.file, real, link.depth)
        if not is_inside(real, self._boundary):
            reason = f"is a link that leaves the folder: {real}"
            kind = "folder" if is_folder else "file"
            action = f"If the link is your own, add that {kind} itself to extra_paths."
            self._fail(link.path, reason, action)
        elif is_folder:
            self._enter(place)
        else:
            self._see(link.path, link.file, real, None)

    def _see(self, path: str, file: str, real: str, entry: os.DirEntry[str] | None) -> None:
        if real in self._visited:
            return
        self._visited.add(real)
        try:
            status = entry.stat(follow_symlinks=False) if entry else os.lstat(real)
        except FileNotFoundError:  # deleted since the folder was listed
            return
        except OSError as error:
            self._fail(path, f"cannot be accessed: {error.strerror}", "Make it readable.")
            return
        if not modes.S_ISREG(status.st_mode):
            self._fail(path, "is not a regular file", "Rename or remove it.")
            return
        stat = Stat(status.st_size, status.st_mtime_ns)
        self.seen.append(Found(path, file, self._boundary_path, stat, real=real))

    def _fail(self, path: str, reason: str, action: str) -> None:
        self.failures.append(Failure(path, reason, action))


def find_folder_link(folder: Path) -> str | None:
    """Return a link to a folder, at any depth of a folder, or None.

    What watches a folder follows every link in it, again wherever it meets them: one leads through
    a whole disk, and twenty that lead to each other through a million paths.
    """
    waiting = [os.path.realpath(folder)]
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif entry.is_symlink() and entry.is_dir():
                    return entry.path
    return None
