"""The tools as one table: their names, what models are told of them, their arguments.

What `tools/list` shows and what a call accepts both come from here. Models read every word of it in
each of their turns, so that the whole table is held to a number of tokens by a test. Arguments that
are rarely wanted are understood but not listed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SOURCES = ("memory", "sessions", "facts", "all")


class Kind(StrEnum):
    """What an argument's value is."""

    TEXT = "string"
    WHOLE = "integer"
    NUMBER = "number"
    FLAG = "boolean"
    WORDS = "array"
    DAY = "day"


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a tool."""

    name: str
    kind: Kind
    about: str = ""
    others: tuple[str, ...] = ()
    """Names that models reach for instead; spelling, case and plural are understood anyway."""
    choices: tuple[str, ...] = ()
    is_required: bool = False
    is_listed: bool = True


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool."""

    name: str
    about: str
    arguments: tuple[Argument, ...] = ()
    writes: bool = False
    destroys: bool = False
    answers: Mapping[str, object] = field(default_factory=dict)
    """The schema of what it answers with; empty where the tokens are better spent elsewhere."""

    def argument(self, name: str) -> Argument:
        """Return the argument of this name."""
        return next(each for each in self.arguments if each.name == name)

    def blank(self) -> dict[str, object]:
        """Return what every answer has, by its schema, with nothing in it."""
        required, members = self.answers.get("required", ()), self.answers.get("properties", {})
        assert isinstance(required, list | tuple)  # noqa: S101 - a mistake in our own table
        assert isinstance(members, dict)  # noqa: S101
        return {name: [] if members[name]["type"] == "array" else "" for name in required}


_QUERY = Argument(
    "query",
    Kind.TEXT,
    others=("q", "search", "text", "question", "prompt", "searchQuery", "queryText", "input"),
    is_required=True,
)
_SINCE = ("after", "afterDate", "fromDate", "startDate", "dateFrom", "sinceDate")
_BEFORE = ("until", "beforeDate", "untilDate", "toDate", "endDate", "dateTo")
_SCOPE = Argument("scope", Kind.WORDS, others=("scopes", "audience"), is_listed=False)
_MAX_TOKENS = Argument(
    "maxTokens",
    Kind.WHOLE,
    "Of the answer; default 3000",
    others=("tokens", "tokenBudget", "budget", "budgetTokens"),
)


def _object(required: str, optional: str = "", **special: object) -> dict[str, object]:
    """Return the schema of an object whose members are texts unless they are given."""
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
        "Search memory: notes, daily logs, facts, past sessions. Do so before you answer about "
        "earlier work, decisions, dates, people, preferences or todos. Tell the user when the "
        "answer says memory is unavailable, incomplete or unsure. memory_get reads on.",
        (
            _QUERY,
            Argument(
                "maxResults",
                Kind.WHOLE,
                "Default 6",
                others=("limit", "k", "topK", "pageSize", "perPage", "n", "count", "numResults"),
            ),
            Argument(
                "minScore",
                Kind.NUMBER,
                "0 to 1",
                others=("threshold", "minSimilarity", "similarityThreshold", "scoreThreshold"),
            ),
            Argument("source", Kind.TEXT, others=("corpus",), choices=SOURCES),
            Argument("since", Kind.DAY, "First day: 2026-02-01, yesterday, 7d", others=_SINCE),
            Argument("before", Kind.DAY, "First day left out", others=_BEFORE),
            Argument("path", Kind.TEXT, "Glob", others=("file", "glob", "pathGlob", "folder")),
            _MAX_TOKENS,
            _SCOPE,
            Argument("asOf", Kind.DAY, others=("asOfDate", "at"), is_listed=False),
            Argument("includeSuperseded", Kind.FLAG, others=("superseded",), is_listed=False),
        ),
        answers=_results(_HIT, confident={"type": "boolean"}, warning={"type": "string"}),
    ),
    Tool(
        "memory_get",
        "Read lines of a memory file found by memory_search. Tell the user when it fails.",
        (
            Argument(
                "path",
                Kind.TEXT,
                "As cited: memory/2026-02-01.md#L10-L24",
                others=("file", "filename", "filePath", "citation", "uri", "id"),
                is_required=True,
            ),
            Argument(
                "from",
                Kind.WHOLE,
                "First line",
                others=("start", "offset", "line", "startLine", "fromLine", "begin"),
            ),
            Argument(
                "lines",
                Kind.WHOLE,
                others=("limit", "count", "maxLines", "numLines", "lineCount", "length"),
            ),
            _MAX_TOKENS,
        ),
        answers=_object("path text", "nextFrom", nextFrom={"type": ["integer", "null"]}),
    ),
    Tool(
        "memory_remember",
        "Keep a fact for good: something the user said or agreed to, in one sentence. With "
        "entity and key, a new value takes the old one's place.",
        (
            Argument(
                "text",
                Kind.TEXT,
                others=("fact", "content", "statement", "memory", "note", "message", "query"),
                is_required=True,
            ),
            Argument(
                "category",
                Kind.TEXT,
                "preference, decision, fact, person, project, rule, …",
                others=("kind", "type"),
            ),
            Argument("entity", Kind.TEXT, "Whom it is about", others=("subject", "about", "name")),
            Argument("key", Kind.TEXT, "Which property", others=("property", "attribute")),
            Argument("value", Kind.TEXT),
            Argument("tags", Kind.WORDS, others=("labels", "keywords")),
            Argument("scope", Kind.TEXT, "For whom: user:ada, or global"),
            Argument(
                "supersedes",
                Kind.WORDS,
                "Ids of facts it replaces",
                others=("replaces", "supersedesId"),
            ),
            Argument(
                "validFrom",
                Kind.DAY,
                others=("since", "sourceDate", "date", "fromDate"),
                is_listed=False,
            ),
        ),
        writes=True,
    ),
    Tool(
        "memory_forget",
        "Remove a fact for good, when the user asks for it. Its id is in memory_search.",
        (
            Argument(
                "id",
                Kind.TEXT,
                "The fact's id",
                others=("factId", "fact", "memoryId", "memory"),
                is_required=True,
            ),
        ),
        writes=True,
        destroys=True,
    ),
    Tool("memory_status", "What is indexed and by which model; what is stale or fails."),
    Tool(
        "search",
        "memory_search for clients that need this name.",
        (_QUERY,),
        answers=_results(_object("id title url", "text")),
    ),
    Tool(
        "fetch",
        "The text of a result of search.",
        (
            Argument(
                "id",
                Kind.TEXT,
                others=("path", "url", "uri", "file", "document", "documentId", "citation"),
                is_required=True,
            ),
        ),
        answers=_object("id title text url", "metadata", metadata={"type": "object"}),
    ),
)


def offered(*, read_only: bool) -> tuple[Tool, ...]:
    """Return the tools that a server has."""
    return tuple(tool for tool in TOOLS if not (read_only and tool.writes))


def described(tool: Tool) -> dict[str, object]:
    """Return a tool as `tools/list` shows it."""
    shape: dict[str, object] = {
        "name": tool.name,
        "description": tool.about,
        "inputSchema": _schema(tool.arguments),
        "annotations": {
            "readOnlyHint": not tool.writes,
            "destructiveHint": tool.destroys,
            "idempotentHint": True,
            "openWorldHint": False,
        },
    }
    if tool.answers:
        shape["outputSchema"] = dict(tool.answers)
    return shape


def _schema(arguments: Sequence[Argument]) -> dict[str, object]:
    schema: dict[str, object] = {
        "type": "object",
        "properties": {each.name: _property(each) for each in arguments if each.is_listed},
    }
    required = [each.name for each in arguments if each.is_required]
    return {**schema, "required": required} if required else schema


def _property(argument: Argument) -> dict[str, object]:
    shape: dict[str, object] = {
        "type": "string" if argument.kind is Kind.DAY else argument.kind.value
    }
    if argument.kind is Kind.WORDS:
        shape["items"] = {"type": "string"}
    if argument.about:
        shape["description"] = argument.about
    if argument.choices:
        shape["enum"] = list(argument.choices)
    return shape
