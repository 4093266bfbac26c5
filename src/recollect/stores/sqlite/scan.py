"""Finds chunks by vector with numpy: exact while small, then binary codes and exact rescoring.

Codes are in the same file, in segments that each query reads. They belong to texts, not to
chunks, so that edits and moves of documents never touch them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from recollect.records import dataclass
from recollect.stores.base import VectorPool
from recollect.stores.sqlite.filters import allowed_texts
from recollect.stores.sqlite.rows import (
    RowError,
    blob_of,
    check_tail,
    ids_in,
    scope_sql,
    stack,
    text_in,
    vector_id,
    whole_of,
)
from recollect.stores.vectors import closest, encode, hamming, top
from recollect.types import ChunkKey, Scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import apsw
    import numpy.typing as npt

    from recollect.types import Vector, Vectors

EXACT_LIMIT = 4096  # vectors read and compared in full: 6 MB and about 10 ms at 384 dimensions
RESCORED = 2400  # nearest codes compared exactly: recall against cost is in decision 0006
SEGMENT = 1024  # codes per blob: small enough to rewrite on append, large enough to read fast
_ID_BYTES = 8
_REGROWTH = 4  # recompute the centre when the space has grown by this factor

_ALL = f"""
    SELECT {text_in("id")}, vector, tail FROM vectors WHERE id BETWEEN {ids_in("?1")} ORDER BY id
"""  # noqa: S608 - our own column names
_OF_TEXTS = f"""
    SELECT asked.value, v.vector, v.tail FROM json_each(?2) asked
    JOIN vectors v ON v.id = {vector_id("?1", "asked.value")}
"""  # noqa: S608 - our own column names
_SEGMENTS = "SELECT ids, codes, tail FROM codes WHERE space = ? ORDER BY segment"
_CODING = "SELECT vectors, coded, centre FROM spaces WHERE id = ?"
_CHUNKS = """
    SELECT asked.key, c.id FROM json_each(?) asked
    JOIN chunks c ON c.text_id = asked.value
    JOIN documents d ON d.id = c.document
    WHERE {condition} ORDER BY asked.key, c.id
"""


@dataclass(frozen=True, slots=True)
class _Closest:
    """Texts, best first, with the exact cosines of their vectors."""

    ids: npt.NDArray[np.int64]
    cosines: npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class NumpyScan:
    """The default vector engine."""

    exact_limit: int = EXACT_LIMIT
    name: str = "numpy"

    def prepare(self, connection: apsw.Connection) -> None:
        """Do nothing: numpy needs no extension."""

    def nearest(
        self, connection: apsw.Connection, *, space: int, vector: Vector, scope: Scope, limit: int
    ) -> VectorPool:
        """Return the chunks in scope nearest to the vector, best first."""
        count, _, centre = _coding(connection, space)
        allowed = None if scope.is_open else _scoped(connection, scope)
        if centre is None or count <= self.exact_limit:
            closest = _closest_of_all(connection, space=space, vector=vector, allowed=allowed)
        else:
            code = encode(vector, _floats(centre, dimensions=len(vector)))
            shortlist = _shortlist(connection, space=space, code=code, allowed=allowed)
            closest = _rescored(connection, shortlist, space=space, vector=vector)
        return _pool(connection, closest, scope=scope, limit=limit)

    def added(self, connection: apsw.Connection, *, space: int, texts: Sequence[int]) -> None:
        """Add the codes of vectors just stored, in the same transaction."""
        count, coded, centre = _coding(connection, space)
        if count <= self.exact_limit:
            return
        if centre is None or count > _REGROWTH * coded:
            _recode(connection, space=space)
        else:
            stored = connection.execute(_OF_TEXTS, (space, json.dumps(texts)))
            middle = _floats(centre, dimensions=_dimensions(connection, space))
            _append(connection, space=space, rows=stored, centre=middle)

    def removed(self, connection: apsw.Connection, *, space: int) -> None:
        """Rewrite the codes after vectors were deleted, in the same transaction."""
        count, _, centre = _coding(connection, space)
        if centre is None:
            return
        if count > self.exact_limit:
            _recode(connection, space=space)
        else:
            forget_codes(connection, space=space)


def forget_codes(connection: apsw.Connection, *, space: int) -> None:
    """Delete the codes of a space; until there are new ones, its vectors are compared in full."""
    connection.execute("DELETE FROM codes WHERE space = ?", (space,))
    connection.execute("UPDATE spaces SET coded = 0, centre = NULL WHERE id = ?", (space,))


def _scoped(connection: apsw.Connection, scope: Scope) -> npt.NDArray[np.int64]:
    """Return the texts of the chunks in scope."""
    allowed = allowed_texts(connection, scope)
    return np.flatnonzero(allowed) if allowed is not None else np.zeros(0, dtype=np.int64)


def _closest_of_all(
    connection: apsw.Connection,
    *,
    space: int,
    vector: Vector,
    allowed: npt.NDArray[np.int64] | None,
) -> _Closest:
    ids, vectors = _columns(connection.execute(_ALL, (space,)), dimensions=len(vector))
    cosines = vectors @ vector
    if allowed is not None:
        inside = np.isin(ids, allowed)
        ids, cosines = ids[inside], cosines[inside]
    order = top(cosines, len(cosines))
    return _Closest(ids[order], cosines[order])


def _shortlist(
    connection: apsw.Connection,
    *,
    space: int,
    code: npt.NDArray[np.uint8],
    allowed: npt.NDArray[np.int64] | None,
) -> npt.NDArray[np.int64]:
    """Return the texts whose codes differ least, unordered."""
    rows = connection.execute(_SEGMENTS, (space,))
    segments = [_segment(*row, code_bytes=len(code)) for row in rows]
    if not segments:
        raise RowError(f"the codes of space {space} are missing")
    ids = np.concatenate([segment[0] for segment in segments])
    codes = np.concatenate([segment[1] for segment in segments])
    if allowed is not None:
        inside = np.isin(ids, allowed)
        ids, codes = ids[inside], codes[inside]
    if len(ids) <= RESCORED:
        return ids
    return ids[closest(hamming(codes, code), RESCORED)]


def _rescored(
    connection: apsw.Connection, shortlist: npt.NDArray[np.int64], *, space: int, vector: Vector
) -> _Closest:
    # In file order: neighbouring rows share pages.
    rows = connection.execute(_OF_TEXTS, (space, json.dumps(np.sort(shortlist).tolist())))
    ids, vectors = _columns(rows, dimensions=len(vector))
    cosines = vectors @ vector
    order = top(cosines, len(cosines))
    return _Closest(ids[order], cosines[order])


def _pool(
    connection: apsw.Connection, closest: _Closest, *, scope: Scope, limit: int
) -> VectorPool:
    """Return the chunks of the closest texts; texts that no chunk has any more drop out."""
    condition, bindings = scope_sql(scope)
    keys: list[ChunkKey] = []
    cosines: list[float] = []
    for start in range(0, len(closest.ids), limit):
        part = closest.ids[start : start + limit].tolist()
        rows = connection.execute(
            _CHUNKS.format(condition=condition), (json.dumps(part), *bindings)
        )
        for place, key in rows:
            keys.append(ChunkKey(key))
            cosines.append(float(closest.cosines[start + place]))
        if len(keys) >= limit:
            break
    return VectorPool(tuple(keys[:limit]), tuple(cosines[:limit]))


def _recode(connection: apsw.Connection, *, space: int) -> None:
    """Recompute the centre and rewrite all codes."""
    ids, vectors = _columns(
        connection.execute(_ALL, (space,)), dimensions=_dimensions(connection, space)
    )
    centre = vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
    connection.execute("DELETE FROM codes WHERE space = ?", (space,))
    _write(connection, space=space, segment=0, ids=ids, codes=encode(vectors, centre))
    connection.execute(
        "UPDATE spaces SET coded = ?, centre = ? WHERE id = ?",
        (len(ids), centre.tobytes(), space),
    )


def _append(
    connection: apsw.Connection,
    *,
    space: int,
    rows: Iterable[tuple[int, bytes, int]],
    centre: Vector,
) -> None:
    ids, vectors = _columns(rows, dimensions=len(centre))
    codes = encode(vectors, centre)
    tail = connection.execute(
        "SELECT segment, ids, codes, tail FROM codes WHERE space = ? ORDER BY segment DESC LIMIT 1",
        (space,),
    ).get
    segment, *old = tail
    old_ids, old_codes = _segment(*old, code_bytes=codes.shape[1])
    ids = np.concatenate([old_ids, ids])
    codes = np.concatenate([old_codes, codes])
    _write(connection, space=space, segment=segment, ids=ids, codes=codes)


def _write(
    connection: apsw.Connection,
    *,
    space: int,
    segment: int,
    ids: npt.NDArray[np.int64],
    codes: npt.NDArray[np.uint8],
) -> None:
    """Write codes in segments, starting with this one."""
    connection.executemany(
        "INSERT OR REPLACE INTO codes (space, segment, ids, codes) VALUES (?, ?, ?, ?)",
        [
            (space, segment + offset, ids[part].tobytes(), codes[part].tobytes())
            for offset, start in enumerate(range(0, len(ids), SEGMENT))
            for part in [slice(start, start + SEGMENT)]
        ],
    )


def _dimensions(connection: apsw.Connection, space: int) -> int:
    return int(connection.execute("SELECT dimensions FROM spaces WHERE id = ?", (space,)).get)


def _columns(
    rows: Iterable[tuple[int, bytes, int]], *, dimensions: int
) -> tuple[npt.NDArray[np.int64], Vectors]:
    stored = list(rows)
    ids = np.array([row[0] for row in stored], dtype=np.int64)
    vectors = [row[1] for row in stored]
    return ids, stack(vectors, (row[2] for row in stored), dimensions=dimensions)


def _coding(connection: apsw.Connection, space: int) -> tuple[int, int, bytes | None]:
    """Return how many vectors a space has, how many when it was coded, and the codes' centre."""
    row = connection.execute(_CODING, (space,)).fetchone()
    if row is None:
        raise RowError(f"space {space} is missing")
    count, coded, centre = row
    return whole_of(count), whole_of(coded), None if centre is None else blob_of(centre)


def _segment(
    ids: object, codes: object, tail: object, *, code_bytes: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    check_tail(tail)
    keys = np.frombuffer(blob_of(ids, entry_bytes=_ID_BYTES), dtype=np.int64)
    stored = np.frombuffer(blob_of(codes), dtype=np.uint8)
    if len(stored) != len(keys) * code_bytes:
        raise RowError("codes and vectors differ in number")
    return keys, stored.reshape(len(keys), code_bytes)


def _floats(blob: bytes, *, dimensions: int) -> npt.NDArray[np.float32]:
    vector: npt.NDArray[np.float32] = stack([blob], dimensions=dimensions)[0]
    return vector
