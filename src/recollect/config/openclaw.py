"""Maps OpenClaw's memory settings to ours: a table of keys, the provider, paths and transcripts.

Every other key is listed as not carried over. Variables are not looked up: `${NAME}` in the file
stays `${NAME}`. No value that may be a secret gets into a record, and every value that is carried
over has passed our validation.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from recollect.config.edit import writable
from recollect.config.schema import SETTINGS, read_setting
from recollect.errors import ConfigError
from recollect.providers.options import AUTO, NONE
from recollect.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from recollect.config.edit import Value

    Table = Mapping[str, object]

_SETTINGS = {
    "remote.batch.enabled": "remote.batch",
    "local.modelPath": "local.model_path",
    "query.maxResults": "max_results",
    "query.hybrid.vectorWeight": "vector_weight",
    "query.hybrid.textWeight": "text_weight",
    "query.hybrid.candidateMultiplier": "candidate_multiplier",
    "query.hybrid.mmr.enabled": "mmr.enabled",
    "query.hybrid.mmr.lambda": "mmr.lambda",
    "query.hybrid.temporalDecay.enabled": "temporal_decay.enabled",
    "query.hybrid.temporalDecay.halfLifeDays": "temporal_decay.half_life_days",
    "chunking.tokens": "chunk.tokens",
    "chunking.overlap": "chunk.overlap",
    "sync.onSearch": "sync.on_search",
    "sync.watchDebounceMs": "watch.debounce_ms",
    "sync.embeddingBatchTimeoutSeconds": "remote.timeout_seconds",
}
"""Keys of OpenClaw that a setting of ours has the meaning of."""
_OF_PROVIDER = {
    "model": "model",
    "remote.baseUrl": "remote.base_url",
    "remote.apiKey": "remote.api_key",
    "outputDimensionality": "dimensions",
    "queryInputType": "remote.query_input_type",
    "documentInputType": "remote.document_input_type",
}
"""Keys that mean nothing without their provider: they are carried over with it or not at all."""
PROVIDER_SETTINGS = tuple(_OF_PROVIDER.values())
"""Our settings that would be wrong for another provider."""
_COMPATIBLE = "openai-compatible"  # OpenAI's format at another address
_SECTIONS = {"gemini": "google"}  # providers that have another name in `models.providers`
_WITHOUT_SERVER = ("local", NONE)
_PATHS = "extraPaths"  # the lists of all layers are joined; of any other key the last layer wins
_SINGLE_VALUES = frozenset({"remote.apiKey", "remote.headers"})
"""Tables that are one value, and may be secret."""
_MAIN = "main"  # the agent of a file that lists none
_INCLUDE = "$include"
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,127}")  # OpenClaw's own rule
_REFERENCE = re.compile(
    r"\$\{(?P<a>[A-Z_][A-Z0-9_]*)\}|\$(?P<b>[A-Z][A-Z0-9_]*)"
    r"|(?:secretref-env|__env__):(?P<c>[A-Z][A-Z0-9_]*)"
)
_NAMES_VARIABLE = re.compile(r"\$\{[A-Z_][A-Z0-9_]*\}")
_WHOLE_PATH = re.compile(r"[~/\\]|[A-Za-z]:[/\\]")
_MAY_HOLD_KEY = re.compile(r"[?#@]|\$\{")
_LOCAL_FIRST = (
    "OpenClaw embeds with openai if no provider is set; Recollect starts with its local model, "
    "so no text leaves the machine. `recollect config set provider openai` keeps OpenAI."
)


@dataclass(frozen=True, slots=True)
class CarriedKey:
    """A key that becomes one of our settings."""

    key: str
    setting: str
    value: Value


@dataclass(frozen=True, slots=True)
class Translation:
    """What OpenClaw's file says about memory search, in our settings."""

    file: Path
    agent: str
    agents: tuple[str, ...]
    workspace: Path
    """The folder with that agent's memory, which may not exist."""
    carried: tuple[CarriedKey, ...]
    not_carried: tuple[str, ...]
    """Keys that have no equivalent here, or a value that is not valid here."""
    remarks: tuple[str, ...]

    @property
    def changes(self) -> dict[str, Value]:
        """The settings to write."""
        changes: dict[str, Value] = {}
        for each in self.carried:
            before = changes.get(each.setting)
            if isinstance(before, list) and isinstance(each.value, list):
                changes[each.setting] = list(dict.fromkeys([*before, *each.value]))
            else:
                changes[each.setting] = each.value
        return changes


class _Key(NamedTuple):
    """A key of OpenClaw's file with its value."""

    path: str
    """The full key, as in the file: `memory.search.query.maxResults`."""
    name: str
    """The key inside the table of memory search: `query.maxResults`."""
    value: object


class _Agent(NamedTuple):
    """One of OpenClaw's agents."""

    path: str
    """The key of its table in the file."""
    table: Table


def default_file(environ: Mapping[str, str]) -> Path:
    """Return the file that OpenClaw itself would read."""
    named = environ.get("OPENCLAW_CONFIG_PATH", "").strip()
    return _expanded(named, environ) if named else _state_folder(environ) / "openclaw.json"


def translate(file: Path, *, agent: str | None, environ: Mapping[str, str]) -> Translation:
    """Read OpenClaw's file and map the keys of memory search, of its default agent or another."""
    tree = _read(file)
    agents = _agents(tree)
    marked = (name for name, each in agents.items() if each.table.get("default") is True)
    default = next(marked, _MAIN if _MAIN in agents else next(iter(agents)))
    chosen = default if agent is None else agent.strip().lower()
    if chosen not in agents:
        raise ConfigError(
            f"OpenClaw's configuration has no agent {agent!r}.",
            action=f"Its agents are {', '.join(agents)}.",
        )
    keys = _search_keys(tree, agents[chosen])
    mapping = _Mapping(keys, tree)
    mapping.map_provider()
    mapping.map_sources()
    mapping.map_rest()
    others = [
        name
        for name, each in agents.items()
        if name != chosen and (each.table.get("memorySearch") or each.table.get("memory"))
    ]
    return Translation(
        file=file,
        agent=chosen,
        agents=tuple(agents),
        workspace=_workspace(
            tree, chosen, agents[chosen], is_default=chosen == default, environ=environ
        ),
        carried=tuple(mapping.carried),
        not_carried=tuple(
            each.path for each in keys if each.path not in {key.key for key in mapping.carried}
        ),
        remarks=(
            *mapping.remarks,
            *(
                f"The agent {name} has its own settings; `--agent {name}` imports them."
                for name in others
            ),
        ),
    )


def _read(file: Path) -> Table:
    """Return the whole configuration."""
    try:
        text = file.read_text(encoding="utf-8-sig")
        tree = _json5(text, file=file)
    except FileNotFoundError as error:
        raise ConfigError(
            f"There is no OpenClaw configuration at {file}.",
            action="Name the file: `recollect config import-openclaw FILE`.",
        ) from error
    except (OSError, UnicodeDecodeError, RecursionError) as error:
        reason = {UnicodeDecodeError: "not UTF-8 text", RecursionError: "nested too deeply"}
        raise ConfigError(
            f"{file} cannot be read ({reason.get(type(error)) or error}).",
            action="Name OpenClaw's own file, and make it readable.",
        ) from None
    if _INCLUDE in text:
        raise ConfigError(
            f"{file} includes other files, which are not read.",
            action=f"Name a copy in which each `{_INCLUDE}` is replaced with the file's content.",
        )
    if not isinstance(tree, dict):
        raise ConfigError(
            f"{file} does not hold a table of settings.", action="Name OpenClaw's openclaw.json."
        )
    return tree


def _json5(text: str, *, file: Path) -> object:
    try:
        return json.loads(text)  # most files are plain JSON, which parses a thousand times faster
    except ValueError:
        import json5  # noqa: PLC0415 - needed by this command only

        try:
            return json5.loads(text)
        except ValueError as error:
            place = str(error).replace("<string>:", "line ")
            # Without a cause: a traceback would show the text, which may hold keys.
            raise ConfigError(
                f"{file} is not JSON5 ({place}).",
                action="Correct the file; `openclaw config validate` checks it too.",
            ) from None


def _table(tree: object, *path: str) -> Table:
    """Return the table at a path; an empty one if there is none."""
    for name in path:
        tree = tree.get(name) if isinstance(tree, dict) else None
    return tree if isinstance(tree, dict) else {}


def _agents(tree: Table) -> dict[str, _Agent]:
    """Return the agents by their ids, in the order of the file."""
    entries, listed = _table(tree, "agents", "entries"), _table(tree, "agents").get("list")
    found = [(name, f"agents.entries.{name}", table) for name, table in entries.items()]
    for place, table in enumerate(listed if isinstance(listed, list) else []):
        name = str(_table(table).get("id") or _MAIN)
        found.append((name, f"agents.list[{place}]", table))
    agents: dict[str, _Agent] = {}
    for name, path, table in found:
        agents.setdefault(name.strip().lower(), _Agent(path, _table(table)))
    return agents or {_MAIN: _Agent(f"agents.entries.{_MAIN}", {})}


def _workspace(
    tree: Table, name: str, agent: _Agent, *, is_default: bool, environ: Mapping[str, str]
) -> Path:
    """Return the folder with the agent's memory, which may not exist."""
    shared = _table(tree, "agents", "defaults").get("workspace") if is_default else None
    for named in (agent.table.get("workspace"), shared):
        if isinstance(named, str) and named.strip():
            return _expanded(named.strip(), environ)
    return _state_folder(environ) / ("workspace" if is_default else f"workspace-{name}")


def _search_keys(tree: Table, agent: _Agent) -> list[_Key]:
    """Return the keys of memory search that apply to an agent, in either spelling of the file."""
    layers = (
        ("agents.defaults.memorySearch", _table(tree, "agents", "defaults", "memorySearch")),
        ("memory.search", _table(tree, "memory", "search")),
        (f"{agent.path}.memorySearch", _table(agent.table, "memorySearch")),
        (f"{agent.path}.memory.search", _table(agent.table, "memory", "search")),
    )
    chosen: dict[str, _Key] = {}
    for prefix, table in layers:
        for key in _leaves(table, prefix=prefix):
            chosen[key.path if key.name == _PATHS else key.name] = key
    return list(chosen.values())


def _leaves(table: object, *, prefix: str, name: str = "") -> Iterator[_Key]:
    """Yield the values of a table and of the tables in it; null counts as missing."""
    if isinstance(table, dict) and name not in _SINGLE_VALUES:
        for key, value in table.items():
            yield from _leaves(value, prefix=prefix, name=f"{name}.{key}" if name else key)
    elif table is not None:
        yield _Key(f"{prefix}.{name}", name, table)


def _state_folder(environ: Mapping[str, str]) -> Path:
    named = environ.get("OPENCLAW_STATE_DIR", "").strip()
    return _expanded(named, environ) if named else _home(environ) / ".openclaw"


def _expanded(path: str, environ: Mapping[str, str]) -> Path:
    """Return a path as OpenClaw reads it, `~` being its home."""
    return _home(environ) / path[1:].lstrip("/\\") if path[:1] == "~" else Path(path)


def _home(environ: Mapping[str, str]) -> Path:
    named = environ.get("OPENCLAW_HOME", "").strip() or environ.get("HOME", "").strip()
    return Path(named).expanduser() if named else Path.home()


class _Mapping:
    """Carries the keys of one agent over."""

    def __init__(self, keys: list[_Key], tree: Table) -> None:
        self.carried: list[CarriedKey] = []
        self.remarks: list[str] = []
        self._all, self._tree = keys, tree
        self._keys = {each.name: each for each in keys}

    def map_provider(self) -> None:
        """Map the provider, and what belongs to it."""
        has_own = any(name in self._keys for name in (*_OF_PROVIDER, "inputType"))
        key = self._keys.get("provider")
        named = str(key.value).strip() if key else ""
        if named in ("", AUTO):
            if not has_own:
                self.remarks.append(_LOCAL_FIRST)
                if key:
                    self._set(key, "provider", AUTO)
                return
            named = "openai"
        self._fill_from_section(_SECTIONS.get(named, named))
        provider = "openai" if named == _COMPATIBLE else named
        if named == _COMPATIBLE and "remote.baseUrl" not in self._keys:
            return  # without its address, texts would go to OpenAI
        is_here = self._set(key or _Key("provider", "provider", named), "provider", provider)
        if is_here and provider not in _WITHOUT_SERVER:
            self._map_server(named, provider)

    def _fill_from_section(self, section: str) -> None:
        """Take address and key of a provider from `models.providers` if they are set only there."""
        path = ("models", "providers", section)
        for name in ("baseUrl", "apiKey"):
            if value := _table(self._tree, *path).get(name):
                key = _Key(".".join((*path, name)), f"remote.{name}", value)
                self._keys.setdefault(key.name, key)

    def _map_server(self, named: str, provider: str) -> None:
        for name, setting in _OF_PROVIDER.items():
            both = self._keys.get("inputType") if name.endswith("InputType") else None
            key = self._keys.get(name) or both
            if key is None:
                continue
            value = _converted(name, key.value, named=named, provider=provider)
            if value is not None:
                self._set(key, setting, value)
            elif name == "remote.apiKey":
                variable = f"{re.sub(r'[^A-Za-z0-9]+', '_', named).upper()}_API_KEY"
                self.remarks.append(
                    f"A key is never copied: put it into the variable {variable} and set "
                    f'`remote.api_key` to "env:{variable}".'
                )

    def map_sources(self) -> None:
        """Map whether transcripts are searched; in OpenClaw that takes two keys."""
        listed, flag = self._keys.get("sources"), self._keys.get("experimental.sessionMemory")
        if listed is not None and isinstance(listed.value, list):
            is_on = flag is not None and flag.value is True
            wanted = [name for name in listed.value if name != "sessions" or is_on]
            for key in filter(None, (listed, flag)):
                self._set(key, "sources", wanted or ["memory"])

    def map_rest(self) -> None:
        """Map the keys of the table, and lists of paths."""
        for key in self._all:
            if key.name == _PATHS:
                given = key.value if isinstance(key.value, list) else [key.value]
                paths = [path for each in given if (path := _path(each))]
                self._set(key, "extra_paths", paths)
            elif key.name == "query.minScore" and key.value == 0:
                self._set(key, "min_score", 0)  # other floors are on the scale of OpenClaw's blend
            elif key.name == "cache.enabled" and key.value is False:
                self._set(key, "cache.max_megabytes", 0)
            elif key.name == "fallback" and key.value != NONE:
                self._set(key, "fallback", [key.value])
            elif key.name == "local.modelPath" and not _WHOLE_PATH.match(str(key.value)):
                continue  # a download, or it depends on where OpenClaw runs
            elif setting := _SETTINGS.get(key.name):
                self._set(key, setting, key.value)

    def _set(self, key: _Key, setting: str, value: object) -> bool:
        """Carry a key over; return False if its value is not valid here."""
        if setting not in SETTINGS or _NAMES_VARIABLE.search(str(value)):
            return False
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # JSON has no whole numbers
        try:
            _, checked = read_setting(setting, value, origin=key.path)
        except ConfigError:
            return False
        self.carried.append(CarriedKey(key.path, setting, writable(checked, given=value)))
        return True


def _converted(name: str, value: object, *, named: str, provider: str) -> object:
    """Return the value of a key that belongs to a provider, in our form; None if it has none."""
    if name == "model":
        return str(value).strip().removeprefix(f"{named}/").removeprefix(f"{provider}/")
    if name == "remote.baseUrl":
        url = str(value).strip()
        if _MAY_HOLD_KEY.search(url):
            return None
        return url.rstrip("/").removesuffix("/v1") if provider == "ollama" else url
    if name == "remote.apiKey":
        return _reference(value)
    if name.endswith("InputType") and provider != "openai":
        return None  # it distinguishes questions from notes itself
    return value


def _reference(secret: object) -> str | None:
    """Return `env:NAME` for a secret that is kept in a variable; None for any other."""
    if isinstance(secret, str):
        found = _REFERENCE.fullmatch(secret.strip())
        return f"env:{found['a'] or found['b'] or found['c']}" if found else None
    if isinstance(secret, dict) and secret.get("source") == "env":
        name = str(secret.get("id"))
        # Someone may have put the key itself there: it must not be shown.
        return f"env:{name}" if _VARIABLE.fullmatch(name) else None
    return None


def _path(given: object) -> str | None:
    """Return an extra path; a folder and a pattern are one glob."""
    pattern = given.get("pattern") if isinstance(given, dict) else None
    folder = given.get("path") if isinstance(given, dict) else given
    if not isinstance(folder, str) or not folder.strip() or "://" in folder:
        return None  # an address may hold a password
    if not isinstance(pattern, str) or not pattern.strip():
        return folder.strip()
    return f"{folder.strip().rstrip('/')}/{pattern.strip().removeprefix('./')}"
