"""A real Chromium, real servers with the real model, one of each for as many tests as can share."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect, sync_playwright
from tests.web import vault
from tests.web.serving import private_environ, served
from tests.web.tab import Tab

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser
    from tests.web.serving import Server

_ARGUMENTS = [
    "--no-sandbox",  # the tests may run as root, in a container
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
_NAMES = ("chromium", "chromium-browser", "google-chrome")

expect.set_options(timeout=30_000)


# For one module, not longer: while it runs, the thread has an event loop that other tests would
# stumble over.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A browser; without one tests are skipped, or fail if REQUIRE_BROWSER is 1."""
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        why = f"none of {', '.join(_NAMES)} is installed"
        if os.environ.get("REQUIRE_BROWSER") == "1":
            pytest.fail(f"REQUIRE_BROWSER is set, but {why}")
        pytest.skip(why)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=_ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def sample_server(
    tmp_path_factory: pytest.TempPathFactory,
    fill_home: Callable[[Path], None],
) -> Iterator[Server]:
    """The sample workspace with a conversation, facts, cases and hostile notes."""
    folder = tmp_path_factory.mktemp("page")
    fill_home(folder / "home")
    environ = private_environ(folder)
    environ["RECOLLECT_SOURCES"] = "memory,sessions"
    workspace = vault.copy_sample(folder / "wren")
    vault.write_hostile(workspace)
    vault.add_conversation(workspace, home=folder / "user")
    vault.add_facts(workspace, environ=environ)
    with served(workspace, environ) as server:
        server.wait_until_synced()
        yield server


@pytest.fixture
def opened(chromium: Browser) -> Iterator[Callable[..., Tab]]:
    """Open tabs, of whatever size and theme; each is closed and asked for complaints."""
    tabs: list[Tab] = []

    def open_tab(
        server: Server,
        *,
        width: int = 1120,
        height: int = 760,
        scheme: str = "light",
        **options: object,
    ) -> Tab:
        context = chromium.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,  # type: ignore[arg-type]  # light or dark
            locale="en-GB",
            **options,  # type: ignore[arg-type]  # as Playwright takes them
        )
        tab = Tab(context.new_page(), server.url)
        tabs.append(tab)
        server.tabs.append(tab)
        return tab

    yield open_tab
    for tab in tabs:
        tab.end()
        tab.page.context.close()


@pytest.fixture
def tab(opened: Callable[..., Tab], sample_server: Server) -> Tab:
    """A tab on the sample workspace."""
    return opened(sample_server)
