"""Decides which of a workspace's own files are notes: those of its memory, or all Markdown files.

A home folder or a system folder is never taken whole: nobody means that.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from recollect.errors import WorkspaceError
from recollect.records import dataclass
from recollect.text.confined import is_inside, resolve_inside, scan_inside
from recollect.types import CURATED

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FOLDER = "memory"
"""The folder of a memory's notes."""
WHOLE = "."
_SUFFIX = ".md"
NAME_A_FOLDER = (
    "Name the folder with your notes: `recollect -w ~/notes …`, or `workspace` in Python."
)
_LEDGER = "facts"
"""The folder in it that `remember` makes, in any workspace."""
_SYSTEM_FOLDERS = (
    *("/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/run", "/sbin"),
    *("/sys", "/usr", "/Applications", "/Library", "/System"),
)
_SHARED_FOLDERS = ("/home", "/media", "/mnt", "/opt", "/srv", "/tmp", "/var", "/Users")  # noqa: S108
"""Hold the files of many people or programs; a folder in them may be one of notes."""
_WINDOWS_FOLDERS = ("SystemRoot", "ProgramFiles", "ProgramFiles(x86)", "ProgramData")
"""Variables that name system folders."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Which files of one workspace are notes."""

    root: Path
    """The workspace, with all links resolved."""
    user_home: Path | None
    """A folder that is never taken whole, like those above it; None if there is none."""
    has_extra_paths: bool
    """Whether the settings name the notes, so that nothing has to be guessed."""

    def names(self) -> list[str]:
        """Return the names in the workspace that are searched for notes; WHOLE for all of them."""
        try:
            # Listed, not looked up by name: on some disks memory.md answers to MEMORY.md.
            names = {entry.name for entry in self.root.iterdir()}
        except OSError as error:
            message = f"The workspace {self.root} cannot be listed: {error.strerror}."
            raise WorkspaceError(message, action="Make the folder readable.") from error
        own = [name for name in CURATED if name in names]
        has_folder = FOLDER in names and not (self.root / FOLDER).is_file()
        if own or self.has_extra_paths or (has_folder and not self._holds_only_facts()):
            return [*own, FOLDER] if has_folder else own
        return [] if self.why_not_whole() else [WHOLE]

    def left_out(self) -> list[str]:
        """Return the Markdown files beside a memory/ that alone says that this is a memory.

        Whoever made memory/ in a folder of notes may not know that they no longer count. README.md,
        AGENTS.md and the like are not notes.
        """
        if self.names() != [FOLDER] or self.has_extra_paths:
            return []
        names = (entry.name for entry in self.root.iterdir())
        return sorted(
            name
            for name in names
            if name.lower().endswith(_SUFFIX) and not name.startswith(".")
            if not name[: -len(_SUFFIX)].isupper()
        )

    def dropped(self, paths: Sequence[str]) -> str | None:
        """Return a notice if files that are still there are no longer notes of this memory.

        A vault that was taken whole is not any more once somebody, perhaps an agent, writes a
        MEMORY.md into it, or names folders in `extra_paths`.
        """
        own = self.names()
        if own == [WHOLE] or not (own or self.has_extra_paths):
            return None
        count = sum(
            1
            for path in paths
            if path.lower().endswith(_SUFFIX) and path.partition("/")[0] not in own
            if (self.root / path).is_file()
        )
        if not count:
            return None
        notes = "1 note is" if count == 1 else f"{count} notes are"
        why = (
            ", because of `extra_paths` or `exclude`"
            if self.has_extra_paths
            else f": beside {' and '.join(own)}, nothing else belongs to this memory"
        )
        return (
            f"{notes} no longer searched{why}. To search every Markdown file again: "
            "`recollect config set extra_paths .`."
        )

    def is_whole(self) -> bool:
        """Return whether every Markdown file below the workspace is a note."""
        return self.names() == [WHOLE]

    def refusal(self) -> str | None:
        """Return why this folder cannot be a folder of notes; None if it can."""
        is_marked = any((self.root / name).exists() for name in (*CURATED, FOLDER))
        if self.has_extra_paths or is_marked or not (why := self.why_not_whole()):
            return None
        return f"{self.root} is {why} and has no MEMORY.md or memory/"

    def require(self) -> None:
        """Refuse a folder that was named by mistake."""
        if refusal := self.refusal():
            raise WorkspaceError(f"{refusal}, so nothing is indexed.", action=NAME_A_FOLDER)

    def why_not_whole(self) -> str | None:
        """Return what the folder is if it is never taken whole, such as `your home folder`."""
        folder = os.path.realpath(self.root)
        home = os.path.realpath(self.user_home) if self.user_home is not None else None
        if folder == home:
            return "your home folder"
        if home is not None and is_inside(home, folder):
            return "a folder above your home folder"
        windows = (os.environ.get(name, "") for name in _WINDOWS_FOLDERS)
        system = (each for each in (*_SYSTEM_FOLDERS, *windows) if each)
        is_top = folder == os.path.dirname(folder)  # noqa: PTH120 - of a disk
        if is_top or folder in _SHARED_FOLDERS or any(is_inside(folder, each) for each in system):
            return "a system folder"
        return None

    def _holds_only_facts(self) -> bool:
        """Return whether memory/ holds nothing but the ledger, which any workspace may have."""
        try:
            folder = resolve_inside(self.root / FOLDER, self.root)
            with scan_inside(folder, self.root) as entries:
                names = [each.name for each in entries if not each.name.startswith(".")]
        except OSError:
            return False  # searched, so that it is reported
        return names == [_LEDGER]
