"""What the file holds, counted and sampled within a Scope."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from recollect.reports import Documents
from recollect.stores.sqlite.connect import SqliteFile
from recollect.stores.sqlite.filters import Filter
from recollect.stores.sqlite.rows import day_of, source_of, split_heading
from recollect.stores.summary import summarize, summarize_days

if TYPE_CHECKING:
    from recollect.reports import DaySummary, DocumentSummary
    from recollect.types import Scope

# A file of facts is as large as those of its facts that are seen.
_DOCUMENTS = """
    SELECT d.path, d.source, d.day,
        iif(d.source = 'facts', sum(octet_length(c.text)), d.size_bytes),
        json_group_array(c.heading ORDER BY c.id)
    FROM documents d JOIN chunks c ON c.document = d.id WHERE {condition}
    GROUP BY d.id ORDER BY d.day IS NULL, d.day DESC, d.path, d.source LIMIT ? OFFSET ?
"""
_COUNT_DOCUMENTS = """
    SELECT count(DISTINCT d.id) FROM documents d JOIN chunks c ON c.document = d.id
    WHERE {condition}
"""
_DAYS = """
    SELECT c.day, d.source, count(DISTINCT d.id), count(*)
    FROM chunks c JOIN documents d ON d.id = c.document WHERE {condition}
    GROUP BY c.day, d.source ORDER BY c.day, d.source
"""
_VERSION = "SELECT ifnull(max(id), 0), (SELECT chunks FROM totals) FROM chunks"
_STAMPS = "SELECT stamp FROM spaces ORDER BY id"


class SqliteOverview(SqliteFile):
    """Counts and samples what is stored."""

    def version(self) -> tuple[int, ...]:
        # Chunks are never changed in place, and no id is used twice.
        with self._reading() as connection:
            stamps = (stamp for (stamp,) in connection.execute(_STAMPS))
            return (*connection.execute(_VERSION).get, *stamps)

    def holds(self, scope: Scope | None = None) -> bool:
        with self._reading() as connection:
            if scope is None:
                return bool(connection.execute("SELECT EXISTS (SELECT 1 FROM documents)").get)
            sieve = Filter(connection, scope)
            return any(sieve.view(piece).chunks for piece in sieve.pieces)

    def documents(self, scope: Scope, *, limit: int, offset: int) -> Documents:
        with self._reading() as connection:
            condition, bindings = Filter(connection, scope).condition()
            total = connection.execute(_COUNT_DOCUMENTS.format(condition=condition), bindings).get
            rows = connection.execute(
                _DOCUMENTS.format(condition=condition), (*bindings, limit, offset)
            )
            found = tuple(_summary_of(*row) for row in rows)
        return Documents(found, total=int(total))

    def days(self, scope: Scope) -> tuple[DaySummary, ...]:
        with self._reading() as connection:
            condition, bindings = Filter(connection, scope).condition()
            rows = connection.execute(_DAYS.format(condition=condition), bindings)
            return summarize_days((day_of(day), *counted) for day, *counted in rows)


def _summary_of(
    path: str, source: str, day: str | None, size_bytes: int, headings: str
) -> DocumentSummary:
    return summarize(
        path,
        source=source_of(source),
        when=day_of(day),
        size_bytes=size_bytes,
        headings=[split_heading(heading) for heading in json.loads(headings)],
    )
