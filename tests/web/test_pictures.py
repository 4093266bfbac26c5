"""Pictures for docs/web.md, made on request: `make screenshots` writes them anew."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from tests.support.waiting import wait_until
from tests.web import vault
from tests.web.serving import private_environ, served
from tests.web.shown import IMAGES, MARK, shown_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.web.serving import Server
    from tests.web.tab import Tab

pytestmark = [
    pytest.mark.skipif(
        os.environ.get("TAKE_SCREENSHOTS") != "1",
        reason="pictures are made with TAKE_SCREENSHOTS=1",
    ),
]

MOST_BYTES = 150_000


@pytest.fixture(scope="module")
def shown_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The sample workspace as its owner would have it."""
    folder = tmp_path_factory.mktemp("shown")
    environ = private_environ(folder)
    environ["RECOLLECT_SOURCES"] = "memory,sessions"
    workspace = vault.copy_sample(folder / "wren", cases=39)
    vault.add_conversation(workspace, home=folder / "user")
    vault.add_past(workspace, environ=environ)
    for language in ("ja", "zh"):  # machines that take pictures seldom have the fonts
        shutil.rmtree(workspace / "memory" / language)
    vault.add_years(workspace)
    with served(workspace, environ) as server:
        server.wait_until_synced()
        yield server


def take(tab: Tab, name: str) -> None:
    """Keep what is in sight as a picture."""
    file = IMAGES / f"{name}.png"
    IMAGES.mkdir(parents=True, exist_ok=True)
    tab.page.screenshot(path=file, animations="disabled")

    assert file.stat().st_size < MOST_BYTES


def test_home(opened: Callable[..., Tab], shown_server: Server) -> None:
    tab = opened(shown_server, height=900, scheme="dark")
    tab.open("search")
    take(tab, "home")


def test_search(opened: Callable[..., Tab], shown_server: Server) -> None:
    tab = opened(shown_server, height=800, reduced_motion="reduce")
    for _ in range(2):  # the first question loads the model
        tab.open("search", q="what went wrong with the certificate")
        tab.page.reload()
        tab.settled()
    tab.find(".why summary").nth(1).click()
    tab.box.focus()
    take(tab, "search")


def test_notes(opened: Callable[..., Tab], shown_server: Server) -> None:
    tab = opened(shown_server, height=760)
    tab.open("notes")
    tab.find("main").focus()
    take(tab, "notes")


def test_file(opened: Callable[..., Tab], shown_server: Server) -> None:
    tab = opened(shown_server, height=760, reduced_motion="reduce")
    tab.open("search", q="how long do we keep backups of the notes")
    tab.hits.filter(has_text="What is copied").click()
    expect(tab.find("article .is-hit").first).to_be_visible()
    tab.settled()
    expect(tab.find(".related")).to_contain_text("Related notes")
    tab.page.mouse.move(0, 0)
    take(tab, "file")


def test_timeline(opened: Callable[..., Tab], shown_server: Server) -> None:
    tab = opened(shown_server, height=760)
    tab.open("timeline", day="2026-09-17")
    tab.page.evaluate("scrollTo(0, 0)")
    take(tab, "timeline")


def test_map(opened: Callable[..., Tab], shown_server: Server) -> None:
    tab = opened(shown_server, height=800)
    tab.open("map")
    take(tab, "map")


def test_facts(opened: Callable[..., Tab], shown_server: Server) -> None:
    tab = opened(shown_server, height=640)
    tab.open("facts")
    tab.find(".statements a").first.click()
    tab.settled()
    take(tab, "facts")


def test_health(opened: Callable[..., Tab], shown_server: Server) -> None:
    broken, plan = (shown_server.workspace / "memory" / name for name in ("scan.md", "plan.md"))
    broken.write_bytes(vault.BROKEN)
    plan.write_text("# Plan\n\nThe beds are drawn in [[greenhose]].\n", encoding="utf-8")
    tab = opened(shown_server, height=1000)
    tab.open("health")
    tab.page.get_by_role("button", name="Sync now").click()
    expect(tab.find(".note.warn")).to_be_visible()
    expect(tab.page.get_by_role("button", name="Sync now")).to_be_enabled()
    tab.page.get_by_role("button", name="Look through the notes").click()
    expect(tab.find(".care li").first).to_be_visible()
    take(tab, "health")
    for each in (broken, plan):
        each.unlink()
    wait_until(lambda: not any(shown_server.ask("/api/status")["stale"].values()))


def test_phone(opened: Callable[..., Tab], shown_server: Server) -> None:
    for name, scheme, params in (
        ("phone", "light", {}),
        ("phone-dark", "dark", {"q": "certificate"}),
    ):
        tab = opened(shown_server, width=360, height=720, device_scale_factor=1.5, scheme=scheme)
        tab.open("search", **params)
        take(tab, name)


def test_the_pictures_say_which_page_they_show() -> None:
    MARK.write_text(f"{shown_digest()}\n", encoding="utf-8")
