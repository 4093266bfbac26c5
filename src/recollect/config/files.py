"""The settings from outside: what is in force and where it was set, the files, changing them.

Nothing here opens the index, so that wrong settings can be looked at and corrected.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, cast

from recollect.config import Places, find_workspace, load_config
from recollect.config.edit import settings_in, writable, write_settings
from recollect.config.load import ARGUMENTS, ENVIRONMENT, log_notices
from recollect.config.openclaw import PROVIDER_SETTINGS, Translation, default_file, translate
from recollect.config.paths import PROJECT_FILE
from recollect.config.schema import SETTINGS, canonical, read_setting
from recollect.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recollect.config import Config
    from recollect.config.edit import Value

__all__ = ["Change", "Import", "Locations", "SettingsFiles", "Shown", "Translation"]

DEFAULT = "default"
"""The origin of a setting that is set nowhere."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A setting with its value and where it was set."""

    key: str
    value: object
    origin: str
    """The path of a file, `environment`, `arguments` or `default`."""
    default: object


@dataclass(frozen=True, slots=True)
class Locations:
    """Every place that is read or written."""

    workspace: Path
    agent: str
    workspace_file: Path
    user_file: Path
    home: Path
    index: Path
    cache: Path
    models: Path
    problem: ConfigError | None
    """Why the settings cannot be read, if so: `models` is the default one then."""


@dataclass(frozen=True, slots=True)
class Change:
    """A setting that was changed in a file."""

    key: str
    file: Path
    written: Value | None
    """None when it was removed."""
    before: Shown | None
    after: Shown | None
    """What is in force; None when the settings could not or cannot be read."""
    diff: str
    """Empty when the file said so already."""
    problem: ConfigError | None
    """What was wrong with the settings before, and still is."""


@dataclass(frozen=True, slots=True)
class Import:
    """What was, or would be, brought over from OpenClaw."""

    translation: Translation
    changes: Mapping[str, Value | None]
    """What the file does not say yet; None for a setting that would be wrong beside the others."""
    file: Path
    diff: str | None
    """None when nothing was written."""
    overridden: Mapping[str, str]
    """Of the settings brought over, those set where they win over that file, and where."""


@dataclass(frozen=True, slots=True)
class SettingsFiles:
    """The files that settings come from, for one workspace."""

    workspace: Path
    agent: str
    places: Places
    user_file: Path
    environ: Mapping[str, str] = field(repr=False)
    """Holds keys, so it is never shown."""

    @classmethod
    def find(
        cls,
        workspace: Path | None = None,
        *,
        agent: str | None = None,
        config_file: Path | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> SettingsFiles:
        """Find the files as `Memory.open` does; none of them is read yet.

        Raises:
            WorkspaceError: there is no such folder.
            ConfigError: the agent's id cannot be used.

        """
        found = find_workspace(workspace, agent=agent, environ=environ)
        user_file = config_file or found.places.settings
        return cls(found.folder, found.agent, found.places, user_file, found.environ)

    @property
    def workspace_file(self) -> Path:
        """The workspace's own settings."""
        return self.workspace / PROJECT_FILE

    def show(self, key: str | None = None, *, everything: bool = False) -> list[Shown]:
        """Return the settings that are set somewhere, or all, or those of one name.

        Args:
            key: a setting or a group of them, such as `remote`; shown even at its default.
            everything: also what is at its default.

        Raises:
            ConfigError: there is no such setting, or one is wrong.

        """
        config = self._load()
        log_notices(config)
        if key is None:
            return [
                _shown(name, config) for name in SETTINGS if everything or name in config.origins
            ]
        wanted = canonical(key)
        names = [name for name in SETTINGS if name == wanted or name.startswith(f"{wanted}.")]
        if not names:
            read_setting(key, None, origin="config show")  # says so, with the nearest name
        return [_shown(name, config) for name in names]

    def locate(self) -> Locations:
        """Return where everything is, also while the settings are wrong."""
        problem = self._problem()
        own = None if problem else self._load().values["local.model_cache"]
        return Locations(
            workspace=self.workspace,
            agent=self.agent,
            workspace_file=self.workspace_file,
            user_file=self.user_file,
            home=self.places.home,
            index=self.places.index_of(self.agent),
            cache=self.places.cache,
            models=cast("Path | None", own) or self.places.models,
            problem=problem,
        )

    def change(self, key: str, value: str | None, *, in_workspace: bool = False) -> Change:
        """Set a setting in the user's file or the workspace's; None removes it.

        Raises:
            ConfigError: no such setting, not a value for it, not allowed in that file, or the
                settings would contradict each other; the file is left as it was.

        """
        file = self.workspace_file if in_workspace else self.user_file
        name, written = canonical(key), None
        if value is not None:
            name, checked = read_setting(key, value, origin="config set")
            written = writable(checked, given=value)
            if in_workspace and SETTINGS[name].user_only:
                raise ConfigError(
                    f"A workspace's own file may not set `{name}`.",
                    action="Leave out --workspace-file: your own settings may.",
                )
        elif name not in SETTINGS and name not in _settings_of(file):
            read_setting(key, None, origin="config set")  # says so, with the nearest name
        before = self._shown_or_none(name)
        is_there = written is not None or name in _settings_of(file)
        diff = self._write(file, {name: written}) if is_there else ""
        return Change(
            key=name,
            file=file,
            written=written,
            before=before,
            after=self._shown_or_none(name),
            diff=diff,
            problem=self._problem(),
        )

    def import_openclaw(
        self, file: Path | None = None, *, agent: str | None = None, write: bool = False
    ) -> Import:
        """Tell what OpenClaw's settings are here, and write them to the user's file if asked.

        Raises:
            ConfigError: OpenClaw's file cannot be read or has no such agent, or ours cannot be
                written.

        """
        found = translate(file or default_file(self.environ), agent=agent, environ=self.environ)
        changes = _to_write(found.changes, present=_settings_of(self.user_file))
        origins = {} if self._problem() else self._load().origins
        return Import(
            translation=found,
            changes=changes,
            file=self.user_file,
            diff=self._write(self.user_file, changes) if write and changes else None,
            overridden={
                name: origins[name]
                for name in found.changes
                if origins.get(name) in (ENVIRONMENT, ARGUMENTS)
            },
        )

    def _load(self) -> Config:
        return load_config(
            self.workspace, user_file=self.user_file, environ=self.environ, arguments={}
        )

    def _problem(self) -> ConfigError | None:
        try:
            self._load()
        except ConfigError as error:
            return error
        return None

    def _shown_or_none(self, name: str) -> Shown | None:
        return None if self._problem() or name not in SETTINGS else _shown(name, self._load())

    def _write(self, file: Path, changes: Mapping[str, Value | None]) -> str:
        was_right = self._problem() is None

        def check(text: str) -> None:
            # What was wrong before may be mended step by step; nothing is made wrong.
            if was_right:
                self._rehearse(file, text)

        return write_settings(file, changes, check=check)

    def _rehearse(self, file: Path, text: str) -> None:
        """Read the settings as they would be with another text in a file.

        Raises:
            ConfigError: they would be wrong.

        """
        with TemporaryDirectory() as folder:
            copies = {
                self.workspace_file: Path(folder) / PROJECT_FILE,
                self.user_file: Path(folder) / "user.toml",
            }
            for original, copy in copies.items():
                if original == file:
                    copy.write_bytes(text.encode())
                elif original.exists():
                    copy.write_bytes(original.read_bytes())
            try:
                load_config(
                    Path(folder),
                    user_file=copies[self.user_file],
                    environ=self.environ,
                    arguments={},
                )
            except ConfigError as error:
                message = error.message
                for original, copy in copies.items():
                    message = message.replace(str(copy), str(original))
                raise ConfigError(message, action=error.action) from None


def _shown(name: str, config: Config) -> Shown:
    origin = config.origins.get(name, DEFAULT)
    return Shown(name, config.values[name], origin, SETTINGS[name].default)


def _settings_of(file: Path) -> dict[str, object]:
    """Return what a file sets; nothing when it is not there or cannot be read."""
    try:
        return settings_in(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _to_write(
    wanted: Mapping[str, Value], *, present: Mapping[str, object]
) -> dict[str, Value | None]:
    """Return what a file has to be told: paths are added, what is said already is left alone."""
    own = present.get("extra_paths")
    added = wanted.get("extra_paths")
    if isinstance(own, list) and isinstance(added, list):
        joined: list[str] = list(dict.fromkeys([*map(str, own), *added]))
        wanted = {**wanted, "extra_paths": joined}
    changes: dict[str, Value | None] = {
        name: value for name, value in wanted.items() if present.get(name) != value
    }
    if "provider" in changes:
        # A model or a key of the provider before would be wrong for this one.
        for name in PROVIDER_SETTINGS:
            if name in present and name not in wanted:
                changes[name] = None
    return changes
