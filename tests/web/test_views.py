"""The other views: timeline, map, facts, health."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from tests.web.serving import Server
    from tests.web.tab import Tab

DRAWN = "canvas => canvas.toDataURL()"


def test_notes_are_listed_by_date_with_their_first_line_and_narrowed_by_folder_tag_and_words(
    tab: Tab, sample_server: Server
) -> None:
    listed = sample_server.ask("/api/documents", source="memory", limit=1000)["documents"]
    by_date = sorted((each["date"] or each["changed"] for each in listed), reverse=True)
    tab.open("notes")
    notes = tab.find(".documents li")
    expect(notes).to_have_count(len(listed))
    dates = [each.get_attribute("datetime") for each in tab.find(".documents time").all()]

    assert by_date == dates
    expect(notes.filter(has_text="A rich note")).to_contain_text(
        "Some emphasis and a table of debts."
    )
    expect(notes.filter(has_text="A rich note").locator("time")).to_contain_text("changed")
    tab.find(".tree").get_by_role("link", name=re.compile("^protocols")).click()
    expect(tab.find(".documents .mono").filter(has_not_text="memory/protocols/")).to_have_count(0)
    amount = sum(each["path"].startswith("memory/protocols/") for each in listed)
    expect(notes).to_have_count(amount)
    tab.find(".tree").get_by_role("link", name=re.compile("^All notes")).click()
    tab.find(".chips").get_by_role("link", name="#aviation 1").click()
    expect(notes).to_have_text([re.compile("Rendering of markup")])
    assert "tag=aviation" in tab.page.url
    tab.find(".chips").get_by_role("link", name="#aviation 1").click()
    tab.box.fill("second line rich")
    expect(notes).to_have_count(0)
    tab.box.fill("emphasis rich")
    expect(notes).to_have_count(1)
    notes.get_by_role("link").click()
    expect(tab.find("article")).to_be_visible()


def test_the_rest_of_the_views_opens_by_keys_and_closes_again(tab: Tab) -> None:
    press = tab.page.keyboard.press
    tab.open("notes")
    more = tab.find("#views summary")
    timeline = tab.find("#views a[data-view=timeline]")
    expect(timeline).to_be_hidden()
    more.focus()
    press("Enter")
    expect(timeline).to_be_visible()
    press("Escape")
    expect(timeline).to_be_hidden()
    tab.has_focus(more)
    press("Enter")
    press("Tab")
    tab.has_focus(timeline)
    press("Enter")
    expect(tab.find("h1")).to_have_text("Timeline")
    expect(timeline).to_be_hidden()
    expect(timeline).to_have_attribute("aria-current", "page")
    more.click()
    tab.find("h1").click()

    expect(timeline).to_be_hidden()
    tab.page.get_by_role("link", name="All notes").click()
    expect(tab.find("h1")).to_have_text("Notes")


def test_the_timeline_has_every_day_that_is_stored(tab: Tab, sample_server: Server) -> None:
    days = {day["date"] for day in sample_server.ask("/api/timeline")["days"]}
    tab.open("timeline")
    expect(tab.find(".cell.has")).to_have_count(len(days))

    assert days == {cell.get_attribute("data-day") for cell in tab.find(".cell.has").all()}


def test_a_day_tells_notes_from_conversations_and_opens_its_documents(tab: Tab) -> None:
    tab.open("timeline")
    day = tab.page.get_by_role("link", name=re.compile("^Tuesday,? 15 September 2026"))
    expect(day).to_have_attribute("aria-label", re.compile("memory: 1 document.*sessions: 1"))
    expect(day.locator(".swatch")).to_have_count(2)
    day.click()
    expect(tab.find(".documents .tag")).to_have_text(["memory", "sessions"], ignore_case=True)
    expect(tab.find(".as-of")).to_have_text("No fact was valid on this day")
    tab.find(".documents a").first.click()

    expect(tab.find(".file-head")).to_contain_text("memory/2026-09-15.md")
    tab.page.go_back()
    expect(tab.find(".cell[aria-current]")).to_have_attribute("data-day", "2026-09-15")


def test_bars_by_month_are_as_high_as_the_months_are_full(tab: Tab, sample_server: Server) -> None:
    days = sample_server.ask("/api/timeline")["days"]
    months: dict[str, int] = {}
    for day in days:
        amount = day["bySource"].get("memory", {"chunks": 0})["chunks"]
        months[day["date"][:7]] = months.get(day["date"][:7], 0) + amount
    fullest = max(sum(day["chunks"] for day in days if day["date"][:7] == name) for name in months)
    tab.open("timeline")
    heights = [float(bar.get_attribute("height") or 0) for bar in tab.find(".bar-of.memory").all()]
    wanted = [max(1, 64 * count / fullest) for _, count in sorted(months.items()) if count]

    assert pytest.approx(wanted) == heights
    # March 2025 and September 2026 are not seventeen empty bars apart.
    expect(tab.find(".gap-of")).to_have_count(1)
    expect(tab.find(".bars figcaption")).to_contain_text("17 months later: September 2026")


def test_the_map_draws_all_chunks_and_a_question_among_its_hits(
    tab: Tab, sample_server: Server
) -> None:
    answer = sample_server.ask("/api/map")
    tab.open("map")
    expect(tab.find(".map-head")).to_contain_text(f"{answer['total']} chunks")
    folders = {
        "sessions" if point["source"] == "sessions" else point["path"].rpartition("/")[0]
        for point in answer["points"]
    }
    expect(tab.find(".near li")).to_have_count(len(folders))
    without = tab.find("canvas").evaluate(DRAWN)
    tab.find(".near button").first.click()
    zoomed = tab.find("canvas").evaluate(DRAWN)
    tab.page.get_by_role("button", name="Show all").click()

    assert without != zoomed
    assert without == tab.find("canvas").evaluate(DRAWN)

    tab.box.fill("what does the cat eat")
    expect(tab.find(".near a").first).to_be_visible()
    expect(tab.find(".near li").first).to_contain_text("MEMORY.md:38")

    assert without != tab.find("canvas").evaluate(DRAWN)
    assert "q=what+does+the+cat+eat" in tab.page.url


def test_the_map_can_be_read_without_a_pointer(tab: Tab) -> None:
    tab.open("map", q="what does the cat eat")
    tab.find(".near a").first.focus()
    expect(tab.find(".tip")).to_be_visible()
    expect(tab.find(".tip")).to_contain_text("MEMORY.md")
    tab.page.keyboard.press("Enter")

    expect(tab.find(".file-head")).to_contain_text("MEMORY.md")


def test_pointing_at_the_map_names_a_chunk_and_a_click_opens_it(tab: Tab) -> None:
    tab.open("map", q="what does the cat eat")
    tab.find(".near a").first.hover()
    expect(tab.find(".tip")).to_be_visible()
    tip = tab.find(".tip").bounding_box()
    stage = tab.find("canvas").bounding_box()
    assert tip is not None
    assert stage is not None
    found = False
    for step in range(-24, 25, 4):
        tab.page.mouse.move(tip["x"] - 12, tip["y"] - 14 + step)
        found = found or tab.find("canvas.is-over").count() == 1
        if found:
            break
    tab.page.mouse.down()
    tab.page.mouse.up()

    expect(tab.find("article")).to_be_visible()


def test_the_map_is_coloured_by_age_and_by_folder_on_request(tab: Tab) -> None:
    tab.open("map")
    drawn = {tab.find("canvas").evaluate(DRAWN)}
    expect(tab.find(".map-head .legend")).to_contain_text("memory/projects")
    for name, word in (("age", "newest"), ("source", "sessions")):
        tab.page.get_by_label(name).check()
        expect(tab.find(".map-head .legend")).to_contain_text(word)
        drawn.add(tab.find("canvas").evaluate(DRAWN))

        assert f"colour={name}" in tab.page.url

    assert 3 == len(drawn)


def test_facts_say_what_a_choice_would_show(tab: Tab) -> None:
    tab.open("facts")
    expect(tab.find(".history")).to_have_text("Choose a fact to see its history.")
    tab.box.fill("zxqv")
    expect(tab.find(".statements li")).to_have_count(0)

    expect(tab.find(".history")).to_be_empty()


def test_an_address_of_no_view_becomes_that_of_search(tab: Tab) -> None:
    tab.open("nonsense", q="certificate")
    expect(tab.box).to_have_value("")
    tab.open("health")
    tab.page.evaluate("location.hash = '#/Health/more'")
    tab.has_focus(tab.box)

    assert tab.page.url.endswith("/#/search")


def test_a_fact_shows_what_it_took_the_place_of(tab: Tab) -> None:
    tab.open("facts")
    tab.box.fill("haruka")
    expect(tab.find(".statements li")).to_have_count(1)
    tab.find(".statements a").first.click()
    expect(tab.find(".chain .words")).to_have_text(
        [
            f"{name} owns the database migration"
            for name in ("Wen Qiu", "Tomasz Wilk", "Haruka Mizuno")
        ]
    )
    expect(tab.find(".chain .is-valid")).to_have_count(1)
    expect(tab.find(".chain .is-superseded").first).to_contain_text("until")


def test_facts_can_be_searched_with_and_without_those_that_ended(tab: Tab) -> None:
    tab.open("facts", text="database migration")
    expect(tab.find(".statements li")).to_have_count(1)
    tab.page.get_by_label("include superseded").check()
    expect(tab.find(".statements li")).to_have_count(3)
    tab.page.go_back()

    expect(tab.find(".statements li")).to_have_count(1)


def test_of_facts_that_contradict_each_other_one_is_chosen_and_the_choice_undone(tab: Tab) -> None:
    tab.open("facts", text="weir")
    expect(tab.find(".statements .against a")).to_have_text(
        ["The lock at the weir has 14 steps", "The lock at the weir has 12 steps"]
    )
    expect(tab.find(".statements")).not_to_contain_text("other")
    expect(tab.find(".statements")).not_to_contain_text("global")
    expect(tab.page.get_by_role("button", name="Copy the command")).to_have_count(2)
    right = tab.find(".statements li").filter(
        has=tab.page.locator("a[data-id]", has_text="14 steps")
    )
    right.get_by_role("button", name="This one is right").click()
    expect(tab.find(".statements li")).to_have_text([re.compile("14 steps")])
    tab.page.get_by_role("button", name="Undo").click()

    expect(tab.find(".statements .against")).to_have_count(2)


def test_a_fact_is_remembered_edited_and_forgotten_and_each_is_undone(tab: Tab) -> None:
    def press(name: str) -> None:
        tab.page.get_by_role("button", name=name, exact=True).click()

    tab.open("facts", text="kiln")
    press("Remember a fact")
    tab.page.get_by_label("What to remember").fill("The kiln is in the old shed")
    press("Remember")
    statements = tab.find(".statements li a[data-id]")
    expect(statements).to_have_text("The kiln is in the old shed")
    press("Edit")
    tab.page.get_by_label("What is right").fill("The kiln is in the new shed")
    press("Save")
    expect(statements).to_have_text("The kiln is in the new shed")
    expect(tab.find(".chain .words")).to_have_count(2)
    press("Undo")
    expect(statements).to_have_text("The kiln is in the old shed")
    statements.click()
    press("Forget")
    expect(statements).to_have_count(0)
    press("Undo")
    expect(statements).to_have_text("The kiln is in the old shed")
    statements.click()
    press("Forget")

    expect(statements).to_have_count(0)


def test_editing_the_text_of_a_fact_edits_its_value_too(tab: Tab, sample_server: Server) -> None:
    def press(name: str) -> None:
        tab.page.get_by_role("button", name=name, exact=True).click()

    def values() -> list[str]:
        facts = sample_server.ask("/api/facts")["facts"]
        return [each["value"] for each in facts if "lathe" in each["text"]]

    tab.open("facts", text="lathe")
    press("Remember a fact")
    tab.page.get_by_label("What to remember").fill("The lathe is called Hilda now")
    tab.page.get_by_text("Details").click()
    for name, given in (("About", "lathe"), ("Property", "name"), ("Value", "Hilda")):
        tab.page.get_by_label(name, exact=True).fill(given)
    press("Remember")
    statements = tab.find(".statements li a[data-id]")
    expect(statements).to_have_text("The lathe is called Hilda now")
    press("Edit")
    tab.page.get_by_label("What is right").fill("The lathe is called Berta now")
    press("Save")
    expect(statements).to_have_text("The lathe is called Berta now")

    assert ["Berta"] == values()
    press("Edit")
    tab.page.get_by_label("What is right").fill("Nobody named the lathe")
    press("Save")
    expect(statements).to_have_text("Nobody named the lathe")
    assert [""] == values()
    press("Forget")


def test_health_tells_what_is_indexed_and_by_whom(tab: Tab, sample_server: Server) -> None:
    status = sample_server.ask("/api/status")
    tab.open("health")
    cards = tab.find(".card")

    expect(cards.filter(has_text="Indexed")).to_contain_text(
        f"{status['index']['documents']} files"
    )
    expect(cards.filter(has_text="Embedded by")).to_contain_text(status["provider"]["model"])
    expect(cards.filter(has_text="waiting")).to_contain_text("Vectors")
    expect(cards.filter(has_text="Freshness")).to_contain_text("up to date")


def test_health_names_what_needs_care_with_the_command_that_mends_it(
    tab: Tab, sample_server: Server
) -> None:
    findings = sample_server.ask("/api/tidy")["findings"]
    tab.open("health")
    expect(tab.find(".care li")).to_have_count(0)
    tab.page.get_by_role("button", name="Look through the notes").click()
    expect(tab.find(".care li")).to_have_count(len(findings))
    conflict = tab.find(".care li").filter(has_text="has 14 steps")
    expect(conflict.locator("code")).to_have_text(re.compile("^recollect facts supersede f-"))
    expect(conflict.get_by_role("button", name="Copy")).to_be_visible()
    tab.find(".care li").filter(has_text="hostile.md").get_by_role("link").first.click()

    expect(tab.find("article")).to_be_visible()


def test_a_map_that_is_zoomed_in_names_its_dots(tab: Tab) -> None:
    tab.open("map")
    expect(tab.find(".group-label.dot")).to_have_count(0)
    tab.find(".near button").last.click()
    for _ in range(3):
        tab.page.get_by_role("button", name="Zoom in").click()

    expect(tab.find(".group-label.dot:not([hidden])").first).to_be_visible()


def test_the_map_is_offered_once_there_are_enough_chunks_to_see_something(
    tab: Tab, sample_server: Server
) -> None:
    chunks = sample_server.ask("/api/status")["index"]["chunks"]
    tab.open("health")
    expect(tab.find("#workspace")).not_to_be_empty()

    assert (chunks < 300) is tab.find("#views a[data-view=map]").evaluate("link => link.hidden")


def test_a_sync_can_be_asked_for_and_its_end_is_announced(tab: Tab, sample_server: Server) -> None:
    tab.open("health")
    tab.page.get_by_role("button", name="Sync now").click()
    tab.said(re.compile("^Synced. Last sync at"))

    expect(tab.page.get_by_role("button", name="Sync now")).to_be_enabled()
    assert "idle" == sample_server.ask("/api/status")["worker"]["state"]
