"""Words that occur nowhere, and the spelling that memory knows."""

from __future__ import annotations

import pytest

from recollect.search.forms import forms_of
from recollect.search.respell import as_written, respell
from recollect.text.terms import query_terms, terms

KNOWN = dict.fromkeys(terms("a restaurant in Lisbon with the winter passphrase, alfama, rust"), 3)


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
        ("restaurants in Lisbon", {}),
        ("the winner", {}),  # a word of its own, and too short
        ("nothing like it", {}),
        ("wintering", {}),  # in its stem
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


@pytest.mark.parametrize(
    ("word", "other"),
    [("party", "part"), ("Sandy", "sand"), ("poet", "pot"), ("toe", "to"), ("county", "count")],
)
def test_words_that_only_look_alike_are_not_forms_of_each_other(word: str, other: str) -> None:
    assert other not in forms_of(word)


def test_a_word_may_belong_to_several_groups() -> None:
    assert {"left", "leaf"} <= forms_of("leave")


@pytest.mark.parametrize(
    ("asked", "noted"),
    [
        ("lose", "we lost it"),
        ("who is allergic", "a peanut allergy"),
        ("any allergies", "allergic to nuts"),
        ("kaesespaetzle", "Käsespätzle"),
        ("Schlüssel", "der Schluessel"),
        ("Grüße", "viele Gruesse"),
        ("the decision", "we decided"),
        ("photographic", "photography"),
        ("her child", "three children"),
        ("democratic", "democracy"),
    ],
)
def test_another_form_of_a_word_is_searched_if_the_word_itself_occurs_nowhere(
    asked: str, noted: str
) -> None:
    known = set(terms(noted))
    question = query_terms(asked)
    frequencies = {term: int(term in known) for term in question.terms}
    new, respelled = respell(
        asked,
        question,
        frequencies=frequencies,
        look_up=lambda words: {word: int(word in known) for word in words},
    )

    assert known & set(new.terms)
    assert {} == respelled  # not a guess


def test_a_word_that_occurs_is_searched_as_it_is() -> None:
    question = query_terms("lose")
    new, _ = respell(
        "lose", question, frequencies={"lose": 1}, look_up=lambda words: dict.fromkeys(words, 9)
    )

    assert question is new
