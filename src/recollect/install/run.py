"""Installing into an agent and undoing it: every file is planned first, then written.

A file that cannot be edited safely is left as it was, and the error holds what to paste into it.
"""

from __future__ import annotations

import difflib
import json
import os
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.config import find_workspace
from recollect.errors import ConfigError
from recollect.install.agents import AGENTS, InstallRequest, InstallScope, Launch
from recollect.install.edit import Note, added, is_empty, snippet, taken_out
from recollect.text.files import replace_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recollect.install.agents import AgentFile, AgentProgram

_NOTES = "installed.json"
_TRIES = 5  # agents write their files while they run; between two looks seldom more than once


@dataclass(frozen=True, slots=True)
class FileChange:
    """What becomes of one file."""

    file: Path
    before: str | None
    """None when there was no file."""
    after: str | None
    """None when there is no file any more."""

    @property
    def is_change(self) -> bool:
        """False when the file says so already, or has nothing to be taken out."""
        return self.before != self.after

    @property
    def diff(self) -> str:
        """The change as a unified diff; empty where nothing changes."""
        return "\n".join(
            difflib.unified_diff(
                (self.before or "").splitlines(),
                (self.after or "").splitlines(),
                str(self.file) if self.before is not None else os.devnull,
                str(self.file) if self.after is not None else os.devnull,
                n=1,
                lineterm="",
            )
        )


@dataclass(frozen=True, slots=True)
class Installed:
    """What was, or would be, done."""

    agent: AgentProgram
    scope: InstallScope
    workspace: Path
    launch: Launch
    files: tuple[FileChange, ...]
    snippets: Mapping[Path, str]
    """What each file is to say, to be pasted by hand."""
    own_command: str | None
    is_undo: bool
    is_written: bool


@dataclass(frozen=True, slots=True)
class Installer:
    """Tells one agent of one workspace."""

    agent: AgentProgram
    request: InstallRequest
    workspace: Path
    notes: Notes

    @classmethod
    def find(  # noqa: PLR0913 - what a command line can name
        cls,
        agent: str,
        workspace: Path | None = None,
        *,
        scope: InstallScope | None = None,
        with_hooks: bool = True,
        index_agent: str | None = None,
        config_file: Path | None = None,
        environ: Mapping[str, str] | None = None,
        started_as: str | None = None,
    ) -> Installer:
        """Find the workspace and the command that is to be started; nothing is read yet.

        Raises:
            WorkspaceError: there is no such folder.

        """
        place = find_workspace(workspace, environ=environ)
        launch = Launch.find(
            place.folder,
            started_as=sys.argv[0] if started_as is None else started_as,
            executable=sys.executable,
            environ=place.environ,
            agent=index_agent,
            config_file=config_file,
        )
        found = AGENTS[agent]
        request = InstallRequest(
            launch=launch,
            scope=scope or found.default_scope,
            project=Path.cwd(),
            environ=place.environ,
            with_hooks=with_hooks,
        )
        return cls(found, request, place.folder, Notes(place.places.home / _NOTES))

    def install(self, *, write: bool = True) -> Installed:
        """Write the configuration; with `write` False only tell what would be written.

        Raises:
            ConfigError: a file cannot be understood or written; no file has been changed, or the
                error names the one that could not be.

        """
        return self._run(undo=False, write=write)

    def undo(self, *, write: bool = True) -> Installed:
        """Take out what was written, and nothing else.

        Raises:
            ConfigError: a file cannot be understood or written.

        """
        return self._run(undo=True, write=write)

    def _run(self, *, undo: bool, write: bool) -> Installed:
        request = replace(self.request, with_hooks=True) if undo else self.request
        targets = self.agent.targets(request)
        files = tuple(self._plan(target, undo=undo)[0] for target in targets)
        if write:
            files = tuple(self._carry_out(target, undo=undo) for target in targets)
        return Installed(
            agent=self.agent,
            scope=request.scope,
            workspace=self.workspace,
            launch=request.launch,
            files=files,
            snippets={target.file: snippet(target) for target in targets},
            own_command=self.agent.own_command(request),
            is_undo=undo,
            is_written=write,
        )

    def _plan(self, target: AgentFile, *, undo: bool) -> tuple[FileChange, Note | None]:
        file = target.file
        try:
            before = _read(file)
            note = self.notes.of(file)
            if not undo:
                after, kept = added(before or "", target, note=note)
                if before is None:
                    kept = replace(kept, made_file=True, made_folders=_missing_folders(file))
                return FileChange(file, before, after), kept if kept != Note() else None
            if before is None:
                return FileChange(file, None, None), None
            after = taken_out(before, target, note=note)
        except (OSError, ValueError) as error:
            raise _refused(target, error, undo=undo) from None
        is_ours = note is not None and note.made_file
        is_gone = is_ours and after != before and is_empty(after, syntax=target.syntax)
        return FileChange(file, before, None if is_gone else after), None

    def _carry_out(self, target: AgentFile, *, undo: bool) -> FileChange:
        """Plan again and write, unless the agent has written the file in between."""
        file = target.file
        for _ in range(_TRIES):
            change, note = self._plan(target, undo=undo)
            try:
                if change.is_change and _read(file) != change.before:
                    continue
                folders = self.notes.of(file) or Note()
                if change.is_change and change.after is None:
                    file.resolve().unlink()
                    _remove_folders(folders.made_folders)
                elif change.is_change and change.after is not None:
                    file.resolve().parent.mkdir(parents=True, exist_ok=True)
                    is_private = self.request.scope is InstallScope.USER
                    replace_file(file, change.after.encode(), private=is_private)
                self.notes.keep(file, note)
            except OSError as error:
                raise _refused(target, error, undo=undo) from error
            return change
        raise ConfigError(
            f"{file} is being written by another program all the time.",
            action=f"End {self.agent.title} and try again.",
        )


def _read(file: Path) -> str | None:
    try:
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None


def _missing_folders(file: Path) -> tuple[str, ...]:
    return tuple(str(folder) for folder in reversed(file.parents) if not folder.exists())


def _remove_folders(folders: tuple[str, ...]) -> None:
    for folder in reversed(folders):
        if Path(folder).is_dir() and not any(Path(folder).iterdir()):
            Path(folder).rmdir()


def _refused(target: AgentFile, error: OSError | ValueError, *, undo: bool) -> ConfigError:
    reason = (error.strerror if isinstance(error, OSError) else None) or error
    verb = "take out of it" if undo else "write into it"
    return ConfigError(
        f"{target.file} cannot be changed ({reason}). It is as it was.",
        action=f"Correct it and try again, or {verb} yourself:\n{snippet(target)}",
    )


class Notes:
    """The notes of one home."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def of(self, file: Path) -> Note | None:
        """Return the note on a file; None where there is none, or it cannot be read."""
        try:
            kept = self._all()[str(file)]
            return Note(
                pieces=tuple(map(str, kept["pieces"])),
                made=tuple(tuple(map(str, path)) for path in kept["made"]),
                made_file=bool(kept["made_file"]),
                made_folders=tuple(map(str, kept["made_folders"])),
            )
        except (KeyError, TypeError):
            return None

    def keep(self, file: Path, note: Note | None) -> None:
        """Write the note on a file down; None removes it.

        Raises:
            OSError: it cannot be written.

        """
        notes = self._all()
        if note is None and str(file) not in notes:
            return
        notes.pop(str(file), None)
        if note is not None:
            notes[str(file)] = asdict(note)
        self._file.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(notes, ensure_ascii=False, indent=2) + "\n"
        replace_file(self._file, text.encode(), private=True)

    def _all(self) -> dict[str, dict[str, list[str]]]:
        try:
            notes = json.loads(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return notes if isinstance(notes, dict) else {}
