"""Pushed documents of one tenant: the current versions in one table, earlier ones in another."""

from __future__ import annotations

import contextlib
import time
from dataclasses import astuple
from typing import TYPE_CHECKING

from recollect.errors import ChangedError, ElsewhereError, NotFoundError, StorageLimitError
from recollect.stores.notes import WORKSPACE
from recollect.stores.postgres.connect import count_changed, run
from recollect.stores.postgres.tenant import TenantTables
from recollect.stores.pushed import KEPT_VERSIONS, PUSHED, PushedDocument
from recollect.types import digest_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from recollect.stores.postgres.connect import Connection, Session
    from recollect.stores.pushed import MemoryLimits, PushedChange

ENQUEUED_AGAIN = """
    ON CONFLICT (tenant) DO UPDATE
    SET changes = queue.changes + 1, due = least(queue.due, now())
"""
ENQUEUE = f"INSERT INTO queue (tenant) VALUES (%s) {ENQUEUED_AGAIN}"  # noqa: S608 - our own names
_COLUMNS = "path, version, digest, size_bytes, changed_ns"
_LISTED = f"""
    SELECT {_COLUMNS} FROM pushed WHERE tenant = %s AND starts_with(path, %s) ORDER BY path
"""  # noqa: S608 - our own names
_NAMED = f"SELECT {_COLUMNS} FROM pushed WHERE tenant = %s AND path = ANY(%s)"  # noqa: S608
_CONTENTS = f"""
    SELECT {_COLUMNS}, content FROM pushed WHERE tenant = %s AND path = ANY(%s)
"""  # noqa: S608 - our own names
_OF_VERSION = f"""
    SELECT {_COLUMNS}, content FROM pushed WHERE tenant = %s AND path = %s AND version = %s
    UNION ALL SELECT {_COLUMNS}, content FROM pushed_versions
    WHERE tenant = %s AND path = %s AND version = %s
"""  # noqa: S608 - our own names
_VERSIONS = f"""
    SELECT {_COLUMNS} FROM pushed WHERE tenant = %s AND path = %s
    UNION ALL SELECT {_COLUMNS} FROM pushed_versions WHERE tenant = %s AND path = %s
    ORDER BY version DESC
"""  # noqa: S608 - our own names
_KEEP = f"""
    INSERT INTO pushed_versions SELECT tenant, {_COLUMNS}, content FROM pushed
    WHERE tenant = %s AND path = %s
"""  # noqa: S608 - our own names
_FORGET = "DELETE FROM pushed_versions WHERE tenant = %s AND path = %s AND version <= %s"
_LAST = """
    SELECT path, max(version), max(changed_ns) FROM (
        SELECT path, version, changed_ns FROM pushed WHERE tenant = %s AND path = ANY(%s)
        UNION ALL SELECT path, version, changed_ns FROM pushed_versions
        WHERE tenant = %s AND path = ANY(%s)
    ) every GROUP BY path
"""
_PUT = f"""
    INSERT INTO pushed (tenant, {_COLUMNS}, content) VALUES (%s, %s, %s, %s, %s, %s, %s)
"""  # noqa: S608 - our own names
_DELETE = "DELETE FROM pushed WHERE tenant = %s AND path = %s"
_PURGE = "DELETE FROM pushed_versions WHERE tenant = %s AND path = %s"
_DELETED = f"""
    SELECT DISTINCT ON (path) {_COLUMNS} FROM pushed_versions v
    WHERE tenant = %s AND NOT EXISTS (
        SELECT 1 FROM pushed p WHERE p.tenant = v.tenant AND p.path = v.path
    ) ORDER BY path, version DESC
"""  # noqa: S608 - our own names
_TOTALS = """
    SELECT count(*), coalesce(sum(size_bytes), 0) FROM pushed WHERE tenant = %s
    UNION ALL SELECT count(*), coalesce(sum(size_bytes), 0) FROM pushed_versions WHERE tenant = %s
"""
_DROP_OLDEST = """
    DELETE FROM pushed_versions v USING (
        SELECT path, version, row_number() OVER newest AS place, sum(size_bytes) OVER newest AS size
        FROM pushed_versions WHERE tenant = %s
        WINDOW newest AS (ORDER BY changed_ns DESC, path, version DESC)
    ) kept
    WHERE v.tenant = %s AND v.path = kept.path AND v.version = kept.version
      AND (kept.place > %s OR kept.size > %s)
"""
_MEGA = 1_000_000


class PostgresPushed(TenantTables):
    """The pushed documents of one tenant."""

    def __init__(self, session: Session, *, limits: MemoryLimits) -> None:
        super().__init__(session)
        self._limits = limits

    @contextlib.contextmanager
    def changing(self) -> Iterator[Connection]:
        """Make the changes of the body one transaction, which no other writer gets between."""
        with self._session.writing() as connection:
            self._lock(connection)
            yield connection

    def require_here(self) -> str | None:
        """Return what stands in the place of the memory's workspace; None if it is new."""
        workspace = self.meta(WORKSPACE).get(WORKSPACE)
        if workspace not in (None, PUSHED):
            raise ElsewhereError(
                "The files of this memory are on the machine of its agent.",
                action="Change them there; here it can be searched.",
            )
        return workspace

    def listed(self, *, start: str = "") -> list[PushedDocument]:
        """Return the documents whose paths start so, in the order of their paths."""
        rows = self._session.read(_LISTED, (self._tenant, start))
        return [PushedDocument(*row) for row in rows]

    def named(self, paths: Sequence[str]) -> list[PushedDocument]:
        """Return those of some documents that exist."""
        rows = self._session.read(_NAMED, (self._tenant, list(paths)))
        return [PushedDocument(*row) for row in rows]

    def content(self, path: str, *, version: int | None = None) -> tuple[PushedDocument, bytes]:
        """Return a document with its content."""
        if version is None:
            found = self.contents([path]).get(path)
        else:
            rows = self._session.read(_OF_VERSION, (self._tenant, path, version) * 2)
            found = (PushedDocument(*rows[0][:-1]), bytes(rows[0][-1])) if rows else None
        if found is None:
            what = "document" if version is None else f"version {version} of the document"
            raise NotFoundError(
                f"There is no {what} {path}.", action="List the documents to see their paths."
            )
        return found

    def contents(self, paths: Sequence[str]) -> dict[str, tuple[PushedDocument, bytes]]:
        """Return those of some documents that exist, with their contents, by path."""
        rows = self._session.read(_CONTENTS, (self._tenant, list(paths)))
        return {row[0]: (PushedDocument(*row[:-1]), bytes(row[-1])) for row in rows}

    def versions(self, path: str) -> list[PushedDocument]:
        """Return the versions that are kept, the newest first; the current one is among them."""
        rows = self._session.read(_VERSIONS, (self._tenant, path) * 2)
        return [PushedDocument(*row) for row in rows]

    def change(self, changes: Sequence[PushedChange]) -> list[PushedDocument]:
        """Write and delete documents: all of them, or none. Return those written.

        The memory is put into the queue of work. Earlier versions that no longer fit are dropped,
        the oldest first.
        """
        with self.changing() as connection:
            paths = [each.path for each in changes]
            named = run(connection, _NAMED, (self._tenant, paths))
            versions = run(connection, _LAST, (self._tenant, paths) * 2)
            if self.require_here() is None:
                self.put_meta(WORKSPACE, PUSHED)
            stored = {row[0]: PushedDocument(*row) for row in named.fetchall()}
            last = {path: (int(number), int(changed)) for path, number, changed in versions}
            for each in changes:
                _check(each, stored.get(each.path))
            written = [stored[each.path] for each in changes if _is_stored(each, stored)]
            new = [each for each in changes if not _is_stored(each, stored)]
            self._retire(connection, [stored[each.path] for each in new if each.path in stored])
            kept = [each for each in new if each.content is not None]
            written += self._put(connection, kept, last=last)
            run(connection, ENQUEUE, (self._tenant,))
            current, earlier = run(connection, _TOTALS, (self._tenant,) * 2).fetchall()
            if written:
                self._require_room(*current)
            if any(each.path in stored for each in new):
                self._bound_history(connection, *earlier)
        return sorted(written, key=lambda each: each.path)

    def _retire(self, connection: Connection, documents: Sequence[PushedDocument]) -> None:
        """Move documents to the earlier versions, and forget the oldest of those."""
        for each in documents:
            key = (self._tenant, each.path)
            run(connection, _KEEP, key)
            run(connection, _DELETE, key)
            run(connection, _FORGET, (*key, each.version - KEPT_VERSIONS))

    def _put(
        self,
        connection: Connection,
        changes: Sequence[PushedChange],
        *,
        last: Mapping[str, tuple[int, int]],
    ) -> list[PushedDocument]:
        """Write documents, given the last version of each path and when it was written."""
        written: list[PushedDocument] = []
        values: list[tuple[object, ...]] = []
        for each in changes:
            assert each.content is not None  # noqa: S101 - chosen by the caller
            version, changed_ns = last.get(each.path, (0, 0))
            document = PushedDocument(
                each.path,
                version + 1,
                digest_of(each.content),
                len(each.content),
                # Clocks of servers differ: a version must still look later than the one before.
                max(time.time_ns(), changed_ns + 1),
            )
            written.append(document)
            values.append((self._tenant, *astuple(document), each.content))
        with connection.cursor() as cursor:
            cursor.executemany(_PUT.encode(), values)
        return written

    def deleted(self) -> list[PushedDocument]:
        """Return the last version of each document that is deleted, in the order of their paths."""
        rows = self._session.read(_DELETED, (self._tenant,))
        return [PushedDocument(*row) for row in rows]

    def purge(self, path: str, *, keep_current: bool = False) -> int:
        """Delete a document with all its versions, or with its earlier ones; return how many.

        The document may be deleted already.
        """
        key = (self._tenant, path)
        with self.changing() as connection:
            self.require_here()
            purged = count_changed(connection, _PURGE, key)
            if not keep_current:
                purged += count_changed(connection, _DELETE, key)
            if purged:
                run(connection, ENQUEUE, (self._tenant,))
        return purged

    def _bound_history(self, connection: Connection, count: int, size: int) -> None:
        """Drop the oldest versions, of deleted documents too, if there are too many."""
        places, megabytes = self._limits.documents * KEPT_VERSIONS, self._limits.megabytes
        if count > places or size > megabytes * _MEGA:
            values = (self._tenant, self._tenant, places, megabytes * _MEGA)
            run(connection, _DROP_OLDEST, values)

    def _require_room(self, count: int, size: int) -> None:
        limits = self._limits
        if count > limits.documents or size > limits.megabytes * _MEGA:
            most = f"{limits.documents:,} documents"
            if count <= limits.documents:
                most = f"{limits.megabytes:,} MB"
            raise StorageLimitError(
                f"This memory may hold {most}.",
                action="Delete documents that are no longer needed, or ask the operator for more.",
            )

    def close(self) -> None:
        self._session.close()


def _is_stored(change: PushedChange, stored: Mapping[str, PushedDocument]) -> bool:
    """Return whether a document is to be written with the content that it has."""
    before = stored.get(change.path)
    if change.content is None or before is None:
        return False
    return before.digest == digest_of(change.content)


def _check(change: PushedChange, stored: PushedDocument | None) -> None:
    if change.expected is None or (stored and stored.digest) in change.expected:
        return
    now = "it does not exist" if stored is None else f"it has changed (version {stored.version})"
    raise ChangedError(
        f"{change.path} is not what this request expects: {now}.",
        action="Read it again, merge, and send the new ETag.",
    )
