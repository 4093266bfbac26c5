"""LanceDB: columns on disk, a full-text index, and vectors flat or by IVF-PQ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import lancedb
import pyarrow as pa
from bench.speed.asks import Legs, UnsupportedError
from bench.speed.engines.base import WANTED, Engine

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    import numpy.typing as npt
    from bench.speed.asks import Ask
    from bench.speed.corpus import Document, Question
    from bench.speed.meter import Watch

_BATCH = 2000  # documents


class LanceDb(Engine):
    """One table; every vector is compared, as LanceDB does without a vector index."""

    has_index = False

    def build(self) -> dict[str, float]:
        """Add all rows, then build the indexes."""
        self.database = lancedb.connect(str(self.place.folder))
        schema = pa.schema(
            [
                ("id", pa.int64()),
                ("path", pa.string()),
                ("day", pa.int32()),
                ("text", pa.string()),
                ("vector", pa.list_(pa.float32(), self.place.shape.dimensions)),
            ]
        )
        table = self.database.create_table("chunks", schema=schema)
        for rows in self._batches():
            table.add(rows)
        table.create_fts_index("text", with_position=True)
        table.create_scalar_index("path")
        table.create_scalar_index("day")
        if self.has_index:
            table.create_index(metric="cosine", index_type="IVF_PQ")
        return {}

    def _batches(self) -> Iterator[list[dict[str, object]]]:
        for first in range(0, self.place.shape.documents, _BATCH):
            end = min(first + _BATCH, self.place.shape.documents)
            yield [
                row
                for document in self.corpus.documents(first, end)
                for row in self._rows(document)
            ]

    def _rows(self, document: Document) -> list[dict[str, object]]:
        return [
            {
                "id": section.number,
                "path": document.path,
                "day": document.day.toordinal() if document.day else None,
                "text": f"{section.heading}\n{section.text}",
                "vector": self.vectors[section.number],
            }
            for section in document.sections
        ]

    def open(self) -> None:
        """Open the table."""
        self.database = lancedb.connect(str(self.place.folder))
        self.table = self.database.open_table("chunks")

    def search(
        self, question: Question, vector: npt.NDArray[np.float32], ask: Ask, watch: Watch
    ) -> list[str]:
        """Search; a hybrid query is fused by LanceDB itself."""
        del watch
        self.require_common(ask)
        if ask.phrase:
            raise UnsupportedError("a phrase replaces the question: it cannot narrow one")
        if ask.legs is Legs.KEYWORD:
            query = self.table.search(question.text, query_type="fts")
        elif ask.legs is Legs.VECTOR:
            query = self.table.search(vector, query_type="vector").distance_type("cosine")
        else:
            query = self.table.search(query_type="hybrid").vector(vector).text(question.text)
        if where := _where(ask):
            query = query.where(where)
        found = query.select(["id", "path", "text"]).limit(WANTED).to_arrow()
        return [f"{row['path']}#{row['id']}" for row in found.to_pylist()]

    def update(self, document: Document) -> None:
        """Delete and add the rows of a document, and let the indexes know them."""
        self.table.delete(f"path = '{document.path}'")
        self.table.add(self._rows(document))
        self.table.optimize()

    def remove(self, document: Document) -> None:
        """Delete the rows of a document."""
        self.table.delete(f"path = '{document.path}'")


class LanceDbIvf(LanceDb):
    """The same with the vector index that LanceDB recommends for large tables."""

    has_index = True


def _where(ask: Ask) -> str:
    parts = []
    if ask.folder:
        parts.append(f"path >= '{ask.folder}/' AND path < '{ask.folder}0'")
    if ask.since:
        parts.append(f"day >= {ask.since.toordinal()}")
    if ask.before:
        parts.append(f"day < {ask.before.toordinal()}")
    return " AND ".join(parts)
