"""The first answer, given before anything heavy is loaded: who this is and what it can do.

Building the protocol's models takes the SDK half a second; a host that starts ten servers waits for
every one of them. What is answered here is only what the SDK would answer itself, word for word,
which a test compares; whatever else comes first is left to the SDK.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeGuard

from recollect.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "recollect"
TITLE = "Recollect"
HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Protocol versions that begin with `initialize`."""
ENVELOPE_VERSIONS = ("2026-07-28",)
"""Protocol versions in which every request says who asks, and `server/discover` may come first."""
_META = "io.modelcontextprotocol"
_SERVER = {"name": NAME, "version": __version__, "title": TITLE}
_CAPABILITIES = {
    "resources": {"subscribe": False, "listChanged": False},
    "tools": {"listChanged": False},
}


@dataclass(frozen=True, slots=True)
class Greeting:
    """An answer to the first message."""

    id: int | str
    answer: bytes
    is_replayed: bool
    """Whether the SDK has to see the message as well, and its own answer is left out."""


def greet(line: bytes, *, instructions: str) -> Greeting | None:
    """Return the answer to a first message, or None where that is the SDK's business."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not _is_object(message) or message.get("jsonrpc") != "2.0":
        return None
    asked, params = message.get("id"), message.get("params")
    if isinstance(asked, bool) or not isinstance(asked, (int, str)) or not _is_object(params):
        return None
    if message.get("method") == "initialize":
        result = _initialized(params, instructions)
        return None if result is None else Greeting(asked, _answer(asked, result), is_replayed=True)
    if message.get("method") == "server/discover":
        result = _discovered(params, instructions)
        is_plain = result is not None
        return Greeting(asked, _answer(asked, result), is_replayed=False) if is_plain else None
    return None


def _initialized(params: Mapping[str, object], instructions: str) -> Mapping[str, object] | None:
    version = params.get("protocolVersion")
    capabilities = params.get("capabilities")
    if version not in HANDSHAKE_VERSIONS or not _is_object(capabilities):
        return None
    # What the SDK would refuse must not be welcomed here.
    if not all(map(_is_object, capabilities.values())) or not _is_object(params.get("_meta", {})):
        return None
    if not _is_named(params.get("clientInfo")):
        return None
    return {
        "protocolVersion": version,
        "capabilities": _CAPABILITIES,
        "serverInfo": _SERVER,
        "instructions": instructions,
    }


def _discovered(params: Mapping[str, object], instructions: str) -> Mapping[str, object] | None:
    meta = params.get("_meta")
    if not _is_object(meta) or meta.get(f"{_META}/protocolVersion") not in ENVELOPE_VERSIONS:
        return None
    if not _is_named(meta.get(f"{_META}/clientInfo")):
        return None
    if not _is_object(meta.get(f"{_META}/clientCapabilities")):
        return None
    return {
        "_meta": {f"{_META}/serverInfo": _SERVER},
        "cacheScope": "private",
        "capabilities": _CAPABILITIES,
        "instructions": instructions,
        "resultType": "complete",
        "supportedVersions": list(ENVELOPE_VERSIONS),
        "ttlMs": 0,
    }


def _answer(asked: int | str, result: Mapping[str, object] | None) -> bytes:
    answer = {"jsonrpc": "2.0", "id": asked, "result": result}
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode()


def _is_object(value: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(value, dict)


def _is_named(value: object) -> bool:
    return _is_object(value) and all(isinstance(value.get(key), str) for key in ("name", "version"))
