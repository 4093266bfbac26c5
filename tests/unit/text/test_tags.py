"""Tags: which words name them, and what in a text is one."""

from __future__ import annotations

import pytest

from recollect.text.tags import shown_tags, tag_names


def test_names_are_lower_case_words_each_once() -> None:
    assert ("ui", "dark-mode", "b") == tag_names(["#UI", "dark mode, b", "ui/", " ,", "#"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#one and #two/three, #c++.", ["one", "two/three", "c++"]),
        ("```c\n#define X\n```\n#after", ["after"]),
        ("~~~~\n#in\n```\n#in\n~~~~\n#after", ["after"]),
        ("#before\n```c\n#define X", ["before"]),
        ("#before\n```\n#include <x>", ["before"]),
        ("> ```\n> #in\n> ```\n> #after", ["after"]),
        ("> ```\n> #in\n\n#after", ["after"]),
        ("- ```\n  #in\n  ```\n- #after", ["after"]),
        ("```\n> ```\n#in\n- ```\n#in\n```\n#after", ["after"]),
        ("`a #define` and #this", ["this"]),
        ("1. `#x\n2. #y", ["y"]),
        ("#1 #fff [x](#y) a#b", []),
    ],
)
def test_code_colours_numbers_and_links_are_no_tags(text: str, expected: list[str]) -> None:
    assert expected == shown_tags(text)


def test_a_chunk_may_begin_in_code() -> None:
    assert ["tool", "after"] == shown_tags("#define X\n```\n#after", "``` #tool")
    assert ["after"] == shown_tags("> #define X\n\n#after", ">```")
    assert ["define"] == shown_tags("#define X", "```js")


def test_declared_tags_may_be_any_word() -> None:
    assert ["node.js", "2026", "r&d"] == shown_tags("", "#node.js #2026 words #r&d a#b")
