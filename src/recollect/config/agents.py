"""Lists and removes the indexes of a home, one per agent."""

from __future__ import annotations

import os
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.config.paths import Places, agent_of
from recollect.errors import StoreError
from recollect.reports import AgentStatus
from recollect.stores.notes import move, workspace_of
from recollect.stores.registry import SUFFIX, check_engine, inspect_file, move_file, remove_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recollect.config.load import Setup

__all__ = ["check_engine", "has_agent", "list_agents", "remove_agent", "take_over_moved"]


def list_agents(environ: Mapping[str, str] | None = None) -> list[AgentStatus]:
    """Describe every index of the home, in the order of the agents' ids."""
    folder = Places.of(os.environ if environ is None else environ).index_of("any").parent
    return [_described(path) for path in sorted(folder.glob(f"*{SUFFIX}"))]


def remove_agent(agent: str, *, environ: Mapping[str, str] | None = None) -> bool:
    """Delete an agent's index, not the files it came from; return whether there was one."""
    return remove_file(_index_of(agent, environ))


def has_agent(agent: str, *, environ: Mapping[str, str] | None = None) -> bool:
    """Return whether an agent has an index."""
    return _index_of(agent, environ).is_file()


def take_over_moved(setup: Setup) -> str | None:
    """Give a checkout that was moved the memory it had; return where it was."""
    places, birth = setup.places, setup.checkout.birth
    for path in places.index_of("any").parent.glob(f"*{SUFFIX}") if birth and setup.is_new else ():
        before = None
        with suppress(StoreError), closing(inspect_file(path)) as store:
            before = move(store, checkout=birth)
        if before is None:
            continue
        move_file(path, setup.index)
        for place in (places.archive_of, places.ingested_of):
            if place(path.stem).exists() and not place(setup.agent).exists():
                place(path.stem).rename(place(setup.agent))
        return before
    return None


def _index_of(agent: str, environ: Mapping[str, str] | None) -> Path:
    places = Places.of(os.environ if environ is None else environ)
    return places.index_of(agent_of(Path(), named=agent))


def _described(path: Path) -> AgentStatus:
    held = workspace = problem = None
    try:
        with closing(inspect_file(path)) as store:
            held, workspace = store.status(None), workspace_of(store)
    except StoreError as error:
        problem = f"{error.message} {error.action}"
    return AgentStatus(
        path.stem,
        str(path),
        workspace=workspace,
        exists=workspace is not None and Path(workspace).is_dir(),
        documents=held.documents if held else 0,
        chunks=held.chunks if held else 0,
        size_bytes=held.size_bytes if held else path.stat().st_size,
        problem=problem,
    )
