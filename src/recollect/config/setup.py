"""What opening a memory takes, decided once: the workspace, the agent, the places, the settings."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.config.load import ARGUMENTS, load_config, variable_name
from recollect.config.paths import Places, agent_of, find_workspace
from recollect.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from recollect.config.schema import Config


@dataclass(frozen=True, slots=True)
class Setup:
    """A memory before it is opened. Opening it twice gives two that agree."""

    workspace: Path
    agent: str
    named_agent: str | None
    """The agent's id where someone gave it; None where it was derived from the workspace."""
    places: Places
    config: Config
    environ: Mapping[str, str] = field(repr=False)
    """Holds keys, so it is never shown."""
    scopes: frozenset[str] | None = None
    """Of facts that may be seen; None is all of them. A question can only narrow it."""

    @classmethod
    def of(
        cls,
        workspace: Path | str | None,
        *,
        agent: str | None,
        config_file: Path | None,
        settings: Mapping[str, object] | None,
        environ: Mapping[str, str] | None,
    ) -> Setup:
        """Find the workspace and read every setting.

        Raises:
            WorkspaceError: there is no such folder.
            ConfigError: a setting is wrong.

        """
        environ = os.environ if environ is None else environ
        named = None if workspace is None else Path(workspace)
        root = find_workspace(named, environ=environ, current=Path.cwd())
        if not root.is_dir():
            raise WorkspaceError(
                f"The workspace {root} is not a folder.",
                action="Name the folder that holds MEMORY.md or memory/ with -w.",
            )
        places = Places.of(environ)
        config = load_config(
            root,
            user_file=config_file or places.settings,
            environ=environ,
            arguments=settings or {},
        )
        given = agent or environ.get("RECOLLECT_AGENT")
        return cls(root, agent_of(root, named=given), given, places, config, environ)

    def limited_to(self, scopes: Iterable[str] | None) -> Setup:
        """Return the same memory for someone who may see facts of these scopes only."""
        return self if scopes is None else replace(self, scopes=frozenset(scopes))

    @property
    def index(self) -> Path:
        """The index file."""
        return self.places.index_of(self.agent)

    def command(self) -> tuple[list[str], dict[str, str]]:
        """Return the options and variables with which the command line opens the same memory."""
        config = self.config
        options = ["-w", str(self.workspace), "--agent", self.agent]
        if config.user_file != self.places.settings:
            options += ["--config", str(config.user_file)]
        given = {
            variable_name(key): _as_text(config.values[key])
            for key, origin in config.origins.items()
            if origin == ARGUMENTS
        }
        return options, {**self.environ, **given}


def _as_text(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return "" if value is None else str(value)
