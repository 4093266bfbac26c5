"""Every tool over stdio, asked by the SDK's own client of the real process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mcp.shared.exceptions import MCPError
from tests.mcp.serving import answer, synced, talk, text_of

from recollect.text.size import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp import Client

HIT = {
    "path", "startLine", "endLine", "score", "vectorScore", "textScore", "snippet", "source",
    "corpus", "citation", "heading", "date",
}  # fmt: skip


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_search_answers_in_openclaws_shape(
    embedded_sample: Path, environ: Mapping[str, str], mode: str
) -> None:
    async def conversation(client: Client) -> None:
        await synced(client)
        result = await client.call_tool(
            "memory_search", {"query": "how do we roll back", "maxResults": 3, "minScore": 0.1}
        )
        found: dict[str, Any] = result.structured_content
        hit = found["results"][0]

        assert 3 == len(found["results"])
        assert set(hit) >= HIT
        assert hit["citation"] == f"{hit['path']}#L{hit['startLine']}-L{hit['endLine']}"
        assert ("hybrid", "local", "on") == (found["mode"], found["provider"], found["citations"])
        assert (None, True, []) == (found["degraded"], found["confident"], found["notices"])
        assert "warning" not in found
        assert hit["citation"] in text_of(result)
        assert text_of(result).startswith('3 results (hybrid), best first:\n<recollect-memory id="')

    talk(embedded_sample, environ, conversation, mode=mode)


@pytest.mark.parametrize(
    ("name", "mode"), [("claude-code", "legacy"), ("codex-mcp-client", "auto")]
)
def test_an_agent_that_shows_its_model_one_part_of_a_result_gets_the_text_alone(
    workspace: Path, plain: Mapping[str, str], name: str, mode: str
) -> None:
    (workspace / "memory" / "crane.md").write_text("The crane is orange.\n", encoding="utf-8")

    async def conversation(client: Client) -> None:
        tools = (await client.list_tools()).tools
        result = await client.call_tool("memory_search", {"query": "crane"})

        assert {None} == {tool.output_schema for tool in tools}
        assert result.structured_content is None
        assert "memory/crane.md#L1" in text_of(result)

    talk(workspace, plain, conversation, mode=mode, name=name)


def test_what_another_memory_holds_is_found_and_read_by_its_citation(
    workspace: Path, environ: Mapping[str, str]
) -> None:
    notes = Path(environ["HOME"]) / "notes"
    notes.mkdir(parents=True)
    (notes / "MEMORY.md").write_text("My dentist is Doctor Albers.\n", encoding="utf-8")
    (workspace / "MEMORY.md").write_text("The crane is orange.\n", encoding="utf-8")

    async def conversation(client: Client) -> None:
        await synced(client)
        found = await client.call_tool("memory_search", {"query": "who is my dentist"})
        [hit] = found.structured_content["results"][:1]
        read = await client.call_tool("memory_get", {"path": hit["citation"]})

        assert ("~/notes/MEMORY.md#L1", "~/notes") == (hit["citation"], hit["memory"])
        assert "[~/notes/MEMORY.md#L1]" in text_of(found)
        assert "My dentist is Doctor Albers." in text_of(read)

    talk(workspace, {**environ, "RECOLLECT_ALSO": "~/notes"}, conversation)


def test_a_note_that_is_there_often_is_one_hit_that_names_the_others(
    workspace: Path, plain: Mapping[str, str]
) -> None:
    for name in "abcdefgh":
        note = workspace / "memory" / f"{name}.md"
        note.write_text("The harbour crane is painted orange.\n", encoding="utf-8")

    async def conversation(client: Client) -> None:
        await synced(client)
        result = await client.call_tool("memory_search", {"query": "harbour crane"})

        [hit] = result.structured_content["results"]
        assert [f"memory/{name}.md#L1" for name in "bcdef"] == [
            each["citation"] for each in hit["alsoIn"]
        ]
        assert ", memory/f.md:1-1 and 2 more]\n" in text_of(result)

    talk(workspace, plain, conversation)


def test_arguments_narrow_a_search_by_any_name(
    write: Callable[[str, str], Path], workspace: Path, plain: Mapping[str, str]
) -> None:
    write("memory/2026-01-05.md", "# Boat\n\nThe boat was painted green.\n")
    write(
        "memory/2026-02-05.md", "---\ntags: [harbour]\n---\n# Boat\n\nThe boat was painted blue.\n"
    )

    async def conversation(client: Client) -> None:
        async def paths(**arguments: object) -> list[str]:
            found = await answer(client, "memory_search", **arguments)
            return [hit["path"] for hit in found["results"]]

        assert ["memory/2026-02-05.md"] == await paths(q="boat painted", after_date="2026-02-01")
        assert ["memory/2026-01-05.md"] == await paths(text="boat painted", until="2026-02-01")
        assert ["memory/2026-01-05.md"] == await paths(search="boat", file="memory/2026-01-*")
        assert ["memory/2026-02-05.md"] == await paths(query="boat painted", tag="harbour")
        assert 1 == len(await paths(query="boat painted", top_k="1"))
        assert [] == await paths(query="boat painted", corpus="facts")
        assert [] == await paths(query="boat painted", threshold="1.0", source="memory")

    talk(workspace, plain, conversation)


def test_wrong_arguments_are_errors_that_a_model_can_mend(
    sample: Path, plain: Mapping[str, str]
) -> None:
    async def conversation(client: Client) -> None:
        async def refusal(tool: str, **arguments: object) -> str:
            result = await client.call_tool(tool, arguments)
            assert result.is_error
            assert {"error", "action", "type"} <= set(result.structured_content)
            if tool == "memory_search":  # some clients hold failures to the schema as well
                assert [] == result.structured_content["results"]
            return text_of(result)

        unknown = await refusal("memory_search", query="x", minscor=1)
        source = await refusal("memory_search", query="x", corpus="wiki")

        assert "has no argument 'minscor'" in unknown
        assert "Did you mean minScore?" in unknown
        assert "source must be one of memory, sessions, agents, facts, all" in source
        assert "query is empty" in await refusal("memory_search", query=" \u0000 ")
        assert "needs query" in await refusal("memory_search")
        assert "min score must be from 0 to 1" in await refusal(
            "memory_search", query="x", minScore=7
        )
        assert "not the id of a fact" in await refusal("memory_forget", id="nonsense")

    talk(sample, plain, conversation)


def test_a_tool_or_method_that_is_not_there_is_an_error_of_the_protocol(
    sample: Path, plain: Mapping[str, str]
) -> None:
    async def conversation(client: Client) -> None:
        with pytest.raises(MCPError) as refused:
            await client.call_tool("memory_serch", {})

        assert -32602 == refused.value.error.code
        assert "Unknown tool: memory_serch" == refused.value.error.message

    talk(sample, plain, conversation)


def test_a_file_is_read_by_path_or_citation(
    write: Callable[[str, str], Path], workspace: Path, plain: Mapping[str, str]
) -> None:
    write("memory/long.md", "".join(f"line {number}\n" for number in range(1, 301)))

    async def conversation(client: Client) -> None:
        whole = await answer(client, "memory_get", path="memory/long.md")
        some = await answer(client, "memory_get", file="memory/long.md", offset="10", limit=2)
        cited = await answer(client, "memory_get", path="memory/long.md#L20-L22")
        last = await answer(client, "memory_get", path="memory:///memory/long.md", **{"from": 300})
        short = await client.call_tool("memory_get", {"path": "memory/long.md", "maxTokens": 150})

        assert (120, 121, True) == (whole["lines"], whole["nextFrom"], whole["truncated"])
        assert "line 10\nline 11" == some["text"]
        assert "line 20\nline 21\nline 22" == cited["text"]
        assert ("line 300", None, "ok") == (last["text"], last["nextFrom"], last["status"])
        cut: dict[str, Any] = short.structured_content
        assert cut["lines"] < 120
        assert f"Use from={cut['nextFrom']} to continue." in text_of(short)
        assert cut["nextFrom"] == cut["lines"] + 1
        assert estimate_tokens(text_of(short)) <= 150

    talk(workspace, plain, conversation)


@pytest.mark.parametrize(
    "path", ["memory/gone.md", "/etc/passwd", "../outside.md", "memory/../../outside.md", "a\nb"]
)
def test_a_file_outside_of_memory_is_not_read(
    workspace: Path, plain: Mapping[str, str], path: str
) -> None:
    (workspace.parent / "outside.md").write_text("secret", encoding="utf-8")

    async def conversation(client: Client) -> None:
        result = await client.call_tool("memory_get", {"path": path})
        structured: dict[str, Any] = result.structured_content

        assert result.is_error
        assert (path, "", False, "not_found") == (
            structured["path"], structured["text"], structured["disabled"], structured["status"],
        )  # fmt: skip
        assert structured["error"]
        assert text_of(result).startswith("Try again with another path: ")
        assert "secret" not in text_of(result)

    talk(workspace, plain, conversation)


def test_a_fact_is_remembered_found_superseded_and_forgotten(
    workspace: Path, plain: Mapping[str, str]
) -> None:
    async def conversation(client: Client) -> None:
        async def facts() -> list[str]:
            found = await answer(client, "memory_search", query="Ada tea", source="facts")
            return [hit["snippet"] for hit in found["results"]]

        about = {"entity": "Ada", "key": "drink", "category": "preference", "tags": "tea, ada"}
        first = await answer(
            client, "memory_remember", text="Ada drinks green tea.", value="green tea", **about
        )
        again = await answer(client, "memory_remember", text="Ada drinks green tea.")
        second = await answer(
            client, "memory_remember", content="Ada drinks black tea.", value="black tea", **about
        )

        assert ("add", "agent", ["tea", "ada"]) == (
            first["verdict"], first["provenance"], first["tags"],
        )  # fmt: skip
        assert ("existing", first["id"]) == (again["verdict"], again["id"])
        assert ("supersede", [first["id"]]) == (second["verdict"], second["others"])
        assert ["Ada drinks black tea."] == await facts()
        gone = await answer(client, "memory_forget", id=second["id"])
        assert second["id"] == gone["forgotten"]["id"]
        assert ["Ada drinks green tea."] == await facts()
        await answer(client, "memory_forget", undo=gone["entry"])
        assert ["Ada drinks black tea."] == await facts()

    talk(workspace, plain, conversation)


def test_search_and_fetch_have_the_shapes_of_connectors(
    embedded_sample: Path, environ: Mapping[str, str]
) -> None:
    async def conversation(client: Client) -> None:
        await synced(client)
        result = await client.call_tool("search", {"query": "how do we roll back"})
        found = json.loads(text_of(result))
        hit = found["results"][0]
        fetched = await client.call_tool("fetch", {"id": hit["id"]})
        document = json.loads(text_of(fetched))

        assert found == result.structured_content
        assert {"id", "title", "url", "text"} == set(hit)
        assert document == fetched.structured_content
        assert {"id", "title", "text", "url", "metadata"} == set(document)
        assert hit["id"] == document["id"]
        assert hit["url"].startswith("memory:///memory/")
        assert document["text"] == (embedded_sample / document["title"]).read_text(
            encoding="utf-8"
        ).removesuffix("\n")

    talk(embedded_sample, environ, conversation)


def test_an_answer_keeps_to_its_tokens_and_names_what_it_left_out(
    write: Callable[[str, str], Path], workspace: Path, plain: Mapping[str, str]
) -> None:
    for number in range(60):
        text = f"Release plan number {number}, as agreed. " + "The plan has many steps. " * 20
        write(f"memory/plans/{number:02}.md", f"# Plan {number}\n\n{text}\n\n日本語の計画です。\n")

    async def conversation(client: Client) -> None:
        await synced(client)
        for most in (400, 800, 1500, 3000):
            result = await client.call_tool(
                "memory_search", {"query": "release plan", "maxResults": 40, "maxTokens": most}
            )
            found: dict[str, Any] = result.structured_content

            assert estimate_tokens(text_of(result)) <= most
            assert estimate_tokens(json.dumps(found, ensure_ascii=False)) <= most
            assert 40 == len(found["results"]) + found["leftOut"]
            assert f"{found['leftOut']} more left out to keep to {most} tokens" in text_of(result)
            assert found["results"]

    talk(workspace, plain, conversation)


def test_a_server_to_read_from_cannot_write(sample: Path, plain: Mapping[str, str]) -> None:
    async def conversation(client: Client) -> None:
        tools = await client.list_tools()
        with pytest.raises(MCPError):
            await client.call_tool("memory_remember", {"text": "Ada drinks tea."})

        assert {"memory_remember", "memory_forget"}.isdisjoint(tool.name for tool in tools.tools)

    talk(sample, plain, conversation, "--read-only")
    assert not (sample / "memory" / "facts").exists()


def test_what_is_not_in_memory_is_said_so(
    write: Callable[[str, str], Path], workspace: Path, environ: Mapping[str, str]
) -> None:
    write("memory/2026-01-05.md", "# Boat\n\nThe boat was painted green.\n")

    async def conversation(client: Client) -> None:
        await synced(client)
        result = await client.call_tool(
            "memory_search", {"query": "quarterly tax return of the subsidiary"}
        )
        found: dict[str, Any] = result.structured_content

        assert not found["confident"]
        assert "Say so instead of guessing." in text_of(result) or not found["results"]
        nothing = await client.call_tool("memory_search", {"query": "boat", "path": "nowhere/*"})
        assert "Nothing matches with path." in text_of(nothing)

    talk(workspace, environ, conversation)
