"""Servers for tests: one that all share, and those of one test."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.http.servers import SAMPLE, commands
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.http.servers import Command, Serving


@pytest.fixture
def serving() -> Iterator[Serving]:
    """Start the command for one test."""
    with commands() as start:
        yield start


@pytest.fixture(scope="session")
def server(
    tmp_path_factory: pytest.TempPathFactory,
    fill_home: Callable[[Path], None],
) -> Iterator[Command]:
    """One server over the indexed sample workspace, for tests that leave it as it is."""
    folder = tmp_path_factory.mktemp("served")
    fill_home(folder / "home")
    environ = {
        "HOME": str(folder / "user"),
        "PATH": os.environ["PATH"],
        "RECOLLECT_HOME": str(folder / "home"),
    }
    workspace = Path(shutil.copytree(SAMPLE, folder / "workspace"))
    with commands() as start:
        command = start(workspace, environ, "--port", "0")
        wait_until(lambda: command.get("/health").json()["status"] == "ok")
        yield command
