"""What a tenant has stored, counted and sampled within a Scope."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recollect.reports import Documents
from recollect.stores.postgres.adapt import original
from recollect.stores.postgres.connect import run
from recollect.stores.postgres.rows import scope_condition
from recollect.stores.postgres.tenant import TenantTables
from recollect.stores.summary import summarize, summarize_days
from recollect.types import SourceKind

if TYPE_CHECKING:
    import numpy.typing as npt

    from recollect.reports import DaySummary
    from recollect.types import Fingerprint, Scope

_JOINED = "chunks c JOIN documents d ON d.tenant = c.tenant AND d.id = c.document"
# A file of facts is as large as those of its facts that are seen. Headings have any length, and an
# array of arrays has not: JSON has.
_DOCUMENTS = f"""
    SELECT d.path, d.source, d.day,
        CASE WHEN d.source = 'facts' THEN sum(octet_length(c.text)) ELSE min(d.size_bytes) END,
        json_agg(c.heading ORDER BY c.id)
    FROM {_JOINED} WHERE {{condition}}
    GROUP BY d.tenant, d.id ORDER BY d.day DESC NULLS LAST, d.path COLLATE "C", d.source
    LIMIT %s OFFSET %s
"""  # noqa: S608 - our own column names
_ANY = f"SELECT EXISTS (SELECT 1 FROM {_JOINED} WHERE {{condition}})"  # noqa: S608 - our own names
_COUNT_DOCUMENTS = f"SELECT count(DISTINCT d.id) FROM {_JOINED} WHERE {{condition}}"  # noqa: S608
_DAYS = f"""
    SELECT c.day, d.source, count(DISTINCT d.id), count(*) FROM {_JOINED} WHERE {{condition}}
    GROUP BY c.day, d.source ORDER BY c.day NULLS FIRST, d.source
"""  # noqa: S608 - our own column names
_EMBEDDED = f"""
    SELECT c.id FROM {_JOINED} JOIN {{table}} v ON v.tenant = c.tenant AND v.digest = c.digest
    WHERE {{condition}} ORDER BY c.id
"""  # noqa: S608 - our own column names


class PostgresOverview(TenantTables):
    """Counts and samples what is stored."""

    def version(self) -> tuple[int, ...]:
        with self._session.reading() as connection:
            query = "SELECT changes FROM tenants WHERE tenant = %s"
            row = run(connection, query, (self._tenant,)).fetchone()
            return (int(row[0]) if row else 0,)

    def holds(self, scope: Scope | None = None) -> bool:
        if scope is None:
            query = "SELECT 1 FROM documents WHERE tenant = %s LIMIT 1"
            return bool(self._session.read(query, (self._tenant,)))
        with self._session.reading() as connection:
            condition = scope_condition(connection, scope, tenant=self._tenant)
            row = run(connection, _ANY.format(condition=condition), condition.values).fetchone()
        return bool(row and row[0])

    def documents(self, scope: Scope, *, limit: int, offset: int) -> Documents:
        with self._session.reading() as connection:
            condition = scope_condition(connection, scope, tenant=self._tenant)
            count = _COUNT_DOCUMENTS.format(condition=condition)
            total = run(connection, count, condition.values).fetchone()
            listed = _DOCUMENTS.format(condition=condition)
            rows = run(connection, listed, (*condition.values, limit, offset)).fetchall()
        found = tuple(
            summarize(
                path,
                source=SourceKind(source),
                when=day,
                size_bytes=int(size_bytes),
                headings=[tuple(map(original, heading)) for heading in headings],
            )
            for path, source, day, size_bytes, headings in rows
        )
        return Documents(found, total=int(total[0]) if total else 0)

    def days(self, scope: Scope) -> tuple[DaySummary, ...]:
        with self._session.reading() as connection:
            condition = scope_condition(connection, scope, tenant=self._tenant)
            statement = _DAYS.format(condition=condition)
            return summarize_days(run(connection, statement, condition.values))

    def embedded(self, fingerprint: Fingerprint, *, scope: Scope) -> npt.NDArray[np.int64]:
        with self._session.reading() as connection:
            table = self._vector_table(connection, fingerprint)
            if table is None:
                return np.zeros(0, dtype=np.int64)
            condition = scope_condition(connection, scope, tenant=self._tenant)
            statement = _EMBEDDED.format(table=table, condition=condition)
            rows = run(connection, statement, condition.values)
            return np.fromiter((row[0] for row in rows), dtype=np.int64)
