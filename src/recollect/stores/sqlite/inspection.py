"""A close look at one index file: whose it is, whether it is sound, and mending what is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.stores.sqlite import facts
from recollect.stores.sqlite.audit import audit
from recollect.stores.sqlite.connect import reading, translated, writing
from recollect.stores.sqlite.repair import find_drift, mend
from recollect.stores.sqlite.rows import CHUNK_COLUMNS, KNOWN, chunk_of, known_of
from recollect.stores.sqlite.survey import Survey

if TYPE_CHECKING:
    from pathlib import Path

    import apsw

    from recollect.types import Chunk, Known, Scope, SourceKind, SupersededFact

_OF_DOCUMENT = f"""
    SELECT {CHUNK_COLUMNS} FROM chunks c JOIN documents d ON d.id = c.document
    WHERE d.source = ? AND d.path = ? ORDER BY c.id
"""  # noqa: S608 - our own column names
_REMEMBERED = "SELECT value FROM meta WHERE key = ?"
_REMEMBER = "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)"


class Inspection:
    """What can be asked of a file besides what every store answers."""

    def __init__(self, connection: apsw.Connection, *, path: Path) -> None:
        self._connection = connection
        self._path = path

    @property
    def location(self) -> str:
        """Where the file is."""
        return str(self._path)

    @property
    def survey(self) -> Survey:
        """What the file holds, counted and sampled."""
        return Survey(self._connection, path=self._path)

    def known_of(self, path: str, *, source: SourceKind) -> Known | None:
        """Return what is stored of one document."""
        with translated(self._path):
            row = self._connection.execute(
                f"{KNOWN} WHERE source = ? AND path = ?", (source.value, path)
            ).fetchone()
        return None if row is None else known_of(row)

    def chunks_of(self, path: str, *, source: SourceKind) -> list[Chunk]:
        """Return the chunks of a document in the order of its lines."""
        with translated(self._path):
            rows = self._connection.execute(_OF_DOCUMENT, (source.value, path))
            return [chunk_of(row) for row in rows]

    def check(self) -> list[str]:
        """Return what is wrong with the file, read in full: nothing when it is sound."""
        with translated(self._path):
            rows = [str(row[0]) for row in self._connection.execute("PRAGMA integrity_check(5)")]
        return [row for row in rows if row != "ok"]

    def audit(self) -> list[str]:
        """Return where terms, counts or codes are not those of the chunks."""
        # On one snapshot: what others write meanwhile is no disagreement.
        with translated(self._path), reading(self._connection):
            return list(audit(self._connection))

    def mend(self) -> int:
        """Bring terms and codes into agreement with the chunks; return how many were wrong."""
        with translated(self._path):
            if not find_drift(self._connection).is_any:
                return 0
            with writing(self._connection):
                return mend(self._connection)

    def is_empty(self) -> bool:
        """Tell whether nothing is stored: one look, however much there is."""
        with translated(self._path):
            return not self._connection.execute("SELECT EXISTS (SELECT 1 FROM documents)").get

    def superseded(self, scope: Scope) -> list[SupersededFact]:
        """Return what the scope may know of that no longer holds, with what took its place."""
        with translated(self._path):
            return facts.superseded(self._connection, scope)

    def workspace(self) -> str | None:
        """Return whose index this is."""
        return self._remembered("workspace")

    def remember_workspace(self, workspace: str) -> str | None:
        """Keep whose index this is; return whose it was, if that was another's."""
        former = self.workspace()
        if former == workspace:
            return None
        self._remember("workspace", workspace)
        return former

    def begun(self) -> float | None:
        """Return when it was begun in the place of a damaged one, in seconds of the wall clock."""
        found = self._remembered("begun")
        return None if found is None else float(found)

    def remember_begun(self, seconds: float) -> None:
        """Keep that it was begun in the place of a damaged one."""
        self._remember("begun", str(seconds))

    def _remembered(self, key: str) -> str | None:
        with translated(self._path):
            found = self._connection.execute(_REMEMBERED, (key,)).get
        return None if found is None else str(found)

    def _remember(self, key: str, value: str) -> None:
        with translated(self._path), writing(self._connection):
            self._connection.execute(_REMEMBER, (key, value))
