"""axe-core finds nothing in any view, in either theme, on a desk and on a phone."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.web.serving import Server
    from tests.web.tab import Tab

AXE = "axe-core@4.14.0"
SHOWN: tuple[tuple[str, dict[str, object], str], ...] = (
    ("search", {}, ""),
    ("search", {"q": "certificate"}, ".why summary"),
    ("search", {"q": "who won the chess olympiad in Dresden"}, ".fold summary"),
    ("search", {"q": "how many steps has the lock at the weir"}, ".judge"),
    ("notes", {"folder": "memory", "tag": "wings"}, ".more-views summary"),
    ("file", {"path": "memory/rich.md", "from": 18, "to": 21, "words": "paint"}, ""),
    ("file", {"path": "memory/rich.md", "from": 18, "to": 21, "source": 1}, ""),
    ("timeline", {"day": "2026-09-15"}, ""),
    ("map", {"q": "what does the cat eat"}, ""),
    ("facts", {"superseded": 1}, ".statements a"),
    ("facts", {}, ".strong"),
    ("health", {}, ".care button"),
)
"""The views, each with what is pressed in it."""
FOUND = """async () => (await axe.run()).violations.flatMap(({ id, nodes }) =>
  nodes.map(({ target, failureSummary }) => `${id}: ${target} ${failureSummary}`))"""


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The program that looks for faults, from npm; without it, tests are skipped."""
    if shutil.which("npm") is None:
        pytest.skip(f"npm is not installed, which has {AXE}")
    folder = tmp_path_factory.mktemp("axe")
    done = subprocess.run(
        ["npm", "install", "--silent", "--ignore-scripts", "--prefix", str(folder), AXE],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"npm could not install {AXE}: {done.stderr or done.stdout}")
    program = folder / "node_modules" / "axe-core" / "axe.min.js"
    return program.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [1120, 360])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_any_view(
    opened: Callable[..., Tab], sample_server: Server, axe: str, scheme: str, width: int
) -> None:
    tab = opened(sample_server, scheme=scheme, width=width, reduced_motion="reduce")
    found = []
    for view, params, pressed in SHOWN:
        tab.open(view, **params)
        if pressed:
            tab.find(pressed).first.click()
            tab.settled()
        tab.page.evaluate(axe)
        found += [f"{view} {params}: {each}" for each in tab.page.evaluate(FOUND)]

    assert [] == found


def test_axe_would_find_something(
    opened: Callable[..., Tab], sample_server: Server, axe: str
) -> None:
    tab = opened(sample_server)
    tab.open("health")
    tab.find("#theme span").evaluate("label => label.remove()")
    tab.page.evaluate(axe)

    assert any("button-name" in each for each in tab.page.evaluate(FOUND))
