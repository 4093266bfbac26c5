"""What is written into an agent's configuration starts a server that answers the SDK's client."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from tests.install.agents import AGENTS, OWN, entry_of
from tests.mcp.serving import answer
from tests.support.waiting import PATIENCE_SECONDS

from mcp import Client, StdioServerParameters

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.install.conftest import Install


@pytest.mark.parametrize("agent", AGENTS)
def test_the_entry_starts_a_server_that_finds_what_is_remembered(
    install: Install, environ: Mapping[str, str], agent: str
) -> None:
    note = "# House\n\nThe spare key hangs behind the boiler.\n"
    (install.workspace / "MEMORY.md").write_text(note, encoding="utf-8")
    install.well(agent)
    entry = entry_of(install.files()[next(iter(OWN[agent]))], agent)
    server = StdioServerParameters(
        command=entry["command"], args=entry["args"], env={**environ, **entry.get("env", {})}
    )

    async def asked() -> list[str]:
        async with asyncio.timeout(PATIENCE_SECONDS), Client(server, mode="legacy") as client:
            found = await answer(client, "memory_search", query="where is the spare key")
            return [hit["citation"] for hit in found["results"]]

    assert ["MEMORY.md#L1-L3"] == asyncio.run(asked())
