"""The files of the page: all there, none from elsewhere, no way from text to markup."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

FOLDER = files("recollect.shells") / "web"
TEXTS = {file.name: file.read_text(encoding="utf-8") for file in FOLDER.iterdir()}
MODULES = sorted(name for name in TEXTS if name.endswith(".js"))
MOST_LINES = 400
MOST_BYTES = 150_000


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


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_nothing_is_fetched_from_elsewhere(name: str) -> None:
    elsewhere = re.findall(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}[^\s\"']*", TEXTS[name])

    assert [] == [address for address in elsewhere if not address.startswith("http://www.w3.org/")]


@pytest.mark.parametrize("name", MODULES)
def test_text_never_becomes_markup_or_code(name: str) -> None:
    forbidden = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|srcdoc|setHTML"
        r"|\beval\(|new Function|createContextualFragment"
    )

    assert [] == re.findall(forbidden, TEXTS[name])


@pytest.mark.parametrize("name", MODULES)
def test_every_module_says_what_it_is_for(name: str) -> None:
    assert TEXTS[name].startswith("// ")


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_a_file_fits_in_a_readers_head(name: str) -> None:
    assert len(TEXTS[name].splitlines()) <= MOST_LINES


def test_the_whole_page_is_small() -> None:
    assert sum(len(text.encode()) for text in TEXTS.values()) < MOST_BYTES
