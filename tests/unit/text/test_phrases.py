"""Quoted phrases of a question, and which texts contain them."""

from __future__ import annotations

import pytest

from recollect.text.phrases import contains_all, phrases_in


def has(question: str, text: str) -> bool:
    phrases = phrases_in(question)
    assert len(phrases) == 1
    return contains_all([text], phrases)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ('deploy "blue button" now', ["blue button"]),
        ('"one" and "two words"', ["one", "two words"]),
        ('("in brackets")', ["in brackets"]),
        ('关于"蓝色按钮"的笔记', ["蓝色按钮"]),
        ('"said  twice" "said twice"', ["said twice"]),
        ('a 24" monitor or a 27" one', []),
        ('an open "quote', []),
        ('"" "…"', []),
        ("it's 'single'", []),
    ],
)
def test_what_is_in_double_quotes_is_a_phrase(question: str, expected: list[str]) -> None:
    assert expected == [phrase.text for phrase in phrases_in(question)]


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("blue button", "Press the BLUE buttons."),
        ("blue button", "a blue-button, a blue\nbutton"),
        ("roll back", "- **roll** back"),
        ("don't panic", "Don’t panic!"),
        ("C++ code", "some C++ code"),
        ("v2.3.1", "since 2.3.1"),
        ("2026-09-15", "on 2026-09-15, at ten"),
        ("src/types.py", "see src/types.py:42"),
        ("node.js server", "a Node.js server"),
        ("USA", "the U.S.A."),
        ("蓝色按钮", "点击蓝色按钮回滚"),
        ("蓝色按钮", "点击蓝色\n按钮"),
        ("pipeline 部署", "用pipeline部署"),
        ("部署 pipeline", "我们部署 pipeline"),
        ("東京タワー", "明日は東京タワーへ"),
        ("금강산의 얼굴", "금강산의 얼굴빛이라는"),
    ],
)
def test_words_side_by_side_are_found_in_any_form(phrase: str, text: str) -> None:
    assert has(f'"{phrase}"', text)


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("blue button", "blue big button"),
        ("blue button", "button blue"),
        ("C++ code", "C code"),
        ("v2.3.1", "2.3.10"),
        ("蓝色按钮", "蓝色的按钮"),
        ("蓝色按钮", "按钮蓝色"),
    ],
)
def test_words_apart_or_in_another_order_are_not_the_phrase(phrase: str, text: str) -> None:
    assert not has(f'"{phrase}"', text)
