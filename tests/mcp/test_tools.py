"""What models read in each of their turns: few tools, few words, honest hints."""

from __future__ import annotations

import json

import pytest

from recollect.shells.mcp.calls import Calls
from recollect.shells.mcp.tools import TOOLS, Tool, tool_json, tools_for
from recollect.text.size import estimate_tokens

MOST_TOOLS = 8
MOST_TOKENS = 1500
"""The estimate counts 1,138 where OpenAI's o200k counts 1,111 and cl100k 1,070."""


def test_the_tools_are_few_and_their_schema_is_small() -> None:
    listed = {"tools": [tool_json(tool) for tool in TOOLS]}
    compact = json.dumps(listed, ensure_ascii=False, separators=(",", ":"))

    assert len(TOOLS) <= MOST_TOOLS
    assert estimate_tokens(compact) <= MOST_TOKENS


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_tool_says_what_it_may_do(tool: Tool) -> None:
    hints = tool_json(tool)["annotations"]
    writes = tool.name in {"memory_remember", "memory_forget", "memory_feedback"}

    assert {
        "readOnlyHint": not writes,
        "destructiveHint": tool.name == "memory_forget",
        "idempotentHint": True,
        "openWorldHint": False,
    } == hints


def test_a_server_to_read_from_has_no_tools_that_write() -> None:
    names = [tool.name for tool in tools_for(read_only=True)]

    assert ["memory_search", "memory_get", "memory_status", "search", "fetch"] == names


def test_every_tool_is_there_to_be_called() -> None:
    assert all(hasattr(Calls, tool.name) for tool in TOOLS)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_an_empty_answer_fits_the_schema_of_its_tool(tool: Tool) -> None:
    schema = json.loads(json.dumps(tool.output_schema or {"required": [], "properties": {}}))
    kinds = {name: schema["properties"][name]["type"] for name in schema["required"]}
    assert {
        name: {"array": [], "string": ""}[kind] for name, kind in kinds.items()
    } == tool.empty_output()


def test_tools_for_connectors_are_marked_and_the_query_says_what_to_write() -> None:
    assert ["search", "fetch"] == [tool.name for tool in TOOLS if tool.is_for_connectors]
    queries = [each for tool in TOOLS for each in tool.arguments if each.name == "query"]

    assert {"question" in each.description.lower() for each in queries} == {True}
