"""Values between Python and PostgreSQL: vectors in pgvector's binary form, and any text.

PostgreSQL's text holds neither NUL nor half a surrogate pair. Notes may: such characters, and the
one that marks them, are stored behind a mark from the private use area. A connection does so by
itself, both ways; only text inside JSON has to be turned back with `original`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
from psycopg import Connection, pq
from psycopg.adapt import Dumper, Loader
from psycopg.types import TypeInfo
from psycopg.types.string import StrDumperUnknown

if TYPE_CHECKING:
    from typing import Any

    from recollect.types import Vector

_MARK = "\uf8fe"
_UNSTORABLE = re.compile(f"[\0\ud800-\udfff{_MARK}]")
_ESCAPED = re.compile(f"{_MARK}([0-9a-f]{{4}})")
_HEADER_BYTES = 4  # number of dimensions, and two bytes that are not used


class VectorParameter:
    """A vector as a parameter of a statement."""

    __slots__ = ("vector",)

    def __init__(self, vector: Vector) -> None:
        self.vector = vector


class _VectorDumper(Dumper):
    format = pq.Format.BINARY

    def dump(self, obj: VectorParameter) -> bytes:
        values = obj.vector.astype(">f4")
        return len(values).to_bytes(2, "big") + b"\0\0" + values.tobytes()


class _VectorLoader(Loader):
    format = pq.Format.BINARY

    def load(self, data: pq.abc.Buffer) -> Vector:
        return np.frombuffer(bytes(data), dtype=">f4", offset=_HEADER_BYTES).astype(np.float32)


class _TextDumper(StrDumperUnknown):
    def dump(self, obj: str) -> pq.abc.Buffer | None:
        return super().dump(_stored(obj))


class _TextLoader(Loader):
    def load(self, data: pq.abc.Buffer) -> str:
        return original(str(data, "utf-8"))


class _BinaryTextLoader(_TextLoader):
    format = pq.Format.BINARY


def register(connection: Connection[Any]) -> None:
    """Teach a new connection any text, and what a vector is; without pgvector it knows none."""
    connection.adapters.register_dumper(str, _TextDumper)
    for loader in (_TextLoader, _BinaryTextLoader):
        connection.adapters.register_loader("text", loader)
    info = TypeInfo.fetch(connection, "vector")
    if info is not None:
        dumper = type("VectorDumper", (_VectorDumper,), {"oid": info.oid})
        connection.adapters.register_dumper(VectorParameter, dumper)
        connection.adapters.register_loader(info.oid, _VectorLoader)


def _stored(text: str) -> str:
    return _UNSTORABLE.sub(lambda found: f"{_MARK}{ord(found[0]):04x}", text)


def original(text: str) -> str:
    """Return the text of its stored form."""
    if _MARK not in text:
        return text
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
