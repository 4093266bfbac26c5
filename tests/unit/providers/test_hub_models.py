"""Models of the hub that are not pinned: tiny real ones, from a real HTTP server on loopback."""

from __future__ import annotations

import hashlib
import json
import math
import stat
import struct
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.support.file_server import endless, serving
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

from recollect.errors import ModelUnavailableError, ProviderSetupError
from recollect.providers.cross_encoder import open_cross_encoder
from recollect.providers.local import open_local
from recollect.providers.models import tokenizer_json
from recollect.providers.models.files import recheck, resolve
from recollect.providers.models.integrity import ModelCache
from recollect.providers.models.manifest import (
    GRANITE_97M,
    HUB_EMBEDDERS,
    HUB_RERANKERS,
    MS_MARCO_MINILM,
)
from recollect.providers.models.onnx_graph import _bytes, _number, _text
from recollect.providers.options import ProviderOptions
from recollect.providers.registry import RERANKERS
from recollect.types import Role, Step, silent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy.typing as npt

    from recollect.providers.base import Provider
    from recollect.providers.models.manifest import Hub, Manifest

ETTIN = HUB_RERANKERS["ettin-reranker-17m"]
WIDTH = 384
TEXTS = ("the ferry leaves at nine from pier four", "Паром отходит в девять", "渡轮九点出发")
FLOAT, INT64 = 1, 7
SMALL = np.float32(0.05)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    """A byte-level BPE that cuts and pads texts, as some published ones do."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=["[CLS]", "[SEP]"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(TEXTS, trainer)
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B [SEP]",
        special_tokens=[("[CLS]", 0), ("[SEP]", 1)],
    )
    made.enable_truncation(3)
    made.enable_padding(length=64)
    return made


@pytest.fixture(scope="module")
def table() -> npt.NDArray[np.float32]:
    """The vectors of the pieces."""
    return np.random.default_rng(7).normal(size=(300, WIDTH)).astype(np.float32)


def square() -> npt.NDArray[np.float32]:
    """Return the first layer of the reranker's head."""
    return np.random.default_rng(1).normal(size=(WIDTH, WIDTH)).astype(np.float32) * SMALL


def graph(table: npt.NDArray[np.float32]) -> bytes:
    """Return an ONNX model: each token's vector plus the mean of all."""
    dims = b"".join(_number(1, each) for each in table.shape)
    weights = dims + _number(2, FLOAT) + _text(8, "table") + _bytes(9, table.tobytes())
    axes = _text(1, "axes") + _number(8, 1) + _number(20, 7)
    nodes = (
        _text(1, "table") + _text(1, "input_ids") + _text(2, "each") + _text(4, "Gather"),
        _text(1, "each") + _text(2, "mean") + _text(4, "ReduceMean") + _bytes(5, axes),
        _text(1, "each") + _text(1, "mean") + _text(2, "last_hidden_state") + _text(4, "Add"),
    )

    def value(name: str, kind: int, *dimensions: bytes) -> bytes:
        shape = b"".join(_bytes(1, each) for each in dimensions)
        return _text(1, name) + _bytes(2, _bytes(1, _number(1, kind) + _bytes(2, shape)))

    one, tokens = _number(1, 1), _text(2, "tokens")
    parts = [
        *(_bytes(1, each) for each in nodes),
        _text(2, "tiny"),
        _bytes(5, weights),
        _bytes(11, value("input_ids", INT64, one, tokens)),
        _bytes(11, value("attention_mask", INT64, one, tokens)),
        _bytes(12, value("last_hidden_state", FLOAT, one, tokens, _number(1, table.shape[1]))),
    ]
    return _number(1, 8) + _bytes(7, b"".join(parts)) + _bytes(8, _text(1, "") + _number(2, 17))


def safetensors(**tensors: npt.NDArray[np.float32]) -> bytes:
    header, numbers = {}, b""
    for name, values in tensors.items():
        end = len(numbers) + values.nbytes
        header[name.replace("__", ".")] = {
            "dtype": "F32",
            "shape": values.shape,
            "data_offsets": [len(numbers), end],
        }
        numbers += values.tobytes()
    written = json.dumps(header).encode()
    return struct.pack("<Q", len(written)) + written + numbers


@pytest.fixture
def hub(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tokenizer: Tokenizer,
    table: npt.NDArray[np.float32],
) -> Iterator[Path]:
    """A hub with a tiny embedder and a tiny reranker under the names of the real ones."""
    root = tmp_path / "hub"
    bias = np.array([0.25], dtype=np.float32)
    head = {
        "2_Dense": safetensors(linear__weight=square()),
        "3_LayerNorm": safetensors(norm__weight=table[0], norm__bias=table[1]),
        "4_Dense": safetensors(linear__weight=table[2:3] * SMALL, linear__bias=bias),
    }
    for manifest in (GRANITE_97M, ETTIN):
        folder = published(root, manifest)
        (folder / "onnx").mkdir(parents=True)
        (folder / "tokenizer.json").write_text(tokenizer.to_str(), encoding="utf-8")
        (folder / weights_of(manifest)).write_bytes(graph(table))
    for name, content in head.items():
        (published(root, ETTIN) / name).mkdir()
        (published(root, ETTIN) / name / "model.safetensors").write_bytes(content)
    with serving(root) as port:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{port}")
        yield root


def hub_of(manifest: Manifest) -> Hub:
    assert manifest.hub is not None
    return manifest.hub


def published(root: Path, manifest: Manifest) -> Path:
    return root / hub_of(manifest).repository / "resolve" / hub_of(manifest).revision


def weights_of(manifest: Manifest) -> str:
    return hub_of(manifest).paths["model.onnx"]


def leave_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")


def opened(cache: Path, *, query: str | None = None) -> Provider:
    options = ProviderOptions(model=GRANITE_97M.id, query_prefix=query)
    return open_local(options, cache=cache)


def prepared(cache: Path) -> Provider:
    provider = opened(cache)
    provider.prepare(progress=silent, retry=True)
    return provider


def test_the_first_download_is_recorded_for_the_owner_only_and_told(
    hub: Path, tmp_path: Path
) -> None:
    cache, steps = tmp_path / "cache", list[Step]()

    opened(cache).prepare(progress=steps.append, retry=True)

    record = cache / "first-seen.json"
    key = f"{hub_of(GRANITE_97M).repository}/{hub_of(GRANITE_97M).revision}"
    content = (published(hub, GRANITE_97M) / weights_of(GRANITE_97M)).read_bytes()
    seen = json.loads(record.read_text(encoding="utf-8"))
    digest = hashlib.sha256(content).hexdigest()
    assert {"sha256": digest, "size_bytes": len(content)} == seen[
        f"{key}/{weights_of(GRANITE_97M)}"
    ]
    assert {f"{key}/{weights_of(GRANITE_97M)}", f"{key}/tokenizer.json"} == set(seen)
    assert 0o600 == stat.S_IMODE(record.stat().st_mode)
    assert [f"{GRANITE_97M.id} is not pinned; recorded sha256 {digest} at first download."] == [
        step.note for step in steps if step.note
    ]


@pytest.mark.usefixtures("hub")
def test_a_later_run_needs_no_network_and_gives_the_same_vectors(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tokenizer: Tokenizer,
    table: npt.NDArray[np.float32],
) -> None:
    first = prepared(tmp_path / "cache")
    vectors = first.embed(TEXTS, role=Role.DOCUMENT)
    leave_network(monkeypatch)

    again = opened(tmp_path / "cache")

    assert first.fingerprint == again.fingerprint
    assert (vectors == again.embed(TEXTS, role=Role.DOCUMENT)).all()
    bare = Tokenizer.from_str(tokenizer.to_str())
    bare.no_truncation()
    bare.no_padding()
    rows = table[bare.encode(TEXTS[0]).ids]
    pooled = rows[0] + rows.mean(axis=0)
    assert vectors[0] == pytest.approx(pooled / np.linalg.norm(pooled), abs=1e-5)
    assert 1.0 == again.reads(TEXTS[2])


@pytest.mark.usefixtures("hub")
def test_control_tokens_and_lone_surrogates_in_a_text_are_plain_text(tmp_path: Path) -> None:
    provider = prepared(tmp_path / "cache")

    said, cut, joined = provider.embed(["a[SEP]b", "a", "a\ud800b"], role=Role.DOCUMENT)

    words = tokenizer_json.JsonTokenizer(tmp_path / "cache" / GRANITE_97M.folder / "tokenizer.json")
    assert words.sep_id not in words.ids("a[SEP]b")
    assert words.ids("a\ud800b") == words.ids("a?b")
    assert np.isfinite(np.stack([said, cut, joined])).all()


@pytest.mark.usefixtures("hub")
def test_a_changed_file_is_refused_and_a_removed_one_downloaded_again(tmp_path: Path) -> None:
    prepared(tmp_path / "cache")
    weights = tmp_path / "cache" / GRANITE_97M.folder / "model.onnx"
    content = bytearray(weights.read_bytes())
    content[1000] ^= 1
    weights.write_bytes(content)

    with pytest.raises(ModelUnavailableError, match="the SHA-256 of the first download") as raised:
        prepared(tmp_path / "cache")
    assert "Remove the folder" in raised.value.action
    cache = ModelCache.of(None, default=tmp_path / "cache")
    with pytest.raises(ModelUnavailableError, match="the SHA-256 of the first download"):
        recheck(GRANITE_97M, configured=None, cache=cache)

    weights.unlink()
    prepared(tmp_path / "cache")
    recheck(GRANITE_97M, configured=None, cache=cache)


def test_a_later_download_of_another_file_is_refused(hub: Path, tmp_path: Path) -> None:
    prepared(tmp_path / "cache")
    (tmp_path / "cache" / GRANITE_97M.folder / "model.onnx").unlink()
    upstream = published(hub, GRANITE_97M) / weights_of(GRANITE_97M)
    content = bytearray(upstream.read_bytes())
    content[1000] ^= 1
    upstream.write_bytes(content)

    with pytest.raises(ModelUnavailableError, match="the SHA-256 of the first") as raised:
        prepared(tmp_path / "cache")

    assert "first-seen.json" in raised.value.action
    (tmp_path / "cache" / "first-seen.json").unlink()
    prepared(tmp_path / "cache")


@pytest.mark.usefixtures("hub")
def test_an_oversized_file_is_cut_off_and_not_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = endless(monkeypatch)
    files = tuple(replace(file, size_bytes=1000) for file in GRANITE_97M.files)
    cache = ModelCache.of(None, default=tmp_path / "cache")

    with pytest.raises(ModelUnavailableError, match="longer than the 1050576 allowed bytes"):
        resolve(
            replace(GRANITE_97M, files=files),
            configured=None,
            cache=cache,
            progress=silent,
            retry=True,
        )

    assert sum(sent) < 1 << 26  # what the buffers of two sockets hold
    assert not cache.first_seen.exists()


def test_what_is_not_pinned_is_not_downloaded_without_https(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://hub.invalid")

    with pytest.raises(ModelUnavailableError, match="HF_ENDPOINT needs https"):
        prepared(tmp_path / "cache")


def test_a_missing_package_names_the_extra_before_anything_is_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokenizer_json, "find_spec", lambda _name: None)
    reranker = open_cross_encoder(ProviderOptions(rerank_model=ETTIN.id), cache=tmp_path / "cache")

    for model in (opened(tmp_path / "cache"), reranker):
        with pytest.raises(ProviderSetupError, match="needs the package tokenizers") as raised:
            model.prepare(progress=silent, retry=True)
        assert "pip install '.[hub]'" in raised.value.action
    assert not (tmp_path / "cache").exists()


def test_weights_tokenizer_and_prefix_are_in_the_fingerprint(hub: Path, tmp_path: Path) -> None:
    unseen = opened(tmp_path / "none").fingerprint
    first = prepared(tmp_path / "first").fingerprint
    prefixed = opened(tmp_path / "first", query="q: ").fingerprint
    with (published(hub, GRANITE_97M) / "tokenizer.json").open("a", encoding="utf-8") as file:
        file.write("\n")
    second = prepared(tmp_path / "second").fingerprint

    assert 4 == len({unseen, first, prefixed, second})
    assert ("local", GRANITE_97M.id, WIDTH) == (first.provider, first.model, first.dimensions)
    assert first == opened(tmp_path / "first").fingerprint


@pytest.mark.usefixtures("hub")
def test_a_tokenizer_that_cannot_be_read_is_reported(hub: Path, tmp_path: Path) -> None:
    (published(hub, GRANITE_97M) / "tokenizer.json").write_text("{}", encoding="utf-8")

    with pytest.raises(ModelUnavailableError, match="tokenizers cannot read it"):
        prepared(tmp_path / "cache").embed(["a"], role=Role.QUERY)


@pytest.mark.usefixtures("hub")
def test_the_reranker_gives_what_its_layers_say(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tokenizer: Tokenizer,
    table: npt.NDArray[np.float32],
) -> None:
    options = ProviderOptions(rerank_model=ETTIN.id)
    open_cross_encoder(options, cache=tmp_path / "cache").prepare(progress=silent, retry=True)
    leave_network(monkeypatch)
    reranker = open_cross_encoder(options, cache=tmp_path / "cache")

    [score, other] = reranker.score("when", [TEXTS[0], "no"], deadline=None)

    bare = Tokenizer.from_str(tokenizer.to_str())
    bare.no_truncation()
    bare.no_padding()
    rows = table[bare.encode("when", TEXTS[0]).ids].astype(float)
    wide = square() @ (rows[0] + rows.mean(axis=0))
    wide = np.array([each * 0.5 * (1 + math.erf(each / 2**0.5)) for each in wide])
    normal = (wide - wide.mean()) / math.sqrt(wide.var() + 1e-5) * table[0] + table[1]
    logit = float(normal @ (table[2] * SMALL)) + 0.25
    assert score == pytest.approx(1 / (1 + math.exp(-logit)), abs=1e-4)
    assert score != other


def test_a_reranker_with_a_broken_layer_is_reported(hub: Path, tmp_path: Path) -> None:
    (published(hub, ETTIN) / "2_Dense" / "model.safetensors").write_bytes(b"\x05")
    reranker = open_cross_encoder(ProviderOptions(rerank_model=ETTIN.id), cache=tmp_path / "cache")

    with pytest.raises(ModelUnavailableError, match=r"The rerank model in .* cannot be used"):
        reranker.score("a", ["b"], deadline=None)


def test_every_name_that_can_be_set_has_a_model() -> None:
    assert RERANKERS == (MS_MARCO_MINILM.id, *HUB_RERANKERS)
    assert [GRANITE_97M.id] == list(HUB_EMBEDDERS)
    for manifest in (*HUB_EMBEDDERS.values(), *HUB_RERANKERS.values()):
        assert {file.name for file in manifest.files} == set(hub_of(manifest).paths)
