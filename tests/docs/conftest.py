"""What the samples need: the sample workspace, whose notes need not be embedded for each again."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from tests.docs.pages import ROOT

from recollect.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(scope="session")
def fill_home(
    tmp_path_factory: pytest.TempPathFactory, model_folder: Path
) -> Callable[[Path], None]:
    """Put the vectors of the sample workspace into a home's cache."""
    home = tmp_path_factory.mktemp("embedded")
    environ = {"RECOLLECT_HOME": str(home), "HOME": str(home)}
    settings = {"local.model_cache": str(model_folder.parent)}
    sample = ROOT / "examples" / "workspace"
    with Memory.open(sample, environ=environ, settings=settings) as memory:
        memory.sync()

    def fill(other: Path) -> None:
        shutil.copytree(home / "cache", other / "cache")

    return fill
