"""Vectors in the file: spaces, which of them searches use, and which texts have no vector yet."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from recollect.records import dataclass
from recollect.stores.base import Coverage, Missing, Space, VectorPool
from recollect.stores.sqlite.codes import add_codes, coded_texts, recode
from recollect.stores.sqlite.connect import SqliteFile
from recollect.stores.sqlite.documents import ADD_TEXT
from recollect.stores.sqlite.filters import Filter
from recollect.stores.sqlite.rows import blobs_of, check_tail, ids_in, text_in, vector_id
from recollect.stores.sqlite.segments import ids_of, segments
from recollect.stores.summary import SPACES, missing_of, spaces_of
from recollect.stores.vectors import check_vectors, code_bytes
from recollect.types import Background, ChunkKey, Fingerprint

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    import apsw
    import numpy.typing as npt

    from recollect.stores.base import SpaceTexts
    from recollect.stores.postings import Mask
    from recollect.stores.sqlite.codes import Texts
    from recollect.stores.sqlite.scan import Engine
    from recollect.types import Scope, Vector, Vectors

_SPACE = "SELECT id, dimensions FROM spaces WHERE fingerprint = ?"
_ADD_SPACE = "INSERT OR IGNORE INTO spaces (fingerprint, dimensions) VALUES (?, ?)"
_PUT_BACKGROUND = "UPDATE spaces SET mean = ?, deviation = ? WHERE id = ?"
_TEXT = "SELECT id FROM texts WHERE digest = ?"
_PUT = f"""
    INSERT INTO vectors (id, vector) VALUES ({vector_id("?", "?")}, ?)
    ON CONFLICT DO NOTHING RETURNING id
"""  # noqa: S608 - our own column names
_PUT_WORDS = f"""
    INSERT OR IGNORE INTO word_codes (id, codes) VALUES ({vector_id("?", "?")}, ?)
"""  # noqa: S608 - our own column names
_WORDS = f"""
    SELECT c.id, w.codes, w.tail FROM json_each(?1) asked
    CROSS JOIN chunks c ON c.id = asked.value
    CROSS JOIN word_codes w ON w.id = {vector_id("?2", "c.text_id")}
"""  # noqa: S608 - our own column names
_DROP_UNUSED = f"""
    DELETE FROM vectors WHERE {text_in("id")} NOT IN (SELECT text_id FROM chunks);
    DELETE FROM word_codes WHERE {text_in("id")} NOT IN (SELECT text_id FROM chunks);
    DELETE FROM texts WHERE id NOT IN (SELECT text_id FROM chunks);
"""  # noqa: S608 - our own column names
_DROP_VECTORS = f"""
    DELETE FROM vectors WHERE id BETWEEN {ids_in("?1")};
    DELETE FROM word_codes WHERE id BETWEEN {ids_in("?1")};
"""  # noqa: S608 - our own column names
_COUNT_VECTORS = f"""
    UPDATE spaces SET vectors = (
        SELECT count(*) FROM vectors v WHERE v.id BETWEEN {ids_in("spaces.id")}
    )
"""  # noqa: S608 - our own column names
_MISSING = """
    SELECT t.id, t.digest, c.prefix, c.text, d.path, d.size_bytes FROM json_each(?) asked
    JOIN texts t ON t.id = asked.value
    JOIN chunks c ON c.id = (SELECT min(id) FROM chunks WHERE text_id = t.id)
    JOIN documents d ON d.id = c.document ORDER BY t.id
"""
_FEW = 256  # unused vectors that may stay
_FEW_SHARE = 0.1  # or this share of all vectors


@dataclass(frozen=True, slots=True)
class ChunkVectors:
    """Which chunks have a vector: a value of each column for each chunk."""

    ids: npt.NDArray[np.int64]
    texts: Texts
    has_vector: Mask
    is_media: Mask

    def pending(self, *, media: bool) -> int:
        """Return how many chunks need a vector and have none; media files need one if so said."""
        lacking = ~self.has_vector
        return int(np.count_nonzero(lacking if media else lacking & ~self.is_media))


class SqliteVectors(SqliteFile):
    """Stores vectors, and knows which texts have none and which space searches use."""

    def __init__(self, path: Path, *, connection: apsw.Connection, engine: Engine) -> None:
        super().__init__(path, connection=connection)
        self._engine = engine

    def put_vectors(
        self,
        fingerprint: Fingerprint,
        *,
        digests: Sequence[str],
        vectors: Vectors,
        words: Sequence[bytes] | None = None,
    ) -> None:
        with self._writing() as connection:
            space, dimensions = _add_space(connection, fingerprint)
            width = dimensions or vectors.shape[-1]
            check_vectors(vectors, count=len(digests), dimensions=width, words=words)
            if not len(digests):
                return
            if not dimensions:
                connection.execute(
                    "UPDATE spaces SET dimensions = ? WHERE id = ?", (vectors.shape[-1], space)
                )
            keys = [(bytes.fromhex(digest),) for digest in digests]
            connection.executemany(ADD_TEXT, keys)
            numbers = [connection.execute(_TEXT, key).get for key in keys]
            if words:
                coded = zip(numbers, words, strict=True)
                connection.executemany(
                    _PUT_WORDS, [(space, number, codes) for number, codes in coded if codes]
                )
            vectors = vectors.astype(np.float32)
            added = [
                place
                for place, (number, vector) in enumerate(zip(numbers, vectors, strict=True))
                for _ in connection.execute(_PUT, (space, number, vector.tobytes()))
            ]
            if not added:
                return
            connection.execute(
                "UPDATE spaces SET vectors = vectors + ?, stamp = random() WHERE id = ?",
                (len(added), space),
            )
            texts = [numbers[place] for place in added]
            add_codes(connection, space=space, texts=texts, vectors=vectors[added])

    def missing(self, texts: SpaceTexts, *, limit: int, after: int = 0) -> Sequence[Missing]:
        with self._reading() as connection:
            held = chunk_vectors(connection, texts.fingerprint)
            lacking = np.unique(held.texts[~held.has_vector & (held.is_media == texts.media)])
            asked = lacking[lacking > after][:limit].tolist()
            rows = connection.execute(_MISSING, (json.dumps(asked),))
            return missing_of(rows, media=texts.media)

    def coverage(self, texts: SpaceTexts | None) -> Coverage:
        with self._reading() as connection:
            chunks = connection.execute("SELECT chunks FROM totals").get
            if texts is None:
                return Coverage(chunks, 0)
            held = chunk_vectors(connection, texts.fingerprint)
            return Coverage(chunks, held.pending(media=texts.media))

    def embedded(self, fingerprint: Fingerprint | None, *, scope: Scope) -> npt.NDArray[np.int64]:
        with self._reading() as connection:
            held = chunk_vectors(connection, fingerprint, scope=scope)
            return held.ids if fingerprint is None else held.ids[held.has_vector]

    def spaces(self) -> Mapping[Fingerprint, Space]:
        with self._reading() as connection:
            return spaces_of(connection.execute(SPACES))

    def put_background(self, fingerprint: Fingerprint, background: Background) -> None:
        with self._writing() as connection:
            space, _ = _add_space(connection, fingerprint)
            connection.execute(_PUT_BACKGROUND, (background.mean, background.deviation, space))

    def publish(self, fingerprint: Fingerprint) -> None:
        with self._writing() as connection:
            space, _ = _add_space(connection, fingerprint)
            connection.execute("UPDATE spaces SET is_published = (id = ?)", (space,))

    def prune(self, *, keep: Collection[Fingerprint]) -> int:
        kept = {str(fingerprint) for fingerprint in keep}
        with self._reading() as connection:
            used = chunk_vectors(connection).texts
            rows = list(connection.execute("SELECT id, fingerprint, vectors FROM spaces"))
            others = [space for space, name, _ in rows if name not in kept]
            unused = sum(
                vectors
                if space in others
                else int(np.count_nonzero(~np.isin(coded_texts(connection, space), used)))
                for space, _, vectors in rows
            )
        if unused <= max(_FEW, _FEW_SHARE * sum(vectors for *_, vectors in rows)):
            return 0
        with self._writing() as connection:
            for space in others:
                connection.execute("DELETE FROM codes WHERE space = ?", (space,))
                connection.execute(_DROP_VECTORS, (space, space))
                connection.execute("DELETE FROM spaces WHERE id = ?", (space,))
            connection.execute(_DROP_UNUSED)
            connection.execute(_COUNT_VECTORS)
            for (space,) in list(connection.execute("SELECT id FROM spaces")):
                recode(connection, space=space)
        return unused

    def _nearest(
        self,
        connection: apsw.Connection,
        fingerprint: Fingerprint,
        vector: Vector,
        *,
        seen: Filter,
        limit: int,
    ) -> VectorPool:
        space = space_id(connection, fingerprint)
        if space is None:
            return VectorPool((), ())
        return self._engine.nearest(connection, space=space, vector=vector, seen=seen, limit=limit)

    def word_codes(
        self, fingerprint: Fingerprint, *, keys: Sequence[ChunkKey]
    ) -> Mapping[ChunkKey, bytes]:
        with self._reading() as connection:
            row = connection.execute(_SPACE, (str(fingerprint),)).fetchone()
            if row is None:
                return {}
            space, dimensions = row
            found: dict[ChunkKey, bytes] = {}
            for key, codes, tail in connection.execute(_WORDS, (json.dumps(list(keys)), space)):
                check_tail(tail)
                found[ChunkKey(key)] = codes
            blobs_of(list(found.values()), entry_bytes=code_bytes(dimensions))
            return found


def chunk_vectors(
    connection: apsw.Connection, space: Fingerprint | None = None, scope: Scope | None = None
) -> ChunkVectors:
    """Return which chunks, of all or of those in scope, have a vector in a space."""
    seen = None if scope is None else Filter(connection, scope)
    ids, texts = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for piece in segments(connection):
        mask = piece.live() if seen is None else seen.view(piece).mask
        own = slice(None) if mask is None else mask
        ids.append(ids_of(piece)[own])
        texts.append(piece.column("texts")[own].astype(np.int64))
    keys, numbers = np.concatenate(ids), np.concatenate(texts)
    coded = coded_texts(connection, space_id(connection, space))
    media = [key for (key,) in connection.execute("SELECT chunk FROM media")]
    return ChunkVectors(keys, numbers, np.isin(numbers, coded), np.isin(keys, media))


def space_id(connection: apsw.Connection, fingerprint: Fingerprint | None) -> int | None:
    """Return the file's number of a space; None if nothing of it is stored."""
    row = connection.execute(_SPACE, (str(fingerprint),)).fetchone()
    return None if row is None else int(row[0])


def _add_space(connection: apsw.Connection, fingerprint: Fingerprint) -> tuple[int, int]:
    """Return the number and the dimensions of a space, adding it if needed; 0 is unknown."""
    connection.execute(_ADD_SPACE, (str(fingerprint), fingerprint.dimensions or 0))
    row = connection.execute(_SPACE, (str(fingerprint),)).fetchone()
    assert row is not None  # noqa: S101 - inserted above
    return row[0], row[1]
