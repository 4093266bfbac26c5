"""The Markdown that agents keep as their own memory, for all projects or this one: only read.

The folder of one workspace may be somebody else's, so no link leads out of it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.ingest.folders import FolderSearch
from recollect.ingest.source import NotesSource, Source
from recollect.sessions.names import slug_of
from recollect.text.confined import is_inside, shown_path
from recollect.types import SourceKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recollect.ingest.folders import Found
    from recollect.ingest.options import IngestOptions
    from recollect.reports import Failure
    from recollect.sessions.source import SessionPlaces

_LEDGER = "/memory/facts"
"""Where Recollect keeps the facts of a workspace of OpenClaw: they are a memory of their own."""


class AgentNotes(NotesSource):
    """The notes of Claude Code, Codex, Hermes and OpenClaw."""

    kind = SourceKind.AGENTS
    dropped = Source.dropped

    def __init__(
        self, places: SessionPlaces, *, options: IngestOptions, is_other: bool = False
    ) -> None:
        """Store the arguments; in a memory that `is_other`, the one that was asked finds them."""
        super().__init__(places.workspace, options=options)
        self._places = places
        self.keeps_what_is_stored = is_other

    def places(self) -> Iterator[Path]:
        """Yield the files and folders that exist: those of the user, then those of the project."""
        home, environ = self._places.user_home, self._places.environ
        claude, codex, hermes, openclaw = (
            Path(environ.get(variable) or home / name) for variable, name in _AGENTS.items()
        )
        names = ("MEMORY.md", "USER.md", "memory")
        everywhere = [claude / "agent-memory", codex / "memories", hermes / "memories"]
        everywhere += [openclaw / "workspace" / name for name in names]
        slugs = dict.fromkeys(map(slug_of, (self._workspace, *self._places.elsewhere)))
        everywhere += [claude / "projects" / slug / "memory" for slug in slugs]
        here = [self._workspace / ".claude" / f"agent-memory{end}" for end in ("", "-local")]
        own = (each for each in everywhere if not is_inside(each, self._workspace))
        yield from (each for each in (*own, *here) if each.exists())

    def find(self) -> tuple[list[Found], list[Failure]]:
        """Look through the places; a path outside of the workspace starts with `~`."""
        found: list[Found] = []
        failures: list[Failure] = []
        for place in self.places():
            is_own = is_inside(place, self._workspace)
            search = FolderSearch(
                os.path.realpath(self._workspace if is_own else place),
                is_wanted=lambda path: path.lower().endswith(".md"),
                is_excluded=lambda path: path.endswith(_LEDGER),
            )
            path = place.relative_to(self._workspace).as_posix() if is_own else ""
            search.at(path or shown_path(place, home=self._places.user_home), str(place))
            found += (each._replace(source=self.kind) for each in search.seen)
            failures += search.failures
        return found, failures


_AGENTS = {
    "CLAUDE_CONFIG_DIR": ".claude",
    "CODEX_HOME": ".codex",
    "HERMES_HOME": ".hermes",
    "OPENCLAW_STATE_DIR": ".openclaw",
}
"""The variables that move the agents' folders, and where those are in a home otherwise."""
