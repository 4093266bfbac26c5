"""The file of cases: read whole or not at all, appended to without touching what is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.errors import RecollectError, UsageError
from recollect.evaluate.cases import Case, Expected, append_case, count_text, read_cases

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
        (b'{"query": "a", "expected": []}\n{"query": "b",\n', ":2: this is not JSON"),
        (b'[\n{"query": "a", "expected": []}\n]', ":1: this is not JSON"),
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


def test_a_missing_file_leads_to_the_command_that_makes_one(file: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read_cases(file)

    assert "eval add" in caught.value.action


def test_a_case_is_appended_and_nothing_else_changes(file: Path) -> None:
    file.write_bytes(b'{"expected": "a.md",   "query": "old"}')

    count = append_case(Case("new", (Expected("b.md", 1, 2),), kind="vague"), to=file)

    assert 2 == count
    assert (
        b'{"expected": "a.md",   "query": "old"}\n'
        b'{"query": "new", "expected": [{"path": "b.md", "lines": [1, 2]}], "kind": "vague"}\n'
    ) == file.read_bytes()
    assert [file] == list(file.parent.iterdir())


def test_the_same_question_with_the_same_places_is_not_added_twice(file: Path) -> None:
    places = (Expected("a.md"), Expected("b.md"))

    counts = [
        append_case(Case("q", places), to=file),
        append_case(Case("q", places[::-1], kind="other"), to=file),
        append_case(Case("q", places[:1]), to=file),
    ]

    assert [1, None, 2] == counts
    assert 2 == len(read_cases(file))


def test_a_broken_file_is_not_appended_to(file: Path) -> None:
    file.write_text("notes\n", encoding="utf-8")

    with pytest.raises(UsageError):
        append_case(Case("q", ()), to=file)

    assert "notes\n" == file.read_text(encoding="utf-8")


def test_a_missing_folder_is_not_made(file: Path) -> None:
    with pytest.raises(UsageError) as caught:
        append_case(Case("q", ()), to=file.parent / "gone" / "cases.jsonl")

    assert str(file.parent / "gone") in caught.value.message
    assert "--to" in caught.value.action
    assert [] == list(file.parent.iterdir())


@pytest.mark.parametrize("chars", [250, 300])  # too long for the temporary file; for any file
def test_a_file_that_cannot_be_written_is_no_misuse_and_names_only_itself(
    file: Path, chars: int
) -> None:
    long = file.with_name("c" * chars)

    with pytest.raises(RecollectError) as caught:
        append_case(Case("q", ()), to=long)

    assert not isinstance(caught.value, UsageError)
    assert f"{long} cannot be written (File name too long)." == caught.value.message
    assert [] == list(file.parent.iterdir())


@pytest.mark.parametrize(
    ("answerable", "absent", "said"),
    [
        (1, 0, "1 case"),
        (2, 0, "2 cases"),
        (2, 1, "3 cases, 1 of them without an answer"),
        (0, 1, "1 case without an answer"),
        (0, 2, "2 cases without an answer"),
    ],
)
def test_cases_are_counted_in_words(answerable: int, absent: int, said: str) -> None:
    cases = [Case("q", (Expected("a.md"),))] * answerable + [Case("q", ())] * absent

    assert said == count_text(cases)
