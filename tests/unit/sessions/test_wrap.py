from __future__ import annotations

import pytest

from recollect.sessions.project import wrap
from recollect.text.size import weigh


def lines(text: str, width: int = 800) -> list[str]:
    return list(wrap(text, width=width))


def test_a_short_text_is_one_line() -> None:
    assert [] == lines("")
    assert ["a b"] == lines("a b")
    assert ["a" * 800] == lines("a" * 800)


def test_a_long_text_is_divided_at_the_last_space_that_fits() -> None:
    assert ["one two", "three", "four"] == lines("one two three four", 8)
    assert ["12345678", "9"] == lines("12345678 9", 8)


def test_a_word_longer_than_a_line_is_divided_where_it_must_be() -> None:
    assert [800, 800, 25] == [len(line) for line in lines("a" * 1625)]
    assert ["see", "aaaaaaaa", "aa"] == lines("see " + "a" * 10, 8)


def test_text_without_spaces_is_divided_by_weight() -> None:
    found = lines("数" * 500)

    assert [200, 200, 100] == [len(line) for line in found]
    assert 800 == weigh(found[0])


def test_a_character_heavier_than_a_line_is_a_line() -> None:
    assert ["\U00020000", "\U00020001"] == lines("\U00020000\U00020001", 8)


@pytest.mark.parametrize(
    "cluster", ["e\u0301", "👨‍👩‍👧‍👦", "🇩🇪", "👍🏽", "1\ufe0f\u20e3", "क्ष", "\u1112\u1161\u11ab"]
)
def test_a_visible_character_is_not_divided(cluster: str) -> None:
    for padding in range(1, 12):
        text = "x" * padding + cluster * 12

        for line in lines(text, 40):
            assert len(line.lstrip("x")) % len(cluster) == 0
