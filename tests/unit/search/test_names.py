"""Whom a question asks about: a passage about somebody else, or said by them, hardly answers."""

from __future__ import annotations

from math import exp

import pytest

from recollect.search.names import answered, names_in, speakers
from recollect.types import Chunk, SourceKind


def likely(question: str, opinions: dict[str, float]) -> float:
    """Return how likely an answer is, given the reader's opinion of each passage."""
    chunks = [Chunk("a.md", SourceKind.MEMORY, 1, 1, text) for text in opinions]
    return answered(question, chunks, list(opinions.values()))


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("When did Melanie go to the support group?", ("melanie",)),
        ("It's late. What did the Hamadas say in May?", ("hamada",)),
        ("Caroline's bowl", ("caroline",)),
        ("where do we keep the backups of the NAS", ()),
        ("Wo hat Jonas das Rezept für die Suppe?", ()),
        ("Jon wrote, " + "and I read, " * 8, ()),
    ],
)
def test_the_names_of_a_short_english_question_are_known(
    question: str, names: tuple[str, ...]
) -> None:
    assert names == names_in(question)


def test_a_passage_without_the_name_that_was_asked_for_hardly_answers() -> None:
    text = {"Maren sings on Sunday.": 0.8}

    assert 0.8 == pytest.approx(likely("when does Maren sing", text))
    assert 0.8 == pytest.approx(likely("when does she sing", text))
    assert 1 / (1 + exp(3.0) / 4) == pytest.approx(likely("when does Wiebke sing", text))
    assert 1 / (1 + exp(1.5) / 4) == pytest.approx(likely("when do Maren and Wiebke sing", text))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Maren: I sing on Sunday.", {"maren"}),
        ("# 2 March\n\n[2026-03-02 18:10] Maren Holt: I sing.", {"maren", "holt"}),
        ("**Maren:** I sing.\n**Wiebke:** Where?", {"maren", "wiebke"}),
        ("Who sings when\n\nMaren: on Sunday\nWiebke: on Monday", set()),
        ("At 18:10 Maren sings.", set()),
    ],
)
def test_a_text_is_said_by_those_whose_names_its_lines_begin_with(
    text: str, names: set[str]
) -> None:
    assert names == speakers(text)


def test_what_the_named_speaker_says_must_be_likelier_than_what_others_say() -> None:
    question = "when does Maren sing"
    own, other = "Maren: I sing on Sunday.", "Wiebke: I sing on Monday, Maren."

    assert 0.8 == pytest.approx(likely(question, {own: 0.8}))
    # odds of 4 against odds of 1, by e^1.5; the passages together had 0.9
    assert 1 / (1 + exp(1.5) / 4) == pytest.approx(likely(question, {own: 0.8, other: 0.5}))
    assert 0.1 > likely(question, {own: 0.2, other: 0.8})


def test_speakers_make_no_answer_likelier_and_count_only_if_the_named_one_speaks() -> None:
    question = "when does Maren sing"

    assert 0.5 == pytest.approx(likely(question, {"Maren: On Sunday.": 0.5, "Jo: Who?": 0.0}))
    assert 0.75 == pytest.approx(
        likely(question, {"Maren sings on Sunday.": 0.5, "Jo: Maren sings.": 0.5})
    )
