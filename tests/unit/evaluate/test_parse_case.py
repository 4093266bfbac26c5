"""Cases in JSON: every way in which a person would name a place, and every mistake."""

from __future__ import annotations

import json
from datetime import date

import pytest

from recollect.errors import UsageError
from recollect.evaluate.cases import Case, Expected, case_json, parse_case


def expected(places: object) -> tuple[Expected, ...]:
    return read({"query": "q", "expected": places}).expected


def read(entry: object) -> Case:
    return parse_case(json.dumps(entry), where="cases.jsonl:7")


@pytest.mark.parametrize(
    ("places", "understood"),
    [
        ("memory/a.md", [Expected("memory/a.md")]),
        ("./memory/a.md", [Expected("memory/a.md")]),
        ("memory/a.md:10", [Expected("memory/a.md", (10, 10))]),
        ("memory/a.md:10-24", [Expected("memory/a.md", (10, 24))]),
        ("memory/a.md#L10-L24", [Expected("memory/a.md", (10, 24))]),
        ("memory/12:30 notes.md", [Expected("memory/12:30 notes.md")]),
        (["a.md", "b.md:1-2"], [Expected("a.md"), Expected("b.md", (1, 2))]),
        ({"path": "a.md"}, [Expected("a.md")]),
        (
            [{"path": "a.md", "lines": [3, 9], "grade": 2}, {"path": "b.md"}],
            [Expected("a.md", (3, 9), grade=2), Expected("b.md")],
        ),
        (["a.md", "a.md"], [Expected("a.md")]),
        ([], []),
    ],
)
def test_a_place_may_be_named_in_many_ways(places: object, understood: list[Expected]) -> None:
    assert tuple(understood) == expected(places)


def test_kind_and_type_mean_the_same() -> None:
    kinds = [
        read({"query": "q", "expected": [], **given}).kind
        for given in ({"kind": "vague"}, {"type": "vague"}, {})
    ]

    assert ["vague", "vague", "question"] == kinds


def test_a_case_may_narrow_the_search_and_say_when_it_is_asked() -> None:
    entry = {
        "query": " what happened ",
        "expected": "a.md",
        "since": "2026-02-01",
        "before": "2026-03-01",
        "path": "memory/*",
        "date": "2026-03-02",
        "note": "from the standup",
    }

    assert Case(
        query="what happened",
        expected=(Expected("a.md"),),
        since=date(2026, 2, 1),
        before=date(2026, 3, 1),
        path="memory/*",
        asked_on=date(2026, 3, 2),
    ) == read(entry)


def test_what_is_written_is_read_back_the_same() -> None:
    case = Case(
        query="東京?",
        expected=(Expected("a.md", (1, 2), grade=3), Expected("b.md")),
        kind="vague",
        since=date(2026, 2, 1),
        path="memory/*",
        asked_on=date(2026, 3, 2),
    )

    assert case == read(case_json(case))


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (["q"], "object"),
        ({"expected": []}, "`query`"),
        ({"query": "  ", "expected": []}, "`query`"),
        ({"query": "q"}, "`expected`"),
        ({"query": "q", "expected": [], "expcted": []}, "`expcted`"),
        ({"query": "q", "expected": [3]}, "`expected.0`"),
        ({"query": "q", "expected": [""]}, "`expected.0`"),
        ({"query": "q", "expected": [{"lines": [1, 2]}]}, "`expected.0.path`"),
        ({"query": "q", "expected": [{"path": "a", "line": 3}]}, "`expected.0.line`"),
        ({"query": "q", "expected": [{"path": "a", "lines": 3}]}, "`expected.0.lines`"),
        ({"query": "q", "expected": ["a.md:9-3"]}, "the first line is after the last"),
        ({"query": "q", "expected": [{"path": "a", "lines": [0, 3]}]}, "`expected.0.lines.0`"),
        ({"query": "q", "expected": [{"path": "a", "grade": 0}]}, "`expected.0.grade`"),
        ({"query": "q", "expected": [{"path": "a", "grade": True}]}, "`expected.0.grade`"),
        ({"query": "q", "expected": [], "since": "soon"}, "`since`"),
        (
            {"query": "q", "expected": [], "since": "2026-02-02", "before": "2026-02-01"},
            "no day is on or after",
        ),
    ],
)
def test_a_mistake_is_named_with_its_place(entry: object, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(entry)

    assert caught.value.message.startswith("cases.jsonl:7: ")
    assert said in caught.value.message


def test_an_error_shows_the_form_of_a_case() -> None:
    with pytest.raises(UsageError) as caught:
        read({"query": "q", "expected": [{"path": "a", "lines": 3}]})

    assert '{"path": …, "lines": [10, 24], "grade": 1}' in caught.value.action
