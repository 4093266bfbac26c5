"""Finds the files of a memory: the workspace's own, then extra paths, minus what is excluded."""

from __future__ import annotations

import json
import os
import re
from itertools import takewhile
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import NotFoundError, WorkspaceError
from recollect.ingest.folders import FolderSearch, Found
from recollect.ingest.media import modality_of, oversize
from recollect.ingest.note_files import FOLDER, NAME_A_FOLDER, Layout
from recollect.records import dataclass
from recollect.reports import Failure
from recollect.text.confined import is_inside, read_inside
from recollect.text.globs import IgnoreRules, matcher, matches, near_path
from recollect.types import CURATED

if TYPE_CHECKING:
    from collections.abc import Callable

    from recollect.ingest.options import WalkOptions

_SUFFIX = ".md"
_MAGIC = re.compile(r"[*?\[]")


def walk(
    workspace: Path, *, options: WalkOptions, takes: Callable[[str], object] | None = None
) -> tuple[list[Found], list[Failure]]:
    """Return a memory's files in order, each once, also what `takes` wants, and unread paths."""
    root = _real_folder(workspace)
    own = _Limits(root, options, takes or _nothing)
    takes = takes or (modality_of if options.media else _nothing)
    extra = _Limits(root, options, takes, options.stays_inside)
    seen: list[Found] = []
    failures: list[Failure] = []
    for name in layout_of(root, options=options).names():
        if name in CURATED and (root / name).is_dir():
            failures.append(Failure(name, "is a folder, not a file", "Rename the folder."))
        else:
            seen += own.look(root / name, boundary=root, failures=failures)
    for given in options.extra_paths:
        if text := given.strip():
            seen += _extra(text, limits=extra, failures=failures)
    first = {each.real: each for each in reversed(seen)}
    found = [
        each if options.is_text(each.path) else _other(each, options)
        for each in seen
        if first[each.real] is each
    ]
    # By its stat alone: whether a file is too large must not depend on when it was read.
    media = (each for each in found if each.media)
    large = {each.path: why for each in media if (why := oversize(each))}
    kept = [each for each in found if each.path not in large] if large else found
    return kept, [*failures, *large.values()]


def _nothing(_name: str) -> bool:
    return False


def _other(found: Found, options: WalkOptions) -> Found:
    if command := options.command_for(found.path):
        return found._replace(command=command)
    return found._replace(media=modality_of(found.path))


def layout_of(workspace: Path, *, options: WalkOptions) -> Layout:
    """Return which of a workspace's own files are notes."""
    root = Path(os.path.realpath(workspace))
    return Layout(root, options.user_home, has_extra_paths=bool(options.extra_paths))


def require_notes(workspace: Path, *, options: WalkOptions) -> None:
    """Refuse a workspace in which there is nothing to index, as one named by mistake."""
    found, failures = walk(workspace, options=options)
    if not (found or failures or (workspace / FOLDER).exists()):
        raise WorkspaceError(
            f"{workspace} has no Markdown files, so nothing is indexed.", action=NAME_A_FOLDER
        )


def find_matching(workspace: Path, pattern: str) -> list[Found]:
    """Return the files of any kind in a workspace that match a glob; no link leads out of it."""
    root = _real_folder(workspace)
    parts = Path(pattern).parts
    fixed = list(takewhile(lambda part: not _MAGIC.search(part), parts))
    base = root.joinpath(*fixed)
    if not _is_within(base, root):
        return []
    is_flat = "**" not in pattern
    search = FolderSearch(
        str(root),
        is_wanted=lambda path: matches(path, "/" + "/".join(parts)),
        is_excluded=lambda _path: False,
        max_depth=len(parts) - len(fixed) if is_flat else None,
    )
    search.at("/".join(fixed) or ".", str(base))
    return sorted(search.seen, key=lambda each: each.path)


@dataclass(frozen=True, slots=True)
class Watched:
    """A place where changes can concern a memory."""

    path: Path
    is_deep: bool
    """Whether everything below it counts as well."""


def watched(workspace: Path, *, options: WalkOptions) -> list[Watched]:
    """Return the places where a change can change what `walk` finds: not the whole workspace."""
    is_whole = workspace.is_dir() and layout_of(workspace, options=options).is_whole()
    found = [Watched(workspace, is_deep=is_whole)]
    if _is_within(workspace / FOLDER, workspace):
        found.append(Watched(workspace / FOLDER, is_deep=True))
    found += [Watched(place, is_deep=True) for place in extra_places(workspace, options)]
    return [each for each in found if each.path.exists()]


def roots(workspace: Path, *, options: WalkOptions) -> tuple[Path, ...]:
    """Return the folders that files of a memory are in, links resolved, the workspace first."""
    extra = () if options.stays_inside else extra_places(workspace, options)
    return tuple(Path(os.path.realpath(each)) for each in (workspace, *extra))


def extra_places(workspace: Path, options: WalkOptions) -> list[Path]:
    """Return the files and folders of the extra paths, and where their globs start."""
    places: list[Path] = []
    for given in options.extra_paths:
        parts = Path(given.strip()).expanduser().parts
        fixed = takewhile(lambda part: not _MAGIC.search(part), parts)
        places.append(_joined(workspace, *fixed))
    return [each for each in places if not options.stays_inside or _is_within(each, workspace)]


def _is_within(path: Path, folder: Path) -> bool:
    try:
        return is_inside(os.path.realpath(path), os.path.realpath(folder))
    except ValueError:  # a NUL character, which no path can have
        return False


def _real_folder(workspace: Path) -> Path:
    try:
        root = workspace.resolve(strict=True)
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle, before 3.13
        message = f"The workspace {workspace} does not exist or cannot be reached."
        raise WorkspaceError(message, action=NAME_A_FOLDER) from error
    if not root.is_dir():
        message = f"The workspace {workspace} is not a folder."
        raise WorkspaceError(message, action=NAME_A_FOLDER)
    return root


@dataclass(frozen=True, slots=True)
class _Limits:
    """The rules for every place that is searched."""

    root: Path
    options: WalkOptions
    takes: Callable[[str], object]
    """Whether a file that is not a note counts, by its name."""
    stays_inside: bool = False

    def look(
        self,
        place: Path,
        *,
        boundary: Path,
        failures: list[Failure],
        pattern: str = "",
    ) -> list[Found]:
        """Return the files at a place in order; `pattern` is a glob below it.

        The boundary is a resolved folder, whose ignore file counts; no link is followed out of it.
        """
        is_flat = pattern and "**" not in pattern
        path = self._stored(place)
        search = FolderSearch(
            str(self.root if self.stays_inside else boundary),
            is_wanted=self._is_wanted,
            is_excluded=self._excluding(boundary, failures=failures),
            max_depth=pattern.count("/") if is_flat else None,
        )
        search.at(path, str(place))
        failures += search.failures
        top = "" if path == "." else f"{path}/"
        return sorted(
            (
                each
                for each in search.seen
                if not pattern or matches(each.path.removeprefix(top), f"/{pattern}")
            ),
            key=attrgetter("path"),
        )

    def _is_wanted(self, name: str) -> bool:
        options = self.options
        is_read = options.is_text(name) or bool(options.command_for(name))
        return is_read or bool(self.takes(name))

    def _excluding(self, boundary: Path, *, failures: list[Failure]) -> Callable[[str], bool]:
        """Return a test for excluded paths: by the setting, and by the boundary's ignore file."""
        top = self._stored(boundary)
        is_ignored, failure = ignored_by(boundary, shown=top)
        if failure is not None and failure not in failures:
            failures.append(failure)
        if is_ignored is None and not self.options.exclude:
            return lambda _path: False
        prefix = "" if top == "." else f"{top}/"
        excluded = [matcher(pattern.removesuffix("/")) for pattern in self.options.exclude]

        def is_excluded(path: str) -> bool:
            for is_match in excluded:
                if is_match(path):
                    return True
            if is_ignored is None or path == top or not path.startswith(prefix):
                return False
            return is_ignored(path.removeprefix(prefix))

        return is_excluded

    def _stored(self, place: Path) -> str:
        # Only the last part may be a link, so that one file is not stored under two paths.
        named = place.parent.resolve() / place.name
        try:
            return Path(os.path.relpath(named, self.root)).as_posix()
        except ValueError:  # on another drive
            return named.as_posix()


def _extra(text: str, *, limits: _Limits, failures: list[Failure]) -> list[Found]:
    try:
        given = Path(text).expanduser()
        place = _joined(limits.root, *given.parts)
        place.stat()
    except (FileNotFoundError, NotADirectoryError):
        return _extra_glob(text, given, limits=limits, failures=failures)
    except (OSError, RuntimeError, ValueError) as error:  # no permission, no such home folder, NUL
        reason = f"cannot be reached: {getattr(error, 'strerror', error)}"
        failures.append(_wrong_entry(text, reason, "Make it readable, or fix the entry."))
        return []
    if limits.stays_inside and not _is_within(place, limits.root):
        failures.append(_wrong_entry(text, _LEADS_OUT, _NAME_YOURSELF))
        return []
    modality = modality_of(place.name)
    is_taken = limits.takes(place.name) or bool(limits.options.command_for(place.name))
    if modality is not None and not is_taken and place.is_file():
        reason = f"is an {modality} file, and those are not indexed"
        action = "Set multimodal.enabled, or remove it from extra_paths."
        failures.append(Failure(text, reason, action))
        return []
    return limits.look(place, boundary=place.resolve(), failures=failures)


def _extra_glob(text: str, given: Path, *, limits: _Limits, failures: list[Failure]) -> list[Found]:
    fixed = sum(1 for _ in takewhile(lambda part: not _MAGIC.search(part), given.parts))
    base, pattern = _joined(limits.root, *given.parts[:fixed]), "/".join(given.parts[fixed:])
    seen: list[Found] = []
    if limits.stays_inside and not _is_within(base, limits.root):
        failures.append(_wrong_entry(text, _LEADS_OUT, _NAME_YOURSELF))
        return []
    if pattern and base.is_dir():
        boundary = base.resolve()
        seen = limits.look(base, boundary=boundary, failures=failures, pattern=pattern)
    if not seen:
        wanted = "Markdown files" if limits.takes is _nothing else "Markdown or media files"
        reason = f"matches no {wanted}" if pattern else "does not exist"
        create = "Add some" if pattern else "Create it"
        failures.append(_wrong_entry(text, reason, f"{create}, or fix or remove the entry."))
    return seen


_LEADS_OUT = "leads out of the workspace, whose own settings name it"
_NAME_YOURSELF = "If you trust it, set extra_paths in your own settings."


def _wrong_entry(text: str, reason: str, action: str) -> Failure:
    return Failure(text, reason, action, setting="extra_paths")


def _joined(root: Path, *parts: str) -> Path:
    return Path(os.path.normpath(root.joinpath(*parts)))


IGNORE_FILE = ".recollectignore"
_MAX_IGNORE_BYTES = 64 * 1024
"""Every file is compared with every line."""


def ignored_by(folder: Path, *, shown: str) -> tuple[Callable[[str], bool] | None, Failure | None]:
    """Return a test for paths in a folder that its ignore file excludes; messages say `shown`."""
    lines = _templates_of_vault(folder)
    try:
        content = read_inside(folder / IGNORE_FILE, folder, max_bytes=_MAX_IGNORE_BYTES)
        lines += content.decode("utf-8-sig").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        if not lines:
            return None, None
    except (OSError, UnicodeDecodeError) as error:
        reason = f"cannot be read, so it excludes nothing: {error}"
        return None, Failure(f"{shown}/{IGNORE_FILE}", reason, "Save it as readable UTF-8 text.")
    try:
        rules = IgnoreRules(lines)
    except ValueError as error:
        reason = f"has a line that is not a pattern, so it excludes nothing: {error}"
        return None, Failure(f"{shown}/{IGNORE_FILE}", reason, "Correct the line.")

    def is_ignored(path: str) -> bool:
        # What is not a note may be a folder.
        return rules.ignores(path, may_be_folder=not path.lower().endswith(_SUFFIX))

    return is_ignored, None


def _templates_of_vault(folder: Path) -> list[str]:
    """Return a line that excludes the templates of an Obsidian vault: they say nothing yet."""
    file = folder / ".obsidian" / "templates.json"
    try:
        named = json.loads(read_inside(file, folder, max_bytes=_MAX_IGNORE_BYTES))["folder"]
        return [f"/{named.strip('/')}/"] if named.strip("/") else []
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return []


def locate(path: str, *, workspace: Path, options: WalkOptions) -> Found:
    """Return the memory file with this path, relative to the workspace or absolute."""
    found, failures = walk(workspace, options=options)
    wanted = os.path.relpath(os.path.normpath(workspace / path), workspace).replace(os.sep, "/")
    for each in found:
        if each.path == wanted:
            return each
    for failure in failures:
        if failure.path == wanted:
            raise NotFoundError(f"{path}: {failure.reason}", action=failure.action)
    if wanted.startswith("../"):
        action = "Only what the setting `extra_paths` names is read outside."
        raise NotFoundError(f"{path} is outside of this workspace.", action=action)
    if os.path.lexists(workspace / path):
        if f"/{wanted}".startswith(tuple(_templates_of_vault(workspace))):
            action = "Move it out of the folder of templates."
            raise NotFoundError(f"{path} is a template of this Obsidian vault.", action=action)
        raise NotFoundError(
            f"{path} is not a memory file of this workspace.",
            action="Where MEMORY.md or memory/ exists, they and `extra_paths` are indexed; the "
            f"setting `exclude` and {IGNORE_FILE} leave files out.",
        )
    near = near_path(wanted, (each.path for each in found))
    raise missing(path, workspace=workspace, near=near)


def missing(path: str, *, workspace: Path, near: str = "") -> NotFoundError:
    """Return the error for a path that does not exist, or must not be known to exist."""
    action = f"Did you mean {near}?" if near else "Use a path as `recollect search` shows it."
    return NotFoundError(f"There is no {path} in {workspace}.", action=action)
