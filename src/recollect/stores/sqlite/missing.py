"""Which texts have no vector yet, without looking at all of them.

Each full scan stores a mark for each space: all chunks up to the newest one have a vector, but
for a few that are named. Chunks never change and their numbers ascend, so a mark stays true as
chunks come and go; only deleted vectors could make it false. Those are deleted together with the
codes of their space, and new codes have another number (see `codes`): a mark counts only beside the
codes it was made with. A space without codes has no mark: it is small, or of an engine that reads
every vector.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from recollect.stores.base import Coverage, Missing
from recollect.stores.sqlite.connect import SqliteFile
from recollect.stores.sqlite.rows import vector_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from recollect.stores.base import SpaceTexts
    from recollect.types import Fingerprint

_KEY = "embedded {space}"
_MARKS = "SELECT value FROM meta WHERE key GLOB 'embedded*'"
_MOST_LEFT = 1000  # chunks that a mark names; with more of them all are looked at each time

_SPACE = "SELECT id, coding * (centre IS NOT NULL) FROM spaces WHERE fingerprint = ?"
_CODED = "SELECT coding * (centre IS NOT NULL) FROM spaces WHERE id = ?"
_NEWEST = "SELECT coalesce(max(id), 0) FROM chunks"
_HAS_VECTOR = f"SELECT 1 FROM vectors v WHERE v.id = {vector_id(':space', 'c.text_id')}"  # noqa: S608
_HAS_WORDS = _HAS_VECTOR.replace("vectors", "word_codes")
_HAS_OTHER = _HAS_VECTOR.replace(":space", ":other")
_IS_MEDIA = "c.id IN (SELECT chunk FROM media)"
_LACKS = f"""
    (NOT EXISTS ({_HAS_VECTOR}) OR (:words AND NOT EXISTS ({_HAS_WORDS})))
    AND NOT EXISTS ({_HAS_OTHER})
"""
_BEHIND = """(
    SELECT id, text_id FROM chunks WHERE id > :newest UNION
    SELECT id, text_id FROM chunks WHERE id IN (SELECT value FROM json_each(:left))
)"""
_MISSING = f"""
    SELECT t.id, t.digest, c.prefix, c.text FROM chunks c JOIN texts t ON t.id = c.text_id
    WHERE c.id IN (
        -- Without a mark, walks the index of texts alone: chunks are read only for these rows.
        SELECT min(c.id) FROM {{chunks}} c
        WHERE c.text_id > :after AND NOT {_IS_MEDIA} AND {_LACKS}
        GROUP BY c.text_id ORDER BY c.text_id LIMIT :limit
    ) ORDER BY t.id
"""  # noqa: S608 - our own column names
_MISSING_MEDIA = f"""
    SELECT t.id, t.digest, c.prefix, c.text, d.path, d.size_bytes FROM chunks c
    JOIN texts t ON t.id = c.text_id
    JOIN documents d ON d.id = c.document
    WHERE c.id IN (
        SELECT min(c.id) FROM media m CROSS JOIN chunks c ON c.id = m.chunk
        WHERE c.text_id > :after AND NOT EXISTS ({_HAS_VECTOR})
        GROUP BY c.text_id ORDER BY c.text_id LIMIT :limit
    ) ORDER BY t.id
"""  # noqa: S608 - our own column names
_LEFT = f"""
    SELECT c.id FROM {{chunks}} c WHERE NOT {_IS_MEDIA} AND {_LACKS} LIMIT {_MOST_LEFT + 1}
"""  # noqa: S608 - our own column names
_WAITING = f"SELECT count(*) FROM {{chunks}} c WHERE NOT {_IS_MEDIA} AND {_LACKS}"  # noqa: S608
_MARKED = f"""
    SELECT EXISTS (
        SELECT 1 FROM {{chunks}} c WHERE c.id <= :newest AND NOT {_IS_MEDIA} AND {_LACKS}
        AND c.id NOT IN (SELECT value FROM json_each(:left))
    )
"""  # noqa: S608 - our own column names
_MEDIA_WAITING = f"""
    SELECT count(*) FROM media m CROSS JOIN chunks c ON c.id = m.chunk WHERE {_LACKS}
"""  # noqa: S608 - our own column names


class _Spaces(NamedTuple):
    """Where a text may have its vector; all 0 is nowhere."""

    space: int
    coding: int
    """Number of its codes; 0 without codes."""
    other: int
    beside_coding: int


class _Mark(NamedTuple):
    """The result of a scan for chunks without a vector."""

    spaces: _Spaces
    words: bool
    """Whether chunks without word codes were looked for, too."""
    newest: int
    """The newest chunk there was."""
    left: list[int]
    """Chunks that had none."""


class SqliteMissing(SqliteFile):
    """Finds the texts of the file that have no vector."""

    def missing(self, texts: SpaceTexts, *, limit: int, after: int = 0) -> Sequence[Missing]:
        with self._reading() as connection:
            spaces = _spaces(connection, texts)
            mark = _mark(connection, spaces, words=texts.words)
            statement = _MISSING_MEDIA if texts.media else _over(mark, _MISSING)
            bindings = _bindings(spaces, mark, words=texts.words, after=after, limit=limit)
            return [_missing_of(*row) for row in connection.execute(statement, bindings)]

    def coverage(self, texts: SpaceTexts | None, *, remember: bool = False) -> Coverage:
        if texts and remember:
            self._remember(texts)
        with self._reading() as connection:
            chunks = connection.execute("SELECT chunks FROM totals").get
            if texts is None:
                return Coverage(chunks, 0)
            spaces = _spaces(connection, texts)
            mark = _mark(connection, spaces, words=False)
            bindings = _bindings(spaces, mark, words=False)
            pending = connection.execute(_over(mark, _WAITING), bindings).get
            waiting = media_waiting(connection, texts) if texts.media else 0
            return Coverage(chunks, pending + waiting)

    def _remember(self, texts: SpaceTexts) -> None:
        with self._reading() as connection:
            spaces = _spaces(connection, texts)
            if not spaces.coding:
                return
            mark = _mark(connection, spaces, words=texts.words)
            newest = connection.execute(_NEWEST).get
            bindings = _bindings(spaces, mark, words=texts.words)
            left = sorted(key for (key,) in connection.execute(_over(mark, _LEFT), bindings))
        # What was true in the snapshot still is, or the codes have another number by now.
        found = _Mark(spaces, texts.words, newest, left)
        if found != mark and len(left) <= _MOST_LEFT:
            self.put_meta(_KEY.format(space=spaces.space), json.dumps(found))


def media_waiting(connection: apsw.Connection, texts: SpaceTexts) -> int:
    """Return how many media files have no vector."""
    bindings = _bindings(_spaces(connection, texts), None, words=False)
    return int(connection.execute(_MEDIA_WAITING, bindings).get)


def space_id(connection: apsw.Connection, fingerprint: Fingerprint | None) -> int | None:
    """Return the file's number of a space; None if nothing of it is stored."""
    row = connection.execute(_SPACE, (str(fingerprint),)).fetchone()
    return None if row is None else int(row[0])


def is_mark_true(connection: apsw.Connection) -> bool:
    """Look at all chunks: return whether those have a vector of which a mark says so."""
    marks = [_mark_of(stored) for (stored,) in connection.execute(_MARKS)]
    return all(_is_true(connection, mark) for mark in marks)


def _is_true(connection: apsw.Connection, mark: _Mark) -> bool:
    for number, coding in (mark.spaces[:2], mark.spaces[2:]):
        coded = connection.execute(_CODED, (number,)).get
        if coded != (coding if number else None):
            return True  # it is void
    found = connection.execute(_over(None, _MARKED), _bindings(mark.spaces, mark, words=mark.words))
    return not found.get


def _spaces(connection: apsw.Connection, texts: SpaceTexts) -> _Spaces:
    first, second = (
        connection.execute(_SPACE, (str(each),)).fetchone() or (0, 0)
        for each in (texts.fingerprint, texts.other)
    )
    return _Spaces(*first, *second)


def _mark(connection: apsw.Connection, spaces: _Spaces, *, words: bool) -> _Mark | None:
    """Return the mark that tells where to look; None if everywhere."""
    if not spaces.coding:
        return None
    key = _KEY.format(space=spaces.space)
    stored = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).get
    mark = None if stored is None else _mark_of(stored)
    if mark is None or mark.spaces != spaces or (words and not mark.words):
        return None
    return mark


def _mark_of(stored: str) -> _Mark:
    spaces, words, newest, left = json.loads(stored)
    return _Mark(_Spaces(*spaces), words, newest, left)


def _over(mark: _Mark | None, statement: str) -> str:
    """Return a statement that looks behind the mark; without one, at all chunks."""
    return statement.format(chunks="chunks" if mark is None else _BEHIND)


def _bindings(
    spaces: _Spaces, mark: _Mark | None, *, words: bool, after: int = 0, limit: int = 0
) -> dict[str, int | str]:
    return {
        "space": spaces.space,
        "other": spaces.other,
        "words": int(words),
        "newest": mark.newest if mark else 0,
        "left": json.dumps(mark.left if mark else []),
        "after": after,
        "limit": limit,
    }


def _missing_of(  # noqa: PLR0913, PLR0917 - the columns of a row
    number: int, digest: bytes, prefix: str, text: str, path: str = "", size_bytes: int = 0
) -> Missing:
    before = f"{prefix}\n" if prefix else ""
    return Missing(digest.hex(), f"{before}{text}", path, size_bytes, number)
