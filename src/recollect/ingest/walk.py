"""Finding the files of a memory: the workspace's own, then the extra paths.

It knows which places belong to a memory and in which order; `folders` knows how to look through
one. No file is read here.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import WorkspaceError
from recollect.ingest.curated import CURATED
from recollect.ingest.folders import Look, Seen
from recollect.ingest.ignore import ignored_by
from recollect.ingest.media import MediaOptions, modality_of
from recollect.reports import Failure
from recollect.text.globs import matches
from recollect.text.setting import paths, setting
from recollect.types import SourceKind, Stat

if TYPE_CHECKING:
    from collections.abc import Callable

    from recollect.types import Modality

_FOLDER = "memory"
_SUFFIX = ".md"
_MAGIC = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class WalkOptions:
    """Where else to look, and where not to."""

    extra_paths: tuple[str, ...] = setting(
        "extra_paths", (), paths, "more files, folders and globs to index"
    )
    """Absolute, below `~` or relative to the workspace."""
    exclude: tuple[str, ...] = setting("exclude", (), paths, "globs of files to leave out")
    """Matched against stored paths; a folder that matches is left out with all it contains."""
    media: MediaOptions = field(default_factory=MediaOptions)
    """Which media files are taken in besides Markdown: from the extra paths only."""


@dataclass(frozen=True, slots=True)
class Found:
    """A file to take in."""

    path: str
    """As stored: relative to the workspace, with forward slashes, possibly from `../` on."""
    file: Path
    stat: Stat
    source: SourceKind
    media: Modality | None = None
    """None for a text."""


def walk(workspace: Path, *, options: WalkOptions) -> tuple[list[Found], list[Failure]]:
    """Return the files of a memory in order, each once, and what could not be looked into.

    Raises:
        WorkspaceError: there is no such folder, or it cannot be listed.

    """
    root = _real_folder(workspace)
    own = _Limits(root, options.exclude)
    extra = _Limits(root, options.exclude, options.media.accepted)
    seen: list[Seen] = []
    failures: list[Failure] = []
    for name in _own_names(root):
        if name in CURATED and (root / name).is_dir():
            failures.append(Failure(name, "is a folder, not a file", "Rename the folder."))
        else:
            seen += own.look(root / name, boundary=root, failures=failures)
    for given in options.extra_paths:
        if text := given.strip():
            seen += _extra(text, limits=extra, failures=failures)
    first = {each.real: each for each in reversed(seen)}
    found = [
        Found(each.path, Path(each.file), each.stat, SourceKind.MEMORY, modality_of(each.path))
        for each in seen
        if first[each.real] is each
    ]
    return found, failures


@dataclass(frozen=True, slots=True)
class Watched:
    """A place whose changes concern a memory."""

    path: Path
    is_deep: bool
    """With everything below it."""


def watched(workspace: Path, *, options: WalkOptions) -> list[Watched]:
    """Return where changes can change what a walk finds: not the whole workspace."""
    found = [Watched(workspace, is_deep=False), Watched(workspace / _FOLDER, is_deep=True)]
    for given in options.extra_paths:
        parts = Path(given.strip()).expanduser().parts
        fixed = takewhile(lambda part: not _MAGIC.search(part), parts)
        found.append(Watched(_joined(workspace, *fixed), is_deep=True))
    return [each for each in found if each.path.exists()]


def _real_folder(workspace: Path) -> Path:
    action = "Name the folder that holds MEMORY.md or memory/."
    try:
        root = workspace.resolve(strict=True)
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle, before 3.13
        message = f"The workspace {workspace} does not exist or cannot be reached."
        raise WorkspaceError(message, action=action) from error
    if not root.is_dir():
        message = f"The workspace {workspace} is not a folder."
        raise WorkspaceError(message, action=action)
    return root


def _own_names(root: Path) -> list[str]:
    try:
        # Listed rather than asked for by name: on some disks memory.md answers to MEMORY.md.
        names = {entry.name for entry in root.iterdir()}
    except OSError as error:
        message = f"The workspace {root} cannot be listed: {error.strerror}."
        raise WorkspaceError(message, action="Make the folder readable.") from error
    own = [name for name in CURATED if name in names]
    return own if _FOLDER not in names or (root / _FOLDER).is_file() else [*own, _FOLDER]


@dataclass(frozen=True, slots=True)
class _Limits:
    """What holds for every place that is looked at."""

    root: Path
    exclude: tuple[str, ...]
    modalities: tuple[Modality, ...] = ()

    def look(
        self,
        place: Path,
        *,
        boundary: Path,
        failures: list[Failure],
        pattern: str = "",
    ) -> list[Seen]:
        """Return the files at a place in order; what fails is added to `failures`."""
        is_flat = pattern and "**" not in pattern
        path = self._stored(place)
        look = Look(
            str(boundary),
            is_wanted=self._is_wanted,
            is_excluded=self._excluding(boundary, failures=failures),
            max_depth=pattern.count("/") if is_flat else None,
        )
        look.at(path, str(place))
        failures += look.failures
        top = "" if path == "." else f"{path}/"
        return sorted(
            (
                each
                for each in look.seen
                if not pattern or matches(each.path.removeprefix(top), f"/{pattern}")
            ),
            key=lambda each: each.path,
        )

    def _is_wanted(self, name: str) -> bool:
        return name.lower().endswith(_SUFFIX) or modality_of(name) in self.modalities

    def _excluding(self, boundary: Path, *, failures: list[Failure]) -> Callable[[str], bool]:
        """Return what is left out inside a boundary: by the setting, and by its ignore file."""
        top = self._stored(boundary)
        is_ignored, failure = ignored_by(boundary, shown=top)
        if failure is not None and failure not in failures:
            failures.append(failure)
        prefix = "" if top == "." else f"{top}/"

        def is_excluded(path: str) -> bool:
            if any(matches(path, pattern.removesuffix("/")) for pattern in self.exclude):
                return True
            if is_ignored is None or path == top or not path.startswith(prefix):
                return False
            return is_ignored(path.removeprefix(prefix))

        return is_excluded

    def _stored(self, place: Path) -> str:
        # Only the place itself may be a link, so that one file is not stored under two paths.
        named = place.parent.resolve() / place.name
        try:
            return Path(os.path.relpath(named, self.root)).as_posix()
        except ValueError:  # on another drive
            return named.as_posix()


def _extra(text: str, *, limits: _Limits, failures: list[Failure]) -> list[Seen]:
    try:
        given = Path(text).expanduser()
        place = _joined(limits.root, *given.parts)
        place.stat()
    except (FileNotFoundError, NotADirectoryError):
        return _extra_glob(text, given, limits=limits, failures=failures)
    except (OSError, RuntimeError, ValueError) as error:  # no permission, no such home, NUL
        reason = f"cannot be reached: {getattr(error, 'strerror', error)}"
        failures.append(Failure(text, reason, "Make it readable, or correct extra_paths."))
        return []
    modality = modality_of(place.name)
    if modality is not None and modality not in limits.modalities and place.is_file():
        reason = f"is an {modality} file, and those are not taken in"
        action = "See multimodal.enabled and multimodal.modalities, or remove it in extra_paths."
        failures.append(Failure(text, reason, action))
        return []
    return limits.look(place, boundary=place.resolve(), failures=failures)


def _extra_glob(text: str, given: Path, *, limits: _Limits, failures: list[Failure]) -> list[Seen]:
    fixed = sum(1 for _ in takewhile(lambda part: not _MAGIC.search(part), given.parts))
    base, pattern = _joined(limits.root, *given.parts[:fixed]), "/".join(given.parts[fixed:])
    seen: list[Seen] = []
    if pattern and base.is_dir():
        boundary = base.resolve()
        seen = limits.look(base, boundary=boundary, failures=failures, pattern=pattern)
    if not seen:
        wanted = "Markdown or media file" if limits.modalities else "Markdown file"
        reason = f"matches no {wanted}" if pattern else "does not exist"
        action = "Create it, or correct or remove it in extra_paths."
        failures.append(Failure(text, reason, action))
    return seen


def _joined(root: Path, *parts: str) -> Path:
    return Path(os.path.normpath(root.joinpath(*parts)))
