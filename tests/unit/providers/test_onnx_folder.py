"""A user's own ONNX model: the real weights of another folder, described otherwise."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from recollect.errors import ModelUnavailableError
from recollect.providers.local import open_local
from recollect.providers.models.onnx_folder import DESCRIPTION_FILE as FILE
from recollect.providers.options import ProviderOptions
from recollect.types import Role, silent

if TYPE_CHECKING:
    from recollect.providers.base import Provider
    from recollect.types import Vectors

NOWHERE = Path(os.devnull, "never-used")
DESCRIPTION = {"id": "mine", "dimensions": 384, "max_tokens": 512, "pooling": "mean"}
UNKNOWN_FIELD = b"\x32\x01x"
"""A doc string: an ONNX file with it is as valid as before, and of another size."""


def opened(folder: Path, *, query: str | None = None) -> Provider:
    options = ProviderOptions(model_path=folder, query_prefix=query)
    return open_local(options, cache=NOWHERE)


def documents(provider: Provider, *texts: str) -> Vectors:
    return provider.embed(texts, role=Role.DOCUMENT)


def write_json(path: Path, fields: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(fields), encoding="utf-8")


@pytest.fixture
def described(tmp_path: Path, model_folder: Path) -> Path:
    """The default model's files with a description that makes another model of them."""
    for name in ("model.onnx", "vocab.txt"):
        (tmp_path / name).symlink_to(model_folder / name)
    write_json(tmp_path / FILE, DESCRIPTION)
    return tmp_path


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
    write_json(folder / "config.json", {"hidden_size": 384, "max_position_embeddings": 512})
    write_json(
        folder / "1_Pooling" / "config.json",
        {"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True},
    )
    return folder


def test_another_description_of_the_same_weights_is_another_space(
    described: Path, model_folder: Path
) -> None:
    mine, default = opened(described), opened(model_folder)
    my_vectors, default_vectors = documents(mine, "a cat"), documents(default, "a cat")

    assert ("local", "mine", 384) == (
        mine.fingerprint.provider,
        mine.fingerprint.model,
        mine.fingerprint.dimensions,
    )
    assert str(mine.fingerprint) != str(default.fingerprint)
    assert 1.0 == pytest.approx(float(np.linalg.norm(my_vectors[0])), abs=1e-5)
    assert my_vectors[0] @ default_vectors[0] < 0.99
    assert mine.background is None


@pytest.mark.parametrize(
    ("field", "value"),
    [("id", "yours"), ("max_tokens", 256), ("pooling", "cls"), ("query_prefix", "q: ")],
)
def test_whatever_moves_the_vectors_is_in_the_fingerprint(
    described: Path, field: str, value: object
) -> None:
    before = opened(described).fingerprint
    write_json(described / FILE, {**DESCRIPTION, field: value})

    assert before != opened(described).fingerprint


def test_other_weights_are_in_the_fingerprint(described: Path, other_weights: Path) -> None:
    before = opened(described).fingerprint
    (described / "model.onnx").unlink()
    (described / "model.onnx").symlink_to(other_weights)

    assert before != opened(described).fingerprint


def test_weights_in_a_second_file_are_in_the_fingerprint(described: Path) -> None:
    before = opened(described).fingerprint
    (described / "model.onnx_data").write_bytes(b"weights")

    assert before != opened(described).fingerprint


def test_the_same_description_gives_the_same_vectors_as_the_default(
    described: Path, model_folder: Path
) -> None:
    write_json(
        described / FILE,
        {**DESCRIPTION, "id": "snowflake-arctic-embed-s", "pooling": "cls"},
    )
    texts = ["a cat", "The weather was mild that week. " * 100]
    mine, default = opened(described), opened(model_folder)

    for role in Role:
        assert (mine.embed(texts, role=role) == default.embed(texts, role=role)).all()


def test_prefixes_are_those_of_the_description_or_of_the_settings(described: Path) -> None:
    write_json(
        described / FILE,
        {**DESCRIPTION, "query_prefix": "seek: ", "document_prefix": ""},
    )
    by_description = opened(described).embed(["the ferry"], role=Role.QUERY)
    by_settings = opened(described, query="look for: ").embed(["the ferry"], role=Role.QUERY)
    by_hand = documents(opened(described), "seek: the ferry", "look for: the ferry")

    assert by_description[0] @ by_hand[0] > 0.9999
    assert by_settings[0] @ by_hand[1] > 0.9999


def test_what_a_sentence_transformers_folder_says_is_used(exported: Path, described: Path) -> None:
    provider = opened(exported)
    vectors = documents(provider, "a cat")

    assert "local/bge-small-en-v1.5/384/" == str(provider.fingerprint)[:28]
    assert (vectors == documents(opened(described), "a cat")).all()


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


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ([], "not a JSON object"),
        ({}, "must have id, max_tokens, and pooling"),
        ({**DESCRIPTION, "pooling": "max"}, "must have id, max_tokens, and pooling"),
        ({**DESCRIPTION, "max_tokens": "512"}, "max_tokens in .* is not a positive number"),
        ({**DESCRIPTION, "max_tokens": True}, "max_tokens in .* is not a positive number"),
        ({**DESCRIPTION, "max_tokens": 3}, "an input of 3 tokens"),
        ({**DESCRIPTION, "max_tokens": 1_000_000}, "an input of 1000000 tokens"),
        ({**DESCRIPTION, "id": 7}, "id in .* is not a text"),
        ({**DESCRIPTION, "query_prefx": ""}, "unknown field query_prefx"),
    ],
)
def test_a_wrong_description_is_refused_with_the_reason(
    described: Path, fields: object, reason: str
) -> None:
    write_json(described / FILE, fields)

    with pytest.raises(ModelUnavailableError, match=reason) as raised:
        opened(described)

    assert FILE in raised.value.action


def test_a_description_that_is_no_json_is_refused(described: Path) -> None:
    (described / FILE).write_text("{", encoding="utf-8")

    with pytest.raises(ModelUnavailableError, match="is not JSON"):
        opened(described)


@pytest.mark.parametrize("missing", ["config.json", "1_Pooling/config.json"])
def test_a_folder_that_does_not_say_how_to_use_its_model_is_refused(
    exported: Path, missing: str
) -> None:
    (exported / missing).unlink()

    with pytest.raises(ModelUnavailableError, match=f"neither {FILE} nor {missing}"):
        opened(exported)


@pytest.mark.parametrize(
    ("name", "fields", "reason"),
    [
        ("config.json", {"hidden_size": 384}, "no max_position_embeddings"),
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


def test_a_folder_with_only_a_tokenizer_json_is_refused(described: Path) -> None:
    (described / "vocab.txt").unlink()
    write_json(described / "tokenizer.json", {})

    with pytest.raises(ModelUnavailableError, match=r"vocab\.txt is missing.*tokenizer\.json"):
        opened(described)


def test_a_description_without_a_model_is_refused(described: Path) -> None:
    (described / "model.onnx").unlink()

    with pytest.raises(ModelUnavailableError, match=r"model\.onnx is missing"):
        opened(described)


@pytest.mark.parametrize(
    ("pieces", "reason"),
    [
        ("[PAD]\n[UNK]\nhello", "not the vocabulary of a BERT"),
        ("<s>\n[PAD]\n[UNK]\n[CLS]\n[SEP]\n", "not the vocabulary of a BERT"),
        ("[PAD]\n[UNK]\n[CLS]\n[SEP]\n" + "Word\n" * 101, "is cased"),
    ],
)
def test_a_vocabulary_of_another_kind_is_refused(described: Path, pieces: str, reason: str) -> None:
    (described / "vocab.txt").unlink()
    (described / "vocab.txt").write_text(pieces, encoding="utf-8")

    with pytest.raises(ModelUnavailableError, match=reason):
        opened(described)


def test_an_output_of_any_name_is_taken_when_it_has_a_vector_a_token(
    described: Path, model_folder: Path
) -> None:
    content = (model_folder / "model.onnx").read_bytes()
    expected = documents(opened(described), "a cat")
    (described / "model.onnx").unlink()
    (described / "model.onnx").write_bytes(
        content.replace(b"last_hidden_state", b"some_other_output")
    )

    assert (expected == documents(opened(described), "a cat")).all()


def test_a_model_that_asks_for_more_than_bert_is_refused(
    described: Path, model_folder: Path
) -> None:
    content = (model_folder / "model.onnx").read_bytes()
    (described / "model.onnx").unlink()
    (described / "model.onnx").write_bytes(content.replace(b"token_type_ids", b"other_type_ids"))

    with pytest.raises(ModelUnavailableError, match="it needs the unknown input other_type_ids"):
        documents(opened(described), "a cat")


def test_a_model_that_does_not_embed_is_refused(described: Path, reranker_folder: Path) -> None:
    (described / "model.onnx").unlink()
    (described / "model.onnx").symlink_to(reranker_folder / "model.onnx")

    with pytest.raises(ModelUnavailableError, match="one vector per token"):
        documents(opened(described), "a cat")


def test_a_model_of_other_dimensions_than_described_is_refused(described: Path) -> None:
    write_json(described / FILE, {**DESCRIPTION, "dimensions": 768})

    with pytest.raises(ModelUnavailableError, match="384 dimensions, not 768"):
        documents(opened(described), "a cat")


def test_dimensions_need_not_be_described(described: Path) -> None:
    fields = {name: value for name, value in DESCRIPTION.items() if name != "dimensions"}
    write_json(described / FILE, fields)
    provider = opened(described)

    assert (None, (1, 384)) == (
        provider.fingerprint.dimensions,
        documents(provider, "a cat").shape,
    )


def test_a_file_that_is_no_onnx_is_refused(described: Path) -> None:
    (described / "model.onnx").unlink()
    (described / "model.onnx").write_bytes(b"not a model")

    with pytest.raises(ModelUnavailableError, match="onnxruntime cannot load it"):
        documents(opened(described), "a cat")


def test_a_prefix_that_fills_the_input_leaves_room_for_the_text(described: Path) -> None:
    provider = opened(described, query="word " * 2000)
    first, second = provider.embed(["the ferry", "an invoice"], role=Role.QUERY)

    assert first @ second < 0.9999


def test_an_input_longer_than_the_model_takes_is_refused(described: Path) -> None:
    write_json(described / FILE, {**DESCRIPTION, "max_tokens": 1024})

    with pytest.raises(ModelUnavailableError, match="onnxruntime fails on 1024 tokens"):
        documents(opened(described), "word " * 2000)


def test_a_model_with_a_vocabulary_beyond_english_reads_every_script(described: Path) -> None:
    as_it_is = opened(described).reads("数据库")
    (described / "vocab.txt").unlink()
    (described / "vocab.txt").write_text(
        "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"数据库"]), encoding="utf-8"
    )

    assert (0.0, 1.0) == (as_it_is, opened(described).reads("数据库"))


def test_nothing_is_fetched_for_a_model_of_ones_own(described: Path) -> None:
    provider = opened(described)
    provider.prepare(progress=silent, retry=False)

    assert not NOWHERE.exists()
