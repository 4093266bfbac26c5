"""The head of a GGUF file: what real ones say, and that nothing malformed gets through."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import ModelUnavailableError
from recollect.providers.models.gguf_header import GgufHeader, read_header

if TYPE_CHECKING:
    from pathlib import Path

U32, FLOAT32, BOOL, TEXT, ARRAY, U64 = 4, 6, 7, 8, 9, 10


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def pair(key: str, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def array(kind: int, count: int, elements: bytes) -> bytes:
    return struct.pack("<IQ", kind, count) + elements


def head(
    *pairs: bytes, magic: bytes = b"GGUF", version: int = 3, count: int | None = None
) -> bytes:
    counts = struct.pack("<IQQ", version, 0, len(pairs) if count is None else count)
    return magic + counts + b"".join(pairs)


ARCHITECTURE = pair("general.architecture", TEXT, text("bert"))
NAME = pair("general.name", TEXT, text("Bge Small En v1.5"))
CONTEXT = pair("bert.context_length", U32, struct.pack("<I", 512))
DIMENSIONS = pair("bert.embedding_length", U32, struct.pack("<I", 384))
POOLING = pair("bert.pooling_type", U32, struct.pack("<I", 2))
TOKENIZER = pair("tokenizer.ggml.model", TEXT, text("bert"))
PIECES = pair("tokenizer.ggml.tokens", ARRAY, array(TEXT, 2, text("[PAD]") + text("a")))
SCORES = pair("tokenizer.ggml.scores", ARRAY, array(FLOAT32, 2, bytes(8)))
CAUSAL = pair("bert.attention.causal", BOOL, b"\0")

USUAL = head(ARCHITECTURE, NAME, CONTEXT, DIMENSIONS, CAUSAL, POOLING, TOKENIZER, PIECES, SCORES)
TURNED = head(PIECES, SCORES, TOKENIZER, POOLING, CAUSAL, DIMENSIONS, CONTEXT, NAME, ARCHITECTURE)
SAID = GgufHeader("bert", "Bge Small En v1.5", 512, 384, 2, "bert", 2)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gguf") / "model.gguf"


def read(path: Path, content: bytes) -> GgufHeader:
    path.write_bytes(content)
    return read_header(path)


def test_a_real_model_says_what_it_is(gguf_file: Path) -> None:
    header = read_header(gguf_file)

    assert GgufHeader("bert", "all-MiniLM-L6-v2", 512, 384, 1, "bert", 30522) == header
    assert (True, True) == (header.embeds, header.reads_latin_only)


@pytest.mark.parametrize("content", [USUAL, TURNED])
def test_the_order_of_keys_does_not_matter(path: Path, content: bytes) -> None:
    assert SAID == read(path, content)


def test_a_model_may_say_little(path: Path) -> None:
    header = read(path, head(ARCHITECTURE))

    assert GgufHeader("bert", None, None, None, None, None, 0) == header
    assert not header.embeds


def test_output_dimensions_count_where_they_differ(path: Path) -> None:
    wider = pair("bert.embedding_length_out", U64, struct.pack("<Q", 1024))

    assert 1024 == read(path, head(ARCHITECTURE, DIMENSIONS, wider)).dimensions


@pytest.mark.parametrize(
    ("pooling", "embeds"), [(None, False), (0, False), (1, True), (2, True), (3, True), (4, False)]
)
def test_a_model_embeds_when_it_pools_and_does_not_rank(pooling: int | None, embeds: bool) -> None:  # noqa: FBT001
    assert embeds == GgufHeader("bert", None, 512, 384, pooling, "bert", 30522).embeds


@pytest.mark.parametrize(
    ("tokenizer", "vocabulary", "latin"),
    [
        ("bert", 30_522, True),
        ("bert", 28_996, True),
        ("bert", 21_128, False),
        ("bert", 105_879, False),
        ("t5", 250_002, False),
        ("llama", 30_522, False),
    ],
)
def test_only_an_english_vocabulary_of_bert_reads_latin_only(
    tokenizer: str,
    vocabulary: int,
    latin: bool,  # noqa: FBT001
) -> None:
    header = GgufHeader("bert", None, 512, 384, 1, tokenizer, vocabulary)

    assert latin == header.reads_latin_only


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "cut off"),
        (head(ARCHITECTURE, magic=b"GGML"), "does not start with GGUF"),
        (head(ARCHITECTURE, version=1), "version 1"),
        (head(ARCHITECTURE, version=3 << 24), "version 50331648"),
        (head(ARCHITECTURE, count=1 << 60), "cut off"),
        (head(ARCHITECTURE, count=2), "cut off"),
        (head(NAME), "architecture"),
        (head(pair("general.architecture", U32, bytes(4))), "architecture"),
        (head(struct.pack("<Q", 1 << 62)), "cut off"),
        (head(pair("a", TEXT, struct.pack("<Q", 1 << 62))), "cut off"),
        (head(pair("a", 99, b"")), "unknown type 99"),
        (head(pair("a", ARRAY, array(ARRAY, 1, b""))), "array of the unknown type 9"),
        (head(pair("a", ARRAY, array(U32, 1 << 40, b""))), "cut off"),
        (head(pair("a", ARRAY, array(U64, 1 << 20, b""))), "cut off"),
        (head(pair("a", ARRAY, array(TEXT, 1 << 20, b""))), "cut off"),
    ],
)
def test_what_is_malformed_is_refused_with_the_reason(
    path: Path, content: bytes, reason: str
) -> None:
    with pytest.raises(ModelUnavailableError, match=reason) as raised:
        read(path, content)

    assert str(path) in raised.value.message
    assert "local.model_path" in raised.value.action


def test_a_head_that_is_cut_off_anywhere_is_refused(path: Path) -> None:
    for length in range(0, len(TURNED), 7):
        with pytest.raises(ModelUnavailableError):
            read(path, TURNED[:length])


@given(at=st.integers(0, len(TURNED) - 1), byte=st.binary(min_size=1, max_size=8))
def test_a_damaged_head_is_read_or_refused_but_never_fails_otherwise(
    path: Path, at: int, byte: bytes
) -> None:
    try:
        header = read(path, TURNED[:at] + byte + TURNED[at + len(byte) :])
    except ModelUnavailableError:
        return

    assert header.architecture


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.gguf", tmp_path):
        with pytest.raises(ModelUnavailableError, match="cannot be read"):
            read_header(path)
