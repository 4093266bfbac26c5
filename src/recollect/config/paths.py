"""Where things are: the workspace, the home of indexes, the model cache, the user's settings."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import ConfigError
from recollect.types import digest_of

if TYPE_CHECKING:
    from collections.abc import Mapping

PROJECT_FILE = "recollect.toml"
_MARKS = (PROJECT_FILE, "MEMORY.md")
_AGENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Places:
    """The folders of one installation."""

    home: Path
    """Holds `memory/<agent>.sqlite`."""
    models: Path
    """Holds fetched models; shared by all homes."""
    settings: Path
    """The user's config file, there or not."""
    user: Path
    """The user's own folder, below which agents keep their transcripts."""

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Places:
        """Return the platform's folders, as the environment moves them."""
        named = environ.get("RECOLLECT_HOME")
        settings = environ.get("RECOLLECT_CONFIG")
        return cls(
            home=Path(named).expanduser() if named else _platform(environ, "data") / "recollect",
            models=_platform(environ, "cache") / "recollect" / "models",
            settings=Path(settings).expanduser()
            if settings
            else _platform(environ, "config") / "recollect" / "config.toml",
            user=_user_home(environ),
        )

    @property
    def cache(self) -> Path:
        """Return the file with the vectors that all agents of this home share."""
        return self.home / "cache" / "embeddings.sqlite"

    def archive_of(self, agent: str) -> Path:
        """Return the folder of an agent's imported transcripts."""
        return self.home / "sessions" / agent

    def ingested_of(self, agent: str) -> Path:
        """Return the file that remembers what was sent to a language model."""
        return self.home / "ingested" / f"{agent}.json"

    def index_of(self, agent: str) -> Path:
        """Return the index file of an agent."""
        return self.home / "memory" / f"{agent}.sqlite"


def find_workspace(named: Path | None, *, environ: Mapping[str, str], current: Path) -> Path:
    """Return the named folder, else the environment's, else the nearest marked parent."""
    if named is not None:
        return named.expanduser().absolute()
    if from_environment := environ.get("RECOLLECT_WORKSPACE"):
        return Path(from_environment).expanduser().absolute()
    for folder in (current, *current.parents):
        if any((folder / mark).is_file() for mark in _MARKS):
            return folder
    return current


def agent_of(workspace: Path, *, named: str | None) -> str:
    """Return the agent's id: the name given, else one that only this workspace has.

    Raises:
        ConfigError: the name cannot be a file name everywhere.

    """
    if named is not None:
        if not _AGENT.fullmatch(named):
            raise ConfigError(
                f"The agent id {named!r} cannot be used.",
                action="Use up to 64 letters, digits, dots, dashes and underscores.",
            )
        return named
    real = workspace.resolve()
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", real.name).strip("-.")[:40] or "workspace"
    return f"{readable}-{digest_of(str(real).encode())[:8]}"


def _user_home(environ: Mapping[str, str]) -> Path:
    return Path(environ["HOME"]) if "HOME" in environ else Path.home()


def _platform(environ: Mapping[str, str], kind: str) -> Path:
    if named := environ.get(f"XDG_{kind.upper()}_HOME"):
        return Path(named)
    home = _user_home(environ)
    if sys.platform == "darwin":
        library = home / "Library"
        return library / ("Caches" if kind == "cache" else "Application Support")
    if sys.platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    return home / {"data": ".local/share", "cache": ".cache", "config": ".config"}[kind]
