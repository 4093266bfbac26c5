"""The plugin for OpenClaw: what it declares before it is loaded is what it does."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

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


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
@pytest.mark.parametrize(
    ("kind", "is_broken"), [("usage", False), ("query", False), ("not_started", True)]
)
def test_memory_is_called_unavailable_only_if_the_call_was_not_wrong(
    kind: str, *, is_broken: bool
) -> None:
    script = f"""
    import {{ createTools }} from {json.dumps((PLUGIN / "tools.js").as_uri())};
    import {{ RecollectError }} from {json.dumps((PLUGIN / "recollect.js").as_uri())};
    const fails = async () => {{ throw new RecollectError("wrong", "do this", "{kind}"); }};
    const tools = createTools({{ answer: fails, readFile: fails }}, {{ citations: "off" }});
    for (const tool of tools) {{
      const told = await tool.execute("1", {{ path: "../x", query: "x" }});
      console.log(told.content[0].text.replaceAll("\\n", " "));
    }}
    """
    done = subprocess.run(
        ["node", "--input-type=module", "-e", script], capture_output=True, text=True, check=True
    )

    answers = [json.loads(line) for line in done.stdout.splitlines()]

    assert 2 == len(answers)
    assert 2 * [("wrong", "do this")] == [(each["error"], each["action"]) for each in answers]
    assert 2 * [is_broken] == [each.get("disabled", False) for each in answers]
