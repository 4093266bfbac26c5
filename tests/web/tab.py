"""A tab of a real browser that complains at its end about whatever should not have happened."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import ConsoleMessage, Dialog, Locator, Page, Request

_QUIET = {"debug", "log", "info", "timeEnd"}


@dataclass
class Tab:
    """One page, opened on one server."""

    page: Page
    url: str
    complaints: list[str] = field(default_factory=list)
    """What the browser said that it should not have had to say."""
    requests: list[str] = field(default_factory=list)
    pardoned: str = r"(?!)"
    """A pattern of complaints that this test is about."""

    def __post_init__(self) -> None:
        self.page.on("console", self._on_console)
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("dialog", self._on_dialog)
        self.page.on("request", self._on_request)

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type not in _QUIET:
            self.complaints.append(f"{message.type}: {message.text}")

    def _on_dialog(self, dialog: Dialog) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _on_request(self, request: Request) -> None:
        self.requests.append(request.url)
        if not request.url.startswith((f"{self.url}/", "data:")):
            self.complaints.append(f"asked outside: {request.url}")

    def open(self, view: str, **params: object) -> Tab:
        """Go to a view and wait until it is there."""
        query = f"?{urlencode(params)}" if params else ""
        self.page.goto(f"{self.url}/#/{view}{query}")
        return self.settled()

    def settled(self) -> Tab:
        """Wait until nothing is waited for."""
        expect(self.page.locator("[aria-busy], .waiting")).to_have_count(0)
        return self

    def find(self, selector: str) -> Locator:
        """Return the elements that a CSS selector names."""
        return self.page.locator(selector)

    @property
    def box(self) -> Locator:
        """Where questions are typed."""
        return self.page.get_by_role("searchbox")

    @property
    def hits(self) -> Locator:
        """The links of the hits."""
        return self.find(".hit-link")

    def has_focus(self, target: Locator) -> None:
        """Wait until an element has the focus."""
        expect(target).to_be_focused()

    def said(self, sentence: str | re.Pattern[str]) -> None:
        """Wait until those who do not see the page are told something."""
        expect(self.page.get_by_role("status")).to_have_text(sentence)

    def end(self) -> None:
        """Close it, and fail on complaints."""
        self.page.close()
        left = [each for each in self.complaints if not re.search(self.pardoned, each)]

        assert [] == left, left
