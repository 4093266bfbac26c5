"""SqliteStore: everything about one agent in one file, opened in whatever state the file is.

A damaged file is set aside and replaced, a read-only one is read, disagreements are repaired. The
user learns about it from notices.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Self

from recollect.errors import (
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
    TermsCorruptError,
)
from recollect.reports import StoreStatus
from recollect.stores.base import Answer, Store, propose_by
from recollect.stores.sqlite import pages, schema
from recollect.stores.sqlite.connect import (
    alone,
    connect,
    disk_error,
    files_of,
    patience,
    reading,
    translated,
)
from recollect.stores.sqlite.documents import SqliteDocuments
from recollect.stores.sqlite.keyword import SqliteKeywords
from recollect.stores.sqlite.missing import space_id
from recollect.stores.sqlite.overview import SqliteOverview
from recollect.stores.sqlite.repair import audit, find_broken, find_drift, needs_terms, repair
from recollect.stores.sqlite.rows import hidden_sql, vector_id
from recollect.stores.sqlite.terms import has_all_terms, rebuild_terms
from recollect.stores.sqlite.vec import usable_engine
from recollect.stores.sqlite.vectors import SqliteVectors
from recollect.stores.vectors import keep_freed_memory
from recollect.types import Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path
    from typing import TypeAlias

    import apsw

    from recollect.stores.base import Proposals
    from recollect.stores.sqlite.leases import SqliteLeases
    from recollect.stores.sqlite.vectors import Engine
    from recollect.types import Fingerprint, Vectors

    Identity: TypeAlias = tuple[int, int] | None

_READ_BYTES = 1 << 20
_MOST_RECOVERIES = 3  # read again, then replace the keyword index alone, then the whole file
_LOST_TERMS = "the keyword index does not have all terms of the chunks"
_BY_SOURCE = """
    SELECT d.source, count(DISTINCT d.id), count(c.id)
    FROM documents d LEFT JOIN chunks c ON c.document = d.id GROUP BY d.source
"""
_SEEN_BY_SOURCE = """
    SELECT d.source, count(DISTINCT d.id), count(c.id), ifnull(sum(octet_length(c.text)), 0)
    FROM documents d LEFT JOIN chunks c ON c.document = d.id AND c.id NOT IN ({hidden})
    WHERE d.source <> 'facts' OR c.id IS NOT NULL GROUP BY d.source
"""
_EMBEDDED = f"""
    SELECT count(*) FROM chunks c
    WHERE (EXISTS (SELECT 1 FROM vectors v WHERE v.id = {vector_id("?", "c.text_id")})
        OR EXISTS (SELECT 1 FROM vectors v WHERE v.id = {vector_id("?", "c.text_id")}))
"""  # noqa: S608 - our own column names
_SEEN_EMBEDDED = f"{_EMBEDDED} AND c.id NOT IN ({{hidden}})"
_MEDIA_WAITING = f"""
    SELECT count(*) FROM media m CROSS JOIN chunks c ON c.id = m.chunk
    WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.id = {vector_id("?", "c.text_id")})
"""  # noqa: S608 - our own column names
_CLEAR = """
    DELETE FROM documents;
    DELETE FROM postings;
    DELETE FROM columns;
    DELETE FROM segments;
    DELETE FROM meta WHERE key GLOB 'batch *';
    DELETE FROM codes;
    DELETE FROM vectors;
    DELETE FROM word_codes;
    DELETE FROM texts;
    DELETE FROM spaces;
"""


class SqliteStore(SqliteDocuments, SqliteKeywords, SqliteVectors, SqliteOverview, Store):
    """A Store in one SQLite file. Use `open_file`, or `SqliteStore.open` without repairs."""

    def __init__(
        self, path: Path, *, connection: apsw.Connection, engine: Engine, is_writable: bool
    ) -> None:
        super().__init__(path, connection=connection, engine=engine)
        self.is_writable = is_writable
        self._identity = _identity(path)

    @classmethod
    def open(
        cls, path: Path, *, engine: str | Engine = "numpy", writable: bool = True
    ) -> SqliteStore:
        """Open or create the file and bring its tables up to date.

        Raises:
            StoreError: or a subclass, if the file cannot be used.

        """
        keep_freed_memory()
        if isinstance(engine, str):
            engine, _ = usable_engine(engine)
        connection = _connected(path, engine=engine, writable=writable)
        return cls(path, connection=connection, engine=engine, is_writable=writable)

    def _open(self) -> apsw.Connection:
        raise StoreError(f"The index {self._path} is closed.", action="Open the memory again.")

    def share(self) -> tuple[SqliteStore, tuple[str, ...]]:
        """Open the same file for another thread, with notices for the user."""
        return open_file(self._path, engine=self._engine)

    def follow(self) -> tuple[str, ...]:
        """Open the file that has taken the place of this one, if another process replaced it."""
        if self._opened is None or self._identity == _identity(self._path):
            return ()
        notices = self._reopen()
        self.is_replacement = True
        return notices

    def _reopen(self) -> tuple[str, ...]:
        self.close()
        fresh, notices = _open_in_any_state(self._path, engine=self._engine)
        self._take_over(fresh)
        return notices

    def snapshot(self) -> AbstractContextManager[None]:
        return reading(self._connection)

    def patience(self, seconds: float) -> AbstractContextManager[None]:
        return patience(seconds)

    def leases(self) -> SqliteLeases:
        """Return a handle to the file's leases, with its own connection."""
        from recollect.stores.sqlite.leases import SqliteLeases  # noqa: PLC0415 - for writers

        return SqliteLeases(self._path)

    @property
    def location(self) -> str:
        return str(self._path)

    def status(
        self,
        fingerprint: Fingerprint | None,
        *,
        media: bool = False,
        audience: frozenset[str] | None = None,
        other: Fingerprint | None = None,
    ) -> StoreStatus:
        with self._reading() as connection:
            space = space_id(connection, fingerprint)
            spaces = (space, space_id(connection, other))
            excused = 0 if media else connection.execute(_MEDIA_WAITING, (space,)).get
            if audience is None:
                rows = [(*row, 0) for row in connection.execute(_BY_SOURCE)]
                embedded = connection.execute(_EMBEDDED, spaces).get
                size_bytes = sum(map(_size_bytes, files_of(self._path)))
            else:
                hidden, bindings = hidden_sql(Scope(audience=audience, with_superseded=True))
                rows = list(connection.execute(_SEEN_BY_SOURCE.format(hidden=hidden), bindings))
                embedded = connection.execute(
                    _SEEN_EMBEDDED.format(hidden=hidden), (*spaces, *bindings)
                ).get
                size_bytes = sum(row[3] for row in rows)
        by_source = {source: (documents, chunks) for source, documents, chunks, _ in rows}
        chunks = sum(counts[1] for counts in by_source.values())
        return StoreStatus(
            location=self.location,
            size_bytes=size_bytes,
            documents=sum(counts[0] for counts in by_source.values()),
            chunks=chunks,
            by_source=by_source,
            vectors=embedded,
            pending=chunks - embedded - excused if fingerprint else 0,
            engine=self._engine.name,
            is_writable=self.is_writable,
        )

    def propose(
        self,
        terms: Sequence[str],
        *,
        vectors: Mapping[Fingerprint, Vectors],
        scope: Scope,
        limit: int,
        stop: Collection[str] = (),
    ) -> Proposals:
        return propose_by(
            lambda space, vector: self._nearest(space, vector, scope=scope, limit=limit),
            self._keyword(terms, scope=scope, limit=limit, stop=stop),
            vectors=vectors,
            spaces=self.spaces() if vectors else {},
        )

    def check(self) -> list[str]:
        try:
            with self._reading() as connection:
                problems = list(find_broken(connection))
                return problems or ([] if has_all_terms(connection) else [_LOST_TERMS])
        except TermsCorruptError:
            return [_LOST_TERMS]

    def require_sound(self) -> None:
        problems = self.check()
        if problems:
            damaged = TermsCorruptError if problems == [_LOST_TERMS] else StoreCorruptError
            raise damaged(
                f"The index {self._path} is damaged ({'; '.join(problems)}).",
                action="Run `recollect index --force`.",
            )
        self._forget_embedded()

    def audit(self) -> list[str]:
        # On one snapshot: a write of another process is not a disagreement.
        try:
            with self._reading() as connection:
                return list(audit(connection))
        except TermsCorruptError:
            return [_LOST_TERMS]

    def repair(self) -> tuple[str, ...]:
        """Make terms, counts and codes match the chunks; return notices for the user."""
        notices = self._repair()
        with contextlib.suppress(StoreBusyError, StoreFullError):  # searches are only slower
            self._prepare_engine()
        return notices

    def _repair(self) -> tuple[str, ...]:
        try:
            with self._reading() as connection:
                drift = find_drift(connection)
            if not drift.is_any:
                return ()
            if not drift.lost_terms:
                with self._writing() as connection:
                    count = repair(connection)
                if not count:  # another process was faster
                    return ()
                return (
                    f"{count} entries of the index disagreed with its chunks and were repaired.",
                )
        except TermsCorruptError:
            pass  # what could not be read is made again
        return self._rebuild_terms(if_lost=True)

    def _prepare_engine(self) -> None:
        """Make what the engine derives from vectors, where another engine stored them."""
        with self._reading() as connection:
            if not self._engine.unprepared(connection):
                return
        with self._writing() as connection:
            for space in self._engine.unprepared(connection):
                self._engine.rebuild(connection, space=space)

    def _rebuild_terms(self, *, if_lost: bool = False) -> tuple[str, ...]:
        with self._writing() as connection:
            if if_lost and not needs_terms(connection):
                return ()  # another process was faster
            count = rebuild_terms(connection)
        return (f"The keyword index was damaged. It was rebuilt from its {count} chunks.",)

    def recovering(
        self, work: Callable[[], Answer], *, tell: Callable[[tuple[str, ...]], None]
    ) -> Answer:
        for attempt in range(_MOST_RECOVERIES):
            try:
                return work()
            except StoreCorruptError as error:
                tell(self._recover(error) if attempt else self._reopen())
        return work()

    def _recover(self, error: StoreCorruptError) -> tuple[str, ...]:
        """Rebuild a damaged part, or set the file aside and go on with an empty one."""
        with contextlib.suppress(StoreCorruptError):
            if isinstance(error, TermsCorruptError):
                return self._rebuild_terms()
        damaged = self._identity
        self.close()
        fresh, notices = _replaced(self._path, damaged, engine=self._engine, error=error)
        self._take_over(fresh)
        return notices

    def _take_over(self, fresh: SqliteStore) -> None:
        self._opened, fresh._opened = fresh._opened, None
        self.is_writable = fresh.is_writable
        self._identity = fresh._identity
        self.is_replacement = fresh.is_replacement

    def clear(self) -> None:
        """Delete everything that can be indexed again, and free the space."""
        try:
            with self._writing() as connection:
                connection.execute(_CLEAR)
            with translated(self._path):
                self._connection.execute("VACUUM")
        except (StoreBusyError, StoreFullError, StoreReadOnlyError):
            raise
        except StoreError:  # rows that cannot be deleted: the whole file can
            self.close()
            with translated(self._path), alone(self._path):
                for file in files_of(self._path):
                    file.unlink(missing_ok=True)
                self._take_over(SqliteStore.open(self._path, engine=self._engine))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def _size_bytes(file: Path) -> int:
    """Return the size of a file; 0 if the file is gone: another process may remove side files."""
    try:
        return file.stat().st_size
    except OSError:
        return 0


def open_file(path: Path, *, engine: str | Engine) -> tuple[SqliteStore, tuple[str, ...]]:
    """Open or create a file in whatever state it is; return it with notices for the user.

    Raises:
        StoreError: there is no way to use it.

    """
    usable, missing = usable_engine(engine) if isinstance(engine, str) else (engine, ())
    store, notices = _open_in_any_state(path, engine=usable)
    return store, (*missing, *notices)


def _open_in_any_state(path: Path, *, engine: Engine) -> tuple[SqliteStore, tuple[str, ...]]:
    opened = _identity(path)
    try:
        with contextlib.suppress(StoreCorruptError):
            return _repaired(SqliteStore.open(path, engine=engine))
        # A single failed read can look like damage: only what is seen twice is.
        return _repaired(SqliteStore.open(path, engine=engine))
    except StoreCorruptError as error:
        return _replaced(path, opened, engine=engine, error=error)
    except StoreReadOnlyError as error:
        if not path.is_file():
            raise
        store = SqliteStore.open(path, engine=engine, writable=False)
        notice = f"The index {path} can only be read ({error.__cause__})."
        return store, (f"{notice} You can search it, but it is not updated. {error.action}",)


def _repaired(store: SqliteStore) -> tuple[SqliteStore, tuple[str, ...]]:
    try:
        return store, store.repair()
    except BaseException:
        store.close()
        raise


def _replaced(
    path: Path, damaged: Identity, *, engine: Engine, error: StoreCorruptError
) -> tuple[SqliteStore, tuple[str, ...]]:
    """Set a damaged file aside and return an empty store in its place.

    Several processes notice the damage at once: the first one replaces the file, the others use
    the new one.
    """
    what = error.message.replace(" is damaged", " was damaged", 1)
    with translated(path), alone(path):
        if damaged != _identity(path):
            with contextlib.suppress(StoreCorruptError):
                store, _ = _repaired(SqliteStore.open(path, engine=engine))
                store.is_replacement = True
                return store, (f"{what} It was set aside and is being rebuilt from the files.",)
        _require_readable(path)
        kept = _set_aside(path)
        store = SqliteStore.open(path, engine=engine)
        store.is_replacement = True
    where = f"It was set aside as {kept.name} and is being rebuilt from the files."
    return store, (f"{what} {where}",)


def _require_readable(path: Path) -> None:
    """Check that the disk gives every byte: to SQLite, one that fails is like a damaged page.

    Raises:
        StoreDiskError: it does not.

    """
    try:
        with path.open("rb") as file:
            while file.read(_READ_BYTES):
                pass
    except OSError as error:
        raise disk_error(path, error.strerror or str(error)) from error


def _identity(path: Path) -> Identity:
    """Return the identity of a file, whatever its path; None if it is gone."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


def _set_aside(path: Path) -> Path:
    """Rename a damaged file and its side files; return the new name.

    It is kept, not deleted, so that someone can find out what happened.
    """
    number = 1
    while (kept := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    for file, target in zip(files_of(path), files_of(kept), strict=True):
        if file.exists():
            file.rename(target)
    return kept


def _connected(path: Path, *, engine: Engine, writable: bool) -> apsw.Connection:
    connection = connect(path, writable=writable)
    try:
        with translated(path):
            if writable:
                pages.require_end(connection, path=path)
                pages.check(connection, path=path)
                schema.migrate(connection, path=path)
            else:
                schema.require_current(connection, path=path)
            engine.prepare(connection)
    except BaseException:
        connection.close()
        raise
    return connection
