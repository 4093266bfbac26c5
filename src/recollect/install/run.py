"""Installs Recollect into an agent and undoes it: every file is planned first, then written."""

from __future__ import annotations

import difflib
import os
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.config.paths import find_workspace
from recollect.errors import ConfigError
from recollect.install.agents import AGENTS, PROJECT, InstallRequest, InstallScope, Launch
from recollect.install.edit import snippet, was_made_here, with_entries, without_entries
from recollect.records import dataclass
from recollect.text.confined import read_inside, resolve_inside
from recollect.text.files import delete_file, make_folder, replace_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from recollect.install.agents import AgentFile, AgentProgram

_MAX_PROJECT_BYTES = 32 * 1024  # of a file in a project, which may come from someone else


@dataclass(frozen=True, slots=True)
class FileChange:
    """The change to one file."""

    file: Path
    before: str | None
    """Content before; None if there was no file."""
    after: str | None
    """Content after; None if the file is deleted."""

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
    is_undo: bool
    is_written: bool


@dataclass(frozen=True, slots=True)
class Installer:
    """Configures one agent for one workspace."""

    agent: AgentProgram
    request: InstallRequest
    workspace: Path

    @classmethod
    def find(  # noqa: PLR0913 - what a command line can name
        cls,
        agent: str,
        workspace: Path | None = None,
        *,
        scope: InstallScope | None = None,
        with_hooks: bool = False,
        index_agent: str | None = None,
        config_file: Path | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Installer:
        """Find the workspace and the command to start; no file is read yet."""
        place = find_workspace(workspace, environ=environ)
        launch = Launch.find(
            place.folder,
            started_as=sys.argv[0],
            executable=sys.executable,
            environ=place.environ,
            agent=index_agent,
            config_file=config_file,
        )
        found = {**AGENTS, PROJECT.name: PROJECT}[agent]
        request = InstallRequest(
            launch=launch,
            scope=scope or found.default_scope,
            project=Path.cwd(),
            environ=place.environ,
            with_hooks=with_hooks,
        )
        return cls(found, request, place.folder)

    @property
    def is_here(self) -> bool:
        """Whether this machine has the agent."""
        return self.agent.is_here(self.request)

    def run(self, *, undo: bool = False, write: bool = True) -> Installed:
        """Write the configuration, or remove what was written and nothing else."""
        request = replace(self.request, with_hooks=True) if undo else self.request
        targets = self.agent.files(request)
        files = tuple(self._plan(target, undo=undo) for target in targets)
        if write:
            self._carry_out(files, targets, undo=undo)
        return Installed(
            agent=self.agent,
            scope=request.scope,
            workspace=self.workspace,
            launch=request.launch,
            files=files,
            snippets={target.file: snippet(target) for target in targets},
            hooks_file=next((each.file for each in targets if each.has_hooks), None),
            is_undo=undo,
            is_written=write,
        )

    def _plan(self, target: AgentFile, *, undo: bool) -> FileChange:
        file = target.file
        try:
            before = self._read(file)
            if not undo:
                return FileChange(file, before, with_entries(before or "", target))
            after = None if before is None else without_entries(before, target)
            if before and after is not None and after != before and was_made_here(before, after):
                after = None
        except (OSError, ValueError, RecursionError) as error:
            raise _refused(target, error, undo=undo) from None
        return FileChange(file, before, after)

    def _carry_out(
        self, changes: Sequence[FileChange], targets: Sequence[AgentFile], *, undo: bool
    ) -> None:
        """Write every file; if one cannot be written, put those before it back."""
        done: list[FileChange] = []
        try:
            for change, target in zip(changes, targets, strict=True):
                self._write_planned(change, target, undo=undo)
                done.append(change)
        except ConfigError:
            for change in reversed(done):
                with suppress(OSError, ValueError):
                    if self._read(change.file) == change.after:
                        self._write(FileChange(change.file, change.after, change.before))
            raise

    def _write_planned(self, change: FileChange, target: AgentFile, *, undo: bool) -> None:
        """Write a file, unless the agent has written it since the change was planned."""
        try:
            if change.is_change and self._read(change.file) != change.before:
                raise ConfigError(
                    f"Another program has just written {change.file}.",
                    action=f"Quit {self.agent.title} and try again.",
                )
            self._write(change)
        except (OSError, ValueError) as error:
            raise _refused(target, error, undo=undo) from error

    def _write(self, change: FileChange) -> None:
        if not change.is_change:
            return
        file = self._real(change.file)
        if change.after is None:
            delete_file(file)
            self._remove_empty_folders(change.file)
        else:
            make_folder(file.parent)
            # An existing file is the agent's: it keeps its mode.
            is_private = self.request.scope is InstallScope.USER and change.before is None
            replace_file(file, change.after.encode(), private=is_private)

    def _remove_empty_folders(self, file: Path) -> None:
        """Remove the folders that held nothing but a file, below the home or the project."""
        tops = (self.request.user, self.request.project, self.workspace)
        for folder in file.parents:
            is_below = any(top in folder.parents for top in tops)
            if folder in tops or not is_below or any(folder.iterdir()):
                return
            folder.rmdir()

    def _read(self, file: Path) -> str | None:
        boundary = self.request.boundary
        try:
            if boundary is None:
                return file.read_bytes().decode("utf-8")
            return read_inside(file, boundary, max_bytes=_MAX_PROJECT_BYTES).decode("utf-8")
        except FileNotFoundError:
            return None
        except UnicodeDecodeError:
            raise ValueError("it is not UTF-8 text") from None

    def _real(self, file: Path) -> Path:
        """Return what a file leads to."""
        boundary = self.request.boundary
        return file.resolve() if boundary is None else resolve_inside(file, boundary)


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
