"""`vector.engine = "sqlite-vec"` where the extension cannot be loaded."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MODULES = {
    "missing": "raise ImportError('No module named sqlite_vec')\n",
    "unloadable": "def loadable_path() -> str:\n    return '/nowhere/vec0'\n",
}


@pytest.fixture(params=MODULES)
def without_extension(
    request: pytest.FixtureRequest, tmp_path: Path, environ: dict[str, str]
) -> dict[str, str]:
    """An environment that asks for sqlite-vec and cannot load it."""
    shadow = tmp_path / "shadow"
    shadow.mkdir()
    (shadow / "sqlite_vec.py").write_text(MODULES[request.param], encoding="utf-8")
    return {**environ, "PYTHONPATH": str(shadow), "RECOLLECT_VECTOR_ENGINE": "sqlite-vec"}


def test_an_extension_that_cannot_be_loaded_costs_a_notice_not_the_answer(
    workspace: Path, without_extension: dict[str, str], write: Callable[[str, str], Path]
) -> None:
    write("MEMORY.md", "The submarine cable lands at dawn.\n")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "recollect", "-w", str(workspace), *arguments],
            env=without_extension,
            capture_output=True,
            text=True,
            check=False,
        )

    indexed, found, status, doctor = (
        run("index"),
        run("search", "undersea wire", "--json"),
        run("status", "--json"),
        run("doctor"),
    )

    assert [0, 0, 0, 0] == [each.returncode for each in (indexed, found, status, doctor)]
    answer = json.loads(found.stdout)
    assert ["MEMORY.md"] == [hit["path"] for hit in answer["results"]]
    assert answer["results"][0]["vectorScore"] is not None
    told = "sqlite-vec cannot be loaded"
    assert told in " ".join(answer["notices"])
    assert told in " ".join(json.loads(status.stdout)["notices"])
    assert "numpy" == json.loads(status.stdout)["legs"]["vector"]["engine"]
    assert told in doctor.stdout
    assert "pip install" in doctor.stdout
