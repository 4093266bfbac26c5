"""The files of the page: all there, none from elsewhere, no way from text to markup."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import TYPE_CHECKING

from tests.web.shown import MARK, shown_digest

if TYPE_CHECKING:
    from collections.abc import Iterable

TAKEN_ANEW = "the page or the sample has changed since its pictures were taken: `make screenshots`"
FOLDER = files("recollect.shells") / "web"
TEXTS = {file.name: file.read_text(encoding="utf-8") for file in FOLDER.iterdir()}
MODULES = sorted(name for name in TEXTS if name.endswith(".js"))
MOST_BYTES = 190_000


def test_the_page_names_only_files_that_are_there() -> None:
    named = set(re.findall(r'(?:href|src)="/static/([^"]+)"', TEXTS["index.html"]))

    assert {"main.js", "theme.css"} <= named
    assert named <= set(TEXTS)


def test_every_file_is_used() -> None:
    named = set(re.findall(r"/static/([a-z.]+)", TEXTS["index.html"]))
    for text in TEXTS.values():
        named |= set(re.findall(r'from "\./([a-z.]+)"', text))

    assert {"index.html", *named} == set(TEXTS)


def test_the_page_holds_no_script_and_no_style_of_its_own() -> None:
    page = TEXTS["index.html"]

    assert [] == re.findall(r"<script(?![^>]*src=)|<style|\sstyle=|\son\w+=", page)


def found_in(names: Iterable[str], pattern: str) -> list[tuple[str, str]]:
    """Return what a pattern finds in the files, each with the name of its file."""
    return [(name, each) for name in names for each in re.findall(pattern, TEXTS[name])]


def test_nothing_is_fetched_from_elsewhere() -> None:
    elsewhere = found_in(TEXTS, r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}[^\s\"']*")

    assert [] == [found for found in elsewhere if not found[1].startswith("http://www.w3.org/")]


def test_text_never_becomes_markup_or_code() -> None:
    forbidden = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|srcdoc|setHTML"
        r"|\beval\(|new Function|createContextualFragment"
    )

    assert [] == found_in(MODULES, forbidden)


def test_every_module_says_what_it_is_for() -> None:
    assert [] == [name for name in MODULES if not TEXTS[name].startswith("// ")]


def test_the_pictures_show_the_page_as_it_is() -> None:
    assert shown_digest() == MARK.read_text(encoding="utf-8").strip(), TAKEN_ANEW


def test_the_whole_page_is_small() -> None:
    assert sum(len(text.encode()) for text in TEXTS.values()) < MOST_BYTES
