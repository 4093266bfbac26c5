"""SQLite against RAM under any sequence of puts, drops, vectors and reopenings."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.support.contents import segment_terms
from tests.support.notes import drop_document, keyword_pool, put_document, vector_pool

from recollect.stores.base import SpaceTexts
from recollect.stores.ram import RamStore
from recollect.stores.sqlite import SqliteStore, seal
from recollect.stores.sqlite.scan import NumpyScan
from recollect.types import Chunk, Document, Fingerprint, Scope, SourceKind, Stat, digest_of

if TYPE_CHECKING:
    from recollect.stores.base import Store

SPACE = Fingerprint("test", "machine", 16, "plain")
WORDS = ("apple", "banana", "cherry", "数据库", "TCK-1", "東京", "🦔", "o'clock")
PATHS = st.sampled_from([f"memory/{name}.md" for name in "abcd"])
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)


def vector_of(digest: str) -> np.ndarray:
    seed = int(digest[:8], 16)
    vector = np.random.default_rng(seed).standard_normal(16).astype(np.float32)
    return vector / np.linalg.norm(vector)


class StoreMachine(RuleBasedStateMachine):
    """Every rule is done to both; every invariant asks both."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.sizes = seal.SIZES
        seal.SIZES = seal.Sizes(tail=2, tiers=(4, 6, 8))
        self.ram = RamStore()
        self.sqlite = self.opened()

    def opened(self) -> SqliteStore:
        return SqliteStore.open(self.folder / "index.sqlite", engine=NumpyScan(exact_limit=3))

    @property
    def stores(self) -> tuple[Store, Store]:
        return self.ram, self.sqlite

    @rule(path=PATHS, texts=st.lists(TEXTS, max_size=4))
    def put(self, path: str, texts: list[str]) -> None:
        whole = "\n".join(texts)
        document = Document(
            path, SourceKind.MEMORY, whole, digest_of(whole.encode()), Stat(len(whole), 7), None
        )
        chunks = [
            Chunk(path, SourceKind.MEMORY, line, line, text)
            for line, text in enumerate(texts, start=1)
        ]
        for store in self.stores:
            put_document(store, document, chunks, recipe="r")

    @rule(path=PATHS)
    def drop(self, path: str) -> None:
        for store in self.stores:
            drop_document(store, path)

    @rule(limit=st.integers(1, 5))
    def embed(self, limit: int) -> None:
        for store in self.stores:
            missing = store.missing(SpaceTexts(SPACE), limit=limit)
            if missing:
                digests = sorted(each.digest for each in missing)
                vectors = np.stack([vector_of(digest) for digest in digests])
                store.put_vectors(SPACE, digests=digests, vectors=vectors)

    @rule()
    def embed_everything(self) -> None:
        self.embed(1000)

    @rule()
    def reopen(self) -> None:
        self.sqlite.close()
        self.sqlite = self.opened()

    @invariant()
    def documents_are_the_same(self) -> None:
        assert self.ram.known() == self.sqlite.known()

    @invariant()
    def the_overview_is_the_same(self) -> None:
        ram, sqlite = (
            (
                store.holds(),
                store.documents(Scope(), limit=100, offset=0),
                store.days(Scope()),
                len(store.embedded(SPACE, scope=Scope())),
                store.status(SpaceTexts(SPACE)).pending,
            )
            for store in self.stores
        )
        assert ram == sqlite

    @invariant()
    def the_same_texts_are_missing(self) -> None:
        ram, sqlite = (
            (
                store.coverage(SpaceTexts(SPACE)),
                {each.digest for each in store.missing(SpaceTexts(SPACE), limit=1000)},
            )
            for store in self.stores
        )
        assert ram == sqlite

    @invariant()
    def terms_find_the_same_chunks(self) -> None:
        for term in ("appl", "数据", "tck-1", "東京", "🦔"):
            ram, sqlite = (
                keyword_pool(store, [term], scope=Scope(), limit=100) for store in self.stores
            )
            assert ram.corpus == sqlite.corpus
            assert self.shown(self.ram, ram.keys) == self.shown(self.sqlite, sqlite.keys)

    @invariant()
    def the_best_are_the_same_in_the_same_order(self) -> None:
        terms = ["appl", "banana", "tck-1", "東京"]
        ram, sqlite = (
            keyword_pool(
                store, terms, scope=Scope(path="memory/[abc].md"), limit=3, stop=["banana"]
            )
            for store in self.stores
        )
        assert self.numbered(self.ram, ram.keys) == self.numbered(self.sqlite, sqlite.keys)

    @invariant()
    def no_term_or_vector_is_left_without_its_chunk(self) -> None:
        connection = self.sqlite._connection
        keys = {key for (key,) in connection.execute("SELECT id FROM chunks")}
        last = connection.execute("SELECT ifnull(max(last), 0) FROM segments").get
        assert {key for key in keys if key <= last} == segment_terms(connection).keys()
        assert len(keys) == self.sqlite.status(None).chunks
        assert [] == self.sqlite.check()

    @rule()
    def vectors_find_the_same_chunks(self) -> None:
        self.embed_everything()
        ram, sqlite = (
            vector_pool(store, SPACE, vector=vector_of("00000005"), scope=Scope(), limit=4)
            for store in self.stores
        )
        assert [round(cosine, 5) for cosine in ram.cosines] == [
            round(cosine, 5) for cosine in sqlite.cosines
        ]

    @staticmethod
    def numbered(store: Store, keys: object) -> list[tuple[str, int]]:
        loaded = store.load(keys, terms=[], fingerprint=None)  # type: ignore[arg-type]
        return [(chunk.path, chunk.start_line) for chunk in loaded.chunks]

    @staticmethod
    def shown(store: Store, keys: object) -> list[tuple[str, int, str]]:
        loaded = store.load(keys, terms=[], fingerprint=None)  # type: ignore[arg-type]
        return sorted((chunk.path, chunk.start_line, chunk.text) for chunk in loaded.chunks)

    def teardown(self) -> None:
        seal.SIZES = self.sizes
        self.sqlite.close()
        shutil.rmtree(self.folder)


TestStoreMachine = StoreMachine.TestCase
TestStoreMachine.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
