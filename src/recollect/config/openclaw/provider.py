"""Maps OpenClaw's embedding provider and the keys that belong to it.

They are copied together or not at all: a model of one provider means nothing to another.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from recollect.config.openclaw.read import OpenClawKey, table_at
from recollect.providers import registry
from recollect.providers.models.manifest import EMBEDDINGGEMMA
from recollect.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recollect.config.openclaw.mapper import KeyMapper
    from recollect.config.openclaw.read import Table

    Keys = Mapping[str, OpenClawKey]

BOUND = (
    "model",
    "remote.baseUrl",
    "remote.apiKey",
    "outputDimensionality",
    "inputType",
    "queryInputType",
    "documentInputType",
)
"""Keys that mean nothing without their provider."""
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
_AUTO_CHAIN = (_OPENAI, "gemini")
_HOW_AUTO = (
    "`auto` tried the local model, OpenAI and Gemini: the local model stays first, and notes and "
    "questions go to these two if it fails on a new index; unset `fallback` to keep them here"
)
_NO_ADDRESS = "It has no remote.baseUrl: set `provider` to `openai` and `remote.base_url`."
_NO_PROVIDER = (
    "Recollect has no such provider: leave `provider` out for the local model, or choose one of "
    f"{', '.join(name for name in registry.NAMES if name not in _UNSET)}."
)


def map_provider(keys: Keys, *, tree: Table, mapper: KeyMapper) -> str | None:
    """Map the provider; return a remark if OpenClaw's default is not ours."""
    bound = [keys[name] for name in BOUND if name in keys]
    named = keys.get("provider")
    wanted = str(named.value).strip() if named else ""
    if named is None or wanted in _UNSET:
        if not bound:
            if named and "fallback" in keys:
                mapper.map_to(named, "provider", registry.AUTO)
            elif named:
                mapper.map_to(named, "fallback", list(_AUTO_CHAIN), how=_HOW_AUTO)
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
            "`local` is Recollect's own small model; OpenClaw's is "
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
        for key in (keys[name] for name in BOUND if name in keys):
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
            mapper.unsupported(key, f"{provider} distinguishes questions from notes itself.")
        else:
            how = "it applies to questions and notes" if key is both else None
            mapper.map_to(key, setting, key.value, how=how)
    if both and all(name in keys for name in ours):
        mapper.unsupported(both, "queryInputType and documentInputType override it.")
