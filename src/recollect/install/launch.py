"""How an agent starts Recollect: the very program that is running, by its absolute path.

A name alone would depend on the agent's PATH, which is often not that of a terminal, and another
program may have the same name.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME = "recollect"
_CARRIED = ("RECOLLECT_HOME", "RECOLLECT_CONFIG", "RECOLLECT_AGENT")
"""Variables that decide which memory is meant: the agent's environment may not have them."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A command that starts Recollect on a workspace."""

    program: tuple[str, ...]
    """The executable, or Python with the module."""
    options: tuple[str, ...]
    """That name the memory: `-w DIR` and what else was given."""
    environ: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def find(  # noqa: PLR0913 - what a memory can be named by
        cls,
        workspace: Path,
        *,
        started_as: str,
        executable: str,
        environ: Mapping[str, str],
        agent: str | None = None,
        config_file: Path | None = None,
    ) -> Launch:
        """Return the command for a workspace.

        Args:
            workspace: to be named in it.
            started_as: what the running program was called with, `sys.argv[0]`.
            executable: the running Python.
            environ: where variables that name the memory may be set.
            agent: id of the index, if one was given.
            config_file: the settings file, if one was given.

        """
        options = ["-w", str(workspace)]
        options += ["--agent", agent] if agent else []
        options += ["--config", str(config_file.absolute())] if config_file else []
        named = {name: environ[name] for name in _CARRIED if environ.get(name)}
        for name in ("RECOLLECT_HOME", "RECOLLECT_CONFIG"):
            if name in named:
                named[name] = str(Path(named[name]).expanduser().absolute())
        program = _program(started_as, executable=executable)
        return cls(program, tuple(options), named)

    @property
    def server(self) -> tuple[str, list[str]]:
        """The command and the arguments that start the MCP server."""
        return self.program[0], [*self.program[1:], "mcp", *self.options]

    def hook(self, event: str) -> str:
        """Return the line of shell that answers an event of an agent's session."""
        line = shlex.join([*self.program, "hook", event, *self.options])
        return " ".join(
            [*(f"{key}={shlex.quote(value)}" for key, value in self.environ.items()), line]
        )


def _program(started_as: str, *, executable: str) -> tuple[str, ...]:
    beside = Path(executable).with_name(_NAME)
    for path in (Path(started_as), beside):
        for candidate in (path, path.with_name(f"{path.name}.exe")):
            if candidate.stem == _NAME and candidate.suffix in ("", ".exe") and _runs(candidate):
                return (str(candidate.absolute()),)
    return (str(Path(executable).absolute()), "-m", _NAME)


def _runs(file: Path) -> bool:
    return file.is_file() and os.access(file, os.X_OK)
