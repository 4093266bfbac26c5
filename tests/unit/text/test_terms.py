"""Which terms a text gives, case by case."""

from __future__ import annotations

import pytest

from recollect.text.terms import MAX_TERM_CHARS, query_terms, terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Running users run", "run user run"),
        ("the user's notes, users\u2019 notes", "the user note user note"),
        ("don't DON\u2019T dont", "dont dont dont"),
        ("I'm we'll they've", "i we they"),
        ("l'homme", "l homm"),
        ("п'ять", "пят"),
        ("O'Brien", "obrien o brien"),
        ("APIs", "api"),
        ("U.S.A. e.g.", "u.s.a usa e.g eg"),
        ("2nd 16GB 500ms", "2nd 16gb 500ms"),
        ("1,000 items", "1000 1 000 item"),
        ("one,two foo,123", "one two foo 123"),
        ("wait--what", "wait what"),
        ("1..5", "1 5"),
    ],
)
def test_ordinary_words_are_folded_and_stemmed(text: str, expected: str) -> None:
    assert expected.split() == terms(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Café Ünïcödé Łódź Straße", "cafe unicod lodz strass"),
        ("cafe\u0301", "cafe"),
        ("Αθήνα", "αθηνα"),
        ("россии Россия", "росс росс"),
        ("Ёж еж", "еж еж"),
        ("йод иод", "йод иод"),
        ("за\u0301мок", terms("замок")[0]),
        ("ＡＢＣ１２３", "abc123"),
        ("ﬁle", "file"),
        ("co\u00adoperate", "cooper"),
        ("كتــاب كِتَاب", "كتاب كتاب"),
        ("٣٤٥", "345"),
        ("हिन्दी", "हिन्दी"),
        ("Acme™", "acm"),
    ],
)
def test_spellings_of_a_word_meet_in_one_term(text: str, expected: str) -> None:
    assert expected.split() == terms(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("服务器", "服 务 器 服务 务器"),
        ("が", "が"),
        ("ﾊﾛｰ", "ハ ロ ー ハロ ロー"),
        ("か\u3099", "が"),
        ("東京・大阪", "東 京 東京 大 阪 大阪"),
        ("ไทย", "ไ ท ย ไท ทย"),
        ("물을", "물 물을"),
        ("데이터베이스", "데이 이터 터베 베이 이스"),
        ("\u1112\u1161\u11ab글", "한 한글"),
        ("2018年", "2018 年"),
        ("GPU服务器cn-east-3宕机", "gpu 服 务 器 服务 务器 cn-east-3 cn east 3 宕 机 宕机"),
    ],
)
def test_scripts_without_spaces_give_bigrams(text: str, expected: str) -> None:
    assert expected.split() == terms(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("TCK-82152", "tck-82152 tck82152 tck 82152"),
        ("snake_cases", "snake_cases snake case"),
        ("camelCase", "camelcas camel case"),
        ("HTMLParser", "htmlparser html parser"),
        ("getUserById", "getuserbyid get user by id"),
        ("getId", "getid get id"),
        ("userIDs", "userid user id"),
        ("siRNA", "sirna"),
        ("miRNAs", "mirna"),
        ("LaTeX mmHg eBay", "latex mmhg ebay"),
        ("YouTube", "youtub you tube"),
        ("dQw4w9WgXcQ", "dqw4w9wgxcq"),
        ("follow-up", "followup follow up"),
        ("v2.3.1", "v2.3.1 2.3.1 2.3"),
        ("3.14", "3.14"),
        ("python-3.11.7", "python-3.11.7 python 3.11.7 3.11"),
        ("2026-09-15", "2026-09 2026-09-15 2026 09 15"),
        ("src/recollect/types.py", "src/recollect/types.py src recollect types.py type py"),
        ("x.py:42", "x.py:42 x.py x py 42"),
        (
            "ana.lopez@example.com",
            "ana.lopez@example.com ana.lopez ana lopez example.com exampl com",
        ),
        ("https://example.com/a/b?x=1", "example.com/a/b example.com exampl com a b x 1"),
        ("std::fmt", "std::fmt std fmt"),
        ("C++ C# .NET node.js", "c++ c c# c .net net node.js node js"),
        ("C/C++", "c/c++ c c++ c"),
        ("#todo @ana", "#todo todo @ana ana"),
        ("# Heading", "head"),
    ],
)
def test_identifiers_are_kept_whole_and_split(text: str, expected: str) -> None:
    assert expected.split() == terms(text)


@pytest.mark.parametrize(
    "text",
    [
        "see v2.3.1.",
        "(v2.3.1),",
        "`v2.3.1`:",
        "**v2.3.1**",
        "v2.3.1…",
        "「v2.3.1」",
        "v2.3.1--",
        '"v2.3.1"!',
        "_v2.3.1_",
        "/v2.3.1/",
    ],
)
def test_punctuation_around_an_identifier_does_not_belong_to_it(text: str) -> None:
    assert "v2.3.1" in terms(text)


@pytest.mark.parametrize(
    ("query", "document"),
    [
        ("2.3.1", "v2.3.1"),
        ("v2.3.1", "2.3.1"),
        ("youtube", "YouTube"),
        ("IL6", "IL-6"),
        ("followups", "follow-up"),
        ("types.py", "src/recollect/types.py"),
        ("10000", "10,000"),
        ("2026-09", "2026-09-15T10:00:00Z"),
        ("水", "喝水吧"),
        ("물", "물에서"),
        ("👍", "ok👍🏽"),
        ("👩‍💻", "👩🏿‍💻"),
        ("🇩🇪", "x🇩🇪y"),
        ("❤️", "❤"),
    ],
)
def test_a_query_finds_another_spelling(query: str, document: str) -> None:
    assert set(query_terms(query).terms) & set(terms(document))


@pytest.mark.parametrize(
    ("query", "document"),
    [("か", "が"), ("и", "й"), ("🇩🇪", "🇪🇩"), ("2.3", "2.4"), ("TCK-1", "TCK-12"), ("C++", "C#")],
)
def test_a_query_does_not_find_what_only_looks_alike(query: str, document: str) -> None:
    whole = query_terms(query).terms[0]

    assert whole not in terms(document)


def test_a_query_of_a_longer_run_asks_for_bigrams_only() -> None:
    assert ("服务", "务器") == query_terms("服务器").terms


def test_query_terms_are_distinct_in_order_of_first_occurrence() -> None:
    assert ("beta", "alpha") == query_terms("beta alpha Beta betas alphas").terms


@pytest.mark.parametrize(
    ("query", "identifiers"),
    [
        ("what happened in TCK-82152?", ("tck-82152",)),
        ("v2.3.1", ("2.3.1",)),
        ("2.3.1", ("2.3.1",)),
        ("snake_case", ("snake_case",)),
        ("getUserName", ("getusernam",)),
        ("PolicyEngine", ("policyengin",)),
        ("ana.lopez@example.com", ("ana.lopez@example.com",)),
        ("src/recollect/types.py:42", ("src/recollect/types.py",)),
        ("notes.md, README.md", ("notes.md", "readme.md")),
        ("https://example.com/a", ("example.com/a",)),
        ("82152", ("82152",)),
        ("2026-09-15", ("2026-09-15",)),
        ("192.168.1.10:8080", ("192.168.1.10:8080",)),
        ("p53", ("p53",)),
        ("#todo", ("#todo",)),
        ("服务器cn-east-3", ("cn-east-3",)),
        ("TCK-1 TCK-1", ("tck-1",)),
    ],
)
def test_what_names_one_thing_is_an_identifier(query: str, identifiers: tuple[str, ...]) -> None:
    assert identifiers == query_terms(query).identifiers


@pytest.mark.parametrize(
    "query",
    [
        "state-of-the-art follow-up",
        "10am 10:30am 500ms 16gb 2nd 1990s 5k 24-hour 5-year-old 9am-5pm",
        "2026 in 1999, 2019-2021, mid-2023",
        "q3 v2 a1",
        "YouTube GitHub iPhone APIs",
        "and/or 24/7 1/2",
        "e.g. U.S.",
        "10,000 steps",
        "3.14",
        "服务器 東京 물",
    ],
)
def test_ordinary_words_and_quantities_are_no_identifiers(query: str) -> None:
    assert () == query_terms(query).identifiers


def test_stop_words_are_marked_and_kept() -> None:
    asked = query_terms("What did the users say about 什么 caching?")

    assert ("what", "did", "the", "user", "say", "about", "什么", "cach") == asked.terms
    assert {"what", "did", "the", "say", "about", "什么"} == asked.stop


def test_a_query_of_stop_words_only_still_has_terms() -> None:
    assert ("to", "be", "or", "not") == query_terms("to be or not to be").terms


@pytest.mark.parametrize("text", ["", " \n", "?!…", "─────", "\x00\ud800\U000f0000", "\u0301"])
def test_a_text_without_words_has_no_terms(text: str) -> None:
    assert [] == terms(text)


def test_a_long_word_is_cut() -> None:
    assert ["f" * MAX_TERM_CHARS] == terms("F" * 1000)


def test_a_long_compound_is_only_split() -> None:
    assert ["ab"] * 60 == terms("/".join(["ab"] * 60))


def test_the_tail_of_a_blob_is_not_indexed() -> None:
    assert len(terms("iVBORw0KGgo/AAAA+" * 10_000)) < 1000
