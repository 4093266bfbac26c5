"""Conflicts that a merge left in a text: found whole, never guessed."""

from __future__ import annotations

import pytest

from recollect.text.merge_conflicts import Conflict, find_conflicts, without_markers

TWO = "<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> laptop"
DIFF3 = "<<<<<<< HEAD\nours\n||||||| 1f2e3d4\nbefore\n=======\ntheirs\n>>>>>>> laptop"


def found(text: str) -> tuple[Conflict, ...]:
    return find_conflicts(text.split("\n"))


def read(text: str) -> list[str]:
    lines = text.split("\n")
    return [line for line in without_markers(lines, find_conflicts(lines)) if line]


def test_both_sides_are_read_and_the_markers_are_not() -> None:
    assert (Conflict(2, 4, 6),) == found(f"above\n{TWO}\nbelow")
    assert ["above", "ours", "theirs", "below"] == read(f"above\n{TWO}\nbelow")


def test_what_both_sides_changed_is_not_read() -> None:
    assert (Conflict(1, 5, 7, base=3),) == found(DIFF3)
    assert ["ours", "theirs"] == read(DIFF3)


def test_the_ancestor_of_a_criss_cross_merge_has_conflicts_of_its_own() -> None:
    inner = (
        "<<<<<<<<< Temporary merge branch 1\na\n=========\nb\n>>>>>>>>> Temporary merge branch 2"
    )
    text = f"<<<<<<< HEAD\nours\n||||||| merged common ancestors\n{inner}\n=======\nx\n>>>>>>> b"

    assert ["ours", "x"] == read(text)


def test_line_ends_and_empty_sides_do_not_matter() -> None:
    lines = ["<<<<<<< HEAD\r\n", "=======\r\n", "theirs\r\n", ">>>>>>> laptop\r\n"]

    assert (Conflict(1, 2, 4),) == find_conflicts(lines)


def test_several_conflicts_are_told_apart() -> None:
    assert [1, 7] == [each.start for each in found(f"{TWO}\n\n{TWO}")]


@pytest.mark.parametrize(
    "text",
    [
        "Heading\n=======\n\n>>>>>>> seven times quoted",
        "<<<<<<< HEAD\nnever ended\n=======\n",
        "<<<<<<< HEAD\nno middle\n>>>>>>> laptop",
        "<<<<<<<HEAD\na\n=======\nb\n>>>>>>>laptop",
        f"Git writes:\n\n```\n{TWO}\n```\n",
        f"~~~~ text\n{DIFF3}\n~~~~",
    ],
)
def test_what_is_no_conflict_stays(text: str) -> None:
    assert () == found(text)


def test_a_code_block_that_is_never_closed_hides_no_conflict() -> None:
    assert 1 == len(found(f"```\ncode\n\n{TWO}\n"))


def test_a_code_block_that_both_sides_have_ends_nothing() -> None:
    text = TWO.replace("ours", "```\nours\n```").replace("theirs", "```\ntheirs\n```")

    assert ["```", "ours", "```", "```", "theirs", "```"] == read(text)
