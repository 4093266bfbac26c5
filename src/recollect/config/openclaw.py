"""Maps OpenClaw's memory settings to ours; every other key is listed as not carried over.

`${NAME}` stays `${NAME}`, no value that may be a secret gets into a record, and every value that is
carried over has passed our validation.
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
    "fallback": "fallback",
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
_WITHOUT_SERVER = (AUTO, "local", NONE)
_PATHS = "extraPaths"  # the lists of all layers are joined; of any other key the last layer wins
_SINGLE_VALUES = frozenset({"remote.apiKey", "remote.headers"})
"""Tables that are one value, and may be secret."""
_MAIN = "main"  # the agent of a file that lists none
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
        return {each.setting: each.value for each in self.carried}


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
    named = _provider(keys)
    carried = tuple(
        CarriedKey(key.path, setting, value)
        for key, setting, given in _proposed(keys, tree, named=named)
        if (value := _checked(setting, given)) is not None
    )
    left = [key for key in keys.values() if key.path not in {each.key for each in carried}]
    others = [
        name
        for name, each in agents.items()
        if name != chosen and (each.table.get("memorySearch") or each.table.get("memory"))
    ]
    needs_key = named not in _WITHOUT_SERVER and any(each.setting == "provider" for each in carried)
    return Translation(
        file=file,
        agent=chosen,
        agents=tuple(agents),
        workspace=_workspace(
            tree, chosen, agents[chosen], is_default=chosen == default, environ=environ
        ),
        carried=carried,
        not_carried=tuple(key.path for key in left),
        remarks=(
            *([_LOCAL_FIRST] if named == AUTO else []),
            *(_about_key(named) for key in left if key.name == "remote.apiKey" and needs_key),
            *(
                f"The agent {name} has its own settings; `--agent {name}` imports them."
                for name in others
            ),
        ),
    )


def _about_key(provider: str) -> str:
    variable = f"{re.sub(r'[^A-Za-z0-9]+', '_', provider).upper()}_API_KEY"
    return (
        f"A key is never copied: put it into the variable {variable} and set "
        f'`remote.api_key` to "env:{variable}".'
    )


def _read(file: Path) -> Table:
    """Return the whole configuration. Errors have no cause: a traceback would show keys."""
    action = "Name OpenClaw's own openclaw.json; `openclaw config validate` checks it."
    try:
        text = file.read_text(encoding="utf-8-sig")
        tree = _json5(text)
    except FileNotFoundError:
        reason, action = "does not exist", "Name it: `recollect config import-openclaw FILE`."
    except UnicodeDecodeError:
        reason = "is not UTF-8 text"
    except RecursionError:
        reason = "is nested too deeply"
    except ValueError as error:
        reason = f"is not JSON5 ({str(error).replace('<string>:', 'line ')})"
    except OSError as error:
        reason = f"cannot be read ({error.strerror})"
    else:
        if not isinstance(tree, dict):
            reason = "does not hold a table of settings"
        elif "$include" in text:
            reason = "includes other files, which are not read"
            action = "Name a copy in which each `$include` is replaced with the file's content."
        else:
            return tree
    raise ConfigError(f"{file} {reason}.", action=action) from None


def _json5(text: str) -> object:
    try:
        return json.loads(text)  # most files are plain JSON, which parses a thousand times faster
    except ValueError:
        import json5  # noqa: PLC0415 - needed by this command only

        return json5.loads(text)


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


def _search_keys(tree: Table, agent: _Agent) -> dict[str, _Key]:
    """Return the keys of memory search that apply to an agent, in either spelling of the file."""
    layers = (
        ("agents.defaults.memorySearch", _table(tree, "agents", "defaults", "memorySearch")),
        ("memory.search", _table(tree, "memory", "search")),
        (f"{agent.path}.memorySearch", _table(agent.table, "memorySearch")),
        (f"{agent.path}.memory.search", _table(agent.table, "memory", "search")),
    )
    keys: dict[str, _Key] = {}
    for prefix, table in layers:
        for key in _leaves(table, prefix=prefix):
            value = key.value
            if key.name == _PATHS and key.name in keys:
                value = [*_listed(keys[key.name].value), *_listed(value)]
            keys[key.name] = key._replace(value=value)
    return keys


def _leaves(table: object, *, prefix: str, name: str = "") -> Iterator[_Key]:
    """Yield the values of a table and of the tables in it; null counts as missing."""
    if isinstance(table, dict) and name not in _SINGLE_VALUES:
        for key, value in table.items():
            yield from _leaves(value, prefix=prefix, name=f"{name}.{key}" if name else key)
    elif table is not None:
        yield _Key(f"{prefix}.{name}", name, table)


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _state_folder(environ: Mapping[str, str]) -> Path:
    named = environ.get("OPENCLAW_STATE_DIR", "").strip()
    return _expanded(named, environ) if named else _home(environ) / ".openclaw"


def _expanded(path: str, environ: Mapping[str, str]) -> Path:
    """Return a path as OpenClaw reads it, `~` being its home."""
    return _home(environ) / path[1:].lstrip("/\\") if path[:1] == "~" else Path(path)


def _home(environ: Mapping[str, str]) -> Path:
    named = environ.get("OPENCLAW_HOME", "").strip() or environ.get("HOME", "").strip()
    return Path(named).expanduser() if named else Path.home()


def _provider(keys: Mapping[str, _Key]) -> str:
    """Return the provider as OpenClaw names it; AUTO if no key needs one."""
    named = str(keys["provider"].value).strip() if "provider" in keys else AUTO
    if named not in ("", AUTO):
        return named
    return "openai" if keys.keys() & _OF_PROVIDER.keys() else AUTO


def _proposed(
    keys: Mapping[str, _Key], tree: Table, *, named: str
) -> Iterator[tuple[_Key, str, object]]:
    """Yield each key that has an equivalent, with the setting and the value it would become."""
    yield from _of_provider(keys, tree, named=named)
    listed, flag = keys.get("sources"), keys.get("experimental.sessionMemory")
    if listed is not None:  # in OpenClaw it takes two keys to search transcripts
        is_on = flag is not None and flag.value is True
        wanted = [name for name in _listed(listed.value) if name != "sessions" or is_on]
        for key in filter(None, (listed, flag)):
            yield key, "sources", wanted or ["memory"]
    for key in keys.values():
        if key.name == _PATHS:
            yield key, "extra_paths", [path for each in _listed(key.value) if (path := _path(each))]
        elif setting := _SETTINGS.get(key.name):
            yield key, setting, key.value


def _of_provider(
    keys: Mapping[str, _Key], tree: Table, *, named: str
) -> Iterator[tuple[_Key, str, object]]:
    """Yield the provider, and what belongs to it if it exists here."""
    provider = "openai" if named == _COMPATIBLE else named
    section = ("models", "providers", _SECTIONS.get(named, named))
    shared = {
        f"remote.{name}": _Key(".".join((*section, name)), f"remote.{name}", value)
        for name in ("baseUrl", "apiKey")
        if (value := _table(tree, *section).get(name))
    }
    known = {**shared, **keys}
    if named == _COMPATIBLE and "remote.baseUrl" not in known:
        return  # without its address, texts would go to OpenAI
    if named != AUTO or "provider" in keys:
        yield keys.get("provider") or _Key("provider", "provider", named), "provider", provider
    if provider not in _WITHOUT_SERVER and _checked("provider", provider):
        for name, setting in _OF_PROVIDER.items():
            if name in known:
                value = _converted(name, known[name].value, named=named, provider=provider)
                yield known[name], setting, value


def _checked(setting: str, value: object) -> Value | None:
    """Return the value as our files hold it; None if it is not valid here."""
    is_elsewhere = setting == "local.model_path" and not _WHOLE_PATH.match(str(value))
    if value is None or is_elsewhere or setting not in SETTINGS:
        return None  # a download, or a path that depends on where OpenClaw runs
    if _NAMES_VARIABLE.search(str(value)):
        return None
    try:
        _, checked = read_setting(setting, value, origin="openclaw.json")
    except ConfigError:
        return None
    return writable(checked, given=value)


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
    folder, pattern = given, None
    if isinstance(given, dict):
        folder, pattern = given.get("path"), given.get("pattern")
    if not isinstance(folder, str) or not folder.strip() or "://" in folder:
        return None  # an address may hold a password
    folder = folder.strip()
    return f"{folder.rstrip('/')}/{pattern}" if isinstance(pattern, str) else folder
