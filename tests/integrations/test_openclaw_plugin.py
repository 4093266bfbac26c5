"""The plugin for OpenClaw: what it declares before it is loaded is what it does."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import recollect

PLUGIN = Path(__file__).parents[2] / "integrations" / "openclaw"
CODE = {file.name: file.read_text(encoding="utf-8") for file in sorted(PLUGIN.glob("*.js"))}


def read(path: str) -> Any:
    return json.loads((PLUGIN / path).read_text(encoding="utf-8"))


def test_the_plugin_has_the_version_of_the_program() -> None:
    version = recollect.__version__.partition(".dev")[0]

    assert (version, version) == (
        read("package.json")["version"],
        read("openclaw.plugin.json")["version"],
    )


def test_every_tool_that_is_declared_is_there_and_no_other() -> None:
    named = re.findall(r'^  name: "(\w+)",$', CODE["tools.js"], re.MULTILINE)

    assert read("openclaw.plugin.json")["contracts"]["tools"] == named


def test_every_setting_that_is_read_is_declared() -> None:
    used = set(re.findall(r"\bgiven\.(\w+)", CODE["recollect.js"]))
    declared = read("openclaw.plugin.json")["configSchema"]["properties"].keys()

    assert used | {"dreaming"} == declared


def test_the_plugin_needs_nothing_but_node() -> None:
    imported = {name for text in CODE.values() for name in re.findall(r'from "([^"]+)"', text)}

    assert {name for name in imported if not name.startswith(("./", "node:"))} == set()
    assert {name.removeprefix("./") for name in imported if name.startswith("./")} <= CODE.keys()
