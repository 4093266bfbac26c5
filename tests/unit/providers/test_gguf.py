"""A real GGUF model through llama.cpp."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.support.waiting import PATIENCE_SECONDS

from recollect.errors import ModelUnavailableError, ProviderSetupError
from recollect.providers.gguf import GgufProvider, open_gguf
from recollect.types import Role

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recollect.types import Vectors


def opened(path: Path) -> GgufProvider:
    return open_gguf(path)


@pytest.fixture(scope="module")
def provider(gguf_file: Path) -> Iterator[GgufProvider]:
    provider = opened(gguf_file)
    yield provider
    provider.close()


def documents(provider: GgufProvider, *texts: str) -> Vectors:
    return provider.embed(texts, role=Role.DOCUMENT)


def test_vectors_are_unit_float32_of_the_models_dimensions(provider: GgufProvider) -> None:
    vectors = documents(provider, "a cat", "a dog on the sofa", "", "数据库")

    assert ((4, 384), "float32") == (vectors.shape, str(vectors.dtype))
    assert [1.0] * 4 == pytest.approx(np.linalg.norm(vectors, axis=1).tolist(), abs=1e-5)


def test_no_text_gives_no_vector(provider: GgufProvider) -> None:
    assert (0, 384) == documents(provider).shape


def test_a_vector_does_not_depend_on_its_neighbours(provider: GgufProvider) -> None:
    alone = documents(provider, "The ferry leaves at nine.")
    among = documents(
        provider, "The ferry leaves", "The ferry leaves at nine.", "a much longer text " * 40
    )

    assert (alone[0] == among[1]).all()


def test_a_model_loaded_twice_gives_the_same_vectors(
    provider: GgufProvider, gguf_file: Path
) -> None:
    again = opened(gguf_file)
    before, after = documents(provider, "a cat"), documents(again, "a cat")
    again.close()

    assert before[0] @ after[0] > 0.9999


def test_a_question_is_nearest_to_the_text_that_answers_it(provider: GgufProvider) -> None:
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


def test_related_texts_are_nearer_than_unrelated_ones(provider: GgufProvider) -> None:
    cat, kitten, invoice = documents(
        provider, "The cat sleeps on the sofa.", "A kitten naps on the couch.", "Invoice is due."
    )

    assert cat @ kitten > cat @ invoice + 0.3


def test_the_end_of_a_text_beyond_the_models_context_still_counts(provider: GgufProvider) -> None:
    filler = "The weather was mild and the roads were dry that week. " * 60
    plain, with_end = documents(provider, filler, filler + "Peanuts nearly killed Mika. " * 10)
    question = provider.embed(["which food is dangerous for Mika"], role=Role.QUERY)[0]

    assert question @ with_end > question @ plain + 0.02


@pytest.mark.parametrize(
    "text",
    ["word " * 1_200, "x1!" * 400, "数据库" * 400, "\ud800 half a pair", "a\0b", "\n" * 5_000],
    ids=["long", "without spaces", "Chinese", "surrogate", "NUL", "blank"],
)
def test_any_text_gets_a_vector(provider: GgufProvider, text: str) -> None:
    vector = documents(provider, text)[0]

    assert 1.0 == pytest.approx(float(np.linalg.norm(vector)), abs=1e-5)


def test_several_threads_may_ask_at_once(provider: GgufProvider) -> None:
    texts = [f"note number {number}" for number in range(12)]
    expected = documents(provider, *texts)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: documents(provider, text)[0], texts))

    assert (expected == np.stack(found)).all()


def test_a_closed_provider_loads_again_when_asked(gguf_file: Path) -> None:
    provider = opened(gguf_file)
    before = documents(provider, "a cat")
    provider.close()
    provider.close()

    assert (before == documents(provider, "a cat")).all()

    provider.close()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts by Linux's /proc")
def test_opening_and_closing_leaves_no_thread_and_no_descriptor(gguf_file: Path) -> None:
    def cycle() -> None:
        provider = opened(gguf_file)
        documents(provider, "a cat")
        provider.close()

    def held() -> list[int]:
        return [len(list(Path("/proc/self", kind).iterdir())) for kind in ("task", "fd")]

    def has_grown() -> bool:
        return any(now > then for now, then in zip(held(), before, strict=True))

    cycle()
    before = held()
    for _ in range(20):
        cycle()
    # A thread that has ended is listed for another moment.
    pause = threading.Event()
    for _ in range(50):
        if not has_grown():
            break
        pause.wait(0.1)

    assert not has_grown()


def test_nobody_can_ask_the_server_inside(provider: GgufProvider) -> None:
    documents(provider, "load it")
    host, _, port = provider._server.listening_address.removeprefix("http://").partition(":")

    for path in ("/v1/embeddings", "/tokenize", "/props", "/completion"):
        connection = http.client.HTTPConnection(host, int(port), timeout=PATIENCE_SECONDS)
        connection.request("POST", path, body=b'{"input": "x"}')
        status = connection.getresponse().status
        connection.close()

        assert ("127.0.0.1", 401) == (host, status)


def test_nothing_is_printed_and_nothing_is_loaded_for_a_fingerprint(
    gguf_file: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(gguf_file.read_bytes()[:10_000_000])
    code = (
        "import sys, pathlib\n"
        "from recollect.errors import ModelUnavailableError\n"
        "from recollect.providers.gguf import open_gguf\n"
        "from recollect.types import Role\n"
        "def opened(path):\n"
        "    return open_gguf(pathlib.Path(path))\n"
        "provider = opened(sys.argv[1])\n"
        "assert provider.fingerprint.dimensions == 384\n"
        "assert 'xllamacpp' not in sys.modules\n"
        "provider.embed(['ping', 'word ' * 2000], role=Role.QUERY)\n"
        "try:\n"
        "    opened(sys.argv[2]).embed(['ping'], role=Role.QUERY)\n"
        "except ModelUnavailableError as error:\n"
        "    assert 'cannot load' in error.message, error.message\n"
        "else:\n"
        "    raise SystemExit('it was loaded')\n"
        # The first provider is left open on purpose: the process must end all the same.
    )

    done = subprocess.run(
        [sys.executable, "-c", code, gguf_file, broken],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )

    assert (0, "", "") == (done.returncode, done.stdout, done.stderr)


def test_the_fingerprint_names_the_file_its_dimensions_and_its_weights(
    gguf_file: Path, tmp_path: Path
) -> None:
    content = bytearray(gguf_file.read_bytes())
    content[-1] ^= 1
    other = tmp_path / gguf_file.name
    other.write_bytes(content)
    mine, theirs = opened(gguf_file).fingerprint, opened(other).fingerprint

    assert ("local", "all-MiniLM-L6-v2-Q8_0", 384) == (mine.provider, mine.model, mine.dimensions)
    assert mine.prompts.startswith("plain-")
    assert mine.prompts != theirs.prompts


def test_prefixes_are_known_by_the_models_name(gguf_file: Path, tmp_path: Path) -> None:
    named = tmp_path / "nomic-embed-text-v1.5.Q8_0.gguf"
    named.symlink_to(gguf_file)
    known = opened(named)
    as_query = known.embed(["the ferry"], role=Role.QUERY)[0]
    as_document = known.embed(["the ferry"], role=Role.DOCUMENT)[0]
    known.close()

    assert as_query @ as_document < 0.99
    assert known.fingerprint.prompts != opened(gguf_file).fingerprint.prompts


def test_an_english_model_reads_latin_letters(provider: GgufProvider) -> None:
    documents(provider, "load it")

    assert (1.0, 0.5, 0.0) == tuple(map(provider.reads, ("Größe", "ab 数据", "数据库")))


def test_the_missing_package_is_named(gguf_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)

    with pytest.raises(ProviderSetupError) as raised:
        opened(gguf_file).prepare()

    assert raised.value.action.endswith("pip install '.[gguf]'")


def test_a_model_that_does_not_embed_is_refused(gguf_file: Path, tmp_path: Path) -> None:
    chatty = tmp_path / "chat.gguf"
    content = gguf_file.read_bytes()
    chatty.write_bytes(content.replace(b"bert.pooling_type", b"bert.nothing_type", 1))

    with pytest.raises(ModelUnavailableError, match="has no embedding model"):
        opened(chatty).prepare()


def test_a_file_that_is_no_model_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "notes.gguf"
    path.write_text(json.dumps({"not": "a model"}), encoding="utf-8")

    with pytest.raises(ModelUnavailableError, match="does not start with GGUF"):
        opened(path)
