"""The greeting says word for word what the SDK says, and leaves everything else to it."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import mcp_types.version
import pytest

from mcp import Client
from recollect.shells.mcp.handshake import (
    ENVELOPE_VERSIONS,
    HANDSHAKE_VERSIONS,
    McpOptions,
    answer_first,
)
from recollect.shells.mcp.server import make_server, serve_memory

if TYPE_CHECKING:
    from collections.abc import Mapping

CLIENT = {"name": "test", "version": "1"}
OPTIONS = McpOptions(
    workspace=None,
    agent=None,
    config_file=None,
    scopes=frozenset(),
    read_only=False,
    instructions="How to use it.",
)


def line(method: str, params: object, *, asked: object = 7) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": asked, "method": method, "params": params}).encode()


def initialize(version: str = "2025-11-25", **changed: object) -> bytes:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT, **changed}
    return line("initialize", params)


def discover(version: str = "2026-07-28", changed: Mapping[str, object] | None = None) -> bytes:
    meta: dict[str, object] = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": CLIENT,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return line("server/discover", {"_meta": {**meta, **(changed or {})}})


def greeted(message: bytes) -> Mapping[str, object]:
    greeting = answer_first(message, instructions=OPTIONS.instructions)
    assert greeting is not None
    answer = json.loads(greeting.line)
    assert 7 == greeting.id == answer["id"]
    result: Mapping[str, object] = answer["result"]
    return result


def said_by_sdk(mode: str) -> Mapping[str, object]:
    async def ask() -> Mapping[str, object]:
        server = make_server(serve_memory(OPTIONS), OPTIONS)
        async with Client(server, mode=mode) as client:
            answer = client.session.initialize_result or client.session.discover_result
            assert answer is not None
            said: Mapping[str, object] = answer.model_dump(
                by_alias=True, mode="json", exclude_none=True
            )
            return said

    return asyncio.run(ask())


def test_the_versions_are_those_of_the_sdk() -> None:
    assert mcp_types.version.HANDSHAKE_PROTOCOL_VERSIONS == HANDSHAKE_VERSIONS
    assert mcp_types.version.MODERN_PROTOCOL_VERSIONS == ENVELOPE_VERSIONS


def test_the_handshake_is_answered_as_the_sdk_does() -> None:
    assert said_by_sdk("legacy") == greeted(initialize())


def test_a_discovery_is_answered_as_the_sdk_does() -> None:
    assert said_by_sdk("auto") == greeted(discover())


@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
def test_each_version_is_answered_in_its_own(version: str) -> None:
    assert version == greeted(initialize(version))["protocolVersion"]


def test_only_the_handshake_is_shown_to_the_sdk_again() -> None:
    first = answer_first(initialize(), instructions="")
    other = answer_first(discover(), instructions="")

    assert first is not None
    assert other is not None
    assert (True, False) == (first.is_replayed, other.is_replayed)


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"not json",
        b"[]",
        b"{}",
        line("tools/list", {}),
        line("ping", {}),
        line("initialize", None),
        line("initialize", {}),
        initialize("1999-01-01"),
        initialize("2026-07-28"),
        initialize(capabilities=None),
        initialize(capabilities={"roots": True}),
        initialize(clientInfo={"name": "test"}),
        initialize(_meta=3),
        json.dumps({"jsonrpc": "2.0", "method": "initialize", "params": {}}).encode(),
        line("initialize", {"protocolVersion": "2025-11-25"}, asked=None),
        discover("2099-01-01"),
        discover(changed={"io.modelcontextprotocol/clientInfo": 3}),
        discover(changed={"io.modelcontextprotocol/clientCapabilities": None}),
        line("server/discover", {}),
    ],
)
def test_anything_else_is_left_to_the_sdk(message: bytes) -> None:
    assert answer_first(message, instructions="") is None
