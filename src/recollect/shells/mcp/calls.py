"""What each tool does: arguments → façade → result, within the scopes of the server."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from recollect.errors import RecollectError, SecretError, UsageError, WorkspaceError
from recollect.evaluate.feedback import keep_feedback
from recollect.facts.book import fact_in
from recollect.facts.record import SAVE_PLACE, Provenance
from recollect.shape import json_of
from recollect.shells.mcp import render
from recollect.shells.mcp.render import ToolResult, path_of
from recollect.shells.mcp.tools import SEARCH_FIELDS, parse_arguments, tools_for
from recollect.shells.parse import Location, parse_location
from recollect.shells.scopes import VisibleScopes
from recollect.text.days import start_of
from recollect.types import GLOBAL, SearchRequest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from recollect.facts.draft import RememberReport
    from recollect.facts.record import Fact
    from recollect.parts import MemoryParts
    from recollect.reports import Excerpt
    from recollect.shells.hosted import HostedMemory
    from recollect.shells.mcp.tools import Tool
    from recollect.shells.serving import ServedMemory
    from recollect.types import Results

    Arguments = dict[str, Any]
    Work = Callable[[Arguments], Awaitable[ToolResult]]

MAX_TOKENS = 3000
"""The most a result takes unless the caller asks for more: about 12,000 characters."""
_FETCH_TOKENS = 12_000
_ALL_LINES = 100_000  # more than an excerpt ever has
_NARROWING = ("minScore", "source", "since", "before", "path", "tags", "asOf")
_SEARCH_TOOLS = ("memory_search", "search")
_BUG = RecollectError(
    "Something unexpected went wrong.",
    action="Tell the user that the server's stderr has the details.",
)
_ASK_FIRST = f"{SAVE_PLACE} To save it anyway, ask the user first, then pass force: true."
_LOG = logging.getLogger(__name__)


class Calls:
    """The tools of one server: a method for each, of the same name."""

    def __init__(
        self,
        served: ServedMemory | HostedMemory,
        *,
        scopes: frozenset[str],
        read_only: bool = False,
        lists_connector_tools: bool = True,
    ) -> None:
        self.tools = {tool.name: tool for tool in tools_for(read_only=read_only)}
        self._lists_connector_tools = lists_connector_tools
        self._served = served
        self._own_scope = next(iter(scopes)) if len(scopes) == 1 else GLOBAL
        self._visible = VisibleScopes(scopes)

    def listed(self) -> list[Tool]:
        """Return the tools that clients are told of."""
        own = self.tools.values()
        return [tool for tool in own if self._lists_connector_tools or not tool.is_for_connectors]

    async def call(self, tool: Tool, given: Mapping[str, object]) -> ToolResult:
        """Call a tool; a failure is a result as well."""
        try:
            async with self._served.time_limit():
                work: Work = getattr(self, tool.name)
                return await work(parse_arguments(tool, given))
        except RecollectError as error:
            if tool.name in _SEARCH_TOOLS and not isinstance(error, UsageError):
                return render.search_failed(error)
            return render.failed(error, tool.empty_output())
        except Exception:  # noqa: BLE001 - a bug here must not end the conversation
            _LOG.exception("%s failed.", tool.name)
            return render.failed(_BUG, tool.empty_output())

    async def memory_search(self, given: Arguments) -> ToolResult:
        """Search, with the result in OpenClaw's shape."""
        results = await self._search(given)
        return render.search_result(
            results,
            max_tokens=given.get("maxTokens") or MAX_TOKENS,
            is_partial=self._served.is_first_sync,
            narrowed=[name for name in _NARROWING if given.get(name) not in (None, "all")],
        )

    async def memory_get(self, given: Arguments) -> ToolResult:
        """Read lines of a file."""
        place = _location(given.get("path", ""))
        first, count = place.window(given.get("from"), given.get("lines"))
        try:
            excerpt = await self._read(place.path, first, count)
        except RecollectError as error:
            return render.excerpt_failed(place.path, error)
        return render.excerpt_result(excerpt, max_tokens=given.get("maxTokens") or MAX_TOKENS)

    async def memory_remember(self, given: Arguments) -> ToolResult:
        """Save a fact, by default in the server's own scope."""
        scope = given.get("scope", "") or self._own_scope
        self._visible.resolve([scope])
        named = given.keys() - {"scope", "validFrom"}  # like the arguments of `remember`

        def work(memory: MemoryParts) -> RememberReport:
            for each in given.get("supersedes", ()):
                self._visible.history(memory, each)
            return memory.facts.remember(
                **{name: given[name] for name in named},
                scope=scope,
                valid_from=start_of(given.get("validFrom")),
                provenance=Provenance.AGENT,
            )

        try:
            return render.remembered_result(await self._served.read(work))
        except SecretError as error:
            raise SecretError(error.message, action=_ASK_FIRST) from error

    async def memory_forget(self, given: Arguments) -> ToolResult:
        """Forget a fact, or bring it back."""
        if entry := given.get("undo", ""):
            # Results are neutralised, also the comment that makes an entry.
            back = fact_in(entry.replace("<! --", "<!--").replace("-- >", "-->"))
            self._visible.resolve([back.scope])
            await self._served.read(lambda memory: memory.facts.unforget(back))
            return ToolResult({"restored": json_of(back)}, f"{back.id} is back.")

        def work(memory: MemoryParts) -> Fact:
            self._visible.history(memory, given.get("id", ""))
            return memory.facts.forget(given.get("id", ""))

        return render.forgotten_result(await self._served.read(work))

    async def memory_feedback(self, given: Arguments) -> ToolResult:
        """Keep what the user says of a hit as a case for `recollect eval`."""
        query, citation, right = (given[name] for name in ("query", "citation", "right"))
        await self._served.read(lambda memory: keep_feedback(memory, query, citation, right=right))
        return ToolResult({"kept": True}, "Noted, for `recollect eval`.")

    async def memory_status(self, _given: Arguments) -> ToolResult:
        """Show the status of the index and of its worker."""
        status = await self._served.read(lambda memory: memory.status())
        return render.status_result(status, self._served.last_sync.outcome)

    async def search(self, given: Arguments) -> ToolResult:
        """Search, with the result in the shape of ChatGPT's connectors."""
        return render.connector_search_result(await self.memory_search(given))

    async def fetch(self, given: Arguments) -> ToolResult:
        """Return the whole note, or a long one from the found passage on."""
        place = _location(given.get("id", ""))
        excerpt = await self._read(place.path, 1, _ALL_LINES)
        start = place.start_line or 1
        if excerpt.next_line is not None and start > 1:
            excerpt = await self._read(place.path, start, _ALL_LINES)
        return render.connector_fetch_result(given.get("id", ""), excerpt, max_tokens=_FETCH_TOKENS)

    async def _search(self, given: Arguments) -> Results:
        asked: dict[str, Any] = {
            SEARCH_FIELDS[name].name: value
            for name, value in given.items()
            if name in SEARCH_FIELDS
        }
        asked["scopes"] = self._visible.resolve(given.get("scopes", ()))
        request = SearchRequest(**asked)
        await self._served.wait_for_first_sync()
        try:
            return await self._served.search(request)
        except WorkspaceError as error:
            # The folder is gone: search what was indexed, and say so.
            results = await self._served.search(replace(request, sync=False))
            return replace(results, notices=(*results.notices, f"{error.message} {error.action}"))

    async def _read(self, path: str, first: int, count: int) -> Excerpt:
        return await self._served.read(
            lambda memory: memory.get(path, start_line=first, lines=count)
        )


def _location(text: str) -> Location:
    return parse_location(path_of(text) or text)
