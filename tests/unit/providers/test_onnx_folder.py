"""A user's own ONNX model: the real weights in a folder as sentence-transformers exports it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from recollect.errors import ModelUnavailableError
from recollect.providers.local import open_local
from recollect.providers.models.onnx_folder import POOLING
from recollect.providers.options import ProviderOptions
from recollect.types import Role

if TYPE_CHECKING:
    from pathlib import Path

    from recollect.providers.base import Provider
    from recollect.types import Vectors

CONFIG = {"hidden_size": 384, "max_position_embeddings": 512}
UNKNOWN_FIELD = b"\x32\x01x"
"""A doc string: an ONNX file with it is as valid as before, and of another size."""


def opened(folder: Path) -> Provider:
    return open_local(ProviderOptions(model_path=folder))


def documents(provider: Provider, *texts: str) -> Vectors:
    return provider.embed(texts, role=Role.DOCUMENT)


def replace_weights(folder: Path, content: bytes) -> None:
    weights = folder / "onnx" / "model.onnx"
    weights.unlink()
    weights.write_bytes(content)


def write_json(path: Path, fields: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(fields), encoding="utf-8")


@pytest.fixture(scope="session")
def other_weights(tmp_path_factory: pytest.TempPathFactory, model_folder: Path) -> Path:
    path = tmp_path_factory.mktemp("weights") / "model.onnx"
    path.write_bytes((model_folder / "model.onnx").read_bytes() + UNKNOWN_FIELD)
    return path


@pytest.fixture
def exported(tmp_path: Path, model_folder: Path, other_weights: Path) -> Path:
    """A folder as sentence-transformers exports it."""
    folder = tmp_path / "bge-small-en-v1.5"
    (folder / "onnx").mkdir(parents=True)
    (folder / "onnx" / "model.onnx").symlink_to(other_weights)
    (folder / "vocab.txt").symlink_to(model_folder / "vocab.txt")
    write_json(folder / "config.json", CONFIG)
    write_json(
        folder / POOLING, {"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}
    )
    return folder


def test_another_pooling_of_the_same_weights_is_another_space(
    exported: Path, model_folder: Path
) -> None:
    mine, default = opened(exported), opened(model_folder)
    my_vectors, default_vectors = documents(mine, "a cat"), documents(default, "a cat")

    assert ("local", "bge-small-en-v1.5", 384) == (
        mine.fingerprint.provider,
        mine.fingerprint.model,
        mine.fingerprint.dimensions,
    )
    assert str(mine.fingerprint) != str(default.fingerprint)
    assert 1.0 == pytest.approx(float(np.linalg.norm(my_vectors[0])), abs=1e-5)
    assert my_vectors[0] @ default_vectors[0] < 0.99
    assert mine.background is None


def test_other_weights_are_in_the_fingerprint(exported: Path) -> None:
    before = opened(exported).fingerprint
    replace_weights(exported, b"other weights")

    assert before != opened(exported).fingerprint


def test_weights_in_a_second_file_are_in_the_fingerprint(exported: Path) -> None:
    before = opened(exported).fingerprint
    (exported / "onnx" / "model.onnx_data").write_bytes(b"weights")

    assert before != opened(exported).fingerprint


def test_the_same_use_gives_the_same_vectors_as_the_default(
    exported: Path, model_folder: Path
) -> None:
    write_json(exported / POOLING, {"pooling_mode": "cls"})
    texts = ["a cat", "The weather was mild that week. " * 100]
    mine, default = opened(exported), opened(model_folder)

    for role in Role:
        assert (mine.embed(texts, role=role) == default.embed(texts, role=role)).all()


def test_prefixes_are_those_of_the_folder(exported: Path) -> None:
    prompts = {"prompts": {"query": "seek: ", "passage": "note: "}}
    by_hand = documents(opened(exported), "seek: the ferry", "note: the ferry")
    write_json(exported / "config_sentence_transformers.json", prompts)
    found = opened(exported)

    assert found.embed(["the ferry"], role=Role.QUERY)[0] @ by_hand[0] > 0.9999
    assert documents(found, "the ferry")[0] @ by_hand[1] > 0.9999


@pytest.mark.parametrize(
    ("files", "same"),
    [
        ({"sentence_bert_config.json": {"max_seq_length": 128}}, False),
        ({"sentence_bert_config.json": {"max_seq_length": 4096}}, True),
        ({"1_Pooling/config.json": {"pooling_mode": "mean"}}, True),
        ({"1_Pooling/config.json": {"pooling_mode": "cls"}}, False),
        ({"1_Pooling/config.json": {"pooling_mode_cls_token": True}}, False),
        ({"config_sentence_transformers.json": {"prompts": {"query": "seek: "}}}, False),
        ({"config_sentence_transformers.json": {"prompts": {}}}, True),
        ({"modules.json": [{"type": "sentence_transformers.models.Pooling"}]}, True),
    ],
)
def test_each_of_its_files_counts(
    exported: Path,
    files: dict[str, object],
    same: bool,  # noqa: FBT001
) -> None:
    before = opened(exported).fingerprint
    for name, fields in files.items():
        write_json(exported / name, fields)

    assert same == (before == opened(exported).fingerprint)


def test_a_known_model_gets_its_prefix_by_its_name(exported: Path) -> None:
    provider = opened(exported)
    question = provider.embed(["the ferry"], role=Role.QUERY)[0]
    prefix = "Represent this sentence for searching relevant passages: "

    assert question @ documents(provider, f"{prefix}the ferry")[0] > 0.9999


@pytest.mark.parametrize("missing", ["config.json", "1_Pooling/config.json"])
def test_a_folder_that_does_not_say_how_to_use_its_model_is_refused(
    exported: Path, missing: str
) -> None:
    (exported / missing).unlink()

    with pytest.raises(ModelUnavailableError, match=f"{missing} is missing") as raised:
        opened(exported)

    assert missing in raised.value.action


@pytest.mark.parametrize(
    ("name", "fields", "reason"),
    [
        ("config.json", [], "not a JSON object"),
        ("config.json", {"hidden_size": 384}, "no max_position_embeddings"),
        ("config.json", {**CONFIG, "hidden_size": "384"}, "is not a positive number"),
        ("config.json", {**CONFIG, "hidden_size": True}, "is not a positive number"),
        ("config.json", {**CONFIG, "max_position_embeddings": 3}, "an input of 3 tokens"),
        ("config.json", {**CONFIG, "max_position_embeddings": 10**6}, "an input of 1000000 tokens"),
        (
            "1_Pooling/config.json",
            {"pooling_mode_max_tokens": True},
            "exactly one of cls and mean",
        ),
        (
            "1_Pooling/config.json",
            {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True},
            "exactly one of cls and mean",
        ),
        ("modules.json", [{"type": "sentence_transformers.models.Dense"}], "a step Dense"),
    ],
)
def test_an_export_that_cannot_be_used_is_refused(
    exported: Path, name: str, fields: object, reason: str
) -> None:
    write_json(exported / name, fields)

    with pytest.raises(ModelUnavailableError, match=reason):
        opened(exported)


def test_a_configuration_that_is_not_json_is_refused(exported: Path) -> None:
    (exported / "config.json").write_text("{", encoding="utf-8")

    with pytest.raises(ModelUnavailableError, match="is not JSON"):
        opened(exported)


def test_a_folder_with_only_a_tokenizer_json_is_refused(exported: Path) -> None:
    (exported / "vocab.txt").unlink()
    write_json(exported / "tokenizer.json", {})

    with pytest.raises(ModelUnavailableError, match=r"vocab\.txt is missing.*tokenizer\.json"):
        opened(exported)


def test_a_folder_without_a_model_is_refused(exported: Path) -> None:
    (exported / "onnx" / "model.onnx").unlink()

    with pytest.raises(ModelUnavailableError, match=r"model\.onnx .* cannot be read"):
        opened(exported).prepare()


@pytest.mark.parametrize(
    ("pieces", "reason"),
    [
        ("[PAD]\n[UNK]\nhello", "not the vocabulary of a BERT"),
        ("<s>\n[PAD]\n[UNK]\n[CLS]\n[SEP]\n", "not the vocabulary of a BERT"),
        ("[PAD]\n[UNK]\n[CLS]\n[SEP]\n" + "Word\n" * 101, "is cased"),
    ],
)
def test_a_vocabulary_of_another_kind_is_refused(exported: Path, pieces: str, reason: str) -> None:
    (exported / "vocab.txt").unlink()
    (exported / "vocab.txt").write_text(pieces, encoding="utf-8")

    with pytest.raises(ModelUnavailableError, match=reason):
        opened(exported)


def test_an_output_of_any_name_is_taken_when_it_has_a_vector_a_token(
    exported: Path, other_weights: Path
) -> None:
    content = other_weights.read_bytes()
    expected = documents(opened(exported), "a cat")
    replace_weights(exported, content.replace(b"last_hidden_state", b"some_other_output"))

    assert (expected == documents(opened(exported), "a cat")).all()


def test_a_model_that_asks_for_more_than_bert_is_refused(
    exported: Path, other_weights: Path
) -> None:
    content = other_weights.read_bytes()
    replace_weights(exported, content.replace(b"token_type_ids", b"other_type_ids"))

    with pytest.raises(ModelUnavailableError, match="it needs the unknown input other_type_ids"):
        documents(opened(exported), "a cat")


def test_a_model_that_does_not_embed_is_refused(exported: Path, reranker_folder: Path) -> None:
    replace_weights(exported, (reranker_folder / "model.onnx").read_bytes())

    with pytest.raises(ModelUnavailableError, match="one vector per token"):
        documents(opened(exported), "a cat")


def test_a_model_of_other_dimensions_than_exported_is_refused(exported: Path) -> None:
    write_json(exported / "config.json", {**CONFIG, "hidden_size": 768})

    with pytest.raises(ModelUnavailableError, match="384 dimensions, not 768"):
        documents(opened(exported), "a cat")


def test_dimensions_need_not_be_exported(exported: Path) -> None:
    write_json(exported / "config.json", {"max_position_embeddings": 512})
    provider = opened(exported)

    assert (None, (1, 384)) == (
        provider.fingerprint.dimensions,
        documents(provider, "a cat").shape,
    )


def test_a_file_that_is_no_onnx_is_refused(exported: Path) -> None:
    replace_weights(exported, b"not a model")

    with pytest.raises(ModelUnavailableError, match="onnxruntime cannot load it"):
        documents(opened(exported), "a cat")


def test_an_input_longer_than_the_model_takes_is_refused(exported: Path) -> None:
    write_json(exported / "config.json", {**CONFIG, "max_position_embeddings": 1024})

    with pytest.raises(ModelUnavailableError, match="onnxruntime fails on 1024 tokens"):
        documents(opened(exported), "word " * 2000)


def test_a_model_with_a_vocabulary_beyond_english_reads_every_script(exported: Path) -> None:
    as_it_is = opened(exported).reads("数据库")
    (exported / "vocab.txt").unlink()
    (exported / "vocab.txt").write_text(
        "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"数据库"]), encoding="utf-8"
    )

    assert (0.0, 1.0) == (as_it_is, opened(exported).reads("数据库"))
