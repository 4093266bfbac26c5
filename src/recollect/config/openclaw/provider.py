"""Who embeds: OpenClaw's provider with the model, the address and the key that belong to it.

These keys are carried over together or not at all: a model of one provider means nothing to
another.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.config.openclaw.file import table_at
from recollect.config.openclaw.sorting import Found
from recollect.providers import registry
from recollect.providers.manifest import EMBEDDINGGEMMA

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recollect.config.openclaw.file import Table
    from recollect.config.openclaw.sorting import Sorting

BOUND = (
    "model",
    "remote.baseUrl",
    "remote.apiKey",
    "outputDimensionality",
    "inputType",
    "queryInputType",
    "documentInputType",
)
"""Keys that belong to one provider."""
OWN_SETTINGS = (
    "model",
    "dimensions",
    "query_prefix",
    "document_prefix",
    "remote.base_url",
    "remote.api_key",
    "remote.query_input_type",
    "remote.document_input_type",
)
"""Settings of ours that would be wrong for the next provider."""
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
    """The provider of ours that does the work, and what it has to be told."""

    provider: str
    how: str | None = None
    base_url: str | None = None
    model: str | None = None
    api_key: str | None = None


_STAND_INS = {
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
"""Where `models.providers` calls a provider something else."""
_NOT_OPENAI = (
    "OpenClaw embeds with openai where no provider is set; Recollect begins with its local model, "
    "for which no text leaves the machine. `recollect config set provider openai` keeps OpenAI."
)
_NO_ADDRESS = "It has no remote.baseUrl: set `provider` to `openai` and `remote.base_url`."
_INSTEAD = (
    "Recollect has no such provider: leave `provider` out for the local model, or name one of "
    f"{', '.join(name for name in registry.NAMES if name not in _UNSET)}."
)


def sort_provider(keys: Mapping[str, Found], *, tree: Table, sorting: Sorting) -> str | None:
    """Carry over who embeds; return a remark where OpenClaw's default is not ours."""
    bound = [keys[name] for name in BOUND if name in keys]
    named = keys.get("provider")
    wanted = str(named.value).strip() if named else ""
    if named is None or wanted in _UNSET:
        if not bound:
            if named:
                sorting.carry(named, "provider", registry.AUTO)
            return _NOT_OPENAI
        prefix = bound[0].key.removesuffix(bound[0].name)
        named = named or Found(f"{prefix}provider", "provider", None)
        wanted, how = _OPENAI, "where none is set, OpenClaw embeds with openai"
        choice: _Choice | None = _Choice(_OPENAI, how=how)
    else:
        choice = _choice(wanted, keys=keys, tree=tree)
    if choice is None:
        sorting.refuse(named, _NO_ADDRESS if wanted in _STAND_INS else _INSTEAD)
    elif sorting.carry(named, "provider", choice.provider, how=_how(choice, keys)):
        _sort_bound(named, choice, wanted, keys=keys, tree=tree, sorting=sorting)
        return None
    for found in bound:
        sorting.refuse(found, f"It belongs to the provider {wanted}.")
    return None


def reference_of(secret: object) -> str | None:
    """Return `env:NAME` for a secret that is kept in a variable, None for any other."""
    if isinstance(secret, str):
        found = _REFERENCE.fullmatch(secret.strip())
        return f"env:{found['a'] or found['b'] or found['c']}" if found else None
    if isinstance(secret, dict) and secret.get("source") == "env":
        name = str(secret.get("id"))
        # Whoever put the key itself there must not see it again.
        return f"env:{name}" if _VARIABLE.fullmatch(name) else None
    return None


def _choice(wanted: str, *, keys: Mapping[str, Found], tree: Table) -> _Choice | None:
    section = _section(tree, wanted)
    has_address = "remote.baseUrl" in keys or "baseUrl" in section
    if wanted in _STAND_INS:
        stand_in = _STAND_INS[wanted]
        return stand_in if has_address or stand_in.base_url else None
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


def _how(choice: _Choice, keys: Mapping[str, Found]) -> str | None:
    if choice.provider == _LOCAL and "local.modelPath" not in keys:
        return (
            "`local` is a small model of Recollect's choice; OpenClaw's is "
            f'`model = "{EMBEDDINGGEMMA.id}"` after the extra `gguf`'
        )
    return choice.how


def _sort_bound(  # noqa: PLR0913 - all that belongs together
    named: Found,
    choice: _Choice,
    wanted: str,
    *,
    keys: Mapping[str, Found],
    tree: Table,
    sorting: Sorting,
) -> None:
    """Carry over what belongs to the provider; the file's own section of it fills the gaps."""
    if choice.provider in _WITHOUT_SERVER:
        for found in (keys[name] for name in BOUND if name in keys):
            sorting.refuse(found, f"The provider {choice.provider} has no use for it.")
        return
    _sort_model(named, choice, found=keys.get("model"), sorting=sorting)
    address = keys.get("remote.baseUrl") or _in_section(tree, wanted, "baseUrl")
    secret = keys.get("remote.apiKey") or _in_section(tree, wanted, "apiKey")
    if address:
        has_key = secret is not None and reference_of(secret.value) is not None
        _sort_address(address, choice, has_key=has_key, sorting=sorting)
    elif choice.base_url:
        sorting.carry(named, "remote.base_url", choice.base_url, how="its address")
    if secret:
        has_address = bool(address or choice.base_url)
        _sort_key(secret, wanted, has_address=has_address, sorting=sorting)
    elif choice.api_key:
        sorting.carry(named, "remote.api_key", choice.api_key, how="its variable")
    if dimensions := keys.get("outputDimensionality"):
        sorting.carry(dimensions, "dimensions", dimensions.value)
    _sort_input_types(choice.provider, keys, sorting)


def _in_section(tree: Table, wanted: str, name: str) -> Found | None:
    value = _section(tree, wanted).get(name)
    key = f"models.providers.{_SECTIONS.get(wanted, wanted)}.{name}"
    return None if value in (None, "") else Found(key, f"remote.{name}", value)


def _sort_model(named: Found, choice: _Choice, *, found: Found | None, sorting: Sorting) -> None:
    if found is None:
        if choice.model:
            sorting.carry(named, "model", choice.model, how="OpenClaw's default there")
        return
    model = str(found.value).strip()
    for prefix in (f"{named.value}/", f"{choice.provider}/"):
        model = model.removeprefix(prefix)
    how = None if model == found.value else "without the provider in front"
    sorting.carry(found, "model", model, how=how)


def _sort_address(address: Found, choice: _Choice, *, has_key: bool, sorting: Sorting) -> None:
    url = str(address.value).strip()
    if re.search(r"[?#@]|\$\{", url):
        sorting.refuse(
            address, "It names a variable or may hold a key: set `remote.base_url` yourself."
        )
        return
    how = None
    if choice.provider == "ollama" and url.rstrip("/").endswith("/v1"):
        url, how = url.rstrip("/").removesuffix("/v1"), "Ollama's own API, which is not below /v1"
    elif choice.provider == _OPENAI and not has_key:
        how = (
            "no key is sent to an address from the settings unless `remote.api_key` names its "
            "variable"
        )
    sorting.carry(address, "remote.base_url", url, how=how)


def _sort_key(secret: Found, wanted: str, *, has_address: bool, sorting: Sorting) -> None:
    if reference := reference_of(secret.value):
        sorting.carry(secret, "remote.api_key", reference, how="a variable is named as env:NAME")
        return
    # All vendors name their variable like this.
    variable = f"{re.sub(r'[^A-Za-z0-9]+', '_', wanted).upper()}_API_KEY"
    then = f' and set `remote.api_key` to "env:{variable}"' if has_address else ""
    kind = "A key" if isinstance(secret.value, str) else "A secret from a file or command"
    sorting.refuse(secret, f"{kind} is never copied: put it into the variable {variable}{then}.")


def _sort_input_types(provider: str, keys: Mapping[str, Found], sorting: Sorting) -> None:
    ours = {
        "queryInputType": "remote.query_input_type",
        "documentInputType": "remote.document_input_type",
    }
    both = keys.get("inputType")
    for name, setting in ours.items():
        found = keys.get(name) or both
        if found is None:
            continue
        if provider != _OPENAI:
            sorting.refuse(found, f"{provider} tells questions from notes by itself.")
        else:
            how = "it stands for questions and notes alike" if found is both else None
            sorting.carry(found, setting, found.value, how=how)
    if both and all(name in keys for name in ours):
        sorting.refuse(both, "queryInputType and documentInputType override it.")
