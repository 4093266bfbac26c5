"""The vector leg with one wording of a question, and with several."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.support.notes import put_document

from recollect.errors import ProviderBusyError
from recollect.providers.base import EmbeddedQuestion, Limits, QuestionWords
from recollect.search.answer import search
from recollect.search.embed import embed_question
from recollect.search.interpret import Question, term_question
from recollect.search.options import SearchOptions
from recollect.search.propose import retrieve
from recollect.search.scores import VECTOR, VectorScores
from recollect.search.weigh import weigh
from recollect.stores.ram import RamStore
from recollect.types import (
    Background,
    Chunk,
    Document,
    Fingerprint,
    Query,
    SourceKind,
    Stat,
    digest_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.types import Role, Vectors

SPACE = Fingerprint("test", "compass", 4, "plain")
NORTH, EAST, SOUTH, UP = np.eye(4, dtype=np.float32)
VECTORS = {"question": NORTH, "reworded": EAST, "again": SOUTH, "一": UP}
"""Texts of questions; each has a direction of its own."""


@dataclass
class Compass:
    """A provider that knows the vectors of a few texts."""

    fingerprint: Fingerprint = SPACE
    background: Background | None = field(default_factory=lambda: Background(0.0, 0.1))
    limits: Limits = field(default_factory=lambda: Limits(10, 1000, 1))
    asked: list[list[str]] = field(default_factory=list)

    def reads(self, text: str) -> float:
        return float(text.isascii())

    def prepare(self) -> None:
        pass

    def embed(self, texts: Sequence[str], *, role: Role) -> Vectors:
        assert "query" == role
        self.asked.append(list(texts))
        return np.stack([VECTORS[text] for text in texts])

    def close(self) -> None:
        """Hold nothing."""


def stored(**vectors: Sequence[float]) -> RamStore:
    """Return a store with a chunk for each name, of the cosines given to the four directions."""
    store = RamStore()
    for path, cosines in vectors.items():
        document = Document(
            path, SourceKind.MEMORY, path, digest_of(path.encode()), Stat(1, 1), None
        )
        put_document(store, document, [Chunk(path, SourceKind.MEMORY, 1, 1, path)], recipe="r1")
        store.put_vectors(
            SPACE,
            digests=[digest_of(path.encode())],
            vectors=np.array([cosines], dtype=np.float32),
        )
    return store


def raw(store: RamStore, provider: Compass, *rewordings: str, pool: int = 10) -> dict[str, float]:
    """Return what the vector leg says of each chunk it proposes, the best first."""
    query = Query("question", max_results=5, rewordings=rewordings)
    question = Question(query, term_question(query.text))
    asked = embed_question(query, provider)
    evidence = weigh(retrieve(question, store=store, asked=asked, limit=pool), store=store)
    numbers = zip(evidence.loaded.chunks, evidence.legs[VECTOR].raw, strict=True)
    return {chunk.path: round(float(number), 6) for chunk, number in numbers}


def test_one_wording_counts_as_it_is() -> None:
    store = stored(a=(0.6, 0.8, 0, 0))

    assert {"a": 0.6} == raw(store, Compass())


def test_of_several_wordings_the_mean_of_the_two_nearest_counts() -> None:
    store = stored(a=(0.6, 0.8, 0, 0), b=(0, 0.6, 0.8, 0), c=(1, 0, 0, 0))

    expected = {"a": (0.6 + 0.8) / 2, "b": (0.6 + 0.8) / 2, "c": (1 + 0) / 2}
    assert expected == raw(store, Compass(), "reworded", "again")


def test_what_only_a_rewording_is_near_to_is_proposed_within_the_same_limit() -> None:
    store = stored(a=(1, 0, 0, 0), b=(0, 1, 0, 0), c=(0.6, 0, 0, 0.8), d=(0, 0.6, 0, 0.8))

    assert {"a", "b"} == set(raw(store, Compass(), "reworded", pool=2))


def test_all_wordings_that_the_model_reads_are_embedded_in_one_request() -> None:
    provider = Compass()
    raw(stored(a=(1, 0, 0, 0)), provider, "reworded", "一")

    assert [["question", "reworded"]] == provider.asked


@dataclass
class Reader(Compass):
    """A compass that reads words, too: each points north."""

    word_background: Background | None = field(default_factory=lambda: Background(0.0, 0.1))
    question_background: Background | None = None

    def embed_worded(self, texts: Sequence[str]) -> tuple[Vectors, list[bytes]]:
        raise NotImplementedError

    def embed_question(self, text: str) -> EmbeddedQuestion:
        words = QuestionWords((text,), VECTORS[text][np.newaxis])
        return EmbeddedQuestion(VECTORS[text], words, self.question_background)

    def embed(self, texts: Sequence[str], *, role: Role) -> Vectors:
        assert "query" == role
        return np.array([VECTORS[text] for text in texts], dtype=np.float32).reshape(-1, 4)


def compared(store: RamStore, provider: Compass) -> list[float] | None:
    """Return how well the words of each chunk match, if they are compared."""
    query = Query("question", max_results=5)
    question = Question(query, term_question(query.text))
    asked = embed_question(query, provider)
    pools = retrieve(question, store=store, asked=asked, limit=10)
    leg = weigh(pools, store=store).legs[VECTOR]
    assert isinstance(leg, VectorScores)
    return None if leg.words is None else leg.words.tolist()


def test_words_are_compared_where_a_candidate_has_codes() -> None:
    store = stored(a=(0.6, 0.8, 0, 0), b=(0.8, 0.6, 0, 0), foreign=(0.8, 0.6, 0, 0))
    provider = Reader()
    assert compared(store, provider) is None

    digests = [digest_of(path.encode()) for path in ("a", "b", "foreign")]
    vectors = np.array([(1, 0, 0, 0)] * 3, dtype=np.float32)
    store.put_vectors(SPACE, digests=digests, vectors=vectors, words=[b"\x80", b"\x00", b""])

    scale = math.sqrt(math.pi / 8)
    assert [scale, -scale, math.nan] == pytest.approx(compared(store, provider), nan_ok=True)
    assert compared(store, Compass()) is None


def test_a_question_in_another_language_has_its_own_background() -> None:
    store, query = stored(a=(1, 0, 0, 0)), Query("question", max_results=5)
    question = Question(query, term_question(query.text))
    own = Background(0.4, 0.2)

    backgrounds = [
        retrieve(question, store=store, asked=embed_question(query, provider), limit=10).near
        for provider in (Reader(), Reader(question_background=own))
    ]

    assert [Background(0.0, 0.1), own] == [near and near.background for near in backgrounds]


def test_a_provider_that_fails_is_not_asked_again_when_single_characters_are_looked_up() -> None:
    class Silent(Compass):
        def reads(self, text: str) -> float:
            return float(bool(text))

        def embed(self, texts: Sequence[str], *, role: Role) -> Vectors:
            self.asked.append([*texts, role])
            raise ProviderBusyError("It does not answer.", action="Ask again later.")

    provider, store = Silent(), RamStore()
    for path, text in (("cat", "猫的名字叫墨墨"), ("key", "备用钥匙")):
        document = Document(
            path, SourceKind.MEMORY, text, digest_of(text.encode()), Stat(1, 1), None
        )
        put_document(store, document, [Chunk(path, SourceKind.MEMORY, 1, 1, text)], recipe="r1")

    query = Query("猫叫什么", max_results=6)
    results = search(
        query,
        store=store,
        asked=embed_question(query, provider),
        options=SearchOptions(),
        today=date(2026, 2, 1),
    )

    assert ["cat"] == [hit.path for hit in results.hits]
    assert 1 == len(provider.asked)
