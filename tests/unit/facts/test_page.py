"""A file of the ledger shown to one who may not see everyone's facts."""

from __future__ import annotations

import pytest

from recollect.facts.page import visible_text

PAGE = (
    "# Facts\n"
    "A note between facts about Bob.\n"
    "- The office opens at nine.\n"
    "- Ada's key is under the plant. <!-- f-0000000000001 scope=user:ada by=owner -->\n"
    "- Bob hides a diary. <!-- f-0000000000002 scope=user:bob by=owner -->\n"
    "  in the ceiling\n"
    "- Bob again <!-- f-0000000000003 scope=nonsense by=owner -->\n"
    "<!-- - Bob commented out -->\n"
)


def lines(text: str) -> dict[int, str]:
    return {number: line for number, line in enumerate(text.split("\n"), start=1) if line}


def test_only_facts_that_may_be_seen_are_left_and_no_line_moves() -> None:
    shown = visible_text("fact.md", PAGE, scopes=["user:ada"])

    assert [3, 4] == list(lines(shown))
    assert "Bob" not in shown


def test_what_follows_the_last_visible_fact_is_not_even_counted() -> None:
    assert 4 == visible_text("fact.md", PAGE, scopes=["user:ada"]).count("\n")
    assert "" == visible_text("fact.md", "- Hi <!-- f-0000000000002 scope=user:bob -->", scopes=[])


def test_without_a_scope_what_is_global_is_left() -> None:
    assert {3: "- The office opens at nine."} == lines(visible_text("fact.md", PAGE, scopes=[]))


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_line_ends_stay_as_they_are(ending: str) -> None:
    page = PAGE.replace("\n", ending)

    assert visible_text("fact.md", page, scopes=[]).startswith(f"{ending}{ending}- The office")
    assert visible_text("fact.md", page, scopes=[]).endswith(f"nine.{ending}")
