"""Heavy modules load only where they are used: an agent's hook starts Recollect on every prompt."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

HEAVY = (
    "numpy",
    "onnxruntime",
    "apsw",
    "rich",
    "httpx",
    "tokenizers",
    "huggingface_hub",
    "pydantic",
)


MOST_MODULES = {
    "--version": 3,
    "search -h": 32,
    "config show": 60,
    "search kettle": 135,
    "recall kettle": 136,
    "status": 130,
    "get MEMORY.md": 132,
}
"""Of ours, that a command may load. Raising it makes it slower to start."""
COMMAND = """
import sys
sys.argv[1:] = {arguments}
from recollect.__main__ import main
try:
    main()
except SystemExit as ended:
    assert not ended.code
"""


def loaded_after(code: str, environ: dict[str, str] | None = None) -> set[str]:
    report = f"{code}\nimport sys, json; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", report], capture_output=True, text=True, check=True, env=environ
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "code",
    [
        "import recollect",
        "import recollect.shells.cli",
        "from recollect.shells.cli import cli; cli.main(['--help'], standalone_mode=False)",
        "from recollect.shells.cli import cli; cli.main(['search', '-h'], standalone_mode=False)",
        "import recollect.types, recollect.errors",
    ],
)
def test_light_commands_load_nothing_heavy(code: str) -> None:
    assert set() == loaded_after(code) & set(HEAVY)


def test_the_facade_loads_no_model_runtime() -> None:
    assert set() == loaded_after("from recollect import Memory") & {
        "onnxruntime",
        "rich",
        "httpx",
        "tokenizers",
    }


NOT_FOR_A_SEARCH = (
    "asyncio",
    "difflib",
    "email",
    "httpx",
    "logging",
    "onnxruntime",
    "rich",
    "socket",
    "ssl",
    "tempfile",
    "tomllib",
    "zipfile",
    "recollect.background.",
    "recollect.evaluate",
    "recollect.facts.book",
    "recollect.facts.ledger",
    "recollect.facts.state",
    "recollect.facts.extract.run",
    "recollect.ingest.batches",
    "recollect.ingest.embed",
    "recollect.install",
    "recollect.providers.cross_encoder",
    "recollect.search.copies",
    "recollect.search.expand",
    "recollect.browse.overview",
    "recollect.sessions.",
    "recollect.stores.ram",
)


def test_a_command_loads_only_what_it_uses(workspace: Path, environ: dict[str, str]) -> None:
    (workspace / "MEMORY.md").write_text("The kettle is blue.", encoding="utf-8")
    environ |= {"RECOLLECT_PROVIDER": "none", "RECOLLECT_WORKSPACE": str(workspace)}
    environ |= {"RECOLLECT_RERANK_ENABLED": "false"}
    loaded_after(COMMAND.format(arguments=["index"]), environ)

    loaded = {
        command: loaded_after(COMMAND.format(arguments=command.split()), environ)
        for command in MOST_MODULES
    }

    counts = {
        command: len([module for module in modules if module.startswith("recollect")])
        for command, modules in loaded.items()
    }
    assert {} == {each: n for each, n in counts.items() if n > MOST_MODULES[each]}
    used = {module for module in loaded["search kettle"] if module.startswith(NOT_FOR_A_SEARCH)}
    assert set() == used
