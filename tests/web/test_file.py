"""Reading in the page: a note rendered, its lines, and texts that try to act."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import httpx
import pytest
from playwright.sync_api import expect
from tests.web.vault import HOSTILE, HOSTILE_NAME, PICTURE, SAMPLE

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


def test_a_note_is_rendered_and_its_links_open_notes(tab: Tab) -> None:
    tab.open("file", path="memory/rich.md")
    note = tab.find("article")
    expect(tab.find("h1")).to_have_text("A rich note")
    expect(note.locator(".front tr")).to_have_text(
        ["tags#alpha, #beta", "born1971-06-30", "friendspeople"]
    )
    expect(note.locator("em")).to_have_text("emphasis")
    expect(note.get_by_role("heading", level=2)).to_have_text(["Tasks"])
    expect(note.get_by_role("heading", level=3)).to_have_text(["Deep heading"])
    expect(note.get_by_role("checkbox", name="done", checked=True)).to_have_count(1)
    expect(note.get_by_role("checkbox", name="to do", checked=False)).to_have_count(1)
    expect(note.locator("ul ul li")).to_have_text(re.compile(r"nested entry\s+that goes on"))
    expect(note.locator("ol > li")).to_have_text(["first", "second"])
    expect(note.locator("blockquote")).to_contain_text("A quotation")
    expect(note.locator("pre code")).to_have_text('print("<b>")  # not a heading')
    expect(note.locator("th[scope=col]")).to_have_text(["tool", "where"])
    expect(note.locator("td code")).to_have_text("awl")
    expect(note.locator(".spread td").last).to_have_text("a | b")
    expect(note).not_to_contain_text("unseen")
    expect(note.get_by_role("link", name="#gamma")).to_have_attribute("href", "#/notes?tag=gamma")
    note.get_by_role("link", name="below").click()
    expect(note.get_by_role("heading", name="Deep heading")).to_be_in_viewport()
    note.get_by_role("link", name="table of debts").click()

    expect(tab.find("h1")).to_have_text("Debts")
    expect(tab.find(".related")).to_contain_text("Linked from")
    tab.find(".related").get_by_role("link", name="rich", exact=True).click()
    expect(tab.find("h1")).to_have_text("A rich note")


def test_pictures_of_the_workspace_are_shown_and_none_of_elsewhere(
    tab: Tab, sample_server: Server
) -> None:
    tab.open("file", path="memory/rich.md")
    pictures = tab.find("article img")
    expect(pictures).to_have_count(2)
    for picture in pictures.all():
        expect(picture).to_have_js_property("naturalWidth", 1)
    answer = httpx.get(f"{sample_server.url}/api/picture", params={"path": "lake.png"})

    assert "the lake" == pictures.first.get_attribute("alt")
    expect(tab.page.get_by_role("link", name="a pixel")).to_have_attribute("target", "_blank")
    assert PICTURE == answer.content
    assert ("image/png", "nosniff") == (
        answer.headers["content-type"],
        answer.headers["x-content-type-options"],
    )


def test_what_a_hit_pointed_to_is_marked_and_not_the_whole_note(tab: Tab) -> None:
    tab.open("search", q="paint the door", path="memory/rich.md")
    tab.find(".hit-link").filter(has_text="Tasks").click()
    marked = tab.find("article .is-hit")
    expect(marked).to_have_text(["paint the door"])
    expect(marked).to_be_in_viewport()
    expect(marked.locator("mark").first).to_be_visible()

    expect(tab.find("article .in-hit").filter(has_text="oil the hinge")).to_have_count(1)
    expect(tab.find("article .in-hit").filter(has_text="Some emphasis")).to_have_count(0)


def test_a_note_is_asked_about_and_read_in_its_source(tab: Tab) -> None:
    tab.open("file", path="memory/rich.md")
    tab.find(".actions").get_by_role("link", name="Source").click()
    expect(tab.find(".row .line").first).to_have_text("---")
    tab.find(".actions").get_by_role("link", name="Read").click()
    expect(tab.find("article")).to_be_visible()
    tab.find(".actions").get_by_role("link", name="Ask about this note").click()
    tab.has_focus(tab.box)
    tab.box.fill("what is painted")
    expect(tab.find(".hit").first).to_be_visible()

    expect(tab.find(".hit .mono").filter(has_not_text="memory/rich.md")).to_have_count(0)


def test_a_link_finds_its_note_whatever_its_capitals(tab: Tab) -> None:
    tab.open("file", note="RICH", by="memory/people.md")

    expect(tab.find("h1")).to_have_text("A rich note")


def test_a_private_note_is_not_shown(tab: Tab, sample_server: Server) -> None:
    tab.pardoned = "404"
    file = sample_server.workspace / "memory" / "diary.md"
    file.write_text("---\nprivate: true\n---\nNobody reads this.\n", encoding="utf-8")
    tab.open("file", path="memory/diary.md")
    expect(tab.find(".note.bad")).to_contain_text("is private")
    file.unlink()

    expect(tab.find("main")).not_to_contain_text("Nobody reads")


def test_the_lines_of_the_hit_are_marked_numbered_and_in_sight(tab: Tab) -> None:
    path = "memory/2026-09-15.md"
    lines = (SAMPLE / path).read_text(encoding="utf-8").split("\n")
    tab.open("file", path=path, source=1, **{"from": 7, "to": 13})
    marked = tab.find(".row.is-hit")
    expect(marked.first).to_be_in_viewport()

    assert [str(number) for number in range(7, 14)] == marked.locator(".number").all_inner_texts()
    assert lines[6:13] == marked.locator(".line").all_text_contents()


def test_notes_that_mean_something_similar_are_named_beside_the_open_one(tab: Tab) -> None:
    tab.open("file", path="memory/protocols/backups-and-restore.md")
    related = tab.find(".related a").filter(has_text="Rule changed")
    related.click()

    expect(tab.find(".file-head")).to_contain_text("memory/2026-09-18.md")


def test_more_lines_come_in_both_directions_until_the_file_ends(
    tab: Tab, sample_server: Server
) -> None:
    texts = [f"line {number} of many" for number in range(1, 501)]
    (sample_server.workspace / LONG).write_text("\n".join(texts) + "\n", encoding="utf-8")
    tab.open("file", path=LONG, source=1, **{"from": 250, "to": 251})
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
    tab.open("file", path="memory/tall.md", source=1, **{"from": 300, "to": 301})
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
    tab.open("file", path="memory/2026-09-15.md", source=1)
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
        expect(tab.find("article")).to_contain_text("<script>alert(2)</script>")

        assert 0 == tab.find("main :is(script, img, iframe, [onerror], [onload])").count()
        assert 0 == tab.find("main a[href^='javascript']").count()
        assert path in tab.find(".file-head").inner_text()
        tab.open("file", path=path, source=1)
        expect(tab.find(".row")).to_have_count(HOSTILE.count("\n"))
        assert 0 == tab.find("main :is(script, img, iframe, [onerror], [onload])").count()


def test_a_link_shows_its_host_unless_its_text_is_exactly_that(tab: Tab) -> None:
    tab.open("file", path="memory/hostile.md")
    links = tab.find("article a[href='https://mybank.in/']")
    expect(links).to_have_text(["www.mybank.invalid", "https://mybank.invalid", "mybank.in/help"])
    expect(tab.find("article .host")).to_contain_text(["(mybank.in)", "(mybank.in)"])

    assert 2 == tab.find("article a[href='https://mybank.in/'] + .host").count()
    assert 0 == tab.find("article a[href^='https://mybank.invalid']").count()


def test_what_cannot_be_seen_or_turns_text_around_is_shown_as_its_code(tab: Tab) -> None:
    tab.open("file", path="memory/hostile.md", source=1)
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
    expect(tab.find("article")).to_have_count(0)


def test_a_phone_reads_the_longest_line_without_scrolling_sideways(
    opened: Callable[..., Tab], sample_server: Server
) -> None:
    tab = opened(sample_server, width=360, height=720)
    for path in ("hostile", "rich", "protocols/backups-and-restore"):
        tab.open("file", path=f"memory/{path}.md")
        expect(tab.find("article")).to_be_visible()

        assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
