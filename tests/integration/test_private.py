"""What a note keeps to itself: private parts and private notes are never indexed or shown."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest

from recollect import Memory
from recollect.errors import NotFoundError
from recollect.text.private import is_private, without_private
from recollect.types import SearchRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Write = Callable[[str, str], Path]

HIDDEN = "the safe opens with zanzibar"


@pytest.fixture
def memory(workspace: Path, environ: dict[str, str]) -> Iterator[Memory]:
    with Memory.open(workspace, settings={"provider": "none"}, environ=environ) as opened:
        yield opened


def test_a_private_part_is_not_found_and_the_rest_of_the_note_is(
    memory: Memory, write: Write
) -> None:
    write("memory/a.md", f"The boat is red.\n<private>\n{HIDDEN}\n</private>\nThe sail is white.\n")

    assert not memory.search("zanzibar").hits
    (hit,) = memory.search("sail").hits
    assert (1, 5) == (hit.start_line, hit.end_line)
    assert "zanzibar" not in hit.text


def test_reading_a_note_leaves_its_private_part_out_and_keeps_the_numbers_of_lines(
    memory: Memory, write: Write
) -> None:
    write("memory/a.md", f"one\n<private>{HIDDEN}</private>\nthree\n")

    assert "one\n\nthree" == memory.get("memory/a.md").text


def test_a_private_note_is_neither_found_nor_listed_nor_read(memory: Memory, write: Write) -> None:
    write("memory/a.md", f"---\nprivate: true\ntitle: Safe\n---\n{HIDDEN}\n")

    assert not memory.search("safe zanzibar").hits
    assert not memory.overview.documents().total
    with pytest.raises(NotFoundError, match=r"memory/a\.md is private"):
        memory.get("memory/a.md")


def test_a_note_is_private_beside_front_matter_that_cannot_be_read(
    memory: Memory, write: Write
) -> None:
    write("memory/a.md", f"---\nprivate: true\na plain line\n---\n{HIDDEN}\n")

    assert not memory.search("zanzibar").hits
    with pytest.raises(NotFoundError, match=r"memory/a\.md is private"):
        memory.get("memory/a.md")


@pytest.mark.parametrize("end", ["---\n# Diary\n", "...\n# Diary\n", "\n# Diary\n", "# Diary"])
@pytest.mark.parametrize(
    "lines",
    [
        "private: true\nDate created: 2026-01-01",
        "2fa: on\nprivate: true",
        "price (EUR): 3\nprivate: yes",
        "🔑 key: 1\nprivate: on",
        "title: 'a\n  b'\nprivate: 1",
        "a plain line\nprivate: true",
        '"private": true',
        "'Private' : TRUE",
        "private:\n  true",
        "private:\n# why\n- true",
        "private: [true]",
        "private: y",
        "private: #true",
        "private: 'false",
        "private: false\nprivate: true",
        "{title: a, private: true}",
        "? private\n: true",
        "about:\n  private: true",
    ],
)
def test_a_note_is_private_unless_its_front_matter_surely_says_no(lines: str, end: str) -> None:
    assert is_private(f"---\n{lines}\n{end}")
    assert is_private(f"\ufeff---\n{lines}\n{end}".replace("\n", "\r\n"))


@pytest.mark.parametrize(
    "lines",
    [
        "private: false",
        "private: No  # not yet",
        "private: 'off' #no",
        "private: 0",
        "private:",
        "private:\nmy title: a",
        "private: # true or false\n\n# a\nb: 1",
        "private:\n  false",
        "# private: true",
        "privateer: 1",
        "tags: [private]",
        "tags:\n- private\ntitle: a",
    ],
)
def test_a_note_is_not_private_where_its_front_matter_says_no_or_nothing(lines: str) -> None:
    assert not is_private(f"---\n{lines}\n---\nprivate: true\n")


def test_a_note_that_becomes_private_leaves_the_index(memory: Memory, write: Write) -> None:
    write("memory/a.md", f"{HIDDEN}\n")
    before = len(memory.search("zanzibar").hits)
    write("memory/a.md", f"---\nprivate: yes\n---\n{HIDDEN}\n")

    assert (1, 0) == (before, len(memory.search("zanzibar").hits))


def test_no_byte_of_a_private_part_is_in_the_index(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write("memory/a.md", f"public\n<PRIVATE>{HIDDEN}")
    with Memory.open(workspace, settings={"provider": "none"}, environ=environ) as opened:
        opened.sync()
        index = opened.status().index.location

    with sqlite3.connect(index) as connection:
        dump = "\n".join(connection.iterdump())
    assert "public" in dump
    assert "zanzibar" not in dump


def test_why_says_that_a_note_is_private_or_expired(memory: Memory, write: Write) -> None:
    write("memory/a.md", f"---\nprivate: true\n---\n{HIDDEN}\n")
    told = memory.why(SearchRequest("zanzibar"), path="memory/a.md")

    assert "private" in told.reason


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a <private>b</private> c", "a  c"),
        ("a <private>b\nc", "a \n"),
        ("a <private>b <private>c</private> d</private> e", "a  e"),
        ("```\n<private>\n```\nb", "```\n<private>\n```\nb"),
        ("write `<private>` around it", "write `<private>` around it"),
        ("`x`<private>b</private>`y`", "`x``y`"),
        ("<Private >b</private>c", "c"),
        ("<private>\n```\n</private>\n```\nb", "\n\n\n\n"),
        ("a </private> b", "a </private> b"),
        ("    ```\n<private>\nb\n</private>\nc", "    ```\n\n\n\nc"),
        ("- a\n  ```\n  b\n- <private>c</private>\nd", "- a\n  ```\n  b\n- \nd"),
        ("- a\n  ```\n  b\n\n<private>c</private>\nd", "- a\n  ```\n  b\n\n\nd"),
        ("> ```\n<private>b</private>\nc", "> ```\n\nc"),
        ("```\n<private>b</private>\n```\nc", "```\n<private>b</private>\n```\nc"),
        ("```\n<private>b</private>", "```\n"),
        ("<!--\n```\n-->\n<private>b</private>\n```\n", "<!--\n```\n-->\n\n```\n"),
        (" ```\n```\n<private>b</private>\n```", " ```\n```\n\n```"),
        ("<private>\n- ```\n  </private>\n  ```\nb\n</private>c", "\n\n\n\n\nc"),
        ("<private>\n```\n    ```\n</private>\n```\nb</private>c", "\n\n\n\n\nc"),
    ],
)
def test_what_stands_between_the_tags_is_left_out(text: str, shown: str) -> None:
    assert shown == without_private(text)
