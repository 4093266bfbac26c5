"""Whether everybody can use the page: themes, small screens, contrast, names and roles."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.web.serving import Server
    from tests.web.tab import Tab

VIEWS: dict[str, dict[str, object]] = {
    "search": {"q": "certificate"},
    "notes": {"folder": "memory"},
    "file": {"path": "memory/rich.md", "from": 18, "to": 21},
    "timeline": {"day": "2026-09-15"},
    "map": {"q": "what does the cat eat"},
    "facts": {"superseded": 1},
    "health": {},
}
PAINTED = """() => {
  const solid = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const { backgroundColor } = getComputedStyle(at);
      const alpha = backgroundColor.match(/[\\/,]\\s*([\\d.]+)\\)$/);
      const isClear = backgroundColor === "transparent"
        || (/rgba|\\//.test(backgroundColor) && alpha && Number(alpha[1]) < 1);
      if (!isClear) return backgroundColor;
    }
    return "rgb(255, 255, 255)";
  };
  const found = new Map();
  for (const element of document.querySelectorAll("body *")) {
    const isText = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    const isHidden = !element.checkVisibility()
      || element.closest(".visually-hidden, svg, .skip");
    if (!isText || isHidden) continue;
    const style = getComputedStyle(element);
    const key = [style.color, solid(element)].join("|");
    found.set(key, `${element.tagName}.${element.className}`);
  }
  return [...found].map(([key, where]) => [...key.split("|"), where]);
}"""
CONTENT_END = """() => {
  const main = document.querySelector("main");
  return main.getBoundingClientRect().right - parseFloat(getComputedStyle(main).paddingRight);
}"""
UNNAMED = """() => [...document.querySelectorAll("a, button, input, select, summary, [role=img]")]
  .filter((element) => element.checkVisibility())
  .filter((element) => !(element.getAttribute("aria-label") || element.textContent.trim()
    || element.labels?.length || element.title))
  .map((element) => element.outerHTML)"""


def luminance(colour: str) -> float:
    """Return the relative luminance of a CSS colour, as WCAG 2 defines it."""
    numbers = [float(number) for number in re.findall(r"[\d.]+(?:e-?\d+)?", colour)][:3]
    parts = numbers if colour.startswith("color(srgb") else [number / 255 for number in numbers]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours: 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_counted_as_wcag_does() -> None:
    assert pytest.approx(21) == contrast("rgb(0, 0, 0)", "color(srgb 1 1 1)")
    assert pytest.approx(4.54, abs=0.01) == contrast("rgb(118, 118, 118)", "rgb(255, 255, 255)")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read_in_either_theme(
    opened: Callable[..., Tab], sample_server: Server, scheme: str
) -> None:
    tab = opened(sample_server, scheme=scheme, reduced_motion="reduce")
    faint = []
    for view, params in VIEWS.items():
        tab.open(view, **params)
        if view == "search":
            tab.find(".why summary").first.click()
        for ink, ground, where in tab.page.evaluate(PAINTED):
            if contrast(ink, ground) < 4.5:
                faint.append((view, where, ink, ground, round(contrast(ink, ground), 2)))

    assert [] == faint


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_parts_of_a_bar_and_the_sources_stand_out_from_what_they_lie_on(
    opened: Callable[..., Tab], sample_server: Server, scheme: str
) -> None:
    tab = opened(sample_server, scheme=scheme)
    tab.open("search", q="spare key of the workshop")
    tab.find(".why summary").first.click()
    fill = "element => getComputedStyle(element).fill"
    ground = tab.find(".ground").first.evaluate(fill)
    drawn = {
        str(piece.get_attribute("data-part")): piece.evaluate(fill)
        for piece in tab.find(".part:not(.minus)").all()
    }
    edge = tab.find(".part.minus").first.evaluate("element => getComputedStyle(element).stroke")

    assert {"keyword", "vector"} <= set(drawn)
    assert [] == [name for name, colour in drawn.items() if contrast(colour, ground) < 3]
    assert contrast(edge, ground) >= 3


def test_the_switch_changes_the_theme_and_it_stays(tab: Tab) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    tab.open("health")
    light = tab.page.evaluate(paper)
    switch = tab.page.get_by_role("button", name="Dark theme")
    expect(switch).to_have_attribute("aria-pressed", "false")
    switch.click()
    expect(switch).to_have_attribute("aria-pressed", "true")
    dark = tab.page.evaluate(paper)
    tab.page.reload()
    tab.settled()

    assert luminance(light) > 0.8
    assert luminance(dark) < 0.05
    assert dark == tab.page.evaluate(paper)


def test_the_systems_theme_is_taken(opened: Callable[..., Tab], sample_server: Server) -> None:
    tab = opened(sample_server, scheme="dark")
    tab.open("health")

    expect(tab.page.get_by_role("button", name="Dark theme")).to_have_attribute(
        "aria-pressed", "true"
    )


def test_a_phone_never_scrolls_sideways(opened: Callable[..., Tab], sample_server: Server) -> None:
    tab = opened(sample_server, width=360, height=640)
    wide = []
    for view, params in VIEWS.items():
        tab.open(view, **params)
        if view == "search":
            tab.find(".why summary").first.click()
            tab.find(".fold summary").click()
        width = tab.page.evaluate("document.documentElement.scrollWidth")
        if width > 360:
            wide.append((view, width))

    assert [] == wide


@pytest.mark.parametrize("width", [320, 360, 560, 768, 800, 1120])
def test_the_theme_switch_is_at_the_top_right_and_every_view_is_in_sight(
    opened: Callable[..., Tab], sample_server: Server, width: int
) -> None:
    tab = opened(sample_server, width=width, height=640)
    tab.open("health")
    expect(tab.find("#workspace")).not_to_be_empty()
    switch, brand = tab.find("#theme").bounding_box(), tab.find(".brand").bounding_box()
    assert switch is not None
    assert brand is not None
    cut = []
    for link in tab.find("#views > a, #views summary").all():
        box = link.bounding_box()
        if box is None or box["x"] < 0 or box["x"] + box["width"] > width:
            cut.append(link.inner_text())

    assert pytest.approx(tab.page.evaluate(CONTENT_END), abs=1) == switch["x"] + switch["width"]
    assert brand["y"] + brand["height"] / 2 == pytest.approx(
        switch["y"] + switch["height"] / 2, abs=4
    )
    assert [] == cut


def test_every_control_has_a_name_and_every_view_one_heading_and_one_main(tab: Tab) -> None:
    unnamed = []
    for view, params in VIEWS.items():
        tab.open(view, **params)
        unnamed += tab.page.evaluate(UNNAMED)
        levels = [int(each.evaluate("e => e.tagName[1]")) for each in tab.find("h1, h2, h3").all()]

        assert 1 == tab.page.get_by_role("main").count()
        assert 1 == levels.count(1)
        assert all(later - earlier <= 1 for earlier, later in pairwise(levels))
        assert 1 == tab.find("#views [aria-current=page]").count()

    assert [] == unnamed


def test_no_two_elements_share_an_id(tab: Tab) -> None:
    ids = "[...document.querySelectorAll('[id]')].map((element) => element.id)"
    for view, params in VIEWS.items():
        tab.open(view, **params)
        found = tab.page.evaluate(ids)

        assert len(set(found)) == len(found)


def test_what_has_the_focus_can_be_seen(tab: Tab) -> None:
    tab.open("search", q="certificate")
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    width = "parseFloat(getComputedStyle(document.activeElement).outlineWidth)"
    tab.has_focus(tab.box)
    tab.find(".fold").evaluate("fold => fold.open = true")
    for _ in range(24):
        tab.page.keyboard.press("Tab")

        assert "none" != tab.page.evaluate(outline)
        assert tab.page.evaluate(width) >= 1


def test_nothing_moves_for_those_who_asked_for_that(
    opened: Callable[..., Tab], sample_server: Server
) -> None:
    moving = "getComputedStyle(document.querySelector('.hit')).transitionDuration"
    still = opened(sample_server, reduced_motion="reduce").open("search", q="certificate")
    usual = opened(sample_server).open("search", q="certificate")

    assert "0s" == still.page.evaluate(moving)
    assert "0s" != usual.page.evaluate(moving)


def test_the_title_of_the_tab_says_where_one_is(tab: Tab) -> None:
    tab.open("file", path="memory/2026-09-15.md")
    expect(tab.page).to_have_title("2026-09-15 · Recollect")
    tab.open("map")
    expect(tab.page).to_have_title("Map · Recollect")
