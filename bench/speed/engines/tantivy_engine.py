"""Tantivy: Lucene's design in Rust. Keyword search only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tantivy
from bench.speed.asks import Legs, UnsupportedError
from bench.speed.engines.base import WANTED, Engine

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from bench.speed.asks import Ask
    from bench.speed.corpus import Document, Question
    from bench.speed.meter import Watch

_HEAP = 200_000_000


class Tantivy(Engine):
    """One index of texts, paths and days."""

    def build(self) -> dict[str, float]:
        """Add every chunk, commit once."""
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("id", stored=True, tokenizer_name="raw")
        builder.add_text_field("path", stored=True, tokenizer_name="raw")
        builder.add_text_field("folder", tokenizer_name="raw")
        builder.add_integer_field("day", indexed=True, fast=True)
        builder.add_text_field("text", stored=True, tokenizer_name="en_stem")
        index = tantivy.Index(builder.build(), path=str(self.place.folder))
        writer = index.writer(heap_size=_HEAP, num_threads=1)
        for document in self.corpus.documents():
            _add(writer, document)
        writer.commit()
        writer.wait_merging_threads()
        return {}

    def open(self) -> None:
        """Open the index."""
        self.index = tantivy.Index.open(str(self.place.folder))
        self.schema = self.index.schema
        self.searcher = self.index.searcher()
        self.writer = None

    def search(
        self, question: Question, vector: npt.NDArray[np.float32], ask: Ask, watch: Watch
    ) -> list[str]:
        """Search all words, any of them."""
        del vector, watch
        if ask.legs is Legs.VECTOR:
            raise UnsupportedError("has no vectors")
        if ask.legs is Legs.HYBRID and not ask.is_filtered:
            raise UnsupportedError("has no vectors")
        self.require_common(ask)
        parts = [self.index.parse_query(question.text, ["text"])]
        if ask.phrase:
            parts.append(self.index.parse_query(f'"{question.phrase}"', ["text"]))
        if ask.folder:
            parts.append(tantivy.Query.term_query(self.schema, "folder", ask.folder))
        if ask.since and ask.before:
            parts.append(
                tantivy.Query.range_query(
                    self.schema,
                    "day",
                    tantivy.FieldType.Integer,
                    ask.since.toordinal(),
                    ask.before.toordinal(),
                    include_upper=False,
                )
            )
        query = tantivy.Query.boolean_query([(tantivy.Occur.Must, each) for each in parts])
        found = self.searcher.search(query, WANTED, count=False).hits
        documents = [self.searcher.doc(address) for _, address in found]
        return [f"{each['path'][0]}#{each['id'][0]}" for each in documents]

    def _write(self, document: Document, *, also_add: bool) -> None:
        if self.writer is None:
            self.writer = self.index.writer(heap_size=_HEAP, num_threads=1)
        self.writer.delete_documents_by_term("path", document.path)
        if also_add:
            _add(self.writer, document)
        self.writer.commit()
        self.index.reload()
        self.searcher = self.index.searcher()

    def update(self, document: Document) -> None:
        """Replace and commit."""
        self._write(document, also_add=True)

    def remove(self, document: Document) -> None:
        """Delete and commit."""
        self._write(document, also_add=False)


def _add(writer: tantivy.IndexWriter, document: Document) -> None:
    folder = "/".join(document.path.split("/")[:2])
    for section in document.sections:
        made = tantivy.Document()
        made.add_text("id", str(section.number))
        made.add_text("path", document.path)
        made.add_text("folder", folder)
        if document.day:
            made.add_integer("day", document.day.toordinal())
        made.add_text("text", f"{section.heading}\n{section.text}")
        writer.add_document(made)
