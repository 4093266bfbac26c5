"""Shows and changes settings without opening the index, so that wrong ones can be corrected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.config.edit import settings_in, writable, write_settings
from recollect.config.load import ARGUMENTS, ENVIRONMENT, load_config
from recollect.config.openclaw import PROVIDER_SETTINGS, default_file, translate
from recollect.config.paths import find_workspace, settings_text
from recollect.config.schema import SETTINGS, canonical, read_setting
from recollect.errors import ConfigError, WorkspaceError
from recollect.records import dataclass
from recollect.shape import Shape

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from recollect.config.edit import Value
    from recollect.config.openclaw import Translation
    from recollect.config.paths import Workspace
    from recollect.config.schema import Config

DEFAULT = "default"
"""The origin of a setting that is set nowhere."""


@dataclass(frozen=True, slots=True)
class SettingState:
    """A setting with its value and where it was set."""

    key: str
    value: object
    origin: str
    """The path of a file, `environment`, `arguments` or `default`."""
    default: object


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A setting that was changed in a file."""

    shape = Shape(null="diff", added="is_changed")
    key: str
    file: Path
    written: Value | None
    """The new value; None if it was removed."""
    before: SettingState | None
    after: SettingState | None
    """What applies now; `before` and `after` are None if the settings could not be read."""
    diff: str
    """Empty if the file already said so."""
    problem: ConfigError | None
    """What is wrong with the settings, and was before the change."""

    @property
    def is_changed(self) -> bool:
        """Whether the file was changed."""
        return bool(self.diff)


@dataclass(frozen=True, slots=True)
class OpenClawImport:
    """What was, or would be, imported from OpenClaw."""

    shape = Shape({"file": "userFile"}, merged="translation")
    translation: Translation
    changes: Mapping[str, Value | None]
    """What the file does not say yet; None for a setting that has to be removed."""
    file: Path
    diff: str | None
    """The change as a diff; None if nothing was written."""
    overridden: Mapping[str, str]
    """Imported settings that are also set where that overrides the file, and where."""


@dataclass(frozen=True, slots=True)
class SettingsFiles:
    """The files that the settings of one workspace come from."""

    workspace: Workspace
    user_file: Path

    @classmethod
    def find(
        cls,
        workspace: Path | None = None,
        *,
        agent: str | None = None,
        config_file: Path | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> SettingsFiles:
        """Find the files as `Memory.open` does, without reading them."""
        found = find_workspace(workspace, agent=agent, environ=environ)
        return cls(found, config_file or found.places.settings)

    def show(self, key: str | None = None, *, everything: bool = False) -> list[SettingState]:
        """Return the settings that are set somewhere, or all of them, or those of one name."""
        config = self._load()
        if key is None:
            return [
                _state(name, config) for name in SETTINGS if everything or name in config.origins
            ]
        wanted = canonical(key)
        names = [name for name in SETTINGS if name == wanted or name.startswith(f"{wanted}.")]
        if not names:
            read_setting(key, None, origin="config show")  # raises, with the nearest name
        return [_state(name, config) for name in names]

    def locate(self) -> dict[str, Path]:
        """Return every place that is read or written."""
        place, places = self.workspace, self.workspace.places
        return {
            "workspace": place.folder,
            "workspace_file": place.settings,
            "user_file": self.user_file,
            "home": places.home,
            "index": place.index,
            "cache": places.cache,
        }

    def change(
        self, key: str, value: str | None, *, in_user_file: bool | None = None
    ) -> SettingChange:
        """Set a setting in the workspace's file or the user's (where it wins); None removes it."""
        name, written = canonical(key), None
        if in_user_file is None:
            is_user_only = name in SETTINGS and SETTINGS[name].user_only
            in_user_file = is_user_only or name in self._settings_of(self.user_file)
        if not in_user_file:
            self._require_workspace(key)
        file = self.user_file if in_user_file else self.workspace.settings
        present = self._settings_of(file)
        if value is not None:
            name, checked = read_setting(key, value, origin="config set")
            written = writable(checked, given=value)
            if not in_user_file and SETTINGS[name].user_only:
                raise ConfigError(
                    f"A workspace's own file may not set `{name}`.",
                    action="Use --user-file to set it in your own file.",
                )
        elif name not in SETTINGS and name not in present:
            read_setting(key, None, origin="config set")  # raises, with the nearest name
        before = self._state_or_none(name)
        is_change = written is not None or name in present
        diff = self._write(file, {name: written}) if is_change else ""
        return SettingChange(
            key=name,
            file=file,
            written=written,
            before=before,
            after=self._state_or_none(name),
            diff=diff,
            problem=self.problem(),
        )

    def _require_workspace(self, key: str) -> None:
        """Refuse to write settings into a folder that was named by mistake."""
        from recollect.ingest.note_files import Layout  # noqa: PLC0415 - not to show settings

        layout = Layout(self.workspace.folder, self.workspace.places.user, has_extra_paths=False)
        if not self.workspace.settings.exists() and (refusal := layout.refusal()):
            raise WorkspaceError(
                f"{refusal}, so it gets no settings file.",
                action=f"Name a workspace with -w, or set `{key}` for all with --user-file.",
            )

    def import_openclaw(
        self, file: Path | None = None, *, agent: str | None = None, write: bool = False
    ) -> OpenClawImport:
        """Translate OpenClaw's settings, and write them to the user's file if asked."""
        environ = self.workspace.environ
        found = translate(file or default_file(environ), agent=agent, environ=environ)
        changes = _to_write(found.changes, present=self._settings_of(self.user_file))
        origins = {} if self.problem() else self._load().origins
        return OpenClawImport(
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

    def _load(self, texts: Mapping[Path, str] | None = None) -> Config:
        return load_config(
            self.workspace.folder,
            user_file=self.user_file,
            environ=self.workspace.environ,
            arguments={},
            texts=texts or {},
        )

    def problem(self) -> ConfigError | None:
        """Return why the settings cannot be read, if they cannot."""
        try:
            self._load()
        except ConfigError as error:
            return error
        return None

    def _state_or_none(self, name: str) -> SettingState | None:
        return None if self.problem() or name not in SETTINGS else _state(name, self._load())

    def _write(self, file: Path, changes: Mapping[str, Value | None]) -> str:
        was_right = self.problem() is None

        def check(text: str) -> None:
            # Wrong settings may be corrected step by step; right ones are never made wrong.
            if was_right:
                self._load({file: text})

        return write_settings(file, changes, check=check, inside=self._trust(file))

    def _trust(self, file: Path) -> Path | None:
        """Return the folder that a settings file may not lead out of; None for the user's own."""
        return self.workspace.folder if file == self.workspace.settings else None

    def _settings_of(self, file: Path) -> dict[str, object]:
        """Return what a file sets; nothing if it is missing or cannot be read."""
        try:
            return settings_in(settings_text(file, inside=self._trust(file)))
        except (OSError, ValueError, RecursionError):
            return {}


def _state(name: str, config: Config) -> SettingState:
    origin = config.origins.get(name, DEFAULT)
    return SettingState(name, config.values[name], origin, SETTINGS[name].default)


def _to_write(
    wanted: Mapping[str, Value], *, present: Mapping[str, object]
) -> dict[str, Value | None]:
    """Return what to change in a file: paths are added to its own, equal values left alone."""
    own, added = present.get("extra_paths"), wanted.get("extra_paths")
    if isinstance(own, list) and isinstance(added, list):
        joined: list[str] = list(dict.fromkeys([*map(str, own), *added]))
        wanted = {**wanted, "extra_paths": joined}
    changes: dict[str, Value | None] = {
        name: value for name, value in wanted.items() if present.get(name) != value
    }
    if "provider" in changes:
        # A model or key of the previous provider would be wrong for this one.
        for name in PROVIDER_SETTINGS:
            if name in present and name not in wanted:
                changes[name] = None
    return changes
