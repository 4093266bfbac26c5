"""The page over twenty thousand chunks: it stays usable, and says what it leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from tests.web import vault
from tests.web.serving import private_environ, served

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.web.serving import Server
    from tests.web.tab import Tab


@pytest.fixture(scope="session")
def big_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A thousand days of notes; their vectors are made up, see the vault."""
    folder = tmp_path_factory.mktemp("big")
    environ = private_environ(folder)
    vault.write_big(folder / "years")
    vault.index_big(folder / "years", environ=environ)
    with served(folder / "years", environ) as server:
        server.wait_until_synced()
        yield server


def test_results_come_while_typing(opened: Callable[..., Tab], big_server: Server) -> None:
    tab = opened(big_server)
    tab.open("search")
    tab.box.press_sequentially("Note 13141: the")

    expect(tab.find(".hit").first).to_contain_text("Note 13141")


def test_the_map_shows_a_part_and_says_so(opened: Callable[..., Tab], big_server: Server) -> None:
    tab = opened(big_server)
    tab.open("map")
    expect(tab.find(".map-head")).to_contain_text(f"2,500 of {vault.BIG_CHUNKS:,} chunks shown")
    without = tab.find("canvas").evaluate("canvas => canvas.toDataURL()")
    tab.box.fill("where is the lantern")
    expect(tab.find(".near a").first).to_be_visible()

    assert without != tab.find("canvas").evaluate("canvas => canvas.toDataURL()")


def test_the_timeline_has_all_thousand_days(opened: Callable[..., Tab], big_server: Server) -> None:
    tab = opened(big_server)
    tab.open("timeline", day="2024-02-29")
    expect(tab.find(".cell.has")).to_have_count(vault.BIG_FILES)

    expect(tab.find(".documents li")).to_have_count(1)
    expect(tab.find(".documents")).to_contain_text(f"{vault.BIG_SECTIONS} chunks")
    expect(tab.find(".lead")).to_contain_text(f"1,000 days with {vault.BIG_CHUNKS:,} chunks")


def test_nothing_was_embedded_anew(big_server: Server) -> None:
    legs = big_server.ask("/api/status")["legs"]

    assert (vault.BIG_CHUNKS, 0) == (legs["vector"]["chunks"], legs["vector"]["pending"])
