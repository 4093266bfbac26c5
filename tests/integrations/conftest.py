"""The real agents, where AGENT_PROGRAMS names the folder they were installed into."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.integrations.agents import QUESTION, Agents
from tests.integrations.model import Model

from recollect import Memory

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def agents(environ: dict[str, str], sample: Path) -> Agents:
    programs = os.environ.get("AGENT_PROGRAMS")
    if not programs:
        pytest.skip("AGENT_PROGRAMS names no folder; see integrations/peers.sh")
    found = Agents(Path(programs), environ, sample)
    with Memory.open(sample, environ=found.environ) as memory:
        memory.sync()
    return found


@pytest.fixture
def model() -> Iterator[Model]:
    """Whatever the agent asks it, it searches memory."""
    with Model(query=QUESTION) as running:
        yield running
