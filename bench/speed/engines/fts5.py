"""Plain FTS5 and sqlite-vec: what a few dozen lines of SQL give."""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw
import sqlite_vec
from bench.speed.asks import Legs
from bench.speed.corpus import SECTIONS
from bench.speed.engines.base import WANTED, Engine, fuse

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from bench.speed.asks import Ask
    from bench.speed.corpus import Document, Question
    from bench.speed.meter import Watch

_SCHEMA = """
CREATE TABLE chunks (id INTEGER PRIMARY KEY, path TEXT, day TEXT, text TEXT);
CREATE INDEX chunks_path ON chunks (path);
CREATE INDEX chunks_day ON chunks (day);
CREATE VIRTUAL TABLE words USING fts5 (text, content=chunks, content_rowid=id, tokenize='porter');
CREATE VIRTUAL TABLE vectors USING vec0 (
    id INTEGER PRIMARY KEY, embedding float[{dimensions}] distance_metric=cosine
);
"""
_PER_TRANSACTION = 1000  # documents


class Fts5(Engine):
    """One file, three tables."""

    connection: apsw.Connection

    def build(self) -> dict[str, float]:
        """Insert everything."""
        self.open()
        self.connection.execute(_SCHEMA.format(dimensions=self.place.shape.dimensions))
        for first in range(0, self.place.shape.documents, _PER_TRANSACTION):
            with self.connection:
                end = min(first + _PER_TRANSACTION, self.place.shape.documents)
                for document in self.corpus.documents(first, end):
                    self._insert(document)
        self.close()
        return {}

    def open(self) -> None:
        """Open the file."""
        self.connection = apsw.Connection(str(self.place.folder / "index.sqlite"))
        self.connection.enable_load_extension(True)
        self.connection.load_extension(sqlite_vec.loadable_path())
        self.connection.execute("PRAGMA journal_mode = wal; PRAGMA synchronous = normal")

    def _insert(self, document: Document) -> None:
        day = str(document.day) if document.day else None
        rows = [(each.number, f"{each.heading}\n{each.text}") for each in document.sections]
        execute = self.connection.executemany
        execute(
            "INSERT INTO chunks VALUES (?, ?, ?, ?)",
            [(number, document.path, day, text) for number, text in rows],
        )
        execute("INSERT INTO words (rowid, text) VALUES (?, ?)", rows)
        execute(
            "INSERT INTO vectors VALUES (?, ?)",
            [(number, self.vectors[number].tobytes()) for number, _ in rows],
        )

    def search(
        self, question: Question, vector: npt.NDArray[np.float32], ask: Ask, watch: Watch
    ) -> list[str]:
        """Search both tables; the ranks are fused."""
        del watch
        self.require_common(ask)
        rankings = []
        if ask.legs is not Legs.VECTOR:
            rankings.append(self._by_words(question, ask))
        if ask.legs is not Legs.KEYWORD:
            rankings.append(self._by_vector(question, vector, ask))
        return fuse(*rankings)

    def _by_words(self, question: Question, ask: Ask) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in question.text.split())
        if ask.phrase:
            words = f'"{question.phrase}" AND ({words} OR "{question.phrase}")'
        where, given = _where(ask)
        rows = self.connection.execute(
            "SELECT c.id, c.path, c.text FROM words JOIN chunks c ON c.id = words.rowid"
            f" WHERE words MATCH ? {where} ORDER BY bm25(words) LIMIT ?",
            (words, *given, WANTED),
        )
        return [f"{path}#{number}" for number, path, _ in rows]

    def _by_vector(
        self, question: Question, vector: npt.NDArray[np.float32], ask: Ask
    ) -> list[str]:
        where, given = _where(ask)
        if ask.phrase:
            where += " AND c.id IN (SELECT rowid FROM words WHERE words MATCH ?)"
            given = (*given, f'"{question.phrase}"')
        if where:
            where = f"AND v.id IN (SELECT c.id FROM chunks c WHERE 1 {where})"
        query = (
            "SELECT v.id, c.path, c.text FROM vectors v JOIN chunks c ON c.id = v.id"
            f" WHERE v.embedding MATCH ? AND k = ? {where} ORDER BY v.distance"
        )
        rows = self.connection.execute(query, (vector.tobytes(), WANTED, *given))
        return [f"{path}#{number}" for number, path, _ in rows]

    def update(self, document: Document) -> None:
        """Replace the rows of a document, in one transaction."""
        with self.connection:
            self._delete(document)
            self._insert(document)

    def remove(self, document: Document) -> None:
        """Delete the rows of a document."""
        with self.connection:
            self._delete(document)

    def _delete(self, document: Document) -> None:
        first = document.number * SECTIONS
        span = (first, first + SECTIONS)
        execute = self.connection.execute
        execute(
            "INSERT INTO words (words, rowid, text)"
            " SELECT 'delete', id, text FROM chunks WHERE id >= ? AND id < ?",
            span,
        )
        for number in range(*span):
            execute("DELETE FROM vectors WHERE id = ?", (number,))
        execute("DELETE FROM chunks WHERE id >= ? AND id < ?", span)

    def close(self) -> None:
        """Close the file."""
        self.connection.close()


def _where(ask: Ask) -> tuple[str, tuple[object, ...]]:
    where, given = "", []
    if ask.folder:
        where += " AND c.path >= ? AND c.path < ?"
        given += [f"{ask.folder}/", f"{ask.folder}0"]  # 0 follows /
    if ask.since:
        where += " AND c.day >= ?"
        given.append(str(ask.since))
    if ask.before:
        where += " AND c.day < ?"
        given.append(str(ask.before))
    return where, tuple(given)
