"""What holds for the terms of any text."""

from __future__ import annotations

import re

import apsw
from hypothesis import example, given
from hypothesis import strategies as st

from recollect.text import terms as module
from recollect.text.phrases import contains_all
from recollect.text.terms import MAX_TERM_CHARS, phrase_terms, phrase_words, query_terms, terms
from recollect.types import Phrase

MARKS = list(" \n.-_@/:#+',…\u3000\x00\ud800\u200d\u0345i7")
WORDS = ["user", "Users", "camelCase", "TCK-82152", "v2.3.1", "C++", "2026-09-15", "1,000", "don't"]
SCRIPTS = ["é", "e\u0301", "ß", "İ", "Σ", "ё", "服务器", "が", "ﾊﾞ", "한국어", "\u1112\u1161", "ไทย"]
SIGNS = ["हिन्दी", "كِتَاب", "👩‍💻", "👍🏽", "🇩🇪", "™", "½", "\ufdfa", "𝔘", "㎞"]
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=())),
    st.lists(st.sampled_from(MARKS + WORDS + SCRIPTS + SIGNS), max_size=12).map("".join),
)
ALLOWED = re.compile(r"[a-z0-9\-_.@/:#+\u0080-\U0010ffff]+")


def tokens_of_sqlite(text: str) -> list[str]:
    """Return what FTS5 makes of a text, told to keep the characters that terms may hold."""
    connection = apsw.Connection(":memory:")
    connection.execute(
        "CREATE VIRTUAL TABLE words USING fts5(body, tokenize=\"ascii tokenchars '-_.@/:#+'\")"
    )
    connection.execute("CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, 'instance')")
    connection.execute("INSERT INTO words(body) VALUES (?)", (text,))
    rows = connection.execute('SELECT term FROM vocabulary ORDER BY "offset"')
    return [str(term) for (term,) in rows]


@given(TEXTS)
def test_sqlite_sees_exactly_the_terms(text: str) -> None:
    found = terms(text)

    assert found == tokens_of_sqlite(" ".join(found))


@given(TEXTS)
def test_terms_hold_only_what_they_may(text: str) -> None:
    for term in terms(text):
        assert ALLOWED.fullmatch(term)
        assert len(term) <= MAX_TERM_CHARS
        assert term.encode("utf-8")
        assert term == "".join(term.split())


@given(TEXTS)
def test_whoever_asks_with_a_text_finds_it(text: str) -> None:
    asked = query_terms(text)

    assert set(asked.terms) <= set(terms(text))


@given(TEXTS)
def test_a_query_has_terms_when_the_text_has(text: str) -> None:
    assert bool(terms(text)) == bool(query_terms(text).terms)


@given(TEXTS)
def test_identifiers_and_stop_words_are_among_the_terms(text: str) -> None:
    asked = query_terms(text)

    assert {*asked.identifiers, *asked.stop} <= set(asked.terms)
    assert len(asked.terms) == len(set(asked.terms))


@given(TEXTS, TEXTS)
def test_lines_are_indexed_one_by_one(first: str, second: str) -> None:
    assert terms(first) + terms(second) == terms(f"{first}\n{second}")


@given(st.text("abcXYZ", min_size=1, max_size=200))
@example("a" * 1000)
def test_every_word_leaves_a_term(word: str) -> None:
    assert terms(word)


@given(TEXTS)
@example("0++0")
def test_the_first_test_for_a_phrase_leaves_out_no_text_that_has_it(text: str) -> None:
    assert set(phrase_terms(text)) <= set(terms(text))


@given(TEXTS, TEXTS, TEXTS)
def test_a_text_contains_itself_as_a_phrase(before: str, text: str, after: str) -> None:
    words = phrase_words(text)

    assert not words or contains_all([f"{before}\n{text}\n{after}"], [Phrase(text, words, ())])


@given(st.text(st.sampled_from("abysedWA.,;:!?()[]\"*'-_@#+/1é"), min_size=1, max_size=8))
@example('("Blankets."),')
@example(".env.")
@example("C#,")
def test_one_word_between_punctuation_is_read_as_any_other_piece(piece: str) -> None:
    assert [*module._terms_of_piece(piece)] == [*module._terms_of_tokens(piece)]
    read = module._phrase_words_of_piece(piece)
    assert [*read] == [*module._phrase_words_of_tokens(piece)]
