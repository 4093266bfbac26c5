"""When things are not as they should be: nothing there, no token, no vectors, no server."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from tests.web.serving import private_environ, served
from tests.web.vault import BROKEN

from recollect import Memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.web.tab import Tab

TOKEN = "a-token-for-the-page-0123456789"  # noqa: S105 - of this test alone


@pytest.fixture
def own_environ(tmp_path: Path) -> dict[str, str]:
    """Nothing is embedded: these servers start at once."""
    environ = private_environ(tmp_path)
    return {**environ, "RECOLLECT_PROVIDER": "none"}


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A workspace with one note."""
    folder = tmp_path / "notes"
    (folder / "memory").mkdir(parents=True)
    (folder / "memory" / "2026-02-01.md").write_text("# Anchor\n\nThe anchor is green.\n")
    return folder


def test_an_empty_memory_says_so_in_every_view_with_the_next_step(
    opened: Callable[..., Tab], own_environ: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    with served(tmp_path / "empty", own_environ) as server:
        server.wait_until_synced()
        tab = opened(server)
        tab.pardoned = "404"
        said = {}
        for view, params in (
            ("search", {"q": "anything"}),
            ("timeline", {}),
            ("map", {}),
            ("facts", {}),
        ):
            tab.open(view, **params)
            expect(tab.find("main .note").first).to_be_visible()
            said[view] = " ".join(tab.find("main .note").all_inner_texts())

    assert "The index is empty" in said["search"]
    assert "This memory is empty" in said["timeline"]
    assert "the provider is none" in said["map"]
    assert "recollect remember" in said["facts"]


def test_without_vectors_search_says_that_it_went_by_words(
    opened: Callable[..., Tab], own_environ: dict[str, str], notes: Path
) -> None:
    with served(notes, own_environ) as server:
        server.wait_until_synced()
        tab = opened(server)
        tab.open("search", q="anchor")
        expect(tab.find(".summary")).to_contain_text("1 result by words")
        tab.open("health")

        expect(tab.find(".card").filter(has_text="Embedded by")).to_contain_text(
            "search by words only"
        )


def test_a_provider_that_is_set_but_cannot_answer_is_reported_with_the_next_step(
    opened: Callable[..., Tab], own_environ: dict[str, str], notes: Path
) -> None:
    environ = {**own_environ, "RECOLLECT_PROVIDER": "openai"}
    with served(notes, environ) as server:
        server.wait_until_synced()
        tab = opened(server)
        tab.open("search", q="anchor")

        expect(tab.find(".note.warn").first).to_contain_text("OPENAI_API_KEY")
        expect(tab.hits).to_have_count(1)


def test_the_token_is_asked_for_kept_for_the_tab_and_refused_when_wrong(
    opened: Callable[..., Tab], own_environ: dict[str, str], notes: Path
) -> None:
    with served(notes, {**own_environ, "RECOLLECT_TOKEN": TOKEN}) as server:
        tab = opened(server)
        tab.pardoned = "401"
        tab.page.goto(f"{tab.url}/#/search?q=anchor")
        dialog = tab.page.get_by_role("dialog", name="This server needs a token")
        tab.has_focus(dialog.get_by_label("Token"))
        dialog.get_by_label("Token").fill("wrong")
        tab.page.keyboard.press("Enter")
        expect(dialog).to_contain_text("not accepted")
        dialog.get_by_label("Token").fill(TOKEN)
        tab.page.keyboard.press("Enter")
        expect(tab.hits).to_have_count(1)
        tab.page.reload()

        expect(tab.hits).to_have_count(1)
        expect(dialog).to_have_count(0)


def test_a_link_may_carry_the_token_and_does_not_keep_it(
    opened: Callable[..., Tab], own_environ: dict[str, str], notes: Path
) -> None:
    with served(notes, {**own_environ, "RECOLLECT_TOKEN": TOKEN}) as server:
        tab = opened(server)
        tab.page.goto(f"{tab.url}/#token={TOKEN}")
        tab.box.fill("anchor")
        expect(tab.hits).to_have_count(1)

        assert TOKEN not in tab.page.url
        assert not any(TOKEN in url for url in tab.requests)
        expect(tab.page.get_by_role("dialog")).to_have_count(0)


def test_a_server_that_is_gone_is_noticed_and_so_is_its_return(
    opened: Callable[..., Tab], own_environ: dict[str, str], notes: Path
) -> None:
    with served(notes, own_environ) as server:
        server.wait_until_synced()
        tab = opened(server)
        tab.pardoned = "ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET"
        tab.open("search")
        server.kill()
        tab.box.fill("anchor")
        gone = tab.find("#offline")
        expect(gone).to_contain_text("recollect serve")
    port = server.url.rpartition(":")[2]
    with served(notes, own_environ, "--port", port):
        expect(gone).to_be_empty()

        expect(tab.hits).to_have_count(1)


def test_a_file_that_cannot_be_read_is_named_in_health_with_the_next_step(
    opened: Callable[..., Tab], own_environ: dict[str, str], notes: Path
) -> None:
    (notes / "memory" / "broken.md").write_bytes(BROKEN)
    with served(notes, own_environ) as server:
        server.wait_until_synced()
        tab = opened(server)
        tab.open("health")

        expect(tab.find(".note.warn").first).to_contain_text(re.compile(r"memory/broken\.md"))
        expect(tab.find(".note.warn .next").first).not_to_be_empty()


def test_a_limited_server_shows_no_fact_of_others_and_a_read_only_one_says_so(
    opened: Callable[..., Tab], own_environ: dict[str, str], notes: Path
) -> None:
    with Memory.open(notes, environ=own_environ) as memory:
        secret = memory.facts.remember("Ada hid the anchor", scope="user:ada").fact
        memory.facts.remember("Bo paints the anchor", scope="user:bo")
    with served(notes, own_environ, "--scope", "user:bo", "--read-only") as server:
        server.wait_until_synced()
        tab = opened(server)
        tab.pardoned = "403|404"
        tab.open("facts")
        tab.page.get_by_role("button", name="Remember a fact").click()
        tab.page.get_by_label("What to remember").fill("The anchor is red")
        tab.page.get_by_role("button", name="Remember", exact=True).click()
        expect(tab.find(".outcome")).to_contain_text("Start it without --read-only")
        expect(tab.find(".statements")).to_contain_text("Bo paints")
        expect(tab.find(".statements")).not_to_contain_text("Ada hid")
        tab.open("search", q="anchor")
        expect(tab.find(".hits")).to_contain_text("Bo paints")
        expect(tab.find(".hits")).not_to_contain_text("Ada hid")
        tab.open("facts", id=secret.id)
        expect(tab.find(".history")).to_contain_text("There is no fact")

        facts = server.ask("/api/timeline")["days"][-1]["bySource"]["facts"]
        assert {"documents": 1, "chunks": 1} == facts
