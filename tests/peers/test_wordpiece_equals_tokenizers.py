"""Our WordPiece against Hugging Face `tokenizers`, on the real model's vocabulary."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordPiece as PeerModel
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from recollect.providers.models.bert import WordPiece

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLES = Path(__file__).parents[2] / "examples"
PLANE = 0x10000
BLOCK = 0x1000
SURROGATES = range(0xD800, 0xE000)
UNASSIGNED = range(4, 14)
"""Planes without any character: all their code points are alike, so a few stand for them."""
PARTS = ["the", "Straße", "ΣΑΣ", "中国", "İ", "e\u0301", "x" * 101, "[SEP]", "[MASK]", "don't"]
PARTS += ["\u200d", "\u3000", "👍🏽", "한국어", "हिन्दी", "##ing", "…", "\x00", " "]


@pytest.fixture(scope="module")
def ours(model_folder: Path) -> WordPiece:
    return WordPiece.from_bytes((model_folder / "vocab.txt").read_bytes())


@pytest.fixture(scope="module")
def peer(model_folder: Path) -> Tokenizer:
    """The model's tokenizer.json in code, but for its added tokens: control tokens are text."""
    lines = (model_folder / "vocab.txt").read_text(encoding="utf-8").split("\n")
    vocabulary = {piece: number for number, piece in enumerate(lines) if piece}
    tokenizer = Tokenizer(
        PeerModel(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100)  # noqa: S106
    )
    tokenizer.normalizer = BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True
    )
    tokenizer.pre_tokenizer = BertPreTokenizer()
    return tokenizer


def blocks(plane: int) -> Iterator[list[str]]:
    for start in range(plane * PLANE, (plane + 1) * PLANE, BLOCK):
        step = 1 if plane == 0 else 64 if plane in UNASSIGNED else 5
        codes = range(start, start + BLOCK, step)
        yield [chr(code) for code in codes if code not in SURROGATES]


def test_code_points_of_every_block_give_the_same_ids(ours: WordPiece, peer: Tokenizer) -> None:
    for plane in range(17):
        for chars in blocks(plane):
            text = " ".join(f"{char} a{char}B" for char in chars)

            assert peer.encode(text).ids == ours.ids(text), f"plane {plane}, from {ord(chars[0]):x}"


@given(text=st.one_of(st.text(), st.lists(st.sampled_from(PARTS)).map("".join)))
def test_any_text_gives_the_same_ids(ours: WordPiece, peer: Tokenizer, text: str) -> None:
    assert peer.encode(text).ids == ours.ids(text)


def test_notes_give_the_same_ids(ours: WordPiece, peer: Tokenizer) -> None:
    for file in sorted(EXAMPLES.rglob("*.md")):
        text = file.read_text(encoding="utf-8")

        assert peer.encode(text).ids == ours.ids(text), file


def test_the_one_difference_is_that_control_tokens_in_a_text_are_text(
    ours: WordPiece, peer: Tokenizer
) -> None:
    steered = Tokenizer.from_str(peer.to_str())
    steered.add_special_tokens(["[CLS]", "[SEP]", "[UNK]", "[PAD]", "[MASK]"])

    assert [ours.end_id] == steered.encode("[SEP]").ids
    assert peer.encode("[ sep ]").ids == ours.ids("[SEP]")
