"""The default model: real weights, real numbers."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from recollect.providers.local import LocalProvider
from recollect.providers.models.manifest import EMBEDDER
from recollect.search.nearness import word_matches
from recollect.types import Role

if TYPE_CHECKING:
    from pathlib import Path

    from recollect.types import Vectors


@pytest.fixture(scope="module")
def provider() -> LocalProvider:
    return LocalProvider(EMBEDDER, folder=None)


def documents(provider: LocalProvider, *texts: str) -> Vectors:
    return provider.embed(texts, role=Role.DOCUMENT)


def test_vectors_are_unit_float32_of_the_models_dimensions(provider: LocalProvider) -> None:
    vectors = documents(provider, "a cat", "a dog on the sofa", "")

    assert ((3, 384), "float32") == (vectors.shape, str(vectors.dtype))
    assert [1.0, 1.0, 1.0] == pytest.approx(np.linalg.norm(vectors, axis=1).tolist(), abs=1e-5)


def test_no_text_gives_no_vector(provider: LocalProvider) -> None:
    assert (0, 384) == documents(provider).shape


def test_a_vector_does_not_depend_on_its_neighbours(provider: LocalProvider) -> None:
    alone = documents(provider, "The ferry leaves at nine.")
    among = documents(provider, "x", "The ferry leaves at nine.", "a much longer text " * 40)

    assert (alone[0] == among[1]).all()


def test_vectors_are_the_same_with_and_without_word_codes(provider: LocalProvider) -> None:
    texts = ["The ferry leaves at nine, the ferry.", "a longer text " * 400, "of the", ""]

    vectors, words = provider.embed_worded(texts)

    assert (documents(provider, *texts) == vectors).all()
    # "The", "at" and the full stop say nothing, if there is anything else.
    assert [3, 2, 2, 1] == [len(codes) / 48 for codes in words]


def test_a_question_is_read_word_by_word(provider: LocalProvider) -> None:
    question = provider.embed_question("When does the ferryboat leave?")
    vector, asked = question.vector, question.words
    assert asked is not None

    assert (provider.embed(["When does the ferryboat leave?"], role=Role.QUERY)[0] == vector).all()
    assert ("when", "does", "the", "ferryboat", "ferryboat", "leave", "?") == asked.words
    lengths = np.linalg.norm(asked.states, axis=1)
    assert [1.0] * 7 == pytest.approx(lengths.tolist(), abs=1e-5)


def test_the_codes_of_words_match_the_words_that_mean_the_same(provider: LocalProvider) -> None:
    asked = provider.embed_question("When does the boat leave?").words
    assert asked is not None
    weights = np.array([word in ("boat", "leave") for word in asked.words]) / 2
    notes = ["The ferry departs at nine from the pier.", "Mika is allergic to peanuts."]

    _, codes = provider.embed_worded(notes)

    ferry, peanuts = word_matches(asked, weights, codes)
    assert ferry > peanuts + 0.1


def test_a_question_is_nearest_to_the_text_that_answers_it(provider: LocalProvider) -> None:
    notes = documents(
        provider,
        "The ferry leaves at nine from pier four.",
        "Mika is allergic to peanuts.",
        "The backup runs every night on the server in the cellar.",
    )
    questions = provider.embed(
        ["when does the boat depart", "which food is dangerous", "is my data safe"],
        role=Role.QUERY,
    )

    assert [0, 1, 2] == (questions @ notes.T).argmax(axis=1).tolist()


def test_queries_and_documents_are_embedded_differently(provider: LocalProvider) -> None:
    as_query = provider.embed(["the ferry"], role=Role.QUERY)[0]
    as_document = documents(provider, "the ferry")[0]

    assert as_query @ as_document < 0.95


def test_the_end_of_a_text_beyond_the_models_input_still_counts(provider: LocalProvider) -> None:
    filler = "The weather was mild and the roads were dry that week. " * 60
    plain, with_end = documents(provider, filler, filler + "Peanuts nearly killed Mika. " * 10)
    question = provider.embed(["which food is dangerous for Mika"], role=Role.QUERY)[0]

    assert question @ with_end > question @ plain + 0.02


def test_the_fingerprint_is_known_before_anything_is_loaded() -> None:
    provider = LocalProvider(EMBEDDER, folder=None)

    assert "local/recollect-embedder/384/86f1b67c99f3" == str(provider.fingerprint)


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("plain English", 1.0),
        ("数据库", 0.0),
        ("Größe", 1.0),
        ("ab 数据", 0.5),
        ("4711!", 1.0),
        ('"数据库" 2026', 0.0),
    ],
)
def test_the_model_reads_latin_letters(provider: LocalProvider, text: str, share: float) -> None:
    assert share == provider.reads(text)


def test_a_closed_provider_loads_again_when_asked(provider: LocalProvider) -> None:
    before = documents(provider, "a cat")
    provider.close()

    assert (before == documents(provider, "a cat")).all()


def test_the_runtime_reports_nothing_to_its_maker(tmp_path: Path) -> None:
    code = (
        "from recollect.providers.local import LocalProvider\n"
        "from recollect.providers.models.manifest import EMBEDDER\n"
        "from recollect.types import Role\n"
        "provider = LocalProvider(EMBEDDER, folder=None)\n"
        "provider.embed(['ping'], role=Role.QUERY)\n"
    )
    environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}

    subprocess.run([sys.executable, "-c", code], env=environ, check=True)

    assert [] == list(tmp_path.iterdir())
