"""Everything about one agent in one file, opened in whatever state the file is."""

from __future__ import annotations

import contextlib
from dataclasses import astuple
from typing import TYPE_CHECKING

import numpy as np

from recollect.errors import (
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
)
from recollect.reports import Amount, Amounts, IndexStatus
from recollect.stores import term_counts
from recollect.stores.base import Answer, Holder, KeywordPool, Store
from recollect.stores.postings import Part, choose
from recollect.stores.sqlite import pages, schema
from recollect.stores.sqlite.check import find_broken, find_disagreements
from recollect.stores.sqlite.connect import (
    alone,
    connect,
    disk_error,
    files_of,
    reading,
    translated,
    writing,
)
from recollect.stores.sqlite.documents import SqliteDocuments
from recollect.stores.sqlite.filters import Filter
from recollect.stores.sqlite.scan import usable_engine
from recollect.stores.sqlite.vectors import SqliteVectors, chunk_vectors
from recollect.stores.vectors import propose_by
from recollect.text.size import tokens_of
from recollect.types import ChunkKey, Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path
    from typing import TypeAlias

    import apsw

    from recollect.stores.base import Proposals, SpaceTexts, SpaceVectors
    from recollect.stores.sqlite.scan import Engine

    Identity: TypeAlias = tuple[int, int] | None

_READ_BYTES = 1 << 20
_BY_SOURCE = """
    SELECT d.source, count(DISTINCT d.id), count(c.id),
        ifnull(sum(octet_length(c.text)), 0)
    FROM documents d LEFT JOIN chunks c ON c.document = d.id AND {condition}
    WHERE {shown} GROUP BY d.source
"""
_SHOWN = "d.source <> 'facts' OR c.id IS NOT NULL"
_LEASE = "SELECT token, purpose, pid, host, since, beat FROM leases WHERE name = ?"
_PUT_LEASE = "INSERT INTO leases VALUES (?, ?, ?, ?, ?, ?, ?)"
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


class SqliteStore(SqliteDocuments, SqliteVectors, Store):
    """A Store in one SQLite file. Use `open_file`, or `SqliteStore.open` if damage is an error."""

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
        """Open or create the file and bring its tables up to date."""
        if isinstance(engine, str):
            engine, _ = usable_engine(engine)
        connection = _connected(path, engine=engine, writable=writable)
        return cls(path, connection=connection, engine=engine, is_writable=writable)

    def _open(self) -> apsw.Connection:
        raise StoreError(f"The index {self._path} is closed.", action="Open the memory again.")

    def share(self) -> tuple[SqliteStore, tuple[str, ...]]:
        """Open the same file for another thread, with notices for the user."""
        return open_file(self._path, engine=self._engine)

    def snapshot(self) -> AbstractContextManager[None]:
        return reading(self._connection)

    def lease(self, name: str, decide: Callable[[Holder | None], Holder | None]) -> Holder | None:
        # A connection serves one thread, and this is called by others.
        with (
            translated(self._path),
            contextlib.closing(connect(self._path, writable=True)) as connection,
        ):
            with reading(connection):
                before = _holder(connection, name)
                if decide(before) == before:
                    return before
            with writing(connection):
                after = decide(_holder(connection, name))
                connection.execute("DELETE FROM leases WHERE name = ?", (name,))
                if after is not None:
                    connection.execute(_PUT_LEASE, (name, *astuple(after)))
                return after

    @property
    def location(self) -> str:
        return str(self._path)

    def status(
        self, texts: SpaceTexts | None, *, audience: frozenset[str] | None = None
    ) -> IndexStatus:
        with self._reading() as connection:
            scope, condition, seen, shown = None, "true", tuple[str, ...](), "true"
            if audience is not None:
                scope = Scope(audience=audience, with_superseded=True)
                condition, seen = Filter(connection, scope).condition()
                shown = _SHOWN
            counted = _BY_SOURCE.format(condition=condition, shown=shown)
            rows = list(connection.execute(counted, seen))
            held = chunk_vectors(connection, texts.fingerprint if texts else None, scope=scope)
        text_bytes = size_bytes = sum(row[3] for row in rows)
        if audience is None:
            size_bytes = sum(map(_size_bytes, files_of(self._path)))
        by_source = {source: Amount(documents, chunks) for source, documents, chunks, _ in rows}
        total = Amounts(by_source).total
        return IndexStatus(
            location=self.location,
            size_bytes=size_bytes,
            documents=total.documents,
            chunks=total.chunks,
            tokens=tokens_of(text_bytes),
            by_source=by_source,
            vectors=int(np.count_nonzero(held.has_vector)),
            pending=held.pending(media=texts.media) if texts else 0,
            engine=self._engine.name,
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
        with self._reading() as connection:
            seen = Filter(connection, scope)
            # The score of a word must not tell how often it occurs in the facts of others.
            everything = Scope(audience=scope.audience, with_superseded=True)
            visible = Filter(connection, everything, seen.pieces)
            return propose_by(
                lambda space, vector: self._nearest(
                    connection, space, vector, seen=seen, limit=limit
                ),
                _keyword(terms, seen=seen, visible=visible, limit=limit, stop=stop),
                asked=asked,
                space=self.spaces().get(asked.fingerprint) if asked else None,
            )

    def check(self, *, deep: bool = False) -> list[str]:
        # On one snapshot: a write of another process is not a disagreement.
        with self._reading() as connection:
            problems = list(find_broken(connection))
            return problems + (list(find_disagreements(connection)) if deep else [])

    def recovering(
        self, work: Callable[[], Answer], *, tell: Callable[[tuple[str, ...]], None]
    ) -> Answer:
        try:
            if self._opened is not None and self._identity != _identity(self._path):
                tell(self._reopen())
                self.is_replacement = True
            return work()
        except StoreCorruptError:
            tell(self._reopen())
        try:
            return work()
        except StoreCorruptError as error:
            damaged = self._identity
            self.close()
            fresh, notices = _replaced(self._path, damaged, engine=self._engine, error=error)
            self._take_over(fresh)
            tell(notices)
        return work()

    def _reopen(self) -> tuple[str, ...]:
        self.close()
        fresh, notices = _open_in_any_state(self._path, engine=self._engine)
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


def _keyword(
    terms: Sequence[str], *, seen: Filter, visible: Filter, limit: int, stop: Collection[str]
) -> KeywordPool:
    """Return the best chunks by terms; reads their postings and nothing else of the index."""
    pieces = seen.pieces
    asked = list(dict.fromkeys(terms))
    hashes = [term_counts.hash_of(term) for term in asked]
    views = [visible.view(piece) for piece in pieces]
    parts = [
        Part(
            [piece.find(term) for term in hashes],
            piece.column("lengths"),
            visible=view.mask,
            allowed=seen.view(piece).mask,
        )
        for piece, view in zip(pieces, views, strict=True)
    ]
    corpus, found = choose(
        parts,
        asked,
        stop=stop,
        chunks=sum(view.chunks for view in views),
        length=sum(view.length for view in views),
        limit=limit,
    )
    ids = [piece.column("ids") for piece in pieces]
    keys = [pieces[part].first + int(ids[part][place]) for part, place in found]
    return KeywordPool(tuple(map(ChunkKey, keys)), corpus)


def _holder(connection: apsw.Connection, name: str) -> Holder | None:
    row = connection.execute(_LEASE, (name,)).fetchone()
    return None if row is None else Holder(*row)


def _size_bytes(file: Path) -> int:
    """Return the size of a file; 0 if the file is gone: another process may remove side files."""
    try:
        return file.stat().st_size
    except OSError:
        return 0


def open_file(path: Path, *, engine: str | Engine) -> tuple[SqliteStore, tuple[str, ...]]:
    """Open or create a file in whatever state it is; return it with notices for the user."""
    usable, missing = usable_engine(engine) if isinstance(engine, str) else (engine, ())
    store, notices = _open_in_any_state(path, engine=usable)
    return store, (*missing, *notices)


def _open_in_any_state(path: Path, *, engine: Engine) -> tuple[SqliteStore, tuple[str, ...]]:
    opened = _identity(path)
    try:
        with contextlib.suppress(StoreCorruptError):
            return SqliteStore.open(path, engine=engine), ()
        # A single failed read can look like damage: only what is seen twice is.
        return SqliteStore.open(path, engine=engine), ()
    except StoreCorruptError as error:
        return _replaced(path, opened, engine=engine, error=error)
    except StoreReadOnlyError as error:
        if not path.is_file():
            raise
        store = SqliteStore.open(path, engine=engine, writable=False)
        notice = f"The index {path} can only be read ({error.__cause__})."
        return store, (f"{notice} You can search it, but it is not updated. {error.action}",)


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
                store = SqliteStore.open(path, engine=engine)
                store.is_replacement = True
                return store, (f"{what} It was set aside and is being rebuilt from the files.",)
        _require_readable(path)
        kept = _set_aside(path)
        store = SqliteStore.open(path, engine=engine)
        store.is_replacement = True
    where = f"It was set aside as {kept.name} and is being rebuilt from the files."
    return store, (f"{what} {where}",)


def _require_readable(path: Path) -> None:
    """Check that the disk gives every byte: to SQLite, one that fails is like a damaged page."""
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
    """Rename a damaged file and its side files, to look at what happened; return the new name."""
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
