"""Pictures for docs/web.md, made on request: TAKE_SCREENSHOTS=1 writes them anew."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from tests.web import vault
from tests.web.serving import private_environ, served

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

IMAGES = vault.ROOT / "docs" / "images"
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
        tab.open("search", q="how do we keep backups safe")
        tab.page.reload()
        tab.settled()
    tab.find(".why summary").nth(1).click()
    tab.box.focus()
    take(tab, "search")


def test_file(opened: Callable[..., Tab], shown_server: Server) -> None:
    tab = opened(shown_server, height=640)
    tab.open("file", path="memory/2026-09-15.md", **{"from": 7, "to": 13})
    tab.find("main").focus()
    take(tab, "file")


def test_timeline(opened: Callable[..., Tab], shown_server: Server) -> None:
    tab = opened(shown_server, height=760)
    tab.open("timeline", day="2026-09-17")
    take(tab, "timeline")


def test_map(opened: Callable[..., Tab], shown_server: Server) -> None:
    tab = opened(shown_server, height=800)
    tab.open("map", colour="folder")
    take(tab, "map")


def test_facts(opened: Callable[..., Tab], shown_server: Server) -> None:
    tab = opened(shown_server, height=640)
    tab.open("facts")
    tab.find(".statements a").first.click()
    tab.settled()
    take(tab, "facts")


def test_health(opened: Callable[..., Tab], shown_server: Server) -> None:
    (shown_server.workspace / "memory" / "scan.md").write_bytes(vault.BROKEN)
    tab = opened(shown_server, height=620)
    tab.open("health")
    tab.page.get_by_role("button", name="Sync now").click()
    expect(tab.find(".note.warn")).to_be_visible()
    expect(tab.page.get_by_role("button", name="Sync now")).to_be_enabled()
    take(tab, "health")


def test_phone(opened: Callable[..., Tab], shown_server: Server) -> None:
    for name, scheme, params in (
        ("phone", "light", {}),
        ("phone-dark", "dark", {"q": "certificate"}),
    ):
        tab = opened(shown_server, width=360, height=720, device_scale_factor=1.5, scheme=scheme)
        tab.open("search", **params)
        take(tab, name)
