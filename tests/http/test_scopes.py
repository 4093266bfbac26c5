"""What a server was started with: a request can only narrow it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest
from tests.http.servers import inside
from tests.support.waiting import wait_until

from recollect import Memory
from recollect.shells.http.server import ServeOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

ADA, BOB, ALL = "user:ada", "user:bob", "global"
SAID = {
    ALL: "The key of the boat house hangs by the door.",
    ADA: "The key of Ada's boat is under the mat.",
    BOB: "The key of Bob's boat is in the vase.",
}


@pytest.fixture
def ids(workspace: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Facts of three scopes, written down before the server starts."""
    with Memory.open(workspace, environ=environ) as memory:
        return {
            scope: memory.facts.remember(text, scope=scope).fact.id for scope, text in SAID.items()
        }


@pytest.fixture
def ada(workspace: Path, environ: Mapping[str, str], ids: dict[str, str]) -> Iterator[httpx.Client]:
    """A server for one user."""
    assert ids
    options = ServeOptions("127.0.0.1", 0, scopes=frozenset({ADA}))
    with (
        inside(workspace, environ, options) as here,
        httpx.Client(base_url=here.url, timeout=60) as client,
    ):
        wait_until(lambda: here.memory.state == "idle")
        yield client


def found(client: httpx.Client, *scopes: str) -> set[str]:
    answer = client.get(
        "/api/search", params={"query": "boat key", "scope": list(scopes), "minScore": 0}
    )
    assert 200 == answer.status_code, answer.text
    return {hit["fact"]["scope"] for hit in answer.json()["results"]}


def test_all_that_may_be_seen_is_seen(ada: httpx.Client) -> None:
    assert {ALL, ADA} == found(ada)


def test_a_request_narrows(ada: httpx.Client) -> None:
    assert {ALL} == found(ada, ALL)
    assert {ALL, ADA} == found(ada, ADA)


def test_a_scope_that_is_not_served_is_refused(ada: httpx.Client) -> None:
    answer = ada.get("/api/search", params={"query": "key", "scope": BOB})

    assert (403, "scope") == (answer.status_code, answer.json()["error"]["type"])


def test_recall_sees_no_more(ada: httpx.Client) -> None:
    recalled = ada.get("/api/recall", params={"prompt": "where is the key of the boat"})

    assert "mat" in recalled.text
    assert "vase" not in recalled.text


def test_the_ledger_itself_shows_no_more(
    ada: httpx.Client, workspace: Path, environ: Mapping[str, str]
) -> None:
    [file] = (workspace / "memory" / "facts").glob("*.md")
    path = f"memory/facts/{file.name}"

    with inside(workspace, environ, ServeOptions("127.0.0.1", 0)) as owner:
        shown = httpx.get(f"{owner.url}/api/file", params={"path": path}, timeout=60)
    answers = [
        ada.get("/api/file", params={"path": each})
        for each in (path, f"memory/../{path}", f"./{path}", str(file))
    ]

    assert "vase" in shown.text
    assert [200] * 4 == [answer.status_code for answer in answers]
    assert all("mat" in answer.text for answer in answers)
    assert not any("vase" in answer.text for answer in answers)


def test_an_unreadable_line_is_reported_without_quoting_it(
    ada: httpx.Client, workspace: Path
) -> None:
    [file] = (workspace / "memory" / "facts").glob("*.md")
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("scope=user:bob", 'value="a secret scope=user:bob'), "utf-8")
    answers = [ada.get("/api/facts"), ada.get("/api/status")]

    assert ["broken record" in answer.text for answer in answers] == [True, True]
    assert [False, False] == ["secret" in answer.text for answer in answers]


def test_facts_of_others_can_neither_be_written_nor_forgotten(
    ada: httpx.Client, ids: dict[str, str]
) -> None:
    codes = [
        ada.post("/api/facts", json={"text": "Mine.", "scope": BOB}).status_code,
        ada.post("/api/facts", json={"text": "Mine.", "supersedes": [ids[BOB]]}).status_code,
        ada.post(f"/api/facts/{ids[BOB]}/supersede", json={"by": ids[ADA]}).status_code,
        ada.post(f"/api/facts/{ids[ADA]}/supersede", json={"by": ids[BOB]}).status_code,
        ada.delete(f"/api/facts/{ids[BOB]}").status_code,
        ada.delete(f"/api/facts/{ids[ADA]}").status_code,
    ]

    assert [403, 409, 404, 409, 404, 200] == codes


def test_without_scopes_the_owner_sees_what_is_asked_for(
    workspace: Path, environ: Mapping[str, str], ids: dict[str, str]
) -> None:
    assert ids
    with (
        inside(workspace, environ, ServeOptions("127.0.0.1", 0)) as here,
        httpx.Client(base_url=here.url, timeout=60) as client,
    ):
        wait_until(lambda: here.memory.state == "idle")

        assert {ALL} == found(client)
        assert {ALL, ADA, BOB} == found(client, ADA, BOB)
