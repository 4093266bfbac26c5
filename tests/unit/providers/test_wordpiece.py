"""WordPiece on a vocabulary small enough to check by eye."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from recollect.providers.models.bert import WordPiece

if TYPE_CHECKING:
    from pathlib import Path

PIECES = "[PAD] [UNK] [CLS] [SEP] un ##aff ##able ##a sep cls [ ] . ' cafe 中 国 σοφος ##s don t a"
VOCABULARY = PIECES.split(" ")
UNKNOWN = VOCABULARY.index("[UNK]")


@pytest.fixture
def wordpiece() -> WordPiece:
    return WordPiece(VOCABULARY)


def pieces_of(wordpiece: WordPiece, text: str) -> list[str]:
    return [VOCABULARY[number] for number in wordpiece.ids(text)]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("unaffable", ["un", "##aff", "##able"]),
        ("un affable", ["un", "[UNK]"]),
        ("una", ["un", "##a"]),
        ("Unaffable.", ["un", "##aff", "##able", "."]),
        ("don't", ["don", "'", "t"]),
        ("CAFÉ", ["cafe"]),
        ("cafe\u0301", ["cafe"]),
        ("中国", ["中", "国"]),
        ("a中s", ["a", "中", "[UNK]"]),
        ("ΣΟΦΟΣ", ["[UNK]"]),
        ("σοφοσ", ["[UNK]"]),
        ("σοφος", ["σοφος"]),
        ("a\u00ada", ["a", "##a"]),
        ("a\u200ba", ["a", "##a"]),
        ("a\u00a0a", ["a", "a"]),
        ("a\ta\r\na", ["a", "a", "a"]),
        ("\x00\ufffd\x1f", []),
        ("", []),
        (" \n ", []),
    ],
)
def test_a_text_becomes_the_longest_pieces_of_its_words(
    wordpiece: WordPiece, text: str, pieces: list[str]
) -> None:
    assert pieces == pieces_of(wordpiece, text)


def test_a_word_without_a_match_for_its_rest_is_unknown_as_a_whole(wordpiece: WordPiece) -> None:
    assert [UNKNOWN] == wordpiece.ids("unaffablex")


@pytest.mark.parametrize(("length", "expected"), [(100, 100), (101, 1)])
def test_a_word_of_more_than_100_characters_is_unknown(
    wordpiece: WordPiece, length: int, expected: int
) -> None:
    assert expected == len(wordpiece.ids("a" * length))


def test_a_control_token_in_a_text_is_text(wordpiece: WordPiece) -> None:
    assert ["[", "sep", "]", "a", "[", "cls", "]"] == pieces_of(wordpiece, "[SEP] a[CLS]")


def test_the_ids_of_the_control_tokens_are_known_to_the_caller(wordpiece: WordPiece) -> None:
    assert (2, 3) == (wordpiece.start_id, wordpiece.end_id)


def test_lone_surrogates_are_dropped(wordpiece: WordPiece) -> None:
    assert ["a", "##a"] == pieces_of(wordpiece, "a\ud800a\udfff")


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_vocabulary_file_has_one_piece_a_line(tmp_path: Path, end: str) -> None:
    # U+2028 is a line separator to `str.splitlines`, and part of a piece here.
    lines = ["\u2028", *VOCABULARY]
    file = tmp_path / "vocab.txt"
    file.write_bytes(("\n".join(lines) + end).encode())

    assert [lines.index("a")] == WordPiece.from_bytes(file.read_bytes()).ids("a")
