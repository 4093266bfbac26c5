"""How large a text is: the arithmetic of each class of characters."""

from __future__ import annotations

import pytest

from recollect.text.size import estimate_tokens, weigh


@pytest.mark.parametrize(
    ("text", "weight"),
    [
        ("", 0),
        ("hello world", 11),
        ("naïve", 5),
        ("你好世界", 4 * 4),
        ("hi你好", 2 + 2 * 4),
        ("こんにちは", 5 * 4),
        ("안녕하세요", 5 * 4),
        ("ＡＢＣ１２３", 6 * 4),
        ("hello，world", 10 + 4),
        ("·", 4),
        ("\u2e80\u3400\u9fff\ua000\uf900", 5 * 12),
        ("\u1112\u1161\u11ab", 3 * 12),
        ("\ua960\ud7b0\ua700", 3 * 12),
        ("ｺﾝﾆﾁﾊ", 5 * 8),
        ("\uffa1\ufe10\uffe0\u02ca\u0323", 5 * 8),
        ("\U0001d360\U0001d371", 2 * 12),
        ("\U00020000\U0002fa1f\U00030000\U0003347f", 4 * 16),
        ("\U00016fe3\U0001aff0\U0001b001\U0001f200", 4 * 16),
        ("你\U00020000好", 4 + 16 + 4),
    ],
)
def test_characters_weigh_what_they_cost_a_model(text: str, weight: int) -> None:
    assert weight == weigh(text)


def test_other_characters_weigh_their_utf16_length() -> None:
    assert 1 + 1 + 2 + 2 == weigh("aé😀\U0001d400")


def test_a_lone_surrogate_weighs_one() -> None:
    assert 1 + 1 + 1 == weigh("\ud800a\udfff")


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2)])
def test_four_weighted_characters_are_a_token(text: str, tokens: int) -> None:
    assert tokens == estimate_tokens(text)


def test_a_common_ideograph_is_a_token() -> None:
    assert 3 == estimate_tokens("记忆库")
