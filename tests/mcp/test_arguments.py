"""Arguments by every name that models reach for, in the types they send."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from recollect.errors import UsageError
from recollect.shells.mcp.tools import TOOLS, Tool, parse_arguments

if TYPE_CHECKING:
    from recollect.types import Argument

BY_NAME = {tool.name: tool for tool in TOOLS}
SEARCH = BY_NAME["memory_search"]
GET = BY_NAME["memory_get"]
SAMPLES: dict[str, tuple[object, object]] = {
    "string": ("facts", "facts"),
    "integer": ("5", 5),
    "number": ("0.5", 0.5),
    "boolean": ("true", True),
    "array": ("a, b", ("a", "b")),
    "day": ("2026-02-01T10:00:00Z", date(2026, 2, 1)),
}
ALIASES = [
    (tool, argument.name, alias)
    for tool in TOOLS
    for argument in tool.arguments
    for alias in argument.aliases.split()
]


def parsed(tool: Tool, given: dict[str, object]) -> dict[str, object]:
    return parse_arguments(tool, given)


def argument_of(tool: Tool, name: str) -> Argument:
    [argument] = [each for each in tool.arguments if each.name == name]
    return argument


def required(tool: Tool) -> dict[str, object]:
    return {each.name: SAMPLES[each.type][0] for each in tool.arguments if each.is_required}


@pytest.mark.parametrize(
    ("tool", "name", "alias"), ALIASES, ids=lambda part: getattr(part, "name", part)
)
def test_every_alias_means_its_argument(tool: Tool, name: str, alias: str) -> None:
    given, wanted = SAMPLES[argument_of(tool, name).type]
    others = {key: value for key, value in required(tool).items() if key != name}

    assert wanted == parsed(tool, {**others, alias: given})[name]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_no_alias_means_two_arguments(tool: Tool) -> None:
    names = [each.name.casefold() for each in tool.arguments]
    aliases = [alias.casefold() for each in tool.arguments for alias in each.aliases.split()]

    assert len(names + aliases) == len({*names, *aliases})


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("q", "query"),
        ("search", "query"),
        ("text", "query"),
        ("limit", "maxResults"),
        ("k", "maxResults"),
        ("top_k", "maxResults"),
        ("page_size", "maxResults"),
        ("max_results", "maxResults"),
        ("MaxResults", "maxResults"),
        ("max-results", "maxResults"),
        ("maxResult", "maxResults"),
        ("threshold", "minScore"),
        ("min_similarity", "minScore"),
        ("min_score", "minScore"),
        ("after", "since"),
        ("after_date", "since"),
        ("from_date", "since"),
        ("until", "before"),
        ("before_date", "before"),
        ("corpus", "source"),
        ("sources", "source"),
        ("file", "path"),
        ("scope", "scopes"),
    ],
)
def test_names_of_other_memories_are_understood(alias: str, name: str) -> None:
    given, wanted = SAMPLES[argument_of(SEARCH, name).type]

    assert wanted == parsed(SEARCH, {"query": "facts", alias: given})[name]


@pytest.mark.parametrize("alias", ["start", "offset", "line", "start_line"])
def test_lines_are_counted_from_any_name(alias: str) -> None:
    assert {"path": "a.md", "from": 3} == parsed(GET, {"file": "a.md", alias: 3.0})


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"maxresult": 1, "quer": "x"}, "Did you mean query?"),
        ({"query": "x", "minscor": 1}, "Did you mean minScore?"),
        ({"query": "x", "max_hits": 1}, "It takes query, maxResults,"),
        ({"query": "x", "befor": "today"}, "Did you mean before?"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(given: dict[str, object], wanted: str) -> None:
    with pytest.raises(UsageError) as refused:
        parsed(SEARCH, given)

    assert wanted in refused.value.action


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"query": "x", "maxResults": 0}, "maxResults"),
        ({"query": "x", "maxResults": "2.5"}, "maxResults"),
        ({"query": "x", "maxResults": True}, "maxResults"),
        ({"query": "x", "minScore": "high"}, "minScore"),
        ({"query": "x", "minScore": float("nan")}, "minScore"),
        ({"query": "x", "source": "wiki"}, "source"),
        ({"query": "x", "since": "someday"}, "since"),
        ({"query": "x", "asOf": "0001-01-01"}, "asOf"),
        ({"query": "x", "asOf": "9999-12-31"}, "asOf"),
        ({"query": ["a", "b"]}, "query"),
        ({"query": {"text": "x"}}, "query"),
        ({"query": "x", "scope": [1]}, "scopes"),
        ({"query": "x", "includeSuperseded": "maybe"}, "includeSuperseded"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_by_name(
    given: dict[str, object], name: str
) -> None:
    with pytest.raises(UsageError) as refused:
        parsed(SEARCH, given)

    assert refused.value.message.startswith(f"{name} must be ")


def test_what_a_model_left_open_counts_as_not_given() -> None:
    given: dict[str, object] = {"query": "x", "since": None, "path": "", "scope": []}

    assert {"query": "x"} == parsed(SEARCH, given)


def test_the_same_argument_by_two_names_must_agree() -> None:
    agreed = parsed(SEARCH, {"query": "x", "limit": 3, "k": "3"})
    with pytest.raises(UsageError) as refused:
        parsed(SEARCH, {"query": "x", "limit": 3, "k": 4})

    assert {"query": "x", "maxResults": 3} == agreed
    assert "maxResults is given twice, as k and by another name." == refused.value.message


def test_what_is_needed_is_asked_for() -> None:
    with pytest.raises(UsageError) as refused:
        parsed(SEARCH, {"maxResults": 3})

    assert "memory_search needs query." == refused.value.message


def test_days_may_be_counted_back() -> None:
    today = datetime.now(tz=UTC).astimezone().date()

    assert today - timedelta(days=7) == parsed(SEARCH, {"query": "x", "since": "7d"})["since"]
