from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.text.globs import compile_glob, fits, matches

PATHS = st.lists(st.sampled_from(["a", "b", "/", ".", "./", "a/b"]), max_size=8).map("".join)
PATTERNS = st.lists(
    st.sampled_from(["a", "b", "/", "*", "**", "?", "[a]", ".", "./", "a/"]), max_size=8
).map("".join)


@given(path=PATHS, pattern=PATTERNS)
def test_literal_folders_match_as_the_parts_of_a_pattern_do(path: str, pattern: str) -> None:
    parts = path.removeprefix("./").split("/")

    assert fits(parts, compile_glob(pattern)) == matches(path, pattern)


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("memory/a.md", "memory/*.md"),
        ("memory/a.md", "memory/?.md"),
        ("memory/a.md", "memory/[a-c].md"),
        ("memory/x.md", "memory/[!a-c].md"),
        ("memory/2026/02/a.md", "memory/**/*.md"),
        ("memory/a.md", "memory/**/*.md"),
        ("memory/2026/02/a.md", "memory/**"),
        ("memory/2026/02/a.md", "**/02/*"),
        ("memory/2026/02/a.md", "**"),
        ("memory/2026/02/a.md", "memory/**/02/**"),
        ("memory/2026/02/a.md", "memory/"),
        ("memory/2026/02/a.md", "02/"),
        ("../notes/a.md", "../notes/*.md"),
        ("./memory/a.md", "./memory/a.md"),
        ("日記/二月.md", "日記/*.md"),
        ("memory/.draft.md", "memory/*"),
    ],
)
def test_a_pattern_covers_the_whole_path(path: str, pattern: str) -> None:
    assert matches(path, pattern)


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("memory/2026/a.md", "memory/*.md"),
        ("memory/2026/a.md", "memory/?2026/a.md"),
        ("memory/ab.md", "memory/?.md"),
        ("memory", "memory/**"),
        ("memory/a.md", "memory"),
        ("xmemory/a.md", "memory/*"),
        ("memory/a.mdx", "memory/*.md"),
        ("memory/A.md", "memory/a.md"),
        ("memory/a.md", ""),
        ("", "*.md"),
        ("memory/a/b.md", "memory/[a/]b.md"),
    ],
)
def test_a_pattern_covers_nothing_else(path: str, pattern: str) -> None:
    assert not matches(path, pattern)


def test_a_pattern_without_a_slash_matches_the_name_at_any_depth() -> None:
    assert matches("memory/2026/standup.md", "standup*")
    assert matches("standup.md", "standup*")
    assert not matches("standup/a.md", "standup*")


def test_a_leading_slash_ties_the_pattern_to_the_top() -> None:
    assert matches("a.md", "/*.md")
    assert not matches("memory/a.md", "/*.md")


def test_characters_of_regular_expressions_are_themselves() -> None:
    assert matches("memory/a+b (1).md", "memory/a+b (1).md")
    assert not matches("memory/aab.md", "memory/a+b.md")


def test_a_bracket_that_is_not_closed_is_itself() -> None:
    assert matches("memory/[draft.md", "memory/[draft.md")


def test_a_hostile_pattern_takes_no_time() -> None:
    # Ended by the suite's time limit if matching were not linear: 2**40 steps of backtracking.
    assert not matches("a" * 5000, "*a" * 40 + "b")
    assert not matches("a/" * 200 + "a", "**/a/" * 40 + "b")
