"""Composing the Config: defaults, the workspace's file, the user's file, environment, arguments.

Later ones win, except that the workspace's own file may only set what is safe for a folder that
came from elsewhere.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, cast

from recollect.background.worker import WatchOptions
from recollect.config.paths import PROJECT_FILE
from recollect.config.schema import SETTINGS, canonical, read_setting
from recollect.errors import ConfigError
from recollect.ingest.chunk import ChunkOptions
from recollect.ingest.media import MediaOptions
from recollect.ingest.sync import IngestOptions
from recollect.ingest.walk import WalkOptions
from recollect.providers.base import ProviderOptions, RemoteOptions
from recollect.providers.chat.base import ChatOptions
from recollect.providers.keys import Variables
from recollect.providers.media import MEDIA_MODELS
from recollect.providers.registry import AUTO
from recollect.search.decay import DecayOptions
from recollect.search.expand import WordingOptions
from recollect.search.fuse import FusionOptions
from recollect.search.mmr import MmrOptions
from recollect.search.options import SearchOptions
from recollect.search.rank import RankOptions
from recollect.search.rerank import RerankOptions
from recollect.search.sources import SourceOptions
from recollect.types import Modality

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ENVIRONMENT = "environment"
ARGUMENTS = "arguments"
"""Origins that win over every file."""
_PREFIX = "RECOLLECT_"
_NOT_SETTINGS = {"HOME", "WORKSPACE", "AGENT", "CONFIG", "TOKEN"}
_TESTS = "TEST_"
_MEGA = 1_000_000
_OF_ONE_PROVIDER = ("model", "dimensions", "remote.base_url", "remote.api_key")
_NOT_HERE = "Set it in your user config, the environment or on the command line."


@dataclass(frozen=True, slots=True)
class Config:
    """All options composed, with where each setting came from."""

    ingest: IngestOptions
    search: SearchOptions
    provider: ProviderOptions
    cache_bytes: int
    """How much the embedding cache of the home may hold."""
    vector_engine: str
    sources: tuple[str, ...]
    """Which kinds of sources are indexed."""
    session_paths: tuple[str, ...]
    chat: ChatOptions | None
    """None: no language model is set."""
    ingest_paths: tuple[str, ...]
    wording: WordingOptions
    sync_on_search: bool
    watch: WatchOptions
    values: Mapping[str, object]
    origins: Mapping[str, str]
    """For each setting that is not its default: where it was set."""
    user_file: Path
    """The user's own settings, there or not."""


def load_config(
    workspace: Path,
    *,
    user_file: Path,
    environ: Mapping[str, str],
    arguments: Mapping[str, object],
) -> Config:
    """Read every layer and return the frozen result.

    Raises:
        ConfigError: a file cannot be read, or a setting is unknown, wrong or not allowed there.

    """
    values = {key: setting.default for key, setting in SETTINGS.items()}
    origins: dict[str, str] = {}
    for origin, layer in _layers(workspace, user_file, environ, arguments):
        for given, value in layer.items():
            key, checked = read_setting(given, value, origin=origin)
            values[key] = checked
            origins[key] = origin
    _check_provider(values, origins)
    _check_media(values, origins)
    return compose(values, origins=origins, user_file=user_file, variables=Variables(environ))


def compose(
    values: Mapping[str, object],
    *,
    origins: Mapping[str, str],
    user_file: Path,
    variables: Variables,
) -> Config:
    """Hand each stage its own options."""

    def get(key: str) -> object:
        return values[key]

    return Config(
        ingest=IngestOptions(
            walk=WalkOptions(
                extra_paths=cast(tuple[str, ...], get("extra_paths")),
                exclude=cast(tuple[str, ...], get("exclude")),
                media=MediaOptions(
                    modalities=cast(tuple[Modality, ...], get("multimodal.modalities"))
                    if get("multimodal.enabled")
                    else (),
                    max_file_bytes=cast(int, get("multimodal.max_file_bytes")),
                ),
            ),
            chunk=ChunkOptions(
                tokens=cast(int, get("chunk.tokens")), overlap=cast(int, get("chunk.overlap"))
            ),
        ),
        search=SearchOptions(
            max_results=cast(int, get("max_results")),
            candidate_multiplier=cast(int, get("candidate_multiplier")),
            rank=RankOptions(
                fusion=FusionOptions(
                    fusion=cast(str, get("fusion")),
                    vector_weight=cast(float, get("vector_weight")),
                    text_weight=cast(float, get("text_weight")),
                    text_normaliser=cast(str, get("text_normaliser")),
                    rrf_k=cast(int, get("rrf_k")),
                    min_score=cast("float | None", get("min_score")),
                ),
                decay=DecayOptions(
                    enabled=cast(bool, get("temporal_decay.enabled")),
                    half_life_days=cast(float, get("temporal_decay.half_life_days")),
                    floor=cast(float, get("temporal_decay.floor")),
                ),
                rerank=RerankOptions(
                    enabled=cast(bool, get("rerank.enabled")),
                    candidates=cast(int, get("rerank.candidates")),
                    budget_ms=cast(int, get("rerank.budget_ms")),
                ),
                sources=SourceOptions(
                    sessions_weight=cast(float, get("sessions.weight")),
                    sessions_quota=cast(float, get("sessions.quota")),
                ),
                mmr=MmrOptions(
                    enabled=cast(bool, get("mmr.enabled")),
                    balance=cast(float, get("mmr.lambda")),
                ),
            ),
        ),
        provider=ProviderOptions(
            provider=cast(str, get("provider")),
            model=cast("str | None", get("model")),
            dimensions=cast("int | None", get("dimensions")),
            query_prefix=cast("str | None", get("query_prefix")),
            document_prefix=cast("str | None", get("document_prefix")),
            model_path=cast("Path | None", get("local.model_path")),
            model_cache=cast("Path | None", get("local.model_cache")),
            remote=RemoteOptions(
                base_url=cast("str | None", get("remote.base_url")),
                api_key=cast("str | None", get("remote.api_key")),
                query_input_type=cast("str | None", get("remote.query_input_type")),
                document_input_type=cast("str | None", get("remote.document_input_type")),
                timeout_seconds=cast(float, get("remote.timeout_seconds")),
                requests_per_minute=cast(int, get("remote.requests_per_minute")),
                tokens_per_minute=cast(int, get("remote.tokens_per_minute")),
                batch=cast(bool, get("remote.batch")),
            ),
            variables=variables,
        ),
        cache_bytes=cast(int, get("cache.max_megabytes")) * _MEGA,
        vector_engine=cast(str, get("vector.engine")),
        sources=cast(tuple[str, ...], get("sources")),
        session_paths=cast(tuple[str, ...], get("sessions.paths")),
        chat=_chat_options(values, variables),
        ingest_paths=cast(tuple[str, ...], get("ingest.paths")),
        wording=WordingOptions(
            hyde=cast(bool, get("hyde.enabled")),
            expand=cast(bool, get("expand.enabled")),
            seconds=cast(float, get("llm.seconds")),
        ),
        sync_on_search=cast(bool, get("sync.on_search")),
        watch=WatchOptions(
            debounce_ms=cast(int, get("watch.debounce_ms")),
            interval_minutes=cast(int, get("sync.interval_minutes")),
        ),
        values=values,
        origins=origins,
        user_file=user_file,
    )


def _chat_options(values: Mapping[str, object], variables: Variables) -> ChatOptions | None:
    if values["llm.provider"] is None:
        return None
    return ChatOptions(
        provider=cast(str, values["llm.provider"]),
        model=cast("str | None", values["llm.model"]),
        base_url=cast("str | None", values["llm.base_url"]),
        api_key=cast("str | None", values["llm.api_key"]),
        variables=variables,
    )


def _layers(
    workspace: Path,
    user_file: Path,
    environ: Mapping[str, str],
    arguments: Mapping[str, object],
) -> Iterator[tuple[str, Mapping[str, object]]]:
    project_file = workspace / PROJECT_FILE
    project = _read_toml(project_file)
    _check_project(project, project_file, user_file=user_file)
    yield str(project_file), project
    yield str(user_file), _read_toml(user_file)
    yield ENVIRONMENT, _from_environment(environ)
    yield ARGUMENTS, arguments


def _read_toml(path: Path) -> dict[str, object]:
    try:
        parsed = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(
            f"The settings in {path} cannot be read ({error}).",
            action="Correct the file, or move it away to go on with the defaults.",
        ) from error
    return dict(_flat(parsed))


def _flat(table: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _check_project(layer: Mapping[str, object], path: Path, *, user_file: Path) -> None:
    for key, value in layer.items():
        setting = SETTINGS.get(canonical(key))
        if setting and not setting.is_project:
            raise ConfigError(
                f"{path} sets `{key}`, which a workspace's own file may not.",
                action=f"Take it out there; `recollect config set {canonical(key)} VALUE` puts it"
                f" into your user config, {user_file}.",
            )
        if canonical(key) == "extra_paths" and isinstance(value, list):
            for each in value:
                if not _stays_inside(str(each)):
                    raise ConfigError(
                        f"{path} names the extra path {each!r}, which leaves the workspace.",
                        action=_NOT_HERE,
                    )


def _check_provider(values: Mapping[str, object], origins: Mapping[str, str]) -> None:
    """Refuse settings that belong to one provider while the chain may take any."""
    if values["provider"] != AUTO:
        return
    for key in _OF_ONE_PROVIDER:
        if values[key] is not None:
            raise ConfigError(
                f"{origins[key]}: `{key}` is set, but not whose it is.",
                action="Set `provider` too: with `auto` it could be anyone's.",
            )


def _check_media(values: Mapping[str, object], origins: Mapping[str, str]) -> None:
    """Refuse media files where nobody could embed them: a setting without effect misleads."""
    if not values["multimodal.enabled"]:
        return
    provider, model = str(values["provider"]), values["model"]
    models = MEDIA_MODELS.get(provider, ())
    if models and str(model or "").removeprefix("models/") in models:
        return
    [(wanted, (recommended, *_))] = MEDIA_MODELS.items()
    told = f'model = "{recommended}"'
    named = f"the model {model or 'that is the default'}" if models else f"provider {provider}"
    raise ConfigError(
        f"{origins['multimodal.enabled']}: `multimodal.enabled` is set, but {named} embeds "
        "texts only.",
        action=f"Set {told}." if models else f'Set provider = "{wanted}" and {told}.',
    )


def _stays_inside(path: str) -> bool:
    return not (PurePath(path).is_absolute() or path.startswith("~") or ".." in Path(path).parts)


def variable_name(key: str) -> str:
    """Return the environment variable of a setting."""
    return _PREFIX + key.replace(".", "_").upper()


def _from_environment(environ: Mapping[str, str]) -> dict[str, object]:
    by_variable = {variable_name(key).removeprefix(_PREFIX): key for key in SETTINGS}
    found: dict[str, object] = {}
    for name, value in environ.items():
        variable = name.removeprefix(_PREFIX)
        if variable == name or variable in _NOT_SETTINGS or variable.startswith(_TESTS):
            continue
        if not value:  # as everywhere, an empty variable is one that is not set
            continue
        found[by_variable.get(variable, variable.lower())] = value
    return found
