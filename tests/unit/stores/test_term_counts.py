"""Bags of words: what is packed is what is counted."""

from __future__ import annotations

import struct
from collections import Counter
from typing import TYPE_CHECKING
from zlib import crc32

from hypothesis import given
from hypothesis import strategies as st

from recollect.stores import term_counts
from recollect.text import terms

if TYPE_CHECKING:
    import pytest

WORDS = st.lists(st.sampled_from(["a", "b", "ab", "é", "服", "\ud800", "z" * 96]), max_size=12)


def packed_word_by_word(fields: tuple[list[str], ...]) -> bytes:
    """Return the blob by its definition: words in order, a hash and a count per field."""
    counted = [Counter(words) for words in fields]
    distinct = sorted({word for words in fields for word in words})
    return b"".join(
        struct.pack(
            "<I3B",
            crc32(word.encode("utf-8", "surrogatepass")),
            *(min(words[word], 255) for words in counted),
        )
        for word in distinct
    )


@given(WORDS, WORDS, WORDS)
def test_a_bag_is_what_its_definition_says(
    body: list[str], heading: list[str], path: list[str]
) -> None:
    fields = (body * 40, heading, path)

    assert packed_word_by_word(fields) == term_counts.pack(fields)


def test_what_is_remembered_of_words_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terms, "_MAX_CACHED_PIECES", len(terms._TERMS_BETWEEN_SPACES) + 100)
    monkeypatch.setattr(term_counts, "_MAX_CACHED_WORDS", len(term_counts._HASHES) + 100)
    many = [f"w{number:x}q" for number in range(1000)]

    found = terms.terms(" ".join(many))
    term_counts.pack((found, [], []))

    assert many == found
    assert len(terms._TERMS_BETWEEN_SPACES) <= terms._MAX_CACHED_PIECES
    assert len(term_counts._HASHES) <= term_counts._MAX_CACHED_WORDS
