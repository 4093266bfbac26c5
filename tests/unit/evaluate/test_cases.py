"""The file of cases: read whole or not at all, appended to without touching what is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.errors import UsageError
from recollect.evaluate.cases import read_cases

GOLDEN = Path(__file__).parent.parent.parent / "golden" / "cases"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "cases.jsonl"


@pytest.mark.parametrize(("name", "count"), [("phrasings", 57), ("absent", 20), ("cjk", 48)])
def test_the_golden_cases_are_cases(name: str, count: int) -> None:
    assert count == len(read_cases(GOLDEN / f"{name}.jsonl"))


def test_cases_know_their_line_and_empty_lines_are_passed_over(file: Path) -> None:
    file.write_bytes(
        b'\xef\xbb\xbf{"query": "a", "expected": []}\r\n\r\n{"query": "b", "expected": []}'
    )

    assert [("a", 1), ("b", 3)] == [(case.query, case.line) for case in read_cases(file)]


def test_a_line_separator_inside_a_string_is_no_new_line(file: Path) -> None:
    file.write_text('{"query": "a\u2028b", "expected": []}\n', encoding="utf-8")

    assert "a\u2028b" == read_cases(file)[0].query


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "has no cases"),
        (b'{"query": "a", "expected": []}\n{"query": "b",\n', ":2: Invalid JSON"),
        (b'[\n{"query": "a", "expected": []}\n]', ":1: Invalid JSON"),
        (b"\xff\xfe", "cannot be read"),
    ],
)
def test_a_file_that_is_none_is_refused_with_the_place(
    file: Path, content: bytes, said: str
) -> None:
    file.write_bytes(content)

    with pytest.raises(UsageError) as caught:
        read_cases(file)

    assert said in caught.value.message


def test_a_missing_file_leads_to_the_form_of_a_line(file: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read_cases(file)

    assert '{"query"' in caught.value.action
