"""Chroma as an embedded database: HNSW over vectors, and a filter on what texts contain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import chromadb
from bench.speed.asks import Legs, UnsupportedError
from bench.speed.engines.base import WANTED, Engine
from chromadb.config import Settings

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from bench.speed.asks import Ask
    from bench.speed.corpus import Document, Question
    from bench.speed.meter import Watch

_BATCH = 500  # documents


class Chroma(Engine):
    """One collection."""

    def build(self) -> dict[str, float]:
        """Add every chunk with its given vector."""
        self._connect()
        self.chunks = self.client.create_collection(
            "chunks", embedding_function=None, metadata={"hnsw:space": "cosine"}
        )
        waiting: list[Document] = []
        for document in self.corpus.documents():
            waiting.append(document)
            if len(waiting) == _BATCH:
                self._add(waiting)
                waiting = []
        if waiting:
            self._add(waiting)
        return {}

    def _connect(self) -> None:
        self.client = chromadb.PersistentClient(
            str(self.place.folder), settings=Settings(anonymized_telemetry=False)
        )

    def _add(self, documents: list[Document]) -> None:
        rows = [(document, section) for document in documents for section in document.sections]
        self.chunks.add(
            ids=[str(section.number) for _, section in rows],
            embeddings=self.vectors[[section.number for _, section in rows]],
            documents=[f"{section.heading}\n{section.text}" for _, section in rows],
            metadatas=[
                {
                    "path": document.path,
                    "folder": "/".join(document.path.split("/")[:2]),
                    "day": document.day.toordinal() if document.day else 0,
                }
                for document, _ in rows
            ],
        )

    def open(self) -> None:
        """Open the collection."""
        self._connect()
        self.chunks = self.client.get_collection("chunks", embedding_function=None)

    def search(
        self, question: Question, vector: npt.NDArray[np.float32], ask: Ask, watch: Watch
    ) -> list[str]:
        """Search by vector: the embedded database has no ranked keyword search."""
        del watch
        if ask.legs is Legs.KEYWORD or (ask.legs is Legs.HYBRID and not ask.is_filtered):
            raise UnsupportedError("no ranked keyword search in the embedded database")
        self.require_common(ask)
        wanted: list[dict[str, object]] = []
        if ask.folder:
            wanted.append({"folder": ask.folder})
        if ask.since:
            wanted.append({"day": {"$gte": ask.since.toordinal()}})
        if ask.before:
            wanted.append({"day": {"$lt": ask.before.toordinal()}})
        found = self.chunks.query(
            query_embeddings=[vector],
            n_results=WANTED,
            where={"$and": wanted} if len(wanted) > 1 else (wanted[0] if wanted else None),
            where_document={"$contains": question.phrase} if ask.phrase else None,
            include=["documents", "metadatas", "distances"],
        )
        rows = zip(found["metadatas"][0], found["ids"][0], strict=True)
        return [f"{row['path']}#{number}" for row, number in rows]

    def update(self, document: Document) -> None:
        """Replace the chunks of a document."""
        self.remove(document)
        self._add([document])

    def remove(self, document: Document) -> None:
        """Delete the chunks of a document."""
        self.chunks.delete(ids=[str(section.number) for section in document.sections])
