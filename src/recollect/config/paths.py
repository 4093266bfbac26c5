"""Finds the workspace, the home with its indexes, and the user's settings."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import ConfigError, WorkspaceError
from recollect.records import dataclass
from recollect.stores.registry import SUFFIX
from recollect.text.confined import (
    RefusedError,
    is_inside,
    read_inside,
    read_regular,
    resolve_inside,
)
from recollect.types import digest_of

if TYPE_CHECKING:
    from collections.abc import Mapping

PROJECT_FILE = "recollect.toml"
_MARKS = (PROJECT_FILE, "MEMORY.md")
_NOTES = "memory"
_WORKSPACE_VARIABLES = ("RECOLLECT_WORKSPACE", "OPENCLAW_WORKSPACE")
_MAX_PROJECT_BYTES = 16 * 1024
"""A few hundred lines: the time to read TOML grows with the square of a key."""
_MAX_USER_BYTES = 1024 * 1024
_SOCKET_CHARS = 16
_AGENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Places:
    """The folders and files of one installation."""

    home: Path
    """Holds the indexes, in `memory/`."""
    settings: Path
    """The user's own settings file, which may not exist."""
    user: Path
    """The user's home folder, where agents keep their transcripts."""

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Places:
        """Return the platform's folders, unless the environment names others."""
        user = Path(environ["HOME"]) if "HOME" in environ else Path.home()
        home, settings = environ.get("RECOLLECT_HOME"), environ.get("RECOLLECT_CONFIG")
        data, config = (
            _platform_folder(environ, kind, user) / "recollect" for kind in ("data", "config")
        )
        return cls(
            home=Path(home).expanduser() if home else data,
            settings=Path(settings).expanduser() if settings else config / "config.toml",
            user=user,
        )

    @property
    def cache(self) -> Path:
        """The vector cache that all agents of this home share."""
        return self.home / "cache" / f"embeddings{SUFFIX}"

    def archive_of(self, agent: str) -> Path:
        """Return the folder of an agent's imported transcripts."""
        return self.home / "sessions" / agent

    def ingested_of(self, agent: str) -> Path:
        """Return the file that records what was sent to a language model."""
        return self.home / "ingested" / f"{agent}.json"

    def cases_of(self, agent: str) -> Path:
        """Return the file of the cases that were made from what a user said of hits."""
        return self.home / "cases" / f"{agent}.jsonl"

    def socket_of(self, agent: str) -> Path:
        """Return where a server of an agent's memory answers commands; its name is short."""
        return self.home / "run" / digest_of(agent.encode())[:_SOCKET_CHARS]

    def recalls_of(self, agent: str) -> Path:
        """Return the file that says what the last recalls of an agent cost."""
        return self.home / "recalls" / agent

    def index_of(self, agent: str) -> Path:
        """Return the index file of an agent."""
        return self.home / "memory" / f"{agent}{SUFFIX}"


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder with memory files, and the index that belongs to it."""

    folder: Path
    agent: str
    named_agent: str | None
    """The agent's id if it was given; None if it was derived from the folder."""
    places: Places
    environ: Mapping[str, str] = field(repr=False)
    """Hidden from `repr`, because it holds keys."""
    is_above: bool = False
    """Whether it is a folder above the current one that was chosen because it is indexed."""

    @property
    def index(self) -> Path:
        """The index file, which may not exist yet."""
        return self.places.index_of(self.agent)

    @property
    def settings(self) -> Path:
        """The workspace's own settings file, which may not exist."""
        return self.folder / PROJECT_FILE

    def check_home(self) -> None:
        """Refuse a home in the workspace from which the workspace's links lead out."""
        places, agent = self.places, self.agent
        home = Path(os.path.abspath(places.home))  # noqa: PTH100 - what it is named, not where it is
        if "RECOLLECT_HOME" not in self.environ or not is_inside(home, self.folder):
            return
        of_agent = (places.archive_of, places.ingested_of, places.recalls_of, places.socket_of)
        for each in (self.index, places.cache, *(place(agent) for place in of_agent)):
            try:
                resolve_inside(each, self.folder)
            except RefusedError as error:
                raise ConfigError(
                    f"RECOLLECT_HOME is in the workspace, and {each} {error}.",
                    action="Name a home outside of the workspace.",
                ) from error


def find_workspace(
    named: Path | str | None = None,
    *,
    agent: str | None = None,
    environ: Mapping[str, str] | None = None,
    must_exist: bool = True,
) -> Workspace:
    """Return the named workspace, else the environment's, else the nearest one at or above here."""
    environ = os.environ if environ is None else environ
    given = agent or environ.get("RECOLLECT_AGENT")
    places = Places.of(environ)
    if spelled := named or workspace_variable(environ):
        # One spelling: `..` and symbolic links lead to the same memory. Unlike Path.resolve,
        # this does not raise for links that form a circle.
        folder, is_above = Path(os.path.realpath(Path(spelled).expanduser())), False
    else:
        folder, is_above = _workspace_above(Path.cwd(), None if given else places)
    if must_exist and not folder.is_dir():
        raise WorkspaceError(
            f"The workspace {folder} is not a folder.",
            action="Name the folder with your notes: -w on the command line, "
            "`workspace` in Python.",
        )
    chosen = agent_of(folder, named=given)
    is_derived = chosen == agent_of(folder, named=None)  # a background process is told it, too
    return Workspace(folder, chosen, None if is_derived else given, places, environ, is_above)


def settings_text(file: Path, *, inside: Path | None) -> str:
    """Return the text of a settings file; one inside the workspace is its own, and not trusted."""
    if inside is None:
        return read_regular(file, max_bytes=_MAX_USER_BYTES).decode("utf-8")
    return read_inside(file, inside, max_bytes=_MAX_PROJECT_BYTES).decode("utf-8")


def workspace_variable(environ: Mapping[str, str]) -> str | None:
    """Return the workspace that the environment names: ours first, then OpenClaw's."""
    return next((named for each in _WORKSPACE_VARIABLES if (named := environ.get(each))), None)


def _workspace_above(current: Path, places: Places | None) -> tuple[Path, bool]:
    """Return the workspace at or above a folder, and whether it was found above by its index.

    Of several indexed folders the outermost counts: it holds the notes of the others, too, and a
    command that was first run in a subfolder left an index there.
    """
    from recollect.config.checkouts import with_main  # noqa: PLC0415 - not needed for --help

    if places is not None and (current / _NOTES).is_dir():
        places = None  # a memory of its own
    indexed = None
    for folder in (current, *current.parents):
        if any((place / mark).is_file() for place in with_main(folder) for mark in _MARKS):
            return (folder, False) if indexed is None else (indexed, indexed != current)
        if places is not None and places.index_of(agent_of(folder, named=None)).is_file():
            indexed = folder
    return (current, False) if indexed is None else (indexed, indexed != current)


def agent_of(workspace: Path, *, named: str | None) -> str:
    """Return the given id of an agent, else one derived from its workspace."""
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


def _platform_folder(environ: Mapping[str, str], kind: str, user: Path) -> Path:
    """Return where the platform keeps the user's `data` or `config`."""
    if named := environ.get(f"XDG_{kind.upper()}_HOME"):
        return Path(named)
    if sys.platform == "darwin":
        return user / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or user / "AppData" / "Local")
    return user / {"data": ".local/share", "config": ".config"}[kind]
