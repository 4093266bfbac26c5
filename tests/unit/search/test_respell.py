"""Words that occur nowhere, and the spelling that memory knows."""

from __future__ import annotations

import pytest

from recollect.search.respell import as_written, respell
from recollect.text.terms import query_terms, terms

KNOWN = dict.fromkeys(
    terms("a restaurant in Lisbon with the winter passphrase, alfama, rust, irrigation, sections"),
    3,
)


def spelled(text: str) -> dict[str, str]:
    def look_up(words: object) -> dict[str, int]:
        assert isinstance(words, list)
        return {word: KNOWN.get(word, 0) for word in words}

    question = query_terms(text)
    frequencies = look_up(list(question.terms))
    return respell(text, question, frequencies=frequencies, look_up=look_up)[1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Lisabon resturant", {"lisabon": "lisbon", "resturant": "restaur"}),
        ("my pasphrase?", {"pasphrase": "passphras"}),
        ("irigation", {"irigation": "irrig"}),
        ("winter irrigaton", {"irrigaton": "irrig"}),  # the edit is in the ending
        ("where is Lisbn", {"lisbn": "lisbon"}),
        ("Lisbn in winter", {}),  # short, and there is something else to search for
        ("restaurants in Lisbon", {}),
        ("the winner", {}),  # a word of its own, and too short
        ("nothing like it", {}),
        ("wintering", {}),  # in its stem
        ("suctions", {}),  # a word of its own: an ending makes it no longer
        ("rusting pans", {}),
        ("resting", {}),  # its stem is too short: not `rust`
        ("zlisbon", {}),  # the first letter stays
        ("里斯本 餐厅", {}),
        ("resturant " + " ".join(f"word{number}" for number in range(20)), {}),
    ],
)
def test_a_word_that_occurs_nowhere_is_searched_as_its_nearest_known_spelling(
    text: str, expected: dict[str, str]
) -> None:
    assert expected == spelled(text)


def test_a_respelled_word_is_shown_as_it_is_written_in_a_hit() -> None:
    texts = ["We had dinner.", "Two Restaurants near the port"]

    assert "Restaurants" == as_written("restaur", texts)
    assert "restaur" == as_written("restaur", [])


def test_the_known_spelling_takes_the_place_of_the_term() -> None:
    question = query_terms("Lisabon winter")
    new, _ = respell(
        "Lisabon winter",
        question,
        frequencies={"winter": 3, "lisabon": 0},
        look_up=lambda words: {word: word == "lisbon" for word in words},
    )

    assert ("lisbon", "winter") == new.terms


def test_a_word_that_occurs_is_searched_as_it_is() -> None:
    question = query_terms("restaurent")
    known = {"restaur": 1, "restaurent": 1}
    new, _ = respell(
        "restaurent",
        question,
        frequencies=known,
        look_up=lambda words: dict.fromkeys(words, 9),
    )

    assert question is new
