"""Which chunks have no vector yet: the texts of all chunks, compared with those that have a code.

Every vector has a code, and the texts of codes are read without the vectors.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from recollect.records import dataclass
from recollect.stores.base import Coverage, Missing
from recollect.stores.sqlite.codes import coded_texts
from recollect.stores.sqlite.connect import SqliteFile
from recollect.stores.sqlite.filters import Filter
from recollect.stores.sqlite.segments import ids_of, segments

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw
    import numpy.typing as npt

    from recollect.stores.base import SpaceTexts
    from recollect.stores.postings import Mask
    from recollect.stores.sqlite.codes import Texts
    from recollect.types import Fingerprint, Scope

_SPACE = "SELECT id FROM spaces WHERE fingerprint = ?"
_MISSING = """
    SELECT t.id, t.digest, c.prefix, c.text, d.path, d.size_bytes FROM json_each(?) asked
    JOIN texts t ON t.id = asked.value
    JOIN chunks c ON c.id = (SELECT min(id) FROM chunks WHERE text_id = t.id)
    JOIN documents d ON d.id = c.document ORDER BY t.id
"""


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


class SqliteMissing(SqliteFile):
    """Finds the texts of the file that have no vector."""

    def missing(self, texts: SpaceTexts, *, limit: int, after: int = 0) -> Sequence[Missing]:
        with self._reading() as connection:
            held = chunk_vectors(connection, texts.fingerprint, texts.other)
            lacking = np.unique(held.texts[~held.has_vector & (held.is_media == texts.media)])
            asked = lacking[lacking > after][:limit].tolist()
            return [
                Missing(
                    digest=digest.hex(),
                    text=f"{prefix}\n{text}" if prefix else text,
                    path=path if texts.media else "",
                    size_bytes=size_bytes if texts.media else 0,
                    number=number,
                )
                for number, digest, prefix, text, path, size_bytes in connection.execute(
                    _MISSING, (json.dumps(asked),)
                )
            ]

    def coverage(self, texts: SpaceTexts | None) -> Coverage:
        with self._reading() as connection:
            chunks = connection.execute("SELECT chunks FROM totals").get
            if texts is None:
                return Coverage(chunks, 0)
            held = chunk_vectors(connection, texts.fingerprint, texts.other)
            return Coverage(chunks, held.pending(media=texts.media))

    def embedded(self, fingerprint: Fingerprint, *, scope: Scope) -> npt.NDArray[np.int64]:
        with self._reading() as connection:
            held = chunk_vectors(connection, fingerprint, scope=scope)
            return held.ids[held.has_vector]


def chunk_vectors(
    connection: apsw.Connection, *spaces: Fingerprint | None, scope: Scope | None = None
) -> ChunkVectors:
    """Return which chunks, of all or of those in scope, have a vector in one of these spaces."""
    seen = None if scope is None else Filter(connection, scope)
    ids, texts = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for piece in segments(connection):
        mask = piece.live() if seen is None else seen.view(piece).mask
        own = slice(None) if mask is None else mask
        ids.append(ids_of(piece)[own])
        texts.append(piece.column("texts")[own].astype(np.int64))
    keys, numbers = np.concatenate(ids), np.concatenate(texts)
    coded = [coded_texts(connection, space_id(connection, each)) for each in (None, *spaces)]
    media = [key for (key,) in connection.execute("SELECT chunk FROM media")]
    return ChunkVectors(
        keys, numbers, np.isin(numbers, np.concatenate(coded)), np.isin(keys, media)
    )


def space_id(connection: apsw.Connection, fingerprint: Fingerprint | None) -> int | None:
    """Return the file's number of a space; None if nothing of it is stored."""
    row = connection.execute(_SPACE, (str(fingerprint),)).fetchone()
    return None if row is None else int(row[0])
