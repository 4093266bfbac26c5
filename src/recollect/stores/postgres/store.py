"""PostgresStore: everything about one agent in the tables that all agents share."""

from __future__ import annotations

import contextlib
from dataclasses import astuple
from typing import TYPE_CHECKING

from recollect.reports import Amount, Amounts, IndexStatus
from recollect.stores.base import Answer, Holder, Near, Proposals, Store
from recollect.stores.postgres.adapt import VectorParameter
from recollect.stores.postgres.connect import (
    ConnectionLostError,
    Session,
    connected,
    run,
    shown,
    translated,
)
from recollect.stores.postgres.documents import ASKED, PostgresDocuments, key_of
from recollect.stores.postgres.keyword import ask_pool
from recollect.stores.postgres.rows import hidden_sql, scope_condition
from recollect.stores.postgres.schema import TABLES, require_version, version_of
from recollect.stores.postgres.segments import disagreements
from recollect.stores.postgres.vectors import OWN_SPACES, NearQuestion, PostgresVectors
from recollect.stores.summary import spaces_of
from recollect.text.size import tokens_of
from recollect.types import Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from contextlib import AbstractContextManager

    from recollect.stores.base import SpaceTexts, SpaceVectors
    from recollect.stores.postgres.connect import Connection
    from recollect.types import Vectors
_ENGINE = "pgvector"
_BY_SOURCE = """
    SELECT d.source, count(DISTINCT d.id), count(c.id), coalesce(sum(octet_length(c.text)), 0)
    FROM documents d LEFT JOIN chunks c ON c.tenant = d.tenant AND c.document = d.id {seen}
    WHERE d.tenant = %s {shown} GROUP BY d.source
"""
_EMBEDDED = """
    SELECT count(*) FILTER (WHERE has_vector),
        count(*) FILTER (WHERE NOT has_vector AND ({media} OR NOT is_media))
    FROM (
        SELECT {embedded} AS has_vector,
            EXISTS (SELECT 1 FROM media m WHERE m.tenant = %s AND m.chunk = c.id) AS is_media
        FROM chunks c WHERE c.tenant = %s {seen}
    ) counted
"""
# The tenant by its name: of two such conditions, the planner would read all vectors of all tenants.
_HAS_VECTOR = "EXISTS (SELECT 1 FROM {table} v WHERE v.tenant = %s AND v.digest = c.digest)"
_DELETE = "DELETE FROM {table} WHERE tenant = %s"
_NOTHING_LEFT = """
    UPDATE tenants SET chunks = 0, length = 0, changes = changes + 1 WHERE tenant = %s
"""
_NO_BATCHES = "DELETE FROM meta WHERE tenant = %s AND starts_with(key, 'batch ')"
_LEASE = "SELECT token, purpose, pid, host, since, beat FROM leases WHERE tenant = %s AND name = %s"
_DROP_LEASE = "DELETE FROM leases WHERE tenant = %s AND name = %s"
_PUT_LEASE = """
    INSERT INTO leases (tenant, name, token, purpose, pid, host, since, beat)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
    ON CONFLICT (tenant, name) DO UPDATE SET token = EXCLUDED.token, purpose = EXCLUDED.purpose,
        pid = EXCLUDED.pid, host = EXCLUDED.host, since = EXCLUDED.since, beat = EXCLUDED.beat
"""
_KEPT_BY_CLEAR = ("tenants", "leases", "meta", "pushed", "pushed_versions")


class PostgresStore(PostgresDocuments, PostgresVectors, Store):
    """A Store in a PostgreSQL database."""

    def share(self) -> tuple[PostgresStore, tuple[str, ...]]:
        """Return another handle, for another thread."""
        return PostgresStore(Session(self._session.address, self._tenant)), ()

    def snapshot(self) -> AbstractContextManager[None]:
        return self._session.reading()  # type: ignore[return-value]  # its value is not used

    def lease(self, name: str, decide: Callable[[Holder | None], Holder | None]) -> Holder | None:
        # A session serves one thread, and this is called by others.
        session, own = Session(self._session.address, self._tenant), (self._tenant, name)
        with contextlib.closing(session):
            rows = session.read(_LEASE, own)
            before = Holder(*rows[0]) if rows else None
            return before if decide(before) == before else self._change_lease(session, own, decide)

    def _change_lease(
        self,
        session: Session,
        own: tuple[str, str],
        decide: Callable[[Holder | None], Holder | None],
    ) -> Holder | None:
        with session.writing() as connection:
            # A holder who does long work has locked the tenant, and its heart goes on beating.
            row = run(connection, f"{_LEASE} FOR UPDATE", own).fetchone()
            if row is None:
                self._lock(connection)
                row = run(connection, _LEASE, own).fetchone()
            before = Holder(*row) if row else None
            after = decide(before)
            if after is None:
                run(connection, _DROP_LEASE, own)
            elif after != before:
                run(connection, _PUT_LEASE, (*own, *astuple(after)))
            return after

    @property
    def location(self) -> str:
        return self._session.location

    def status(
        self, texts: SpaceTexts | None, *, audience: frozenset[str] | None = None
    ) -> IndexStatus:
        with self._session.reading() as connection:
            seen, shown, hidden_values = "", "", list[object]()
            if audience is not None:
                everyone = Scope(audience=audience, with_superseded=True)
                hidden, hidden_values = hidden_sql(everyone, tenant=self._tenant)
                seen = f"AND NOT EXISTS (SELECT 1 {hidden} AND f.chunk = c.id)"
                shown = "AND (d.source <> 'facts' OR c.id IS NOT NULL)"
            statement = _BY_SOURCE.format(seen=seen, shown=shown)
            rows = run(connection, statement, (*hidden_values, self._tenant)).fetchall()
            embedded = pending = 0
            if texts is not None:
                table = self._vector_table(connection, texts.fingerprint)
                has_vector = _HAS_VECTOR.format(table=table) if table else "false"
                counted = _EMBEDDED.format(embedded=has_vector, media=texts.media, seen=seen)
                values = (*[self._tenant] * (3 if table else 2), *hidden_values)
                embedded, pending = run(connection, counted, values).fetchone() or (0, 0)
        by_source = {source: Amount(documents, chunks) for source, documents, chunks, _ in rows}
        total = Amounts(by_source).total
        text_bytes = sum(int(row[3]) for row in rows)
        return IndexStatus(
            location=self.location,
            size_bytes=text_bytes,
            documents=total.documents,
            chunks=total.chunks,
            tokens=tokens_of(text_bytes),
            by_source=by_source,
            vectors=embedded,
            pending=pending,
            engine=_ENGINE,
            is_writable=self.is_writable,
        )

    def propose(
        self,
        terms: Sequence[str],
        *,
        asked: SpaceVectors | None,
        scope: Scope,
        limit: int,
        stop: Collection[str] = (),
    ) -> Proposals:
        """Return the best chunks of both legs, all of them in one round trip."""
        with self._session.reading() as connection:
            condition = scope_condition(connection, scope, tenant=self._tenant)
            table = self._vector_table(connection, asked.fingerprint) if asked else None
            read_pool = ask_pool(
                self._session,
                connection,
                terms,
                scope=scope,
                condition=condition,
                stop=stop,
                limit=limit,
            )
            stored_spaces = run(connection, OWN_SPACES, (self._tenant,))
            self._session.kept[key_of(scope)] = self._ask_superseded(connection, scope)
            reads = []
            if asked is not None:
                vectors = [*map(VectorParameter, self._comparable(asked.vectors, table))]
                self._session.kept[ASKED] = asked.fingerprint, vectors
                asks = (
                    NearQuestion(asked.fingerprint, each, condition, scope.is_open)
                    for each in vectors
                )
                reads = [self._near(connection, each, limit=limit) for each in asks]
            keyword = read_pool()
            if asked is None or not keyword.corpus.chunks:
                return Proposals(keyword, None)
            spaces = spaces_of(stored_spaces.fetchall())
            near = Near(spaces.get(asked.fingerprint), tuple(read() for read in reads))
            return Proposals(keyword, near)

    def _comparable(self, vectors: Vectors, table: str | None) -> Vectors:
        """Return the vectors of a question if those of a table have the same length."""
        known = None if table is None else self._session.shared.tables[table]
        return vectors if known in (None, vectors.shape[1]) else vectors[:0]

    def check(self, *, deep: bool = False) -> list[str]:
        """Compare counts and postings with the chunks; the server checks its own pages."""
        with self._session.reading() as connection:
            return list(_disagreements(connection, self._tenant)) if deep else []

    def recovering(
        self, work: Callable[[], Answer], *, tell: Callable[[tuple[str, ...]], None]
    ) -> Answer:
        """Do the work; if the connection is lost, do it once more on another one."""
        del tell
        try:
            return work()
        except ConnectionLostError:
            return work()

    def clear(self) -> None:
        with self._session.writing() as connection:
            self._lock(connection)
            spaces = (self._vector_table(connection, each) for each in self.spaces())
            others = (table for table in TABLES if table not in _KEPT_BY_CLEAR)
            for table in (*filter(None, spaces), *others):
                run(connection, _DELETE.format(table=table), (self._tenant,))
            run(connection, _NO_BATCHES, (self._tenant,))
            run(connection, _NOTHING_LEFT, (self._tenant,))

    def close(self) -> None:
        self._session.close()


def open_database(address: str, *, tenant: str) -> PostgresStore:
    """Open the memory of one agent in a database whose tables exist."""
    require_tables(address)
    return PostgresStore(Session(address, tenant))


def require_tables(address: str) -> None:
    """Check that a database can be reached and has the tables that this version needs."""
    location = shown(address)
    # Not through the pool, which tries again until its time is up and does not say why.
    with translated(location), connected(address) as connection:
        version = version_of(connection)
    require_version(*version, location=location)


def _disagreements(connection: Connection, tenant: str) -> Iterator[str]:
    """Yield where counts or segments disagree with the chunks."""
    counted = run(
        connection,
        "SELECT count(*), coalesce(sum(length), 0) FROM chunks WHERE tenant = %s",
        (tenant,),
    ).fetchone()
    kept = run(
        connection, "SELECT chunks, length FROM tenants WHERE tenant = %s", (tenant,)
    ).fetchone()
    if counted is not None and tuple(map(int, counted)) != tuple(map(int, kept or (0, 0))):
        yield f"the totals say {kept}, the chunks {counted}"
    yield from disagreements(connection, tenant=tenant)
