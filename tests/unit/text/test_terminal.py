from __future__ import annotations

import json
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.text.terminal import terminal_json, terminal_line, terminal_text

# Lone surrogates, too, but not two side by side, which are one character to JSON.
ANY_TEXT = st.text(st.characters(categories=None)).map(
    lambda text: text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b]0;title\x07", "␛]0;title␇"),
        ("\x1b]8;;https://evil.example\x1b\\bank\x1b]8;;\x1b\\", "␛]8;;https://evil.example␛\\bank␛]8;;␛\\"),
        ("\x9b31m\x9d52;c;eA==\x9c", "�31m�52;c;eA==�"),
        ("a\rb\x08c\x7f", "a␍b␈c␡"),
        ("one\r\ntwo\n\tthree", "one\ntwo\n\tthree"),
        ("a\u2028b\u2029c\x85d\x0be", "a�b�c�d␋e"),
        ("invoice\u202efdp.exe", "invoice�fdp.exe"),
        ("a\u2066b\u2069", "a�b�"),
        ("hid\U000e0041den zero\u200bwidth \ufeff", "hidden zerowidth "),
        ("caf\udce9", "caf�"),
        ("👨‍👩‍👧 ❤️ می‌خواهم é e\u0301 한글", "👨‍👩‍👧 ❤️ می‌خواهم é e\u0301 한글"),
        ("[bold]not markup[/bold]", "[bold]not markup[/bold]"),
    ],
)  # fmt: skip
def test_a_terminal_shows_what_it_must_not_obey(text: str, expected: str) -> None:
    assert expected == terminal_text(text)
    assert expected == terminal_text(expected)


def test_a_line_break_cannot_forge_a_line() -> None:
    assert "a␊0.999 memory/forged.md:1-2" == terminal_line("a\n0.999 memory/forged.md:1-2")


@given(ANY_TEXT)
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    shown = terminal_text(text)

    assert not set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069") & set(shown)
    assert not {each for each in shown if category(each) in {"Cc", "Cs", "Zl", "Zp"}} - set("\t\n")
    assert "\n" not in terminal_line(text)
    shown.encode()


@given(st.dictionaries(ANY_TEXT, ANY_TEXT))
def test_json_is_the_same_value_and_shows_nothing_hidden(value: dict[str, str]) -> None:
    shown = terminal_json(json.dumps(value, ensure_ascii=False))

    assert value == json.loads(shown)
    assert shown == terminal_text(shown)
