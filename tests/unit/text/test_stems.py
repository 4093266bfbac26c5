"""Stems are in every index: a release of the stemmer that gives others must not come unnoticed."""

from __future__ import annotations

import pytest

from recollect.text.scripts import stem


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("organization", "organiz"),  # until Snowball 3.0: organ
        ("emergency", "emergenc"),
        ("pasted", "paste"),
        ("evening", "evening"),
        ("added", "add"),
        ("psychologist", "psycholog"),
        ("dying", "die"),
        ("skies", "sky"),
        ("nightly", "night"),
        ("заметки", "заметк"),
        ("копии", "коп"),
        ("naïve", "naïve"),
        ("v2", "v2"),
    ],
)
def test_a_word_keeps_the_stem_that_indexes_have(word: str, expected: str) -> None:
    assert expected == stem(word)
