"""The plugin's JavaScript with the real Recollect below it, and without OpenClaw above it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.integrations.agents import RECOLLECT
from tests.support.hostile_text import HOSTILE

from recollect.text.terminal import terminal_text

PLUGIN = Path(__file__).parents[2] / "integrations" / "openclaw"
NODE = shutil.which("node")
OPEN = """
import { createMemory } from "PLUGIN/memory.js";
import { createRunner, readSettings } from "PLUGIN/recollect.js";
import * as render from "PLUGIN/render.js";
const settings = readSettings({ command: COMMAND });
const memoryWith = (query) => createMemory({
  run: createRunner(settings), workspace: WORKSPACE, settings, defaults: () => query,
});
const print = (value) => process.stdout.write(JSON.stringify(value));
"""

EVERYTHING = (
    f"{HOSTILE}\r\n{''.join(map(chr, range(0x2100)))}\ud800\ufeff\U000e0041\U0001d173👨‍👩‍👧"
)

pytestmark = pytest.mark.skipif(NODE is None, reason="there is no Node.js")


@pytest.fixture
def run(embedded_sample: Path, environ: dict[str, str]) -> Any:
    """Run a program that uses the plugin; return what it prints."""

    def run_program(program: str) -> Any:
        opened = (
            OPEN.replace("PLUGIN", PLUGIN.as_uri())
            .replace("COMMAND", json.dumps(str(RECOLLECT)))
            .replace("WORKSPACE", json.dumps(str(embedded_sample)))
        )
        done = subprocess.run(
            [str(NODE), "--input-type=module", "-e", opened + program],
            env=environ,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        assert 0 == done.returncode, done.stderr
        return json.loads(done.stdout)

    return run_program


def test_the_plugin_shows_a_terminal_what_the_command_shows_it(run: Any) -> None:
    shown, encoded = run(f"""
        const {{ terminalText, terminalJson }} = await import("{PLUGIN.as_uri()}/terminal.js");
        const text = {json.dumps(EVERYTHING)};
        print([terminalText(text), terminalJson(text)]);
    """)

    assert terminal_text(EVERYTHING) == shown
    assert terminal_text(encoded) == encoded
    assert EVERYTHING == json.loads(encoded)


def test_hits_are_as_many_and_as_good_as_asked_or_configured(run: Any) -> None:
    asked, configured, plain, best = run("""
        const scores = async (query, options) => (await memoryWith(query).search("deploy", options))
          .map((hit) => hit.score);
        const asked = await scores({ maxResults: 2 }, { maxResults: 4 });
        const floor = asked[2] - 0.0001;  // scores are rounded
        const best = await scores({ maxResults: 9 }, { minScore: floor });
        print([asked.length, await scores({ maxResults: 2 }, {}), await scores({}, {}), best]);
    """)

    assert (4, 2, 6) == (asked, len(configured), len(plain))
    assert 3 == len(best)


def test_status_and_index_are_told_in_openclaws_lines(run: Any) -> None:
    indexed, status = run("""
        const memory = memoryWith({});
        const report = await memory.sync({ force: true });
        const told = await memory.refreshStatus({ deep: true });
        print([
          render.indexLine("main", told, report),
          render.statusLines({ agentId: "main", recollect: told }),
        ]);
    """)
    labels = [line.partition(":")[0] for line in status[1:] if not line.startswith("  ")]

    assert "Memory index updated (main): " in indexed
    assert "Memory Search (main)" == status[0]
    assert "Provider: local (requested: auto)" == status[1]
    assert "Embeddings: ready" in status
    assert any(re.fullmatch(r"Keyword index: [1-9]\d* chunks", line) for line in status)
    assert labels[:8] == [
        "Provider", "Model", "Sources", "Indexed", "Dirty", "Store", "Workspace", "Embeddings",
    ]  # fmt: skip


def test_status_says_why_a_provider_was_skipped(run: Any) -> None:
    [line] = run("""
        const openai = { reason: "No key.", action: "Set one." };
        const told = { workspace: "/w", provider: { name: "local", skipped: { openai } } };
        const lines = render.statusLines({ agentId: "main", recollect: told });
        print(lines.filter((line) => line.startsWith("Fallback")));
    """)

    assert "Fallback: openai: No key. Set one." == line


def test_settings_of_openclaw_that_do_not_act_yet_are_named_with_the_command(
    run: Any, environ: dict[str, str]
) -> None:
    file = Path(environ["HOME"]) / ".openclaw" / "openclaw.json"
    file.parent.mkdir(parents=True)
    search = {"extraPaths": ["~/papers"], "query": {"maxResults": 3}}
    file.write_text(json.dumps({"memory": {"search": search}}), encoding="utf-8")
    ask = 'print((await memoryWith({}).pendingImport("main")) ?? null);'
    before = run(ask)
    subprocess.run(
        [RECOLLECT, "config", "import-openclaw", "--agent", "main", "--write"],
        env=environ,
        check=True,
        capture_output=True,
    )

    assert "extra_paths not taken over yet: `recollect config import-openclaw" in before
    assert "max_results" not in before
    assert run(ask) is None
