"""No call sees more than what the server was started with."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from tests.mcp.serving import answer, synced, talk, text_of
from tests.support.commands import recollect_command

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mcp import Client

FACTS = {
    "global": "The office opens at nine.",
    "user:ada": "Ada keeps her spare key under the office plant.",
    "user:bob": "Bob hides his diary in the office ceiling.",
}


@pytest.fixture
def ids(workspace: Path, plain: Mapping[str, str]) -> dict[str, str]:
    """Facts of three scopes, by their scope."""
    found = {}
    for scope, text in FACTS.items():
        options = ["-w", str(workspace), "--scope", scope, "--category", "fact"]
        done = subprocess.run(
            [*recollect_command(), "remember", text, *options],
            env=dict(plain),
            capture_output=True,
            text=True,
            check=True,
        )
        found[scope] = done.stdout.split()[0]
    return found


async def seen(client: Client, **arguments: object) -> set[str]:
    found = await answer(client, "memory_search", query="office", source="facts", **arguments)
    return {hit["snippet"] for hit in found["results"]}


@pytest.mark.parametrize(
    ("options", "scopes"),
    [
        ((), {"global"}),
        (("--scope", "user:ada"), {"global", "user:ada"}),
        (("--scope", "user:ada", "--scope", "user:bob"), {"global", "user:ada", "user:bob"}),
    ],
)
def test_a_search_sees_the_scopes_of_the_server(
    workspace: Path,
    plain: Mapping[str, str],
    ids: dict[str, str],
    options: tuple[str, ...],
    scopes: set[str],
) -> None:
    async def conversation(client: Client) -> None:
        await synced(client)

        assert {FACTS[scope] for scope in scopes} == await seen(client)

    assert len(FACTS) == len(ids)
    talk(workspace, plain, conversation, *options)


@pytest.mark.usefixtures("ids")
def test_a_call_narrows_and_cannot_widen(workspace: Path, plain: Mapping[str, str]) -> None:
    async def conversation(client: Client) -> None:
        await synced(client)
        result = await client.call_tool(
            "memory_search", {"query": "office", "scope": ["user:ada", "user:bob"]}
        )

        assert {FACTS["global"]} == await seen(client, scope="global")
        assert {FACTS["global"], FACTS["user:ada"]} == await seen(client, scopes="user:ada")
        assert result.is_error
        assert "no access to the scope user:bob" in text_of(result)
        assert "global, user:ada" in text_of(result)

    talk(workspace, plain, conversation, "--scope", "user:ada")


@pytest.mark.usefixtures("ids")
@pytest.mark.parametrize("path", ["memory/facts/fact.md", "memory/../memory/facts/fact.md"])
def test_a_file_of_facts_shows_those_of_the_server_only(
    workspace: Path, plain: Mapping[str, str], path: str
) -> None:
    async def conversation(client: Client) -> None:
        await synced(client)
        read = await answer(client, "memory_get", path=path)
        fetched = await answer(client, "fetch", id=path)
        for text in (read["text"], fetched["text"]):
            assert FACTS["global"] in text
            assert FACTS["user:ada"] in text
            assert "Bob" not in text
            assert "bob" not in text

    talk(workspace, plain, conversation, "--scope", "user:ada")


def test_facts_of_others_cannot_be_touched(
    workspace: Path, plain: Mapping[str, str], ids: dict[str, str]
) -> None:
    async def conversation(client: Client) -> None:
        async def refused(tool: str, **arguments: object) -> str:
            result = await client.call_tool(tool, arguments)
            assert result.is_error
            return text_of(result)

        others = ids["user:bob"]
        missing = "f-0000000000000"

        hidden = await refused("memory_forget", id=others)

        assert f"There is no fact {others}." in hidden
        assert hidden.replace(others, missing) == await refused("memory_forget", id=missing)
        assert "There is no fact" in await refused("memory_forget", id=others.upper())
        assert "There is no fact" in await refused(
            "memory_remember", text="The office is closed.", supersedes=[others]
        )
        assert "no access to the scope user:bob" in await refused(
            "memory_remember", text="The office is closed.", scope="user:bob"
        )

    talk(workspace, plain, conversation, "--scope", "user:ada")
    assert FACTS["user:bob"] in (workspace / "memory/facts/fact.md").read_text(encoding="utf-8")


def test_a_secret_is_refused_by_its_kind_unless_it_is_forced(
    workspace: Path, plain: Mapping[str, str]
) -> None:
    said = "The wifi password is Blue-Whale-42"

    async def conversation(client: Client) -> None:
        refused = await client.call_tool("memory_remember", {"text": said})
        shown = text_of(refused)

        assert refused.is_error
        assert "a secret (password)" in shown
        assert "ask the user first, then pass force: true" in shown
        assert "--force" not in shown
        assert "Blue-Whale" not in shown
        assert not [*(workspace / "memory" / "facts").glob("*.md")]

        forced = await answer(client, "memory_remember", text=said, force=True)

        assert said == forced["text"]

    talk(workspace, plain, conversation)


def test_what_a_user_says_is_kept_for_that_user(workspace: Path, plain: Mapping[str, str]) -> None:
    kept: list[Any] = []

    async def conversation(client: Client) -> None:
        kept.append((await answer(client, "memory_remember", text="Tea is at four."))["scope"])
        kept.append(
            (await answer(client, "memory_remember", text="Lunch is at one.", scope="global"))[
                "scope"
            ]
        )

    talk(workspace, plain, conversation, "--scope", "user:ada")

    assert ["user:ada", "global"] == kept


def test_what_is_no_scope_is_refused_at_the_start(
    workspace: Path, plain: Mapping[str, str]
) -> None:
    done = subprocess.run(
        [*recollect_command(), "-w", str(workspace), "mcp", "--scope", "ada"],
        env=dict(plain),
        capture_output=True,
        text=True,
        input="",
        check=False,
    )

    assert 2 == done.returncode
    assert "'ada' is not a scope." in done.stderr
