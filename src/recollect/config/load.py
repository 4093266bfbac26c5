"""Composes the Config of a workspace: defaults, its file, the user's, environment, arguments.

The workspace's file may set only what is safe, because the folder may come from a stranger.
"""

from __future__ import annotations

import os
from dataclasses import field, replace
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from recollect.config.checkouts import Checkout, checkout_of
from recollect.config.paths import PROJECT_FILE, Places, find_workspace, settings_text
from recollect.config.schema import SETTINGS, Config, canonical, compose, flatten, read_setting
from recollect.errors import ConfigError, WorkspaceError
from recollect.providers.keys import Variables
from recollect.providers.options import AUTO, MEDIA_MODELS
from recollect.records import dataclass
from recollect.text.confined import is_inside, shown_path
from recollect.types import SourceKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from recollect.ingest.note_files import Layout
    from recollect.ingest.options import ChunkOptions
    from recollect.types import Sending

ENVIRONMENT = "environment"
ARGUMENTS = "arguments"
"""Origins that win over every file."""
_PREFIX = "RECOLLECT_"
_NOT_SETTINGS = {"HOME", "WORKSPACE", "AGENT", "CONFIG", "TOKEN", "HOOKS"}
_TESTS = "TEST_"
_OF_ONE_PROVIDER = ("model", "dimensions", "remote.base_url", "remote.api_key")
_MAX_PROJECT_PATHS = 64
"""Each is a walk of its own through the workspace."""
_SET_ELSEWHERE = "Set it in your own file: `recollect config set --user-file`."
_HOSTED = {
    "sources": "memory",
    "multimodal.enabled": False,
    "sync.on_search": False,  # what is written is read at once, and embedded by workers
}
_OF_ONE_WORKSPACE = ("also", "exclude", "extra_paths", "sessions.paths")
"""Settings that another workspace does not take over from the one it is searched with."""
_ON_DISK: Mapping[Path, str] = {}


def load_config(
    workspace: Path,
    *,
    user_file: Path,
    environ: Mapping[str, str],
    arguments: Mapping[str, object],
    texts: Mapping[Path, str] = _ON_DISK,
) -> Config:
    """Read every layer and return the frozen result; `texts` replace files that are on disk."""
    values = {key: setting.default for key, setting in SETTINGS.items()}
    origins: dict[str, str] = {}
    project = str(workspace / PROJECT_FILE)
    for origin, layer in _layers(workspace, user_file, environ, arguments, texts):
        for given, value in layer.items():
            key, checked = read_setting(given, value, origin=origin)
            if origin == project:
                _check_paths(key, checked, project)
            values[key] = checked
            origins[key] = origin
    _check_provider(values, origins)
    _check_media(values, origins)
    config = compose(Config, values, values=values, origins=origins, user_file=user_file)
    _check_overlap(config.ingest.chunk, origins)
    walk = replace(
        config.ingest.walk,
        stays_inside=origins.get("extra_paths") == project,
        user_home=Places.of(environ).user,
    )
    variables = Variables(environ)
    return replace(
        config,
        ingest=replace(config.ingest, walk=walk),
        provider=replace(config.provider, variables=variables),
        chat=replace(config.chat, variables=variables),
    )


@dataclass(frozen=True, slots=True)
class Setup:
    """Everything that decides how a memory is opened."""

    workspace: Path
    agent: str
    named_agent: str | None
    """The agent's id if it was given; None if it was derived from the workspace."""
    places: Places
    config: Config
    environ: Mapping[str, str] = field(repr=False)
    """Hidden from `repr`, because it holds keys."""
    scopes: frozenset[str] | None = None
    """The scopes of facts that may be seen; None is all of them. A query can only narrow it."""
    may_send: Callable[[Sending], bool] = lambda _: True
    """Asked before the first texts of an index go to a server that the settings name."""
    is_above: bool = False
    """Whether the workspace is above the current folder, chosen because it is indexed."""
    checkout: Checkout = Checkout()
    """The other checkouts of its git repository that share its memory."""
    is_other: bool = False
    """Whether it is only searched with another one."""

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
        """Find the workspace and read every setting."""
        found = find_workspace(workspace, agent=agent, environ=environ)
        config = load_config(
            found.folder,
            user_file=config_file or found.places.settings,
            environ=found.environ,
            arguments=settings or {},
        )
        found.check_home()
        return cls(
            found.folder,
            found.agent,
            found.named_agent,
            found.places,
            config,
            found.environ,
            is_above=found.is_above,
            checkout=checkout_of(found.folder) if config.worktrees else Checkout(),
        )

    @classmethod
    def of_host(
        cls,
        *,
        config_file: Path | None = None,
        settings: Mapping[str, object] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Setup:
        """Read the settings for memories that have no workspace; `for_agent` names one of them."""
        environ = os.environ if environ is None else environ
        places = Places.of(environ)
        nowhere = places.home / "hosted"  # never created: there is no file of a workspace to read
        config = load_config(
            nowhere,
            user_file=config_file or places.settings,
            environ=environ,
            arguments={**_HOSTED, **(settings or {})},
        )
        return cls(nowhere, "", None, places, config, environ)

    def for_agent(self, agent: str) -> Setup:
        """Return the same setup for another memory."""
        return replace(self, agent=agent, named_agent=agent)

    def others(self) -> dict[str, Callable[[], Setup]]:
        """Return what opens each memory that is searched with this one, by its folder."""
        home, main = self.places.user, self.checkout.main
        found: dict[str, Callable[[], Setup]] = {}
        if self.is_other:
            return found
        if main is not None:
            found[shown_path(main, home=home)] = partial(self._other, main)
        for given in self.config.also:
            first, *below = PurePath(given).parts or (".",)
            above = self.workspace if self._names_also_itself else home
            place = home.joinpath(*below) if first == "~" else above / given
            folder = Path(os.path.realpath(place))
            if folder not in (self.workspace, main):
                found[shown_path(folder, home=home)] = partial(self._check_other, folder)
        return found

    @property
    def _names_also_itself(self) -> bool:
        """Whether it is the workspace's own file that names other memories."""
        return self.config.origins["also"] == str(self.workspace / PROJECT_FILE)

    def _check_other(self, folder: Path) -> Setup:
        """Return the setup of a workspace that the settings name, if it may be named there."""
        if self._names_also_itself and not is_inside(folder, self.workspace):
            raise WorkspaceError(
                f"{folder} is outside of the workspace, whose own settings name it.",
                action=_SET_ELSEWHERE,
            )
        return self._other(folder)

    def _other(self, folder: Path) -> Setup:
        """Return the setup of another workspace, with the same models and limits."""
        config = self.config
        given = {
            key: config.values[key]
            for key, origin in config.origins.items()
            if origin == ARGUMENTS and key not in _OF_ONE_WORKSPACE
        }
        left_out = {*map(variable_name, _OF_ONE_WORKSPACE), f"{_PREFIX}AGENT"}
        other = Setup.of(
            folder,
            agent=None,
            config_file=config.user_file,
            settings=given,
            environ={key: text for key, text in self.environ.items() if key not in left_out},
        )
        other.require_layout()
        return replace(other.limited_to(self.scopes), may_send=self.may_send, is_other=True)

    def limited_to(self, scopes: Iterable[str] | None) -> Setup:
        """Return the same setup, limited to facts of these scopes; None changes nothing."""
        return self if scopes is None else replace(self, scopes=frozenset(scopes))

    @property
    def index(self) -> Path:
        """The index file."""
        return self.places.index_of(self.agent)

    @property
    def is_new(self) -> bool:
        """True if there is no index file yet."""
        return self.config.store == "file:" and not self.index.exists()

    @property
    def layout(self) -> Layout:
        """Which files of the workspace are notes."""
        from recollect.ingest.walk import layout_of  # noqa: PLC0415 - not to show settings

        return layout_of(self.workspace, options=self.config.ingest.walk)

    def require_layout(self) -> None:
        """Refuse a workspace named by mistake: a home or a system folder without a memory."""
        if not self._has_more_than_notes:
            self.layout.require()

    @property
    def _has_more_than_notes(self) -> bool:
        """Whether there is something to search in a workspace without notes."""
        return bool(self.others()) or self.config.sources != (SourceKind.MEMORY,)

    def require_notes(self) -> None:
        """Refuse to make an index where there is nothing to index."""
        self.require_layout()
        if self.is_new and not self._has_more_than_notes:
            from recollect.ingest.walk import require_notes  # noqa: PLC0415 - once per index

            require_notes(self.workspace, options=self.config.ingest.walk)

    @property
    def store_address(self) -> str:
        """The address of the store, for `open_store`."""
        return f"file:{self.index}" if self.config.store == "file:" else self.config.store

    def command(self) -> tuple[list[str], dict[str, str]]:
        """Return the options and environment with which the command line opens this memory."""
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


def wrong_folder(
    workspace: Path | str | None = None,
    *,
    agent: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> str | None:
    """Return why a workspace is probably the wrong folder; None if it is not."""
    from recollect.ingest.note_files import FOLDER, NAME_A_FOLDER, Layout  # noqa: PLC0415 - for servers
    from recollect.ingest.options import WalkOptions  # noqa: PLC0415
    from recollect.ingest.walk import require_notes  # noqa: PLC0415

    found = find_workspace(workspace, agent=agent, environ=environ, must_exist=False)
    root, user = found.folder, found.places.user
    if not root.is_dir():
        return f"There is no folder {root}. {NAME_A_FOLDER}"
    # What else its settings name is not known, so only a folder without any is suspicious.
    if found.index.is_file() or found.settings.is_file() or (root / FOLDER).is_dir():
        return None
    try:
        Layout(root, user, has_extra_paths=False).require()
        require_notes(root, options=WalkOptions(user_home=user))
    except WorkspaceError as error:
        return f"{error.message.replace(', so nothing is indexed', '')} {error.action}"
    return None


def _layers(
    workspace: Path,
    user_file: Path,
    environ: Mapping[str, str],
    arguments: Mapping[str, object],
    texts: Mapping[Path, str],
) -> Iterator[tuple[str, Mapping[str, object]]]:
    project_file = workspace / PROJECT_FILE
    project = _read_toml(project_file, texts, inside=workspace)
    _check_project(project, project_file, user_file=user_file)
    yield str(project_file), project
    yield str(user_file), _read_toml(user_file, texts, inside=None)
    yield ENVIRONMENT, _from_environment(environ)
    yield ARGUMENTS, arguments


def _read_toml(path: Path, texts: Mapping[Path, str], *, inside: Path | None) -> dict[str, object]:
    try:
        text = texts[path] if path in texts else settings_text(path, inside=inside)
        import tomllib  # noqa: PLC0415 - for a file that is there

        return {".".join(path): value for path, value in flatten(tomllib.loads(text))}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:  # ValueError: not UTF-8, not TOML
        raise ConfigError(
            f"The settings in {path} cannot be read ({error}).",
            action="Correct the file, or move it away to use the defaults.",
        ) from error


def _check_project(layer: Mapping[str, object], path: Path, *, user_file: Path) -> None:
    for key in layer:
        setting = SETTINGS.get(canonical(key))
        if setting and setting.user_only:
            raise ConfigError(
                f"{path} sets `{key}`, which a workspace's own file may not.",
                action=f"Remove it there; `recollect config set {canonical(key)} VALUE` sets it"
                f" in your own file, {user_file}.",
            )


def _check_paths(key: str, value: object, file: str) -> None:
    """Refuse paths in a workspace's own file that lead out of it, or that take too long.

    Parsed values are checked, however they are written; links are decided on in `walk`.
    """
    named = value if isinstance(value, tuple) else ()
    if len(named) > _MAX_PROJECT_PATHS:
        raise ConfigError(
            f"{file} sets `{key}` to {len(named)} paths; at most {_MAX_PROJECT_PATHS} are allowed.",
            action=_SET_ELSEWHERE,
        )
    for each in map(str, named) if key in ("also", "extra_paths") else ():
        if PurePath(each).is_absolute() or each.startswith("~") or ".." in Path(each).parts:
            raise ConfigError(
                f"{file} names {each!r} in `{key}`, which leaves the workspace.",
                action=_SET_ELSEWHERE,
            )


def _check_provider(values: Mapping[str, object], origins: Mapping[str, str]) -> None:
    """Refuse settings that belong to one provider if none is chosen."""
    if values["provider"] != AUTO:
        return
    for key in _OF_ONE_PROVIDER:
        if values[key] is not None:
            raise ConfigError(
                f"{origins[key]}: `{key}` is set, but `provider` is not.",
                action="Set `provider` too: `auto` is the local model.",
            )


def _check_overlap(chunk: ChunkOptions, origins: Mapping[str, str]) -> None:
    """Refuse chunks that would repeat all of the one before."""
    if chunk.overlap >= chunk.tokens:
        origin = origins.get("chunk.overlap") or origins["chunk.tokens"]
        raise ConfigError(
            f"{origin}: `chunk.overlap` is {chunk.overlap}, which is not less than `chunk.tokens`, "
            f"{chunk.tokens}.",
            action=f"Set `chunk.overlap` to at most half of that, for example {chunk.tokens // 5}.",
        )


def _check_media(values: Mapping[str, object], origins: Mapping[str, str]) -> None:
    """Refuse media files if a model cannot embed them: a setting without effect misleads."""
    [(provider, models)] = MEDIA_MODELS.items()
    is_fit = str(values["model"] or "").removeprefix("models/") in models
    is_chosen = is_fit and values["provider"] == provider and not values["fallback"]
    if values["multimodal.enabled"] and not is_chosen:
        raise ConfigError(
            f"{origins['multimodal.enabled']}: `multimodal.enabled` is set, but not every provider "
            "and model of the settings embeds more than texts.",
            action=f'Set provider = "{provider}" and model = "{models[0]}", without `fallback`.',
        )


def variable_name(key: str) -> str:
    """Return the environment variable of a setting."""
    return _PREFIX + key.replace(".", "_").upper()


def _from_environment(environ: Mapping[str, str]) -> dict[str, object]:
    by_variable = {variable_name(key).removeprefix(_PREFIX): key for key in SETTINGS}
    found: dict[str, object] = {}
    for name, value in environ.items():
        variable = name.removeprefix(_PREFIX)
        is_other = variable == name or variable in _NOT_SETTINGS or variable.startswith(_TESTS)
        if value and not is_other:  # an empty variable counts as unset
            found[by_variable.get(variable, variable.lower())] = value
    return found


def _as_text(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return "" if value is None else str(value)
