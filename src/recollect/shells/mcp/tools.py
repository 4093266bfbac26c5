"""The tools as one table, for `tools/list` and for calls.

Models read every word of it in each turn, so a test limits its tokens, and arguments that are
rarely needed are accepted but not listed.
"""

from __future__ import annotations

import difflib
from contextlib import suppress
from dataclasses import field, replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import (
    BeforeValidator,
    ConfigDict,
    FiniteFloat,
    PositiveInt,
    TypeAdapter,
    ValidationError,
)

from recollect.errors import UsageError
from recollect.records import dataclass
from recollect.shape import camel
from recollect.text.days import DAY_EXAMPLES, parse_day
from recollect.types import Argument, search_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from recollect.types import ArgumentType


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
    return _object("results", " ".join(special), results={"type": "array", "items": hit}, **special)


_LINE = {"type": "integer"}
HIT_FIELDS = ["path", "startLine", "endLine", "score", "snippet", "source", "citation"]
"""What every hit has, also in the compact form."""
_HIT = _object(" ".join(HIT_FIELDS), startLine=_LINE, endLine=_LINE, score={"type": "number"})

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
        "Read lines of a memory file found by memory_search.",
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
        "entity and key, a new value replaces an old one that an agent saved; of the user's own "
        "the answer tells, and you ask.",
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
            Argument("id", "string", "The fact's id", aliases="factId fact memoryId memory"),
            Argument("undo", "string", "Instead: what forgetting a fact told to give here"),
        ),
        writes=True,
        destroys=True,
    ),
    Tool(
        "memory_feedback",
        "Note that a hit of memory_search did or did not answer, when the user says so.",
        (
            Argument("query", "string", "The question", aliases="q", is_required=True),
            Argument("citation", "string", aliases="path hit id", is_required=True),
            Argument("right", "boolean", "false: it is wrong", is_required=True),
        ),
        writes=True,
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


_MIN_SIMILARITY = 0.6  # of a name that is suggested instead of an unknown one
_SHOWN_CHARS = 80


def parse_arguments(tool: Tool, given: Mapping[str, object]) -> dict[str, Any]:
    """Return the arguments of a call, by their own names and in their types."""
    known = _spellings(tool)
    values: dict[str, Any] = {}
    for name, value in given.items():
        argument = known.get(_normalised(name))
        if argument is None:
            raise _unknown(tool, name)
        if value is None or value in ("", []):
            continue  # models also send arguments that they leave open
        read = _read(argument, value)
        if values.get(argument.name, read) != read:
            raise UsageError(
                f"{argument.name} is given twice, as {name} and by another name.",
                action=f"Give {argument.name} once.",
            )
        values[argument.name] = read
    for argument in tool.arguments:
        if argument.is_required and argument.name not in values:
            raise UsageError(
                f"{tool.name} needs {argument.name}.", action=f"Call it with {argument.name}."
            )
    return values


def _spellings(tool: Tool) -> dict[str, Argument]:
    """Return the accepted names: those given first, then their singulars and plurals."""
    known: dict[str, Argument] = {}
    named = [(each.name, each) for each in tool.arguments]
    named += [(other, each) for each in tool.arguments for other in each.aliases.split()]
    for name, argument in named:
        known.setdefault(_normalised(name), argument)
    for name, argument in named:
        known.setdefault(_normalised(f"{name}s"), argument)
        known.setdefault(_normalised(name.removesuffix("s")), argument)
    return known


def _normalised(name: str) -> str:
    return name.replace("_", "").replace("-", "").casefold()


def _unknown(tool: Tool, name: str) -> UsageError:
    own = [argument.name for argument in tool.arguments]
    known = _spellings(tool)
    near = difflib.get_close_matches(_normalised(name), known, n=1, cutoff=_MIN_SIMILARITY)
    hint = f"Did you mean {known[near[0]].name}? " if near else ""
    listed = f"It takes {', '.join(own)}." if own else "It takes no arguments."
    return UsageError(f"{tool.name} has no argument {name!r}.", action=f"{hint}{listed}")


def _read(argument: Argument, value: object) -> object:
    """Return the value of an argument in its type."""
    kind, expected = _KINDS[argument.type]
    choices = argument.choices
    if choices:
        value, expected = str(value).strip().casefold(), f"one of {', '.join(choices)}"
    is_wrong = isinstance(value, bool) and argument.type != "boolean"
    try:
        read: object = None if is_wrong else kind.validate_python(value)
    except ValidationError:
        is_wrong = True
    if is_wrong or (choices and read not in choices):
        shown = repr(value)[:_SHOWN_CHARS]
        raise UsageError(
            f"{argument.name} must be {expected}, not {shown}.", action=f"Correct {argument.name}."
        )
    return read


def _only_one(value: object) -> object:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _split(value: object) -> object:
    return [part for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _day(value: object) -> date:
    text = str(value).strip()
    with suppress(ValueError):  # models also send a date with a time
        text = str(datetime.fromisoformat(text).date())
    return parse_day(text)


_STRIPPED = ConfigDict(str_strip_whitespace=True)
_TEXT = ConfigDict(coerce_numbers_to_str=True, str_strip_whitespace=True)
_WORDS = Annotated[tuple[str, ...], BeforeValidator(_split)]
_KINDS: dict[ArgumentType, tuple[TypeAdapter[Any], str]] = {
    "string": (TypeAdapter(Annotated[str, BeforeValidator(_only_one)], config=_TEXT), "text"),
    "integer": (TypeAdapter(PositiveInt), "a whole number, 1 or more"),
    "number": (TypeAdapter(FiniteFloat), "a number"),
    "boolean": (TypeAdapter(bool), "true or false"),
    "array": (TypeAdapter(_WORDS, config=_STRIPPED), "a list of words"),
    "day": (TypeAdapter(Annotated[date, BeforeValidator(_day)]), f"a day such as {DAY_EXAMPLES}"),
}
"""How a value is read, and what an error says is expected."""
