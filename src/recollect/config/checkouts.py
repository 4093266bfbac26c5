"""Finds the checkouts of one git repository, without running git.

Threat: what a stranger's folder calls its repository is the user's other one, whose memory it would
join. So that repository must name the worktree back, and no link is followed to it.
"""

from __future__ import annotations

import os
import re
from itertools import islice
from pathlib import Path

from recollect.records import dataclass
from recollect.text.confined import read_inside

_MAX_BYTES = 16 * 1024
_MOST_WORKTREES = 64


@dataclass(frozen=True, slots=True)
class Checkout:
    """Where a workspace is in the checkouts of its repository; nowhere by default."""

    workspace: Path = Path()
    root: Path = Path()
    repository: Path | None = None
    """The git folder that all checkouts have in common; None outside of a repository."""
    main: Path | None = None
    """The same folder in the main checkout; None in that one, or if there is none."""
    is_cut_off: bool = False
    """Whether it is a worktree of a repository that is no longer where it was."""
    birth: str = ""
    """What stays the same if the checkout is moved, and no other checkout has; empty if unknown."""

    def others(self) -> list[Path]:
        """Return the same folder in every other checkout, the main one first."""
        if self.repository is None:
            return []
        worktrees = islice((self.repository / "worktrees").glob("*/gitdir"), _MOST_WORKTREES)
        linked = (
            Path(os.path.realpath(each.parent / _text(each, self.repository))).parent
            for each in worktrees
        )
        below = self.workspace.relative_to(self.root)
        same = sorted(
            each / below
            for each in linked
            if each != self.root and (its := _git_folder(each)) and its[1] == self.repository
        )
        return [self.main, *same] if self.main else same


def checkout_of(workspace: Path) -> Checkout:
    """Look where a workspace is."""
    above = (workspace, *workspace.parents)
    root = next((each for each in above if os.path.lexists(each / ".git")), None)
    found = root and _git_folder(root)
    if not (root and found):
        return Checkout(is_cut_off=root is not None and _is_cut_off(root))
    git, repository = found
    below = workspace.relative_to(root)
    config = _text(repository / "config", repository)
    is_bare = re.search(r"^\s*bare\s*=\s*true", config, re.MULTILINE)
    has_main = git != repository and repository.name == ".git" and not is_bare
    written_once = git / ("description" if git == repository else "commondir")
    made = written_once.lstat().st_mtime_ns if os.path.lexists(written_once) else None
    return Checkout(
        workspace,
        root,
        repository,
        main=repository.parent / below if has_main else None,
        birth=f"{made} {below}" if made else "",
    )


def with_main(folder: Path) -> list[Path]:
    """Return a folder, and its main checkout if it is a worktree: what marks one marks both."""
    main = checkout_of(folder).main if (folder / ".git").is_file() else None
    return [folder] if main is None else [folder, main]


def _git_folder(root: Path) -> tuple[Path, Path] | None:
    """Return the git folder of a checkout and that of its repository, if both name each other."""
    mark = root / ".git"
    if mark.is_symlink():
        return None
    if mark.is_dir():
        return mark, mark
    given = _text(mark, root)
    git = Path(os.path.realpath(root / given.removeprefix("gitdir:").strip()))
    if not given.startswith("gitdir:") or git.parent.name != "worktrees":
        return None
    names_back = os.path.realpath(git / _text(git / "gitdir", git)) == str(mark)
    return (git, git.parent.parent) if names_back else None


def _is_cut_off(root: Path) -> bool:
    given = _text(root / ".git", root).removeprefix("gitdir:").strip()
    return "/worktrees/" in given and not os.path.lexists(root / given)


def _text(file: Path, inside: Path) -> str:
    try:
        return read_inside(file, inside, max_bytes=_MAX_BYTES).decode().replace("\0", "").strip()
    except (OSError, ValueError):
        return ""
