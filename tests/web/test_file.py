"""Reading in the page: the hit in its context, and texts that try to act instead of being read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from tests.web.vault import HOSTILE, HOSTILE_NAME, SAMPLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.web.serving import Server
    from tests.web.tab import Tab

LONG = "memory/long.md"


def top(tab: Tab, selector: str) -> float:
    """Return how far from the top of the window an element begins."""
    box = tab.find(selector).bounding_box()
    assert box is not None
    return box["y"]


def test_the_lines_of_the_hit_are_marked_numbered_and_in_sight(tab: Tab) -> None:
    path = "memory/2026-09-15.md"
    lines = (SAMPLE / path).read_text(encoding="utf-8").split("\n")
    tab.open("file", path=path, **{"from": 7, "to": 13})
    marked = tab.find(".row.is-hit")
    expect(marked.first).to_be_in_viewport()

    assert [str(number) for number in range(7, 14)] == marked.locator(".number").all_inner_texts()
    assert lines[6:13] == marked.locator(".line").all_text_contents()


def test_notes_that_mean_something_similar_are_named_beside_the_open_one(tab: Tab) -> None:
    tab.open("file", path="memory/protocols/backups-and-restore.md")
    related = tab.find(".related a").filter(has_text="Rule changed")
    related.click()

    expect(tab.find("h1")).to_have_text("memory/2026-09-18.md")


def test_more_lines_come_in_both_directions_until_the_file_ends(
    tab: Tab, sample_server: Server
) -> None:
    texts = [f"line {number} of many" for number in range(1, 501)]
    (sample_server.workspace / LONG).write_text("\n".join(texts) + "\n", encoding="utf-8")
    tab.open("file", path=LONG, **{"from": 250, "to": 251})
    expect(tab.find("#L250")).to_be_in_viewport()
    for name in ("earlier lines", "Show more lines"):
        button = tab.page.get_by_role("button", name=name)
        while button.count():
            before = tab.find(".row").count()
            button.click()
            expect(tab.find(".row")).not_to_have_count(before)
    shown = tab.find(".row .line").all_text_contents()
    (sample_server.workspace / LONG).unlink()

    assert texts == shown
    assert ["250", "251"] == tab.find(".row.is-hit .number").all_inner_texts()


def test_what_was_being_read_stays_in_place_when_earlier_lines_come(
    tab: Tab, sample_server: Server
) -> None:
    file = sample_server.workspace / "memory" / "tall.md"
    file.write_text("\n".join(f"line {number}" for number in range(1, 401)), encoding="utf-8")
    tab.open("file", path="memory/tall.md", **{"from": 300, "to": 301})
    expect(tab.find("#L300")).to_be_in_viewport()
    button = tab.page.get_by_role("button", name="earlier lines")
    button.scroll_into_view_if_needed()
    before = top(tab, "#L270")
    button.click()
    expect(tab.find("#L150")).to_have_count(1)
    after = top(tab, "#L270")
    file.unlink()

    assert pytest.approx(before, abs=2) == after


def test_the_text_shows_by_its_edge_that_it_has_the_focus(tab: Tab) -> None:
    tab.open("file", path="memory/2026-09-15.md")
    text = tab.find(".lines")
    tab.has_focus(text)
    tab.page.keyboard.press("Shift+Tab")
    shadow = "element => getComputedStyle(element).boxShadow"

    assert "none" == text.evaluate(shadow)
    tab.page.keyboard.press("Tab")
    tab.has_focus(text)
    assert "none" != text.evaluate(shadow)


def test_a_conversation_is_read_like_a_file(tab: Tab) -> None:
    tab.open("search", q="spare key of the workshop", source="sessions")
    tab.hits.first.click()

    expect(tab.find(".row.is-hit")).to_contain_text(
        [re.compile("Where did we put"), re.compile("behind the blue barrel")]
    )


def test_a_hostile_note_is_only_text_wherever_it_is_shown(tab: Tab) -> None:
    tab.open("search", q="quixotic heading")
    expect(tab.hits.first).to_contain_text("Quixotic heading")
    expect(tab.find(".snippet").first).to_contain_text("<script>alert(2)</script>")
    for hit in tab.find(".hit-link").all()[:4]:
        hit.hover()
    tab.open("timeline", day="undated")
    expect(tab.find(".documents")).to_contain_text(HOSTILE_NAME)
    tab.open("map", q="quixotic heading")
    expect(tab.find(".near")).to_contain_text("Quixotic heading")
    tab.find(".near a").first.hover()
    for path in ("memory/hostile.md", HOSTILE_NAME):
        tab.open("file", path=path)
        expect(tab.find(".row")).to_have_count(HOSTILE.count("\n"))

        assert 0 == tab.find("main :is(script, img, iframe, [onerror], [onload])").count()
        assert 0 == tab.find("main a[href^='javascript']").count()
        assert HOSTILE_NAME in tab.find("h1").inner_text() or path != HOSTILE_NAME


def test_what_cannot_be_seen_or_turns_text_around_is_shown_as_its_code(tab: Tab) -> None:
    tab.open("file", path="memory/hostile.md")
    line = tab.find(".row").filter(has_text="Turned")
    expect(line.locator(".control")).to_have_text(
        ["U+202E", "U+202C", "U+001B", "U+001B", "U+200B"]
    )

    assert "\u202e" not in line.inner_text()
    assert "\x1b" not in line.inner_text()


def test_a_file_that_is_not_there_says_what_to_do(tab: Tab) -> None:
    tab.pardoned = "404"
    tab.open("file", path="memory/nothing.md")

    expect(tab.page.get_by_role("alert").filter(has_text="There is no")).to_contain_text(
        "Use a path as recollect search shows it"
    )


def test_a_file_outside_the_workspace_is_not_shown(tab: Tab) -> None:
    tab.pardoned = "404"
    tab.open("file", path="../../../etc/passwd")

    expect(tab.find(".note.bad")).to_have_count(1)
    expect(tab.find(".row")).to_have_count(0)


def test_a_phone_reads_the_longest_line_without_scrolling_sideways(
    opened: Callable[..., Tab], sample_server: Server
) -> None:
    tab = opened(sample_server, width=360, height=720)
    tab.open("file", path="memory/hostile.md")
    expect(tab.find(".row").first).to_be_visible()

    assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
