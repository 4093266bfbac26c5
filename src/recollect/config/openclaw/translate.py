"""Maps OpenClaw's memory settings to ours: a table of keys, the provider, paths and transcripts.

Every other key is listed as not carried over. No value that may be a secret gets into a record, and
every value that is carried over has passed our validation.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from recollect.config.edit import writable
from recollect.config.openclaw.read import (
    PATH_LISTS,
    OpenClawKey,
    agents_of,
    choose_agent,
    leaves,
    read_tree,
    search_keys,
    table_at,
    workspace_of,
)
from recollect.config.schema import SETTINGS, read_setting
from recollect.errors import ConfigError
from recollect.providers import names
from recollect.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from recollect.config.edit import Value
    from recollect.config.openclaw.read import Table

_SETTINGS = {
    "remote.batch.enabled": "remote.batch",
    "local.modelPath": "local.model_path",
    "local.modelCacheDir": "local.model_cache",
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
    "qmd.limits.maxResults": "max_results",
    "qmd.update.debounceMs": "watch.debounce_ms",
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
_COMPATIBLE = {
    "openai-compatible": {"provider": "openai"},
    "lmstudio": {
        "provider": "openai",
        "remote.base_url": "http://127.0.0.1:1234/v1",
        "model": "text-embedding-nomic-embed-text-v1.5",
    },
    "deepinfra": {
        "provider": "openai",
        "remote.base_url": "https://api.deepinfra.com/v1/openai",
        "model": "BAAI/bge-m3",
        "remote.api_key": "env:DEEPINFRA_API_KEY",
    },
}
"""Providers that are servers in OpenAI's format here, and what they need."""
_BY_API = {"ollama": "ollama", "google-generative-ai": "gemini"}
_SECTIONS = {"gemini": "google"}  # providers that have another name in `models.providers`
_WITHOUT_SERVER = ("local", names.NONE, "multilingual")
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


def translate(file: Path, *, agent: str | None, environ: Mapping[str, str]) -> Translation:
    """Read OpenClaw's file and map the keys of its memory search.

    Args:
        file: `openclaw.json`.
        agent: whose overrides apply; None is OpenClaw's default agent.
        environ: tells where OpenClaw's home is.

    Raises:
        ConfigError: the file cannot be read, or has no such agent.

    """
    tree = read_tree(file)
    agents = agents_of(tree)
    chosen = choose_agent(agents, named=agent)
    found = search_keys(tree, chosen)
    memory = {key: value for key, value in table_at(tree, "memory").items() if key != "search"}
    if memory.get("backend") != "qmd":
        found = [each for each in found if not each.name.startswith("qmd.")]
    else:
        found += leaves({"qmd": memory.get("qmd")}, prefix="memory")
    mapping = _Mapping(found, tree)
    mapping.map_provider()
    mapping.map_sources()
    mapping.map_rest()
    others = [each.id for each in agents if each.has_overrides and each.id != chosen.id]
    return Translation(
        file=file,
        agent=chosen.id,
        agents=tuple(each.id for each in agents),
        workspace=workspace_of(tree, chosen, environ=environ),
        carried=tuple(mapping.carried),
        not_carried=tuple(each.path for each in found if each.path not in mapping.done),
        remarks=(
            *mapping.remarks,
            *(
                f"The agent {name} has its own settings; `--agent {name}` imports them."
                for name in others
            ),
        ),
    )


class _Mapping:
    """Takes the keys of one agent one by one."""

    def __init__(self, found: list[OpenClawKey], tree: Table) -> None:
        self.carried: list[CarriedKey] = []
        self.done: set[str] = set()
        """Keys that need no further word."""
        self.remarks: list[str] = []
        self._found, self._tree = found, tree
        self._keys = {each.name: each for each in found}

    def map_rest(self) -> None:
        """Map the keys of the table, and lists of paths."""
        for key in self._found:
            if key.name in PATH_LISTS:
                given = key.value if isinstance(key.value, list) else [key.value]
                paths = [path for each in given if (path := _path(each))]
                self._set(key, "extra_paths", paths)
            elif key.name == "query.minScore" and key.value == 0:
                self._set(key, "min_score", 0)  # other floors are on the scale of OpenClaw's blend
            elif key.name == "cache.enabled" and key.value is False:
                self._set(key, "cache.max_megabytes", 0)
            elif key.name == "fallback" and key.value != names.NONE:
                self._set(key, "fallback", [key.value])
            elif key.name.startswith("local.model") and not _WHOLE_PATH.match(str(key.value)):
                continue  # a download, or it depends on where OpenClaw runs
            elif setting := _SETTINGS.get(key.name):
                self._set(key, setting, key.value)

    def map_sources(self) -> None:
        """Map whether transcripts are searched; in OpenClaw that takes two keys."""
        listed, flag = self._keys.get("sources"), self._keys.get("experimental.sessionMemory")
        qmd = self._keys.get("qmd.sessions.enabled")
        if listed is not None and isinstance(listed.value, list):
            is_on = flag is not None and flag.value is True
            wanted = [name for name in listed.value if name != "sessions" or is_on]
            if self._set(listed, "sources", wanted or ["memory"]) and flag is not None:
                self.done.add(flag.path)
        elif qmd is not None and qmd.value is True:
            self._set(qmd, "sources", ["memory", "sessions"])

    def map_provider(self) -> None:
        """Map the provider, and what belongs to it."""
        has_own = any(name in self._keys for name in (*_OF_PROVIDER, "inputType"))
        key = self._keys.get("provider")
        named = str(key.value).strip() if key else ""
        if named in ("", names.AUTO) and not has_own:
            self.remarks.append(_LOCAL_FIRST)
            if key:
                self._set(key, "provider", names.AUTO)
            return
        named = "openai" if named in ("", names.AUTO) else named
        key = key or OpenClawKey("provider", "provider", named)
        needs = self._needs(named)
        if needs is None or not self._set(key, "provider", needs["provider"]):
            return
        if needs["provider"] not in _WITHOUT_SERVER:
            self._map_server(key, needs, named)

    def _needs(self, named: str) -> Mapping[str, str] | None:
        """Return our provider for one of OpenClaw's, and what it needs; None if there is none."""
        section = self._section(named)
        if named in _COMPATIBLE:
            needs = _COMPATIBLE[named]
            has_address = "remote.baseUrl" in self._keys or "baseUrl" in section
            return needs if has_address or "remote.base_url" in needs else None
        if named in names.names():
            return {"provider": named}
        api = str(section.get("api") or "openai-completions") if section else ""
        provider = _BY_API.get(api, "openai" if api.startswith("openai") else "")
        return {"provider": provider} if provider else None

    def _section(self, named: str) -> Table:
        return table_at(self._tree, "models", "providers", _SECTIONS.get(named, named))

    def _map_server(self, key: OpenClawKey, needs: Mapping[str, str], named: str) -> None:
        """Map what belongs to a provider; its section in `models.providers` fills the gaps."""
        found = {name: self._keys[name] for name in _OF_PROVIDER if name in self._keys}
        for name in ("baseUrl", "apiKey"):
            path = f"models.providers.{_SECTIONS.get(named, named)}.{name}"
            value = self._section(named).get(name)
            if value not in (None, ""):
                found.setdefault(f"remote.{name}", OpenClawKey(path, f"remote.{name}", value))
        if both := self._keys.get("inputType"):
            found = {"queryInputType": both, "documentInputType": both, **found}
        for name, each in found.items():
            value = _converted(name, each.value, named=named, provider=needs["provider"])
            if value is not None:
                self._set(each, _OF_PROVIDER[name], value)
            elif name == "remote.apiKey":
                self._say_where_key_goes(named, has_address="remote.baseUrl" in found)
        for setting, value in needs.items():
            if setting not in ("provider", *(each.setting for each in self.carried)):
                self._set(key, setting, value)

    def _say_where_key_goes(self, named: str, *, has_address: bool) -> None:
        # All vendors name their variable like this.
        variable = f"{re.sub(r'[^A-Za-z0-9]+', '_', named).upper()}_API_KEY"
        then = f' and set `remote.api_key` to "env:{variable}"' if has_address else ""
        self.remarks.append(f"A key is never copied: put it into the variable {variable}{then}.")

    def _set(self, key: OpenClawKey, setting: str, value: object) -> bool:
        """Carry a key over; return False if its value is not valid here, or another key was first.

        Lists of paths add up.
        """
        is_set = setting != "extra_paths" and any(each.setting == setting for each in self.carried)
        if setting not in SETTINGS or is_set or _NAMES_VARIABLE.search(str(value)):
            return False
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # JSON has no whole numbers
        try:
            _, checked = read_setting(setting, value, origin=key.path)
        except ConfigError:
            return False
        self.carried.append(CarriedKey(key.path, setting, writable(checked, given=value)))
        self.done.add(key.path)
        return True


def _converted(name: str, value: object, *, named: str, provider: str) -> object:
    """Return the value of a key that belongs to a provider, in our form; None if it has none."""
    if name == "model":
        return str(value).strip().removeprefix(f"{named}/").removeprefix(f"{provider}/")
    if name == "remote.baseUrl":
        return _address(str(value).strip(), provider=provider)
    if name == "remote.apiKey":
        return _reference(value)
    if name.endswith("InputType") and provider != "openai":
        return None  # it distinguishes questions from notes itself
    return value


def _address(url: str, *, provider: str) -> str | None:
    """Return the address of a server; None if it names a variable or may hold a key."""
    if _MAY_HOLD_KEY.search(url):
        return None
    return url.rstrip("/").removesuffix("/v1") if provider == "ollama" else url


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
