"""Ollama: models on this machine or on one of one's own, behind its native API.

Format: docs.ollama.com/api/embed, docs.ollama.com/api/errors.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING

from recollect.providers.prompts import prompts_of
from recollect.providers.remote.provider import RemoteProvider
from recollect.providers.remote.wire import ListWire, Model, Vendor

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from recollect.providers.base import ProviderOptions

_PORT = "11434"
_HIGHEST_PORT = 65535
_LATEST = ":latest"


def url_of_host(told: str) -> str:
    """Return the address that OLLAMA_HOST names, as Ollama's own client reads it.

    The variable is the server's too: `0.0.0.0` there means all addresses, and here this machine.
    Rules: github.com/ollama/ollama, envconfig/config.go, `Host` and `ConnectableHost`.
    """
    told = told.strip().strip("\"'")
    scheme, is_given, rest = told.partition("://")
    if told == "ollama.com":
        scheme, rest, port = "https", told, "443"
    elif not is_given:
        scheme, rest, port = "http", told, _PORT
    else:
        port = {"http": "80", "https": "443"}.get(scheme, _PORT)
    place, _, path = rest.partition("/")
    host, port = _host_and_port(place, port)
    path = path.strip("/")
    return f"{scheme}://{host}:{port}" + (f"/{path}" if path else "")


def _host_and_port(place: str, port: str) -> tuple[str, str]:
    host, colon, own_port = place.rpartition(":")
    if not colon or _is_address(place.strip("[]")):
        host, own_port = place, port
    if not (own_port.isdecimal() and int(own_port) <= _HIGHEST_PORT):
        own_port = port
    host = host.strip("[]")
    if not _is_address(host):
        return host or "127.0.0.1", own_port
    address = ip_address(host)
    if address.version == 6:  # noqa: PLR2004 - the name of the protocol
        return ("[::1]" if address.is_unspecified else f"[{address}]"), own_port
    return ("127.0.0.1" if address.is_unspecified else str(address)), own_port


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


OLLAMA = Vendor(
    name="ollama",
    # Not `localhost`, which Windows looks for under IPv6 first, and waits.
    base_url=f"http://127.0.0.1:{_PORT}",
    default_model="nomic-embed-text",
    models={
        "nomic-embed-text": Model(768),
        "mxbai-embed-large": Model(1024),
        "all-minilm": Model(384),
        "bge-m3": Model(1024),
        "snowflake-arctic-embed": Model(1024),
        "embeddinggemma": Model(768),
    },
    most_texts=16,  # on a processor a longer list would take longer than the time-out
    key_variable="OLLAMA_API_KEY",
    needs_key=False,
    url_variable="OLLAMA_HOST",
    url_of=url_of_host,
    in_flight=1,
    start_action="Start it with `ollama serve`, or set remote.base_url to where it runs.",
    model_action="Run `ollama pull {model}`, or set `model` to one that `ollama list` shows.",
)


def _vectors_of(answer: object) -> Sequence[Sequence[float]]:
    return list(answer["embeddings"])  # type: ignore[index]  # a wrong shape raises, as agreed


def open_ollama(options: ProviderOptions, *, cache: Path) -> RemoteProvider:
    """Return the provider; nothing is asked yet."""
    del cache
    # A name without a tag is the latest one: both are the same space.
    model = (options.model or OLLAMA.default_model).removesuffix(_LATEST)
    wire = ListWire(
        model,
        prompts=prompts_of(model, options),  # Ollama itself puts none in front
        dimensions=options.dimensions,
        path="api/embed",
        dimensions_field="dimensions",
        constants={"truncate": False},  # a text that is too long is refused, not cut
        vectors_of=_vectors_of,
    )
    return RemoteProvider(OLLAMA, wire, model=model, options=options)
