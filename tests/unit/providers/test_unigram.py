"""The tokenizer of the multilingual model, on a few made-up pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.providers.models.unigram import Unigram

# In this order: ids, names, scores. The end of the file replaces a letter and drops another one.
FILE = """0 2 3
<s>\t0.0
<pad>\t0.0
</s>\t0.0
<unk>\t0.0
▁\t-3.0
▁note\t-5.0
no\t-6.0
te\t-6.0
▁no\t-5.5
s\t-4.0
服\t-7.0

9\t▁
173\t
223\tss
"""
PIECES = Unigram.from_bytes(FILE.encode())


def test_control_ids_are_in_the_first_line() -> None:
    assert (0, 2) == (PIECES.start_id, PIECES.end_id)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", [4]),
        ("note", [5]),
        ("notes", [5, 9]),
        ("note\tnote", [5, 5]),
        ("  note   note", [5, 5]),
        ("note ", [5, 4]),
        ("no\u00adte", [5]),
        ("ß", [4, 9, 9]),
        ("服", [4, 10]),
        ("務", [4, 3]),
        ("\0", [4]),
        ("ｎｏｔｅ", [5]),
    ],
)
def test_a_text_is_divided_into_its_likeliest_pieces(text: str, ids: list[int]) -> None:
    assert ids == PIECES.ids(text)


def test_a_control_piece_in_a_text_is_plain_text() -> None:
    assert {0, 2}.isdisjoint(PIECES.ids("</s> note <s>"))


def test_words_are_told_with_their_ids() -> None:
    assert [("▁note", (5,)), ("▁no", (8,))] == PIECES.words("note no")


@given(st.text())
def test_any_text_has_ids(text: str) -> None:
    assert PIECES.ids(text)
    assert [5, *PIECES.ids(text)] == PIECES.ids(f"note {text}")
