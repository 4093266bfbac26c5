"""Installs Recollect into an agent and undoes it: every file is planned first, then written.

A file that cannot be edited safely is left unchanged, and the error has the text to paste into it.
"""

from __future__ import annotations

import difflib
import json
import os
import sys
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.config import find_workspace
from recollect.errors import ConfigError
from recollect.install.agents import AGENTS, InstallRequest, InstallScope, Launch
from recollect.install.edit import InstallRecord, is_empty, snippet, with_entries, without_entries
from recollect.records import dataclass
from recollect.text.confined import read_inside, resolve_inside
from recollect.text.files import delete_file, make_folder, make_private_folder, replace_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from recollect.install.agents import AgentFile, AgentProgram

_RECORDS = "installed.json"
_MAX_PROJECT_BYTES = 32 * 1024  # of a file in a project, which may come from someone else
_TRIES = 5  # agents write their files while they run, but seldom twice within a moment


@dataclass(frozen=True, slots=True)
class FileChange:
    """The change to one file."""

    file: Path
    before: str | None
    """None if there was no file."""
    after: str | None
    """None if the file is deleted."""

    @property
    def is_change(self) -> bool:
        """False if the file already is as it should be."""
        return self.before != self.after

    @property
    def diff(self) -> str:
        """The change as a unified diff; empty if there is none."""
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
    """The entries of each file, to be pasted by hand."""
    hooks_file: Path | None
    """The file whose hooks call this package; None if there are no hooks."""
    own_command: str | None
    is_undo: bool
    is_written: bool


@dataclass(frozen=True, slots=True)
class Installer:
    """Configures one agent for one workspace."""

    agent: AgentProgram
    request: InstallRequest
    workspace: Path
    records: InstallRecords

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
    ) -> Installer:
        """Find the workspace and the command to start; no file is read yet.

        Raises:
            WorkspaceError: there is no such folder.

        """
        place = find_workspace(workspace, environ=environ)
        launch = Launch.find(
            place.folder,
            started_as=sys.argv[0],
            executable=sys.executable,
            environ=place.environ,
            agent=index_agent,
            config_file=config_file,
        )
        found = AGENTS[agent]
        request = InstallRequest(
            launch=launch,
            scope=scope or found.default_scope,
            workspace=place.folder,
            project=Path.cwd(),
            environ=place.environ,
            with_hooks=with_hooks,
        )
        return cls(found, request, place.folder, InstallRecords(place.places.home / _RECORDS))

    def install(self, *, write: bool = True) -> Installed:
        """Write the configuration, or with `write` False return what would be written.

        Raises:
            ConfigError: a file cannot be parsed, and no file was changed; or it cannot be written.

        """
        return self._run(undo=False, write=write)

    def undo(self, *, write: bool = True) -> Installed:
        """Remove what was written, and nothing else.

        Raises:
            ConfigError: a file cannot be parsed or written.

        """
        return self._run(undo=True, write=write)

    def _run(self, *, undo: bool, write: bool) -> Installed:
        request = replace(self.request, with_hooks=True) if undo else self.request
        targets = self.agent.files(request)
        files = tuple(self._plan(target, undo=undo)[0] for target in targets)
        if write:
            files = self._carry_out_all(targets, undo=undo)
        return Installed(
            agent=self.agent,
            scope=request.scope,
            workspace=self.workspace,
            launch=request.launch,
            files=files,
            snippets={target.file: snippet(target) for target in targets},
            hooks_file=next((each.file for each in targets if each.has_hooks), None),
            own_command=self.agent.own_command(request),
            is_undo=undo,
            is_written=write,
        )

    def _plan(self, target: AgentFile, *, undo: bool) -> tuple[FileChange, InstallRecord | None]:
        file = target.file
        try:
            before = self._read(file)
            record = self.records.of(file)
            if not undo:
                after, kept = with_entries(before or "", target, record=record)
                if before is None:
                    kept = replace(kept, made_file=True, made_folders=_missing_folders(file))
                return FileChange(file, before, after), kept if kept != InstallRecord() else None
            if before is None:
                return FileChange(file, None, None), None
            after = without_entries(before, target, record=record)
        except (OSError, ValueError, RecursionError) as error:
            raise _refused(target, error, undo=undo) from None
        is_ours = record is not None and record.made_file
        is_gone = is_ours and after != before and is_empty(after, syntax=target.syntax)
        return FileChange(file, before, None if is_gone else after), None

    def _carry_out_all(self, targets: Sequence[AgentFile], *, undo: bool) -> tuple[FileChange, ...]:
        """Write every file; if one cannot be written, put those before it back."""
        done: list[tuple[FileChange, InstallRecord | None]] = []
        try:
            for target in targets:
                self._carry_out(target, undo=undo, done=done)
        except ConfigError:
            self._put_back(done)
            raise
        return tuple(change for change, _ in done)

    def _carry_out(
        self,
        target: AgentFile,
        *,
        undo: bool,
        done: list[tuple[FileChange, InstallRecord | None]],
    ) -> None:
        """Plan again and write, unless the agent has written the file in between.

        The change is added to `done` before it is made, with the record that there was.
        """
        file = target.file
        for _ in range(_TRIES):
            change, record = self._plan(target, undo=undo)
            try:
                if change.is_change and self._read(file) != change.before:
                    continue
                previous = self.records.of(file)
                done.append((change, previous))
                if record is not None:  # first: what was written without one could not be undone
                    self.records.store(file, record)
                self._write(change, previous or InstallRecord())
                if record is None:
                    self.records.store(file, None)
            except OSError as error:
                raise _refused(target, error, undo=undo) from error
            return
        raise ConfigError(
            f"Another program keeps writing {file}.",
            action=f"Quit {self.agent.title} and try again.",
        )

    def _write(self, change: FileChange, record: InstallRecord) -> None:
        if not change.is_change:
            return
        file = self._real(change.file)
        if change.after is None:
            delete_file(file)
            _remove_folders(record.made_folders)
        else:
            make_folder(file.parent)
            # An existing file is the agent's: it keeps its mode.
            is_private = self.request.scope is InstallScope.USER and change.before is None
            replace_file(file, change.after.encode(), private=is_private)

    def _put_back(self, done: Sequence[tuple[FileChange, InstallRecord | None]]) -> None:
        """Give files and records their old content back, as far as the disk permits."""
        for change, previous in reversed(done):
            with suppress(OSError, ValueError):
                made = self.records.of(change.file) or InstallRecord()
                if self._read(change.file) == change.after:
                    self._write(FileChange(change.file, change.after, change.before), made)
                _remove_folders(made.made_folders)
                self.records.store(change.file, previous)

    def _read(self, file: Path) -> str | None:
        boundary = self.request.boundary_of(file)
        try:
            if boundary is None:
                return file.read_bytes().decode("utf-8")
            return read_inside(file, boundary, max_bytes=_MAX_PROJECT_BYTES).decode("utf-8")
        except FileNotFoundError:
            return None
        except UnicodeDecodeError:
            raise ValueError("it is not UTF-8 text") from None

    def _real(self, file: Path) -> Path:
        """Return what a file leads to.

        Raises:
            RefusedError: it leads out of the folder that it is in.

        """
        boundary = self.request.boundary_of(file)
        return file.resolve() if boundary is None else resolve_inside(file, boundary)


def _missing_folders(file: Path) -> tuple[str, ...]:
    return tuple(str(folder) for folder in reversed(file.parents) if not folder.exists())


def _remove_folders(folders: tuple[str, ...]) -> None:
    for folder in reversed(folders):
        if Path(folder).is_dir() and not any(Path(folder).iterdir()):
            Path(folder).rmdir()


def _refused(
    target: AgentFile, error: OSError | ValueError | RecursionError, *, undo: bool
) -> ConfigError:
    reason = (error.strerror if isinstance(error, OSError) else None) or error
    left = "" if isinstance(error, OSError) else "; it was left as it was"
    verb = "remove this from it" if undo else "add this to it"
    return ConfigError(
        f"{target.file} cannot be changed ({reason}){left}.",
        action=f"Correct it and try again, or {verb} yourself:\n{snippet(target)}",
    )


class InstallRecords:
    """What was added to which file, kept in the home so that exactly that can be removed."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def of(self, file: Path) -> InstallRecord | None:
        """Return the record of a file; None if there is none, or it is damaged.

        Raises:
            OSError: it cannot be read.

        """
        try:
            kept = self._all()[str(file)]
            return InstallRecord(
                pieces=tuple(map(str, kept["pieces"])),
                made=tuple(tuple(map(str, path)) for path in kept["made"]),
                made_file=bool(kept["made_file"]),
                made_folders=tuple(map(str, kept["made_folders"])),
            )
        except (KeyError, TypeError):
            return None

    def store(self, file: Path, record: InstallRecord | None) -> None:
        """Store the record of a file; None removes it.

        Raises:
            OSError: it cannot be written.

        """
        records = self._all()
        if record is None and str(file) not in records:
            return
        records.pop(str(file), None)
        if record is not None:
            records[str(file)] = asdict(record)
        make_private_folder(self._file.parent)
        text = json.dumps(records, ensure_ascii=False, indent=2) + "\n"
        replace_file(self._file, text.encode(), private=True)

    def _all(self) -> dict[str, dict[str, list[str]]]:
        try:
            records = json.loads(self._file.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return {}
        return records if isinstance(records, dict) else {}
