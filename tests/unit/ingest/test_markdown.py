from __future__ import annotations

import pytest

from recollect.ingest.markdown import MAX_TITLE_CHARS, BlockKind, blocks


def kinds(text: str) -> list[str]:
    """Each block as `kind start-end`, with a dot for each level of depth."""
    return [
        f"{'.' * block.depth}{block.kind} {block.start}-{block.end}"
        for block in blocks(text.split("\n"))
    ]


def titles(text: str) -> list[tuple[int, str]]:
    return [
        (block.level, block.title)
        for block in blocks(text.split("\n"))
        if block.kind is BlockKind.HEADING
    ]


@pytest.mark.parametrize(
    ("text", "level", "title"),
    [
        ("# One", 1, "One"),
        ("###### Six", 6, "Six"),
        ("## Closed ##", 2, "Closed"),
        ("## C#", 2, "C#"),
        ("# #", 1, ""),
        ("#", 1, ""),
        ("   # Indented", 1, "Indented"),
        ("#\tTab", 1, "Tab"),
        ("# `Option<T>` and **bold** *words*", 1, "Option<T> and bold words"),
        ("# [A link](https://x/y) ![image](a.png)", 1, "A link image"),
        ("# Title {#anchor} <!-- note -->", 1, "Title"),
        ('# <a id="x"></a>Anchored', 1, "Anchored"),
        ("# 2 * 3 * 4 and __init__", 1, "2 * 3 * 4 and __init__"),
        ("# 数据库  迁移", 1, "数据库 迁移"),
    ],
)
def test_a_heading_has_a_level_and_a_title_without_markup(
    text: str, level: int, title: str
) -> None:
    assert [(level, title)] == titles(text)


@pytest.mark.parametrize(
    "text",
    [
        "#tag",
        "####### seven",
        "    # code",
        "\t# code",
        "text # no",
        r"\# no",
        "> # quoted",
        "- # in",
    ],
)
def test_what_only_looks_like_a_heading_is_none(text: str) -> None:
    assert titles(text) == []


def test_a_title_is_cut_where_it_would_be_too_long_to_repeat() -> None:
    ((_, title),) = titles("# " + "word " * 1000)

    assert len(title) <= MAX_TITLE_CHARS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Title\n===", [(1, "Title")]),
        ("Title\n---", [(2, "Title")]),
        ("A **bold** title\n  -----  ", [(2, "A bold title")]),
        ("text\n\nTitle\n---", [(2, "Title")]),
    ],
)
def test_an_underlined_line_is_a_heading(text: str, expected: list[tuple[int, str]]) -> None:
    assert expected == titles(text)


@pytest.mark.parametrize(
    "text",
    [
        "text\n\n---",
        "- entry\n---",
        "> quoted\n---",
        "    code\n---",
        "```\ncode\n---\n```",
        "two\nlines\n---",
        "[ref]: https://x\n---",
        "<div>\n---",
        "| a |\n---",
        "text\n-",
        "x" * 300 + "\n---",
        "---\n---",
    ],
)
def test_a_rule_below_something_else_makes_no_heading(text: str) -> None:
    assert titles(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```\n# a\n```\nb", ["fence 1-3", "text 4-4"]),
        ("~~~ python\n# a\n~~~", ["fence 1-3"]),
        ("````\n```\n# a\n````", ["fence 1-4"]),
        ("```\n~~~\n# a\n```", ["fence 1-4"]),
        ("```\n# a\n``` x\n# b", ["fence 1-4"]),
        ("```\n# never closed\n\n# a", ["fence 1-4"]),
        ("```\n    ```\n# a\n```", ["fence 1-4"]),
        ("text\n```\n# a\n```", ["text 1-1", "fence 2-4"]),
        ("``` a`b\ntext", ["text 1-2"]),
        ("- a\n  ```\n  # b\n\n  ```\n- c", ["bullet 1-1", ".fence 2-5", "bullet 6-6"]),
        ("- a\n  ```\n# b", ["bullet 1-1", ".fence 2-2", "heading 3-3"]),
        ("- ```\n  # a\n  ```\ntext", ["bullet 1-3", "text 4-4"]),
    ],
)
def test_a_fence_lasts_until_its_own_closer(text: str, expected: list[str]) -> None:
    assert expected == kinds(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- a\n- b", ["bullet 1-1", "bullet 2-2"]),
        ("- a\n  more\nlazy\n- b", ["bullet 1-3", "bullet 4-4"]),
        ("- a\n  - b\n    - c\n- d", ["bullet 1-1", ".bullet 2-2", "..bullet 3-3", "bullet 4-4"]),
        ("1. a\n2) b\n10. c", ["bullet 1-1", "bullet 2-2", "bullet 3-3"]),
        ("- a\n\n  second\n\nafter", ["bullet 1-1", ".text 3-3", "text 5-5"]),
        ("- a\n  - b\n\n  of a", ["bullet 1-1", ".bullet 2-2", ".text 4-4"]),
        ("-\n- a", ["bullet 1-1", "bullet 2-2"]),
        ("-\ta\n\n\tsecond\n\t- b", ["bullet 1-1", ".text 3-3", ".bullet 4-4"]),
        ("text\n- a", ["text 1-1", "bullet 2-2"]),
        ("it was\n1984. A year", ["text 1-2"]),
        ("steps\n1. a\n2. b", ["text 1-1", "bullet 2-2", "bullet 3-3"]),
        ("- a\n        - deep", ["bullet 1-1", ".bullet 2-2"]),
        ("\t- code", ["text 1-1"]),
        ("-no\n*no*\n+1", ["text 1-3"]),
        ("- a\n\n  # not a section\n# a section", ["bullet 1-1", ".text 3-3", "heading 4-4"]),
    ],
)
def test_list_entries_keep_their_lines_and_know_their_depth(text: str, expected: list[str]) -> None:
    assert expected == kinds(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("| a |\n|---|\n| 1 |\n| 2 |\n| 3 |", ["table 1-3", ".row 4-4", ".row 5-5"]),
        ("a | b\n--- | ---\n1 | 2\n3 | 4", ["table 1-3", ".row 4-4"]),
        ("text:\n| a |\n|---|\n| 1 |", ["text 1-1", "table 2-4"]),
        ("| a |\n|---|\n\n| b |", ["table 1-2", "table 4-4"]),
        ("| a |\n| b |", ["table 1-1", ".row 2-2"]),
        ("| a |\n|---|\n| 1 |\n# h", ["table 1-3", "heading 4-4"]),
        ("- a\n\n  | b |\n  |---|\n| c |", ["bullet 1-1", ".table 3-4", "table 5-5"]),
        ("a | b\n--- | ---\n- c | d", ["table 1-2", "bullet 3-3"]),
        ("a | b", ["text 1-1"]),
    ],
)
def test_a_table_keeps_its_head_with_the_first_row(text: str, expected: list[str]) -> None:
    assert expected == kinds(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<!-- # a\n\n# b\n--> \n# c", ["html 1-4", "heading 5-5"]),
        ("<!-- a -->\n# b", ["html 1-1", "heading 2-2"]),
        ("<!-- never closed\n# b", ["html 1-2"]),
        ("<pre>\n# a\n</PRE>\n# b", ["html 1-3", "heading 4-4"]),
        ("<preface>\n# a", ["text 1-1", "heading 2-2"]),
    ],
)
def test_headings_inside_comments_and_raw_html_are_none(text: str, expected: list[str]) -> None:
    assert expected == kinds(text)


@pytest.mark.parametrize("rule", ["---", "***", "___", "- - -", "* * * *", "----------"])
def test_a_rule_is_no_list(rule: str) -> None:
    assert kinds(f"text\n\n{rule}") == ["text 1-1", "rule 3-3"]


def test_the_paragraphs_of_a_quotation_are_blocks() -> None:
    assert kinds("> a\n> b\n>\n> c\nlazy") == ["text 1-3", "text 4-5"]


def test_blank_lines_belong_to_no_block() -> None:
    assert kinds("\n\na\n \n\t\nb\n\n") == ["text 3-3", "text 6-6"]


def test_reading_can_begin_below_the_front_matter() -> None:
    lines = ["---", "# a: 1", "---", "# Title"]

    assert [block.title for block in blocks(lines, first=4)] == ["Title"]
