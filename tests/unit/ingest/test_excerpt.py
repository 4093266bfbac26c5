from __future__ import annotations

import pytest

from recollect.ingest.read import excerpt
from recollect.reports import Excerpt


def lines_of(found: Excerpt) -> tuple[str, int, int | None]:
    return found.text, found.lines, found.next_line


def test_a_whole_file_ends_with_nothing_to_go_on_to() -> None:
    found = excerpt("one\ntwo", path="MEMORY.md")

    assert Excerpt("MEMORY.md", start_line=1, lines=2, text="one\ntwo", next_line=None) == found


@pytest.mark.parametrize(
    ("text", "start_line", "lines", "expected"),
    [
        ("", 1, 120, ("", 0, None)),
        ("one\ntwo\n", 1, 2, ("one\ntwo", 2, None)),
        ("one\ntwo\n", 3, 2, ("", 0, None)),
        ("one\ntwo\n", 1, 1, ("one", 1, 2)),
        ("one\ntwo\n", 2, 1, ("two", 1, None)),
        ("one\ntwo", 2, 120, ("two", 1, None)),
        ("one\n\n", 1, 120, ("one\n", 2, None)),
        ("\n", 1, 120, ("", 1, None)),
        ("one\r\ntwo\r\n", 1, 1, ("one\r", 1, 2)),
        ("one", 99, 1, ("", 0, None)),
        ("one\ntwo", 0, 0, ("one", 1, 2)),
    ],
)
def test_pages_are_counted_in_lines(
    text: str, start_line: int, lines: int, expected: tuple[str, int, int | None]
) -> None:
    found = excerpt(text, path="a.md", start_line=start_line, lines=lines)

    assert expected == lines_of(found)


def test_a_page_ends_at_the_last_line_that_fits() -> None:
    found = excerpt("12345\n12345\n12345", path="a.md", max_chars=11)

    assert lines_of(found) == ("12345\n12345", 2, 3)


def test_a_line_longer_than_a_page_is_cut_and_reading_goes_on_after_it() -> None:
    found = excerpt("x" * 50 + "\nnext", path="a.md", max_chars=20)

    assert lines_of(found) == ("x" * 20, 1, 2)


def test_a_long_line_is_only_cut_when_it_comes_first() -> None:
    found = excerpt("a\n" + "x" * 50, path="a.md", max_chars=20)

    assert lines_of(found) == ("a", 1, 2)


def test_a_long_line_is_not_cut_inside_a_visible_character() -> None:
    found = excerpt("ab👨‍👩‍👧‍👦cd", path="a.md", max_chars=5)

    assert lines_of(found) == ("ab", 1, None)


def test_following_the_pages_reads_every_line_once() -> None:
    text = "\n".join(f"line {number}" for number in range(1, 301))
    pages, start = [], 1
    while start:
        page = excerpt(text, path="a.md", start_line=start, lines=70, max_chars=500)
        pages.append(page.text)
        start = page.next_line or 0

    assert text == "\n".join(pages)
