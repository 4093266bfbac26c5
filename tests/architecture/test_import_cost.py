"""Heavy modules load only where they are used: an agent's hook starts Recollect on every prompt."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

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


def loaded_after(code: str) -> set[str]:
    report = f"{code}\nimport sys, json; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", report], capture_output=True, text=True, check=True
    )
    modules = json.loads(done.stdout.splitlines()[-1])
    return {module.split(".")[0] for module in modules}


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
