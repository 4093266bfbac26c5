"""Maps OpenClaw's memory settings to ours: every key is copied, converted or not supported.

No value that may be a secret gets into a record. An unsupported key is named with a reason, and a
value that is copied has passed our validation.
"""

from __future__ import annotations

import difflib
import math
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
from recollect.config.schema import SETTINGS, canonical, read_setting
from recollect.errors import ConfigError
from recollect.providers import registry
from recollect.providers.models.manifest import EMBEDDINGGEMMA
from recollect.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from recollect.config.edit import Value
    from recollect.config.openclaw.read import Table

    Keys = Mapping[str, OpenClawKey]
    Rule = Callable[[OpenClawKey, "KeyMapper"], object]


@dataclass(frozen=True, slots=True)
class Carried:
    """A key that is copied or converted."""

    key: str
    setting: str | None
    """None if nothing has to be set for the same effect."""
    value: Value | None
    how: str | None
    """What is different here; None if the key is copied as it is."""


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A key that has no equivalent here."""

    key: str
    reason: str
    """Why, or what to do instead."""


@dataclass(frozen=True, slots=True)
class Translation:
    """What OpenClaw's file says about memory search, in our settings."""

    file: Path
    agent: str
    agents: tuple[str, ...]
    workspace: Path
    """The folder with that agent's memory, which may not exist."""
    carried: tuple[Carried, ...]
    unsupported: tuple[Unsupported, ...]
    remarks: tuple[str, ...]

    @property
    def changes(self) -> dict[str, Value]:
        """The settings to write."""
        changes: dict[str, Value] = {}
        for each in self.carried:
            if each.setting is None or each.value is None:
                continue
            before = changes.get(each.setting)
            if isinstance(before, list) and isinstance(each.value, list):
                changes[each.setting] = list(dict.fromkeys([*before, *each.value]))
            else:
                changes[each.setting] = each.value
        return changes


def translate(file: Path, *, agent: str | None, environ: Mapping[str, str]) -> Translation:
    """Read OpenClaw's file and map every key of its memory search.

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
    mapper = KeyMapper()
    found = search_keys(tree, chosen)
    remark = _map_all(found, tree=tree, mapper=mapper)
    others = [each.id for each in agents if each.has_overrides and each.id != chosen.id]
    return Translation(
        file=file,
        agent=chosen.id,
        agents=tuple(each.id for each in agents),
        workspace=workspace_of(tree, chosen, environ=environ),
        carried=tuple(mapper.carried),
        unsupported=tuple(mapper.unsupported_keys),
        remarks=(
            *([remark] if remark else []),
            *([_NOT_AGED] if _is_aged_there(found) else []),
            *(
                f"The agent {name} has its own settings; `--agent {name}` imports them."
                for name in others
            ),
        ),
    )


def _map_all(found: list[OpenClawKey], *, tree: Table, mapper: KeyMapper) -> str | None:
    """Map the keys of memory search and those beside it; return a remark on the provider."""
    keys = {each.name: each for each in found}
    memory = {key: value for key, value in table_at(tree, "memory").items() if key != "search"}
    beside = {each.path: each for each in leaves(memory, prefix="memory")}
    uses_qmd = memory.get("backend") == "qmd"
    qmd = {path: beside.pop(path) for path in QMD_TOGETHER if uses_qmd and path in beside}
    remark = _map_provider(keys, tree=tree, mapper=mapper)
    lists = [each for each in (*found, *qmd.values()) if each.name in PATH_LISTS]
    _map_paths([each for each in lists if uses_qmd or not _is_qmd(each)], mapper=mapper)
    _map_sources(keys, qmd=qmd.get(_QMD_SESSIONS), mapper=mapper)
    for each in found:
        if _is_qmd(each) and not uses_qmd:
            mapper.unsupported(each, _NOT_QMD)
        elif each.name not in TOGETHER:
            _map_key(each, mapper)
    for each in beside.values():
        _map_beside(each, mapper, uses_qmd=uses_qmd)
    for path, reason in ELSEWHERE.items():
        if table_at(tree, *path[:-1]).get(path[-1]) is not None:
            mapper.unsupported(OpenClawKey(".".join(path), path[-1], None), reason)
    return remark


_AGING = ("query.hybrid.temporalDecay.enabled", "query.hybrid.mmr.enabled")
_NOT_AGED = (
    "OpenClaw lowers the score of dated notes by half every 30 days and prefers hits that differ; "
    "Recollect does neither unless you ask, so that an old right answer stays first. "
    "`recollect config set temporal_decay.enabled true` and `recollect config set mmr.enabled "
    "true` turn them on."
)


def _is_aged_there(keys: list[OpenClawKey]) -> bool:
    """Tell whether OpenClaw's own defaults, which are on since they are no longer keys, apply."""
    is_older = any("memorySearch" in key.path for key in keys)
    return not is_older and not any(key.name in _AGING for key in keys)


class KeyMapper:
    """Takes the keys one by one; each ends in exactly one of two lists."""

    def __init__(self) -> None:
        self.carried: list[Carried] = []
        self.unsupported_keys: list[Unsupported] = []

    def map_to(
        self,
        key: OpenClawKey,
        setting: str,
        value: object,
        *,
        how: str | None = None,
        joins: bool = False,
    ) -> bool:
        """Set one of our settings; False if the value is not valid there.

        Args:
            key: the key that says so.
            setting: our setting; this version may not have it.
            value: in our form.
            how: what is different here; None if at most the name is.
            joins: other keys may add to the same list.

        """
        if setting not in SETTINGS:
            return self.unsupported(key, f"This version of Recollect has no `{setting}`.")
        earlier = [each.key for each in self.carried if each.setting == setting]
        if earlier and not joins:
            return self.unsupported(key, f"`{setting}` is already set by {earlier[0]}.")
        if re.search(r"\$\{[A-Z_][A-Z0-9_]*\}", str(value)):
            return self.unsupported(key, f"It names a variable: set `{setting}` to its value.")
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # JSON has no whole numbers
        try:
            _, checked = read_setting(setting, value, origin=key.path)
        except ConfigError as error:
            # Without the message, which shows the value.
            return self.unsupported(key, f"Not a value for `{setting}`. {error.action}")
        if how is None and not f".{canonical(key.name)}".endswith(f".{setting}"):
            how = f"it is called `{setting}` here"
        self.carried.append(Carried(key.path, setting, writable(checked, given=value), how))
        return True

    def not_needed(self, key: OpenClawKey, how: str) -> None:
        """Note that nothing has to be set for the effect of a key."""
        self.carried.append(Carried(key.path, None, None, how))

    def unsupported(self, key: OpenClawKey, reason: str) -> bool:
        """Note that a key has no equivalent; return False."""
        self.unsupported_keys.append(Unsupported(key.path, reason))
        return False


# The provider, and the keys that belong to it. They are copied together or not at all: a model of
# one provider means nothing to another.

_BOUND = (
    "model",
    "remote.baseUrl",
    "remote.apiKey",
    "outputDimensionality",
    "inputType",
    "queryInputType",
    "documentInputType",
)
PROVIDER_SETTINGS = (
    "model",
    "dimensions",
    "query_prefix",
    "document_prefix",
    "remote.base_url",
    "remote.api_key",
    "remote.query_input_type",
    "remote.document_input_type",
)
"""Our settings that would be wrong for another provider."""
_OPENAI = "openai"
_LOCAL = "local"
_UNSET = ("", registry.AUTO)
_WITHOUT_SERVER = (_LOCAL, registry.NONE, "multilingual")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,127}")  # OpenClaw's own rule
_REFERENCE = re.compile(
    r"\$\{(?P<a>[A-Z_][A-Z0-9_]*)\}|\$(?P<b>[A-Z][A-Z0-9_]*)"
    r"|(?:secretref-env|__env__):(?P<c>[A-Z][A-Z0-9_]*)"
)


@dataclass(frozen=True, slots=True)
class _Choice:
    """Our provider for one of OpenClaw's, and the settings it needs."""

    provider: str
    how: str | None = None
    base_url: str | None = None
    model: str | None = None
    api_key: str | None = None


_COMPATIBLE = {
    "openai-compatible": _Choice(
        _OPENAI, how="a server in OpenAI's format is `openai` with `remote.base_url`"
    ),
    "lmstudio": _Choice(
        _OPENAI,
        how="LM Studio is a server in OpenAI's format",
        base_url="http://127.0.0.1:1234/v1",
        model="text-embedding-nomic-embed-text-v1.5",
    ),
    "deepinfra": _Choice(
        _OPENAI,
        how="DeepInfra is a server in OpenAI's format",
        base_url="https://api.deepinfra.com/v1/openai",
        model="BAAI/bge-m3",
        api_key="env:DEEPINFRA_API_KEY",
    ),
}
_BY_API = {"ollama": "ollama", "google-generative-ai": "gemini"}
_SECTIONS = {"gemini": "google"}
"""Providers that have another name in `models.providers`."""
_NOT_OPENAI = (
    "OpenClaw embeds with openai if no provider is set; Recollect starts with its local model, "
    "so no text leaves the machine. `recollect config set provider openai` keeps OpenAI."
)
_NO_ADDRESS = "It has no remote.baseUrl: set `provider` to `openai` and `remote.base_url`."
_NO_PROVIDER = (
    "Recollect has no such provider: leave `provider` out for the local model, or choose one of "
    f"{', '.join(name for name in registry.NAMES if name not in _UNSET)}."
)


def _map_provider(keys: Keys, *, tree: Table, mapper: KeyMapper) -> str | None:
    """Map the provider; return a remark if OpenClaw's default is not ours."""
    bound = [keys[name] for name in _BOUND if name in keys]
    named = keys.get("provider")
    wanted = str(named.value).strip() if named else ""
    if named is None or wanted in _UNSET:
        if not bound:
            if named:
                mapper.map_to(named, "provider", registry.AUTO)
            return _NOT_OPENAI
        prefix = bound[0].path.removesuffix(bound[0].name)
        named = named or OpenClawKey(f"{prefix}provider", "provider", None)
        wanted, how = _OPENAI, "if none is set, OpenClaw embeds with openai"
        choice: _Choice | None = _Choice(_OPENAI, how=how)
    else:
        choice = _choice(wanted, keys=keys, tree=tree)
    if choice is None:
        mapper.unsupported(named, _NO_ADDRESS if wanted in _COMPATIBLE else _NO_PROVIDER)
    elif mapper.map_to(named, "provider", choice.provider, how=_how(choice, keys)):
        _map_bound(named, choice, wanted, keys=keys, tree=tree, mapper=mapper)
        return None
    for key in bound:
        mapper.unsupported(key, f"It belongs to the provider {wanted}.")
    return None


def _choice(wanted: str, *, keys: Keys, tree: Table) -> _Choice | None:
    section = _section(tree, wanted)
    has_address = "remote.baseUrl" in keys or "baseUrl" in section
    if wanted in _COMPATIBLE:
        compatible = _COMPATIBLE[wanted]
        return compatible if has_address or compatible.base_url else None
    if wanted in registry.names():
        return _Choice(wanted)
    if not section:
        return None
    api = str(section.get("api") or "openai-completions")
    provider = _BY_API.get(api, _OPENAI if api.startswith(_OPENAI) else None)
    how = f"models.providers.{wanted} speaks {api}"
    return None if provider is None else _Choice(provider, how=how)


def _section(tree: Table, wanted: str) -> Table:
    return table_at(tree, "models", "providers", _SECTIONS.get(wanted, wanted))


def _in_section(tree: Table, wanted: str, name: str) -> OpenClawKey | None:
    value = _section(tree, wanted).get(name)
    path = f"models.providers.{_SECTIONS.get(wanted, wanted)}.{name}"
    return None if value in (None, "") else OpenClawKey(path, f"remote.{name}", value)


def _how(choice: _Choice, keys: Keys) -> str | None:
    if choice.provider == _LOCAL and "local.modelPath" not in keys:
        return (
            "`local` is a small model of Recollect's choice; OpenClaw's is "
            f'`model = "{EMBEDDINGGEMMA.id}"` with the extra `gguf`'
        )
    return choice.how


def _map_bound(  # noqa: PLR0913 - all that belongs together
    named: OpenClawKey,
    choice: _Choice,
    wanted: str,
    *,
    keys: Keys,
    tree: Table,
    mapper: KeyMapper,
) -> None:
    """Map what belongs to the provider; its section in `models.providers` fills the gaps."""
    if choice.provider in _WITHOUT_SERVER:
        for key in (keys[name] for name in _BOUND if name in keys):
            mapper.unsupported(key, f"The provider {choice.provider} does not use it.")
        return
    _map_model(named, choice, key=keys.get("model"), mapper=mapper)
    address = keys.get("remote.baseUrl") or _in_section(tree, wanted, "baseUrl")
    secret = keys.get("remote.apiKey") or _in_section(tree, wanted, "apiKey")
    if address:
        has_key = secret is not None and _reference_of(secret.value) is not None
        _map_address(address, choice, has_key=has_key, mapper=mapper)
    elif choice.base_url:
        mapper.map_to(named, "remote.base_url", choice.base_url, how="its address")
    if secret:
        _map_secret(secret, wanted, has_address=bool(address or choice.base_url), mapper=mapper)
    elif choice.api_key:
        mapper.map_to(named, "remote.api_key", choice.api_key, how="its variable")
    if dimensions := keys.get("outputDimensionality"):
        mapper.map_to(dimensions, "dimensions", dimensions.value)
    _map_input_types(choice.provider, keys, mapper)


def _map_model(
    named: OpenClawKey, choice: _Choice, *, key: OpenClawKey | None, mapper: KeyMapper
) -> None:
    if key is None:
        if choice.model:
            mapper.map_to(named, "model", choice.model, how="OpenClaw's default there")
        return
    model = str(key.value).strip()
    for prefix in (f"{named.value}/", f"{choice.provider}/"):
        model = model.removeprefix(prefix)
    how = None if model == key.value else "without the provider in front"
    mapper.map_to(key, "model", model, how=how)


def _map_address(
    address: OpenClawKey, choice: _Choice, *, has_key: bool, mapper: KeyMapper
) -> None:
    url = str(address.value).strip()
    if re.search(r"[?#@]|\$\{", url):
        mapper.unsupported(
            address, "It names a variable or may hold a key: set `remote.base_url` yourself."
        )
        return
    how = None
    if choice.provider == "ollama" and url.rstrip("/").endswith("/v1"):
        url, how = url.rstrip("/").removesuffix("/v1"), "Ollama's own API is not below /v1"
    elif choice.provider == _OPENAI and not has_key:
        how = "no key is sent to this address unless `remote.api_key` names its variable"
    mapper.map_to(address, "remote.base_url", url, how=how)


def _map_secret(secret: OpenClawKey, wanted: str, *, has_address: bool, mapper: KeyMapper) -> None:
    if reference := _reference_of(secret.value):
        mapper.map_to(secret, "remote.api_key", reference, how="a variable is named as env:NAME")
        return
    # All vendors name their variable like this.
    variable = f"{re.sub(r'[^A-Za-z0-9]+', '_', wanted).upper()}_API_KEY"
    then = f' and set `remote.api_key` to "env:{variable}"' if has_address else ""
    kind = "A key" if isinstance(secret.value, str) else "A secret from a file or command"
    reason = f"{kind} is never copied: put it into the variable {variable}{then}."
    mapper.unsupported(secret, reason)


def _reference_of(secret: object) -> str | None:
    """Return `env:NAME` for a secret that is kept in a variable; None for any other."""
    if isinstance(secret, str):
        found = _REFERENCE.fullmatch(secret.strip())
        return f"env:{found['a'] or found['b'] or found['c']}" if found else None
    if isinstance(secret, dict) and secret.get("source") == "env":
        name = str(secret.get("id"))
        # Someone may have put the key itself there: it must not be shown.
        return f"env:{name}" if _VARIABLE.fullmatch(name) else None
    return None


def _map_input_types(provider: str, keys: Keys, mapper: KeyMapper) -> None:
    ours = {
        "queryInputType": "remote.query_input_type",
        "documentInputType": "remote.document_input_type",
    }
    both = keys.get("inputType")
    for name, setting in ours.items():
        key = keys.get(name) or both
        if key is None:
            continue
        if provider != _OPENAI:
            mapper.unsupported(key, f"{provider} tells questions from notes by itself.")
        else:
            how = "it applies to questions and notes" if key is both else None
            mapper.map_to(key, setting, key.value, how=how)
    if both and all(name in keys for name in ours):
        mapper.unsupported(both, "queryInputType and documentInputType override it.")


# What is indexed: extra paths and transcripts, of OpenClaw's own engine and of QMD.

_MEMORY = "memory"
_SESSIONS = "sessions"
_SEARCH_SESSIONS = "`recollect config set sources memory,sessions` searches transcripts"


def _map_paths(lists: Iterable[OpenClawKey], *, mapper: KeyMapper) -> None:
    """Map lists of paths, each a string or a folder with a pattern."""
    for key in lists:
        given = key.value if isinstance(key.value, list) else [key.value]
        plain = [path for each in given if (path := _plain_path(each))]
        globs = [glob for each in given if (glob := _glob(each))]
        if plain:
            mapper.map_to(key, "extra_paths", plain, joins=True)
        if globs:
            how = "a folder and a pattern are one glob"
            mapper.map_to(key, "extra_paths", globs, how=how, joins=True)
        if any(not _plain_path(each) and not _glob(each) for each in given):
            mapper.unsupported(key, "Some of it is neither a path nor {path, pattern}.")


def _map_sources(keys: Keys, *, qmd: OpenClawKey | None, mapper: KeyMapper) -> None:
    """Map whether transcripts are searched; in OpenClaw that takes two keys."""
    listed, flag = keys.get("sources"), keys.get("experimental.sessionMemory")
    is_on = flag is not None and flag.value is True
    wanted = listed.value if listed is not None and isinstance(listed.value, list) else []
    if listed is not None:
        searched = [name for name in wanted if name != _SESSIONS or is_on] or [_MEMORY]
        how = None
        if _SESSIONS in wanted and not is_on:
            how = f"without experimental.sessionMemory none are searched; {_SEARCH_SESSIONS}"
        mapper.map_to(listed, "sources", searched, how=how)
    elif qmd is not None and qmd.value is True:
        mapper.map_to(qmd, "sources", [_MEMORY, _SESSIONS], how="transcripts are a source here")
        qmd = None
    if flag is not None and not is_on:
        mapper.not_needed(flag, f"nothing to set; {_SEARCH_SESSIONS}")
    elif flag is not None:
        unused = "without `sessions` in `sources` it does nothing"
        mapper.not_needed(flag, "it is part of `sources`" if _SESSIONS in wanted else unused)
    if qmd is not None:
        mapper.not_needed(
            qmd, "it is part of `sources`" if listed else f"nothing to set; {_SEARCH_SESSIONS}"
        )


def _plain_path(given: object) -> str | None:
    if isinstance(given, dict) and not given.get("pattern"):
        given = given.get("path")
    return given.strip() or None if isinstance(given, str) else None


def _glob(given: object) -> str | None:
    if not isinstance(given, dict):
        return None
    folder, pattern = given.get("path"), given.get("pattern")
    if not isinstance(folder, str) or not isinstance(pattern, str) or not pattern.strip():
        return None
    return f"{folder.strip().rstrip('/')}/{pattern.strip().removeprefix('./')}"


# Every other key, one row per key.

TOGETHER = frozenset(
    {
        *_BOUND,
        "provider",
        "sources",
        "experimental.sessionMemory",
        "extraPaths",
        "qmd.extraCollections",
    }
)
"""Keys that are mapped above."""
_MINUTES = {"ms": 1 / 60_000, "s": 1 / 60, "m": 1.0, "h": 60.0, "d": 1440.0}
_WHOLE_PATH = re.compile(r"[~/\\]|[A-Za-z]:[/\\]")
_URL = re.compile(r"[A-Za-z]{2,}:")
_WITH_WEIGHTED = "used with `fusion` `weighted` or `rrf`; `calibrated` needs no weights"
_NOT_QMD = "It does nothing unless memory.backend is qmd."


def _as(setting: str, how: str | None = None) -> Rule:
    return lambda key, mapper: mapper.map_to(key, setting, key.value, how=how)


def _to(setting: str, value: object, how: str) -> Rule:
    return lambda key, mapper: mapper.map_to(key, setting, value, how=how)


def _no(reason: str) -> Rule:
    return lambda key, mapper: mapper.unsupported(key, reason)


def _same(how: str) -> Rule:
    return lambda key, mapper: mapper.not_needed(key, how)


def _if(value: object, then: Rule, otherwise: Rule) -> Rule:
    # Not `==` alone: in Python True equals 1.
    return lambda key, mapper: (
        then if type(key.value) is type(value) and key.value == value else otherwise
    )(key, mapper)


def _path(setting: str, how: str | None = None) -> Rule:
    def rule(key: OpenClawKey, mapper: KeyMapper) -> object:
        path = str(key.value).strip()
        if _WHOLE_PATH.match(path):
            return mapper.map_to(key, setting, path, how=how)
        if _URL.match(path):
            return mapper.unsupported(key, f"Download the file and set `{setting}` to its path.")
        return mapper.unsupported(key, "It depends on where OpenClaw runs: set the whole path.")

    return rule


def _min_score(key: OpenClawKey, mapper: KeyMapper) -> None:
    if key.value == 0 and not isinstance(key.value, bool):
        mapper.map_to(key, "min_score", 0)  # no floor is the same on every scale
        return
    mapper.unsupported(
        key,
        "It is on the scale of OpenClaw's blend; `calibrated`, the default here, has another "
        "scale and its own floor. Set `min_score` together with `fusion` `weighted`, which is "
        "that blend.",
    )


def _interval(key: OpenClawKey, mapper: KeyMapper) -> None:
    parts = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?\s*", str(key.value))
    if parts is None:
        mapper.unsupported(key, "It is not a duration such as 5m.")
        return
    minutes = math.ceil(float(parts[1]) * _MINUTES[parts[2] or "m"])
    mapper.map_to(key, "sync.interval_minutes", minutes, how="in whole minutes, by `watch`")


_AUTOMATIC = _no("Recollect decides this from what the provider answers.")
_WHEN_CHANGED = _no("A transcript is indexed whenever it has changed.")
_ON_SEARCH = _no("A search brings the index up to date.")
_NO_PROGRAM = _no("Recollect does not call another program to search.")
RULES: dict[str, Rule] = {
    "enabled": _if(
        False,
        _no("Recollect runs only when it is called: do not install it for this agent."),
        _same("it is always on"),
    ),
    "rememberAcrossConversations": _if(
        True,
        _no("`recollect config set sources memory,sessions` searches transcripts."),
        _same("transcripts are searched only if `sources` includes them"),
    ),
    "fallback": _if(
        "none",
        _same("without `fallback` a provider that fails is not replaced by another"),
        lambda key, mapper: mapper.map_to(
            key,
            "fallback",
            [key.value],
            how="tried if the provider fails on an index without vectors; an index that has "
            "vectors keeps their provider",
        ),
    ),
    "remote.headers": _no(
        "Only the key is sent: set `remote.base_url` to a proxy that adds the headers."
    ),
    "remote.batch.enabled": _as("remote.batch"),
    "remote.batch.wait": _no("`recollect index` waits, and a later run collects what is ready."),
    "remote.batch.concurrency": _AUTOMATIC,
    "remote.batch.pollIntervalMs": _AUTOMATIC,
    "remote.batch.timeoutMinutes": _no(
        "A batch may take the vendor a day; you can stop `index` at any time."
    ),
    "remote.nonBatchConcurrency": _no(
        "Four requests run at once; `remote.requests_per_minute` slows them down."
    ),
    "local.modelPath": _path("local.model_path", "a GGUF file needs the extra `gguf`"),
    "local.modelCacheDir": _path("local.model_cache"),
    "local.contextSize": _no("A text longer than the model's input is embedded in parts."),
    "local.gpu": _AUTOMATIC,
    "local.gpuLayers": _AUTOMATIC,
    "local.flashAttention": _AUTOMATIC,
    "query.maxResults": _as("max_results"),
    "query.minScore": _min_score,
    "query.hybrid.enabled": _if(
        False,
        _no("Both legs always run, and a leg that finds nothing never lowers a score."),
        _same("search is always hybrid"),
    ),
    "query.hybrid.vectorWeight": _as("vector_weight", _WITH_WEIGHTED),
    "query.hybrid.textWeight": _as("text_weight", _WITH_WEIGHTED),
    "query.hybrid.candidateMultiplier": _as("candidate_multiplier"),
    "query.hybrid.mmr.enabled": _as("mmr.enabled"),
    "query.hybrid.mmr.lambda": _as("mmr.lambda"),
    "query.hybrid.temporalDecay.enabled": _if(
        True,
        _as(
            "temporal_decay.enabled",
            "age leaves 0.4 of a score; with `temporal_decay.floor` 0 it leaves nothing, as there",
        ),
        _as("temporal_decay.enabled"),
    ),
    "query.hybrid.temporalDecay.halfLifeDays": _as("temporal_decay.half_life_days"),
    "chunking.tokens": _as("chunk.tokens"),
    "chunking.overlap": _as("chunk.overlap"),
    "sync.onSearch": _as("sync.on_search"),
    "sync.onSessionStart": _no("A search and `recollect watch` bring the index up to date."),
    "sync.watch": _no("`recollect watch` keeps the index fresh while it runs."),
    "sync.watchDebounceMs": _as("watch.debounce_ms"),
    "sync.intervalMinutes": _as("sync.interval_minutes"),
    "sync.embeddingBatchTimeoutSeconds": _as("remote.timeout_seconds", "for each request"),
    "sync.sessions.deltaBytes": _WHEN_CHANGED,
    "sync.sessions.deltaMessages": _WHEN_CHANGED,
    "sync.sessions.postCompactionForce": _WHEN_CHANGED,
    "cache.enabled": _if(
        False,
        _to("cache.max_megabytes", 0, "size 0 turns the cache off"),
        _same("there is a cache unless `cache.max_megabytes` is 0"),
    ),
    "cache.maxEntries": _no("The cache is limited by size: set `cache.max_megabytes`."),
    "store.driver": _same("the index is SQLite"),
    "store.path": _no("The index is below RECOLLECT_HOME; `recollect config path` shows it."),
    "store.fts.tokenizer": _no("One tokeniser finds words of every script."),
    "store.vector.enabled": _if(
        False,
        _to("vector.engine", "numpy", "without sqlite-vec, `numpy` compares vectors"),
        _same("`numpy` is as exact; `vector.engine` `sqlite-vec` needs the extra `vec`"),
    ),
    "store.vector.extensionPath": _no("sqlite-vec comes with the extra `vec`."),
}
"""By the name below memory search. `multimodal` is missing: see `_map_key`."""
BESIDE: dict[str, Rule] = {
    "memory.citations": _same("every hit has its citation; the agent may show it"),
    "memory.backend": _if(
        "qmd",
        _no("Recollect is the search itself; QMD's settings are mapped if possible."),
        _same("Recollect is the search itself"),
    ),
    "memory.qmd.command": _NO_PROGRAM,
    "memory.qmd.searchMode": _no(
        "Search is by keyword and meaning; `provider` `none` searches by keyword only."
    ),
    "memory.qmd.rerank": _no("`rerank.enabled` lets another model reread the best hits."),
    "memory.qmd.includeDefaultMemory": _if(
        False,
        _no("MEMORY.md and memory/ are always indexed: `exclude` leaves files out."),
        _same("MEMORY.md and memory/ are always indexed"),
    ),
    "memory.qmd.sessions.retentionDays": _no("Transcripts are searched as long as they exist."),
    "memory.qmd.sessions.exportDir": _no("Transcripts are read where they are."),
    "memory.qmd.update.interval": _interval,
    "memory.qmd.update.debounceMs": _as("watch.debounce_ms"),
    "memory.qmd.update.onBoot": _ON_SEARCH,
    "memory.qmd.update.waitForBootSync": _ON_SEARCH,
    "memory.qmd.update.embedInterval": _no("What changed is embedded in the same run."),
    "memory.qmd.update.commandTimeoutMs": _NO_PROGRAM,
    "memory.qmd.limits.maxResults": _as("max_results"),
    "memory.qmd.limits.maxSnippetChars": _no("A snippet is at most 700 characters long."),
    "memory.qmd.limits.maxInjectedChars": _no("Ask for fewer hits with `max_results`."),
    "memory.qmd.limits.timeoutMs": _no("A search has no time limit."),
}
"""By the full key, for keys beside memory search; `memory.qmd` counts only with QMD."""
_QMD_SESSIONS = "memory.qmd.sessions.enabled"
QMD_TOGETHER = ("memory.qmd.paths", _QMD_SESSIONS)
"""Keys beside memory search that are mapped with `extraPaths` and `sources`."""
ELSEWHERE = {
    ("agents", "defaults", "compaction", "memoryFlush"): "OpenClaw decides what is written to "
    "memory; Recollect finds it.",
    ("agents", "defaults", "contextLimits", "memoryGetMaxChars"): "`recollect get --lines` limits "
    "what is read.",
    ("plugins", "entries", "memory-core", "config", "memoryPolicy"): "No transcript is left out "
    "because of its channel.",
    ("plugins", "entries", "memory-core", "config", "dreaming"): "Recollect never rewrites memory.",
    ("plugins", "entries", "active-memory", "config"): "Recollect asks no model before a turn.",
    ("hooks", "internal", "entries", "session-memory"): "What the hook writes to memory/ is found "
    "like every note.",
}
"""Tables about memory that are not about searching it."""


def _map_key(key: OpenClawKey, mapper: KeyMapper) -> None:
    """Map one key of memory search."""
    if rule := RULES.get(key.name):
        rule(key, mapper)
    elif key.name.startswith("multimodal."):
        mapper.unsupported(
            key,
            "Images and recordings are sent to a server only if you set it here: "
            f'`{canonical(key.name)}`, with provider = "gemini" and model = "gemini-embedding-2".',
        )
    else:
        near = difflib.get_close_matches(key.name, (*RULES, *TOGETHER), n=1, cutoff=0.8)
        hint = f" Did you mean {near[0]}?" if near else ""
        mapper.unsupported(key, f"{_UNKNOWN}{hint}")


def _map_beside(key: OpenClawKey, mapper: KeyMapper, *, uses_qmd: bool) -> None:
    """Map one key of `memory` that is not part of memory search."""
    if _is_qmd(key) and not uses_qmd:
        mapper.unsupported(key, _NOT_QMD)
    elif key.name.startswith("qmd.scope."):
        mapper.unsupported(key, "Who may ask is decided when Recollect is started.")
    elif rule := BESIDE.get(key.path):
        rule(key, mapper)
    else:
        mapper.unsupported(key, _UNKNOWN)


_UNKNOWN = "Recollect does not know this key of OpenClaw."


def _is_qmd(key: OpenClawKey) -> bool:
    """Tell whether a key is about QMD, the other engine that OpenClaw had."""
    return key.name.startswith("qmd.")
