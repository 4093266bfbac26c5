"""The two default models together: texts in any language in one space, by the real weights."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pytest

from recollect.errors import ModelUnavailableError
from recollect.providers import local
from recollect.providers.local import LocalProvider, open_local
from recollect.providers.models import files
from recollect.providers.models.manifest import EMBEDDER, MULTILINGUAL
from recollect.providers.options import ProviderOptions
from recollect.types import Role

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from recollect.providers.models.manifest import Manifest
    from recollect.types import Vectors

NOTES = (
    "The ferry to the island leaves at nine in the morning from pier four.",
    "Mika is allergic to peanuts and always carries a syringe.",
    "Every night the server copies all files to a disk in the cellar.",
)
ANSWERED = {
    "Russian about English": (
        NOTES,
        ("Когда отходит паром?", "На что у Мики аллергия?", "Куда копируются файлы?"),
    ),
    "Chinese about English": (
        NOTES,
        ("去岛上的渡轮几点开?", "米卡对什么食物过敏?", "文件备份到哪里?"),
    ),
    "German about English": (
        NOTES,
        ("Wann fährt die Fähre ab?", "Was darf Mika nicht essen?", "Wo sind die Sicherungen?"),
    ),
    "English about Chinese": (
        (
            "去岛上的渡轮早上九点从四号码头出发。",
            "米卡对花生过敏, 总是随身带着针剂。",
            "服务器每天晚上把所有文件复制到地下室的硬盘上。",
        ),
        ("When does the boat depart?", "Which food is dangerous for Mika?", "Are there backups?"),
    ),
}
LONG = "Погода была мягкой, а дороги на той неделе сухими. " * 100
"""More than one input of the model."""


@pytest.fixture(scope="module")
def provider() -> LocalProvider:
    return LocalProvider(EMBEDDER, folder=None, others=MULTILINGUAL)


def documents(provider: LocalProvider, *texts: str) -> Vectors:
    return provider.embed(texts, role=Role.DOCUMENT)


def test_both_models_are_in_the_fingerprint(provider: LocalProvider) -> None:
    identity = f"{EMBEDDER.files[0].sha256[:12]}-{MULTILINGUAL.files[0].sha256[:12]}"

    assert f"local/recollect-embedder/384/{identity}" == str(provider.fingerprint)
    assert provider.fingerprint == open_local(ProviderOptions()).fingerprint


def test_english_is_embedded_as_without_the_other_model(provider: LocalProvider) -> None:
    alone = LocalProvider(EMBEDDER, folder=None)

    vectors = documents(provider, NOTES[0], "米卡对花生过敏", NOTES[1])

    assert (documents(alone, *NOTES[:2]) == vectors[[0, 2]]).all()


@pytest.mark.parametrize("languages", ANSWERED)
def test_a_question_finds_its_answer_in_another_language(
    provider: LocalProvider, languages: str
) -> None:
    notes, questions = ANSWERED[languages]
    asked = provider.embed(questions, role=Role.QUERY)

    assert [0, 1, 2] == (asked @ documents(provider, *notes).T).argmax(axis=1).tolist()


def test_only_texts_and_questions_in_english_have_words(provider: LocalProvider) -> None:
    _, codes = provider.embed_worded(["the ferry leaves at nine", "паром отходит в девять"])
    english = provider.embed_question("When does the ferry leave?")
    russian = provider.embed_question("Когда отходит паром?")

    assert [True, False] == [bool(each) for each in codes]
    assert english.words is not None
    assert russian.words is None
    assert [EMBEDDER.background, MULTILINGUAL.background] == [
        english.background,
        russian.background,
    ]


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("plain English", 1.0),
        ("Größe und Gewicht", 1.0),
        ("数据库", 1.0),
        ("the database 数据", 11 / 13),
    ],
)
def test_every_language_is_read_and_foreign_letters_in_english_are_not(
    provider: LocalProvider, text: str, share: float
) -> None:
    assert share == pytest.approx(provider.reads(text))


@pytest.mark.parametrize(
    "text",
    ["\ufdfa" * 100, "数据 \ud800 half a pair", "数据\0库", "數" * 20_000],
    ids=["growing letters", "surrogate", "nul", "long"],
)
def test_any_text_gets_a_vector(provider: LocalProvider, text: str) -> None:
    vector = documents(provider, text)[0]

    assert 1.0 == pytest.approx(float(np.linalg.norm(vector)), abs=1e-5)


def test_a_vector_does_not_depend_on_its_neighbours(provider: LocalProvider) -> None:
    alone = documents(provider, "паром отходит в девять")
    among = documents(provider, "数据", "паром отходит в девять", LONG, NOTES[0])

    assert (alone[0] == among[1]).all()


def test_the_end_of_a_text_beyond_the_models_input_still_counts(provider: LocalProvider) -> None:
    plain, with_end = documents(provider, LONG, LONG + "Арахис чуть не убил Мику. " * 30)

    assert plain @ with_end < 0.999


def test_several_threads_may_ask_at_once(provider: LocalProvider) -> None:
    texts = [f"заметка номер {number}" for number in range(8)]
    expected = documents(provider, *texts)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: documents(provider, text)[0], texts))

    assert (expected == np.stack(found)).all()


def test_a_missing_file_is_named_when_a_text_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(manifest: Manifest, folder: Path | None) -> Mapping[str, bytes]:
        if manifest is MULTILINGUAL:
            raise ModelUnavailableError("It is not there.", action="Install it.")
        return files.read_model(manifest, folder)

    monkeypatch.setattr(local, "read_model", lost)
    provider = LocalProvider(EMBEDDER, folder=None, others=MULTILINGUAL)

    assert 1 == len(documents(provider, NOTES[0]))
    with pytest.raises(ModelUnavailableError, match="not there"):
        documents(provider, "паром")


def test_a_closed_provider_loads_again_when_asked(provider: LocalProvider) -> None:
    before = documents(provider, "кот")
    provider.close()

    assert (before == documents(provider, "кот")).all()
