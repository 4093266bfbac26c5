from __future__ import annotations

from datetime import date

import pytest

from recollect.ingest.front_matter import FrontMatter, front_matter
from recollect.ingest.read import when_of

FEBRUARY_FIRST = date(2026, 2, 1)


@pytest.mark.parametrize(
    "path",
    [
        "memory/2026-02-01.md",
        "memory/2026-02-01-standup.md",
        "memory/2026-02-01-1530.md",
        "memory/2026_02_01.md",
        "memory/standup-2026-02-01.md",
        "memory/projects/2026-02-01.md",
        "memory/2026/02/01.md",
        "memory/2026/02/01-standup.md",
        "memory/2026-02/01.md",
        "memory/2026/02/01/standup.md",
        "memory/2026-02-01/standup.md",
        "memory/2026-02-01-offsite/notes/day.md",
        "../vault/2026-02-01.md",
    ],
)
def test_a_dated_path_tells_the_day(path: str) -> None:
    assert when_of(path, front_matter={}) == FEBRUARY_FIRST


@pytest.mark.parametrize(
    "path",
    [
        "memory/notes.md",
        "memory/2026-02-30.md",
        "memory/2026-13-01.md",
        "memory/2026-00-10.md",
        "memory/20260201.md",
        "memory/2026-02_01.md",
        "memory/12026-02-01.md",
        "memory/2026-02-011.md",
        "memory/2026/notes.md",
        "memory/2026/02/011.md",
        "memory/v2026/02/01.md",
        "memory/\u0662\u0660\u0662\u0666-\u0660\u0662-\u0660\u0661.md",
    ],
)
def test_what_is_no_calendar_day_is_evergreen(path: str) -> None:
    assert when_of(path, front_matter={}) is None


@pytest.mark.parametrize("path", ["MEMORY.md", "USER.md"])
def test_the_curated_files_are_evergreen_whatever_they_say(path: str) -> None:
    assert when_of(path, front_matter={"date": "2026-02-01"}) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("date", "2026-02-01"),
        ("date", "'2026-02-01'"),
        ("date", "2026-02-01T23:59:00-08:00"),
        ("date", "2026-02-01 23:59"),
        ("day", "2026-02-01"),
        ("created", "2026-02-01T10:00:00Z"),
    ],
)
def test_front_matter_tells_the_day_of_an_undated_file(key: str, value: str) -> None:
    assert when_of("memory/notes.md", front_matter={key: value}) == FEBRUARY_FIRST


@pytest.mark.parametrize("value", ["", "yesterday", "2026-02-30", "2026-2-1", "2026-02-01-03"])
def test_front_matter_that_states_no_day_is_passed_over(value: str) -> None:
    assert when_of("memory/notes.md", front_matter={"date": value}) is None


def test_the_file_name_counts_more_than_front_matter_and_that_more_than_a_folder() -> None:
    stated = {"date": "2026-02-01"}

    assert when_of("memory/2026-03-05.md", front_matter=stated) == date(2026, 3, 5)
    assert when_of("memory/2026-03-05/notes.md", front_matter=stated) == FEBRUARY_FIRST


def test_the_nearest_dated_folder_counts() -> None:
    path = "memory/2025-01-01/2026-02-01/notes.md"

    assert when_of(path, front_matter={}) == FEBRUARY_FIRST


def test_an_impossible_day_in_the_name_does_not_hide_a_possible_one() -> None:
    path = "memory/2026-02-30-moved-to-2026-02-01.md"

    assert when_of(path, front_matter={}) == FEBRUARY_FIRST


def test_front_matter_is_flat_keys_and_values() -> None:
    text = "---\nTitle: A note\ndate: '2026-02-01'  # a Sunday\ntags:\n  - a\n- b\n\n---\nbody"

    expected = FrontMatter({"title": "A note", "date": "2026-02-01", "tags": ""}, body_line=9)

    assert expected == front_matter(text)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("---\n---\n", {}),
        ("---\na: 1\n...\n", {"a": "1"}),
        ("---\na: 1\na: 2\n---", {"a": "1"}),
        ("---\nurl: http://x/#top\n---", {"url": "http://x/#top"}),
        ('---\na: "x: y # z"\n---', {"a": "x: y # z"}),
        ("---\na: it's\n---", {"a": "it's"}),
        ("---\n# comment\na: '\n---", {"a": "'"}),
        ("---\n标题: 数据库\n---", {"标题": "数据库"}),
        ("---\nDate created: 1\n2fa: on\n---", {"date created": "1", "2fa": "on"}),
        ("---\nprice (EUR): 3\n🔑 key: a\n---", {"price (eur)": "3", "🔑 key": "a"}),
    ],
)
def test_front_matter_values_are_read_as_written(text: str, fields: dict[str, str]) -> None:
    assert fields == front_matter(text).fields


@pytest.mark.parametrize(
    "text",
    [
        "",
        "---",
        "no front matter\n---\na: 1\n---",
        "\n---\na: 1\n---",
        "---\na: 1\nnever closed",
        "---\njust prose between two rules\n---\nmore",
        "---\n\ta: tabbed\n---",
        "---\n- a list\n---",
        "--- \x00\na: 1\n---",
        "----\na: 1\n----",
        "---\nkey without colon\n---",
        "---\na:1\n---",
    ],
)
def test_broken_front_matter_is_body(text: str) -> None:
    assert FrontMatter({}, body_line=1) == front_matter(text)
