"""The tools as one table: their names, descriptions and arguments.

What `tools/list` shows and what a call accepts both come from here. Models read every word of it
in each turn, so a test limits the whole table to a number of tokens. Arguments that are rarely
needed are accepted but not listed.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from recollect.records import dataclass
from recollect.shape import camel
from recollect.types import Argument, search_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool."""

    name: str
    description: str
    arguments: tuple[Argument, ...] = ()
    writes: bool = False
    destroys: bool = False
    output_schema: Mapping[str, object] = field(default_factory=dict)
    """The schema of its structured result; empty if it is not worth its tokens."""
    is_for_connectors: bool = False
    """Whether only ChatGPT's connectors need it; then it is listed for them alone."""

    def empty_output(self) -> dict[str, object]:
        """Return the required members of the output schema, all empty."""
        required = self.output_schema.get("required", ())
        members = self.output_schema.get("properties", {})
        assert isinstance(required, list | tuple)  # noqa: S101 - a mistake in our own table
        assert isinstance(members, dict)  # noqa: S101
        return {name: [] if members[name]["type"] == "array" else "" for name in required}


SEARCH_FIELDS = {camel(each.name): each for each in search_arguments("mcp")}
"""The arguments of a search by their names here; their own names are those of a SearchRequest."""
_SEARCH = tuple(replace(each, name=name) for name, each in SEARCH_FIELDS.items())
_MAX_TOKENS = Argument(
    "maxTokens",
    "integer",
    "Most tokens in the answer; default 3000",
    aliases="tokens tokenBudget budget budgetTokens",
)


def _object(required: str, optional: str = "", **special: object) -> dict[str, object]:
    """Return the schema of an object; members are strings unless given in `special`."""
    names = required.split() + optional.split()
    members = {name: special.get(name, {"type": "string"}) for name in names}
    return {"type": "object", "properties": members, "required": required.split()}


def _results(hit: dict[str, object], **special: object) -> dict[str, object]:
    hits = {"type": "array", "items": hit}
    return _object("results", " ".join(special), results=hits, **special)


_LINE = {"type": "integer"}
_HIT = _object(
    "path startLine endLine score snippet source citation",
    startLine=_LINE,
    endLine=_LINE,
    score={"type": "number"},
)

TOOLS = (
    Tool(
        "memory_search",
        "Search memory: notes, daily logs, facts, past sessions. Do this before you answer about "
        "earlier work, decisions, dates, people, preferences or todos. Tell the user if the "
        "answer says memory is unavailable, incomplete or uncertain. Read more with memory_get.",
        (*_SEARCH, _MAX_TOKENS),
        output_schema=_results(_HIT, confident={"type": "boolean"}, warning={"type": "string"}),
    ),
    Tool(
        "memory_get",
        "Read lines of a memory file found by memory_search. Tell the user if it fails.",
        (
            Argument(
                "path",
                "string",
                "As cited: memory/2026-02-01.md#L10-L24",
                aliases="file filename filePath citation uri id",
                is_required=True,
            ),
            Argument(
                "from",
                "integer",
                "First line",
                aliases="start offset line startLine fromLine begin",
            ),
            Argument("lines", "integer", aliases="limit count maxLines numLines lineCount length"),
            _MAX_TOKENS,
        ),
        output_schema=_object("path text", "nextFrom", nextFrom={"type": ["integer", "null"]}),
    ),
    Tool(
        "memory_remember",
        "Save a fact permanently: something the user said or agreed to, in one sentence. With "
        "entity and key, a new value replaces the old one.",
        (
            Argument(
                "text",
                "string",
                aliases="fact content statement memory note message query",
                is_required=True,
            ),
            Argument(
                "category",
                "string",
                "preference, decision, fact, person, project, rule, …",
                aliases="kind type",
            ),
            Argument("entity", "string", "Who or what it is about", aliases="subject about name"),
            Argument("key", "string", "Which property", aliases="property attribute"),
            Argument("value", "string"),
            Argument("tags", "array", aliases="labels keywords"),
            Argument("scope", "string", "Who may see it: user:ada, or global"),
            Argument(
                "supersedes", "array", "Ids of facts it replaces", aliases="replaces supersedesId"
            ),
            Argument("validFrom", "day", aliases="since sourceDate date fromDate", is_listed=False),
            Argument("force", "boolean", is_listed=False),
        ),
        writes=True,
    ),
    Tool(
        "memory_forget",
        "Remove a fact permanently, when the user asks. memory_search shows its id.",
        (
            Argument(
                "id",
                "string",
                "The fact's id",
                aliases="factId fact memoryId memory",
                is_required=True,
            ),
        ),
        writes=True,
        destroys=True,
    ),
    Tool(
        "memory_status",
        "Show what is indexed, with which model, and what is out of date or failing.",
    ),
    Tool(
        "search",
        "Same as memory_search, for clients that need this name.",
        _SEARCH[:1],
        output_schema=_results(_object("id title url", "text")),
        is_for_connectors=True,
    ),
    Tool(
        "fetch",
        "Get the text of a search result.",
        (
            Argument(
                "id",
                "string",
                aliases="path url uri file document documentId citation",
                is_required=True,
            ),
        ),
        output_schema=_object("id title text url", "metadata", metadata={"type": "object"}),
        is_for_connectors=True,
    ),
)


def tools_for(*, read_only: bool) -> tuple[Tool, ...]:
    """Return the tools of a server."""
    return tuple(tool for tool in TOOLS if not (read_only and tool.writes))


def tool_json(tool: Tool, *, structured: bool = True) -> dict[str, object]:
    """Return a tool as `tools/list` shows it, with the schema of structured results."""
    shape: dict[str, object] = {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": _schema(tool.arguments),
        "annotations": {
            "readOnlyHint": not tool.writes,
            "destructiveHint": tool.destroys,
            "idempotentHint": True,
            "openWorldHint": False,
        },
    }
    if tool.output_schema and structured:
        shape["outputSchema"] = dict(tool.output_schema)
    return shape


def _schema(arguments: Sequence[Argument]) -> dict[str, object]:
    schema: dict[str, object] = {
        "type": "object",
        "properties": {each.name: _property(each) for each in arguments if each.is_listed},
    }
    required = [each.name for each in arguments if each.is_required]
    return {**schema, "required": required} if required else schema


def _property(argument: Argument) -> dict[str, object]:
    shape: dict[str, object] = {"type": "string" if argument.type == "day" else argument.type}
    if argument.type == "array":
        shape["items"] = {"type": "string"}
    if argument.description:
        shape["description"] = argument.description
    if argument.choices:
        shape["enum"] = list(argument.choices)
    return shape
