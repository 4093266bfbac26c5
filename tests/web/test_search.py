"""Searching in the page: as you type, by keys alone, with filters, explained."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Route
    from tests.web.serving import Server
    from tests.web.tab import Tab

UNITS = 1000


def test_before_a_question_the_page_shows_recent_notes_and_questions_that_have_answers(
    tab: Tab, sample_server: Server
) -> None:
    listed = sample_server.ask("/api/documents", source="memory", limit=200)["documents"]
    newest = max(listed, key=lambda each: (each["date"] or each["changed"])[:10])
    tab.open("search")
    recent = tab.find(".recent li")
    expect(recent).to_have_count(6)
    expect(recent.first.locator("time")).to_have_attribute(
        "datetime", re.compile((newest["date"] or newest["changed"])[:10])
    )
    expect(recent.filter(has_text="Rendering of markup")).to_contain_text(
        "The ornithopter is ready"
    )
    expect(recent.locator("time")).to_have_count(6)
    expect(tab.find(".state")).to_contain_text(re.compile(r"\d+ notes.*1 conversation.*facts"))
    expect(tab.find(".filters")).not_to_be_visible()
    questions = tab.find(".try .chip").all_inner_texts()
    tab.find(".try .chip").filter(has_text="weight").click()
    expect(tab.hits.first).to_contain_text("weight")

    assert "What is the weight of Miso?" in questions
    assert [] == [each for each in questions if not each.endswith("?")]
    assert [] == [
        each for each in questions if not sample_server.ask("/api/search", query=each)["confident"]
    ]


def test_results_come_while_typing_and_are_announced(tab: Tab) -> None:
    tab.open("search")
    tab.box.press_sequentially("what to do when a task seems impossible")

    expect(tab.hits.first).to_have_text("Persistence › Stuck is not finished")
    tab.said(re.compile("^[1-9] results? for what to do when a task seems impossible$"))


def test_typing_asks_less_often_than_there_are_keys_and_never_of_an_empty_question(
    tab: Tab,
) -> None:
    tab.open("search")
    tab.box.press_sequentially("certificate")
    expect(tab.hits.first).to_contain_text("Certificates")
    tab.box.fill("")
    expect(tab.hits).to_have_count(0)
    asked = [url for url in tab.requests if "/api/search" in url]

    assert 1 <= len(asked) < len("certificate")
    assert all("query=" in url for url in asked)


def test_an_older_answer_never_overwrites_a_newer_one(tab: Tab) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    tab.page.route(re.compile(r"/api/search\?query=certificate&"), hold)
    tab.open("search")
    with tab.page.expect_request(re.compile("query=certificate&")):
        tab.box.fill("certificate")
    tab.box.fill("TCK-82152")
    expect(tab.hits.first).to_have_attribute("href", re.compile("2024-12-11"))
    for route in held:
        route.continue_()
    tab.settled()

    expect(tab.hits.first).to_have_attribute("href", re.compile("2024-12-11"))


def test_everything_can_be_done_with_keys_alone(tab: Tab) -> None:
    tab.open("health")
    press = tab.page.keyboard.press
    press("/")
    tab.has_focus(tab.box)
    tab.page.keyboard.type("certificate")
    expect(tab.hits.nth(1)).to_be_visible()
    tab.settled()
    press("ArrowDown")
    tab.has_focus(tab.hits.nth(0))
    press("j")
    tab.has_focus(tab.hits.nth(1))
    press("k")
    press("ArrowUp")
    tab.has_focus(tab.box)
    press("Enter")
    tab.has_focus(tab.hits.nth(0))
    press("Enter")
    expect(tab.find("article .is-hit").first).to_be_in_viewport()
    press("Escape")
    tab.has_focus(tab.hits.nth(0))
    press("Escape")
    tab.has_focus(tab.box)
    tab.box.fill("")

    expect(tab.find(".asked .chip")).to_have_text("certificate")


@pytest.mark.parametrize("view", ["search", "map", "facts"])
def test_the_key_for_the_box_is_not_typed_into_an_empty_one(tab: Tab, view: str) -> None:
    tab.open(view)
    tab.page.keyboard.press("/")
    tab.has_focus(tab.box)
    tab.page.keyboard.press("/")
    expect(tab.box).to_have_value("")
    tab.page.keyboard.type("a/b")

    expect(tab.box).to_have_value("a/b")


def test_whoever_went_to_a_hit_stays_there_when_a_later_answer_takes_over(tab: Tab) -> None:
    tab.open("search", q="certificates")
    tab.hits.nth(0).focus()
    title = tab.hits.nth(0).inner_text()
    tab.page.evaluate("location.hash = '#/search?q=certificate'")
    expect(tab.box).to_have_value("certificate")
    tab.settled()

    tab.has_focus(tab.hits.filter(has_text=title).first)


def test_the_skip_link_leads_past_the_navigation(tab: Tab) -> None:
    tab.open("health")
    tab.page.keyboard.press("Tab")
    tab.has_focus(tab.page.get_by_role("link", name="Skip to content"))
    tab.page.keyboard.press("Enter")

    tab.has_focus(tab.find("main"))
    assert tab.page.url.endswith("#/health")


def test_filters_narrow_stand_in_the_address_and_back_undoes_them(tab: Tab) -> None:
    tab.open("search", q="spare key")
    tab.page.get_by_role("button", name="More results").click()
    expect(tab.hits).to_have_count(10)
    tab.find(".fold summary").click()
    tab.page.get_by_role("combobox", name="Source").select_option("sessions")
    expect(tab.hits).to_have_count(1)
    expect(tab.find(".hit .tag")).to_have_text("sessions")

    assert "source=sessions" in tab.page.url

    tab.page.go_back()
    expect(tab.hits.nth(1)).to_be_visible()
    expect(tab.page.get_by_role("combobox", name="Source")).to_have_value("")


def test_the_filters_offer_the_folders_and_tags_there_are(tab: Tab) -> None:
    tab.open("search", q="spare key")
    tab.find(".fold summary").click()

    expect(tab.find("#folders option[value='memory/projects/**']")).to_have_count(1)
    expect(tab.find("#tags option[value=aviation]")).to_have_count(1)


def test_a_shared_link_opens_with_its_filters(tab: Tab) -> None:
    tab.open("search", q="certificate", since="2026-09-15", before="2026-09-16")
    expect(tab.find(".hit time").first).to_have_text(re.compile("15 Sept? 2026"))
    days = set(tab.find(".hit time").all_inner_texts())

    assert 1 == len(days)
    assert "2026-09-15" == tab.page.get_by_label("Since").input_value()


def test_facts_of_a_scope_are_found_only_when_it_is_named(tab: Tab) -> None:
    tab.open("search", q="tea without milk", source="facts")
    expect(tab.find(".hit").filter(has_text="Ada takes her tea")).to_have_count(0)
    tab.page.get_by_label("Scope").fill("user:ada")
    tab.page.get_by_label("Scope").press("Enter")

    expect(tab.find(".hit").filter(has_text="Ada takes her tea")).to_have_count(1)


def test_an_explanation_is_drawn_as_wide_as_its_numbers(tab: Tab, sample_server: Server) -> None:
    question = "spare key of the workshop"
    answer = sample_server.ask("/api/search", query=question, explain="true", maxResults=10)
    tab.open("search", q=question)
    tab.page.get_by_role("button", name="More results").click()
    expect(tab.hits).to_have_count(len(answer["results"]))
    drawn = [
        {
            piece.get_attribute("data-part"): float(piece.get_attribute("width") or "nan")
            for piece in bar.locator("[data-part]").all()
        }
        for bar in tab.find(".why > .bar").all()
    ]
    wanted = []
    for hit in answer["results"]:
        explain = hit["explain"]
        parts = {name: leg["contribution"] for name, leg in explain["legs"].items()}
        parts |= {name: explain[name] for name in ("source", "exact", "decay", "rerank")}
        scale = UNITS / max(1.0, sum(value for value in parts.values() if value > 0))
        wanted.append({name: abs(value) * scale for name, value in parts.items() if value})

    assert any("source" in parts for parts in drawn), "the transcript's weight takes something away"
    assert [pytest.approx(parts, abs=1e-6) for parts in wanted] == drawn


def test_an_explanation_adds_up_for_the_eye_and_for_the_ear(tab: Tab) -> None:
    tab.open("search", q="spare key of the workshop", source="sessions")
    expect(tab.hits).to_have_count(1)
    expect(tab.find(".why-word")).to_be_hidden()
    tab.find(".why summary").click()
    expect(tab.find(".why-word")).to_have_text(
        re.compile(
            r"^found by (words|meaning) \d+%, by (words|meaning) \d+%"
            r"(, by the reader \d+%)?; lowered for its source; score 0\.\d\d$"
        )
    )
    rows = tab.find(".parts tbody tr td.numbers").all_inner_texts()
    total = tab.find(".parts tfoot td.numbers").inner_text()
    values = [float(row.replace("−", "-")) for row in rows]
    label = tab.page.get_by_role("img", name="together").get_attribute("aria-label") or ""

    assert any(value < 0 for value in values)
    assert pytest.approx(float(total), abs=0.0021) == sum(values)
    assert label.endswith(f"together {total}")


def test_a_question_that_is_not_in_memory_is_not_answered_confidently(tab: Tab) -> None:
    tab.open("search", q="who won the chess olympiad in Dresden")

    expect(tab.find(".note.warn")).to_contain_text("This does not seem to be in memory")
    expect(tab.find(".hit .snippet")).to_have_count(1)
    weak = tab.find(".hit.weak")
    expect(weak).to_have_count(tab.hits.count() - 1)
    line = weak.first.bounding_box()
    assert line is not None

    assert line["height"] < 45, "one line"


def test_a_hit_is_called_right_or_wrong_and_the_other_takes_it_back(
    tab: Tab, sample_server: Server
) -> None:
    tab.open("search", q="certificate reminders")
    hit = tab.find(".hit").first
    right, wrong = (hit.get_by_role("button", name=name) for name in ("Right", "Wrong"))
    expect(right).to_have_attribute("aria-pressed", "false")
    right.click()
    expect(right).to_have_attribute("aria-pressed", "true")
    tab.said("Kept as right")
    wrong.click()
    expect(wrong).to_have_attribute("aria-pressed", "true")
    expect(right).to_have_attribute("aria-pressed", "false")
    tab.said("Kept as wrong")
    [file] = sample_server.workspace.parent.glob("home/cases/*.jsonl")
    cases = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    [case] = [each for each in cases if each["query"] == "certificate reminders"]

    assert ("certificate reminders", 0, 1) == (
        case["query"],
        len(case.get("expected", ())),
        len(case["wrong"]),
    )


def test_a_fact_among_the_hits_names_the_one_that_contradicts_it(tab: Tab) -> None:
    tab.open("search", q="how many steps has the lock at the weir")
    hit = tab.find(".hit").filter(has_text="has 12 steps").first
    hit.get_by_role("link", name="The lock at the weir has 14 steps").click()

    expect(tab.find(".chain")).to_contain_text("has 14 steps")


def test_a_snippet_is_rendered_and_its_links_lead_to_notes(tab: Tab) -> None:
    tab.open("search", q="ornithopters", path="memory/linked.md")
    snippet = tab.find(".snippet")
    expect(snippet.locator("em")).to_have_text("ornithopter")
    expect(snippet.locator("em mark")).to_have_text("ornithopter")
    expect(snippet.locator("strong")).to_have_text("ready")
    expect(snippet.locator("code")).to_have_text("wing_span")
    expect(snippet.get_by_role("link", name="https://example.invalid/guide")).to_have_attribute(
        "rel", "noopener noreferrer"
    )
    expect(snippet.get_by_role("link", name="the guide")).to_have_attribute(
        "href", "#/file?path=MEMORY.md"
    )
    snippet.get_by_role("link", name="the debts").click()

    expect(tab.find("h1")).to_have_text("Debts")


def test_words_of_a_script_without_spaces_are_marked(tab: Tab) -> None:
    tab.open("search", q="自行车在哪里", path="memory/linked.md")

    expect(tab.find(".snippet mark").first).to_have_text("自行车")


def test_folders_and_tags_of_the_results_narrow_them(tab: Tab) -> None:
    tab.open("search", q="ornithopter guide")
    expect(tab.hits.first).to_be_visible()
    few = tab.hits.count()
    expect(tab.find(".facets")).to_have_count(int(few >= 8))
    if few < 8:
        tab.page.get_by_role("button", name="More results").click()
    tab.find(".facets").get_by_role("button", name=re.compile("^#aviation")).click()
    expect(tab.page.get_by_label("Tag")).to_have_value("aviation")
    expect(tab.hits).to_have_count(1)
    tab.find(".facets").get_by_role("button", name=re.compile("^#wings")).click()
    expect(tab.page.get_by_label("Tag")).to_have_value("aviation wings")
    expect(tab.hits).to_have_count(1)
    tab.find(".facets").get_by_role("button", name="memory/ 1").click()

    expect(tab.page.get_by_label("Path")).to_have_value("memory/**")


def test_a_passage_is_copied_and_opened_in_the_editor_of_ones_choice(
    tab: Tab, sample_server: Server
) -> None:
    tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.open("search")
    tab.page.get_by_label("Open notes in").select_option("vscode")
    tab.box.fill("ornithopter")
    hit = tab.find(".hit").first
    hit.get_by_role("button", name="Copy citation").click()
    expect(hit).to_contain_text("Copied")

    assert "memory/linked.md#L4-L8" == tab.page.evaluate("navigator.clipboard.readText()")
    expect(hit.get_by_role("link", name="Open in VS Code")).to_have_attribute(
        "href", f"vscode://file{sample_server.workspace}/memory/linked.md:4"
    )


def test_words_of_the_question_are_marked_in_the_title_too(tab: Tab) -> None:
    tab.open("search", q="backups")

    expect(tab.hits.first.locator("mark").first).to_have_text(re.compile("^backup", re.IGNORECASE))


def test_rows_of_a_table_are_shown_as_one(tab: Tab) -> None:
    tab.open("search", q="quixotic ledger", path="memory/table.md")
    table = tab.find(".hit .spread table")

    expect(table.locator("th")).to_have_text(["Ledger", "<b>Due</b>"])
    expect(table.locator("td")).to_have_text(["quixotic", "a | b", "plain", ""])
    expect(table.locator("mark")).to_have_text(["Ledger", "quixotic"])
    expect(table.locator("b")).to_have_count(0)


def test_a_table_takes_the_room_there_is_and_is_moved_by_itself_where_there_is_none(
    opened: Callable[..., Tab], sample_server: Server
) -> None:
    question = "which sets of backups are kept how long"
    place = "memory/protocols/backups-and-restore.md"
    wide = opened(sample_server).open("search", q=question, path=place)
    phone = opened(sample_server, width=360).open("search", q=question, path=place)
    fits = "element => element.scrollWidth <= element.clientWidth"
    tables = [tab.find(".hit .spread").filter(has_text="lantern-db").first for tab in (wide, phone)]
    height = tables[0].locator("td").first.bounding_box()
    assert height is not None

    assert [True, False] == [table.evaluate(fits) for table in tables]
    assert height["height"] < 50, "a cell of few words has one or two lines"
    assert phone.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_question_that_is_too_long_is_refused_with_the_reason(tab: Tab) -> None:
    for view in ("search", "map"):
        tab.open(view)
        before = len(tab.requests)
        tab.box.fill("why " * 1001)

        expect(tab.page.get_by_role("alert").filter(has_text="too long")).to_contain_text(
            "Use at most 4,000."
        )
        assert [] == [url for url in tab.requests[before:] if "query=why" in url]


def test_filters_that_let_nothing_pass_say_so_and_what_to_do(tab: Tab) -> None:
    tab.open("search", q="certificate", path="nowhere/**")

    expect(tab.find(".note").first).to_contain_text("No indexed file matches the path")
    expect(tab.find(".note").last).to_contain_text("Remove a filter")
    tab.said("No matches for certificate")


def test_a_wrong_filter_shows_the_servers_own_words(tab: Tab) -> None:
    tab.pardoned = "400"
    tab.open("search", q="certificate", scope="nobody")

    expect(tab.page.get_by_role("alert").filter(has_text="scope")).to_contain_text("user:NAME")


def test_more_results_begin_with_those_far_below_the_best(tab: Tab) -> None:
    more = tab.page.get_by_role("button", name="More results")
    tab.open("search", q="certificate")
    expect(tab.hits.first).to_be_visible()
    few = tab.hits.count()
    more.click()
    expect(tab.hits).to_have_count(10)
    more.click()
    expect(tab.hits).to_have_count(20)

    assert few < 10

    tab.has_focus(tab.hits.nth(10))
