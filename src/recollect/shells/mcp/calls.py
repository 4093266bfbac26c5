"""What each tool does: arguments → façade → answer, within the scopes of the server."""

from __future__ import annotations

import json
import logging
from datetime import date
from typing import TYPE_CHECKING

from recollect.errors import RecollectError, UsageError, WorkspaceError
from recollect.facts.record import Provenance
from recollect.shells.dates import end_of, start_of
from recollect.shells.location import Location, parse_location
from recollect.shells.mcp import render, render_search
from recollect.shells.mcp.arguments import understood
from recollect.shells.mcp.uri import path_of
from recollect.shells.render import facts as render_facts
from recollect.shells.scopes import Held
from recollect.types import GLOBAL

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from recollect.facts.remember import Remembered
    from recollect.memory import Memory
    from recollect.reports import Excerpt
    from recollect.shells.mcp.arguments import Value
    from recollect.shells.mcp.tools import Tool
    from recollect.shells.serving import ServedMemory
    from recollect.types import Results

    Given = Mapping[str, Value]

MAX_TOKENS = 3000
"""The most an answer takes unless its caller says otherwise: about 12,000 characters."""
_LINES = 120
_WHOLE = 100_000  # lines: more than an excerpt ever holds
_FETCH_TOKENS = 12_000
_NARROWING = ("minScore", "source", "since", "before", "path", "asOf")
_BUG = RecollectError(
    "Something went wrong that should not have.",
    action="Tell the user; what the server printed to stderr tells more.",
)
_LOG = logging.getLogger(__name__)


class Calls:
    """The tools of one server."""

    def __init__(self, live: ServedMemory, *, scopes: frozenset[str]) -> None:
        self._live = live
        self._scopes = scopes
        self._held = Held(scopes)

    @staticmethod
    def knows(name: str) -> bool:
        """Tell whether there is a tool of this name."""
        return name in _WORK

    async def call(self, tool: Tool, arguments: Mapping[str, object]) -> render.Answer:
        """Do what is asked, whatever happens: a failure is an answer as well."""
        try:
            given = understood(tool, arguments)
            return await _WORK[tool.name](self, given)
        except RecollectError as error:
            return render.failed(error, tool.blank())
        except Exception:  # noqa: BLE001 - a mistake of ours must not end the conversation
            _LOG.exception("%s failed.", tool.name)
            return render.failed(_BUG, tool.blank())

    async def search_memory(self, given: Given) -> render.Answer:
        """Answer memory_search."""
        try:
            results = await self._search(given)
        except UsageError:
            raise
        except RecollectError as error:
            return render_search.unavailable(error)
        return render_search.searched(
            results,
            max_tokens=_whole(given, "maxTokens") or MAX_TOKENS,
            notices=self._live.take_notices(),
            is_partial=self._live.is_first_sync,
            narrowed=[name for name in _NARROWING if given.get(name) not in (None, "all")],
        )

    async def get(self, given: Given) -> render.Answer:
        """Answer memory_get."""
        place = _located(_text(given, "path"))
        first = _whole(given, "from") or place.start_line or 1
        count = _whole(given, "lines") or place.lines_from(first) or _LINES
        try:
            excerpt = await self._read(place.path, first, count)
        except RecollectError as error:
            return render.not_got(place.path, error)
        return render.got(excerpt, max_tokens=_whole(given, "maxTokens") or MAX_TOKENS)

    async def remember(self, given: Given) -> render.Answer:
        """Answer memory_remember."""
        scope = _text(given, "scope") or self._own_scope()
        self._held.seen([scope])
        supersedes = _words(given, "supersedes")

        def work(memory: Memory) -> Remembered:
            for each in supersedes:
                self._held.history(memory, each)
            return memory.facts.remember(
                _text(given, "text"),
                category=_text(given, "category") or "other",
                entity=_text(given, "entity"),
                key=_text(given, "key"),
                value=_text(given, "value"),
                tags=_words(given, "tags"),
                scope=scope,
                valid_from=start_of(_day(given, "validFrom")),
                supersedes=supersedes,
                provenance=Provenance.AGENT,
            )

        return render.remembered(await self._live.run(work))

    async def forget(self, given: Given) -> render.Answer:
        """Answer memory_forget."""

        def work(memory: Memory) -> Mapping[str, object]:
            self._held.history(memory, _text(given, "id"))
            return render_facts.fact_json(memory.facts.forget(_text(given, "id")))

        forgotten = await self._live.run(work)
        return render.told({"forgotten": forgotten}, f"Forgotten: {forgotten['text']}")

    async def status(self, _given: Given) -> render.Answer:
        """Answer memory_status."""
        status = await self._live.run(lambda memory: memory.status())
        return render.status_answer(status, self._live.last_sync.outcome)

    async def search(self, given: Given) -> render.Answer:
        """Answer search, in the shape of ChatGPT's connectors."""
        try:
            results = await self._search(given)
        except UsageError:
            raise
        except RecollectError as error:
            return render_search.unavailable(error)
        shape = render_search.connector_results(
            results,
            max_tokens=MAX_TOKENS,
            notices=self._live.take_notices(),
            is_partial=self._live.is_first_sync,
        )
        return render.Answer(shape, json.dumps(shape, ensure_ascii=False))

    async def fetch(self, given: Given) -> render.Answer:
        """Answer fetch: the whole note, or of a long one what stands from the passage on."""
        place = _located(_text(given, "id"))
        excerpt = await self._read(place.path, 1, _WHOLE)
        wanted = place.start_line or 1
        if excerpt.next_line is not None and wanted > 1:
            excerpt = await self._read(place.path, wanted, _WHOLE)
        shape = render.connector_document(_text(given, "id"), excerpt, max_tokens=_FETCH_TOKENS)
        return render.Answer(shape, json.dumps(shape, ensure_ascii=False))

    async def _search(self, given: Given) -> Results:
        scopes = self._held.seen(_words(given, "scope"))
        source = _text(given, "source") or "all"

        def work(memory: Memory, *, sync: bool | None = None) -> Results:
            return memory.search(
                _text(given, "query"),
                max_results=_whole(given, "maxResults"),
                min_score=_number(given, "minScore"),
                source=None if source == "all" else source,
                since=_day(given, "since"),
                before=_day(given, "before"),
                path=_text(given, "path") or None,
                scopes=scopes,
                as_of=end_of(_day(given, "asOf")),
                include_superseded=bool(given.get("includeSuperseded")),
                sync=sync,
            )

        try:
            return await self._live.run(work)
        except WorkspaceError as error:
            # The folder is gone; what was indexed of it still answers, and says so.
            results = await self._live.run(lambda memory: work(memory, sync=False))
            return render_search.noticed(results, f"{error.message} {error.action}")

    async def _read(self, path: str, first: int, count: int) -> Excerpt:
        return await self._live.run(lambda memory: memory.get(path, start_line=first, lines=count))

    def _own_scope(self) -> str:
        """Return where a fact goes that names no scope: to whom the server is for."""
        return next(iter(self._scopes)) if len(self._scopes) == 1 else GLOBAL


_WORK: dict[str, Callable[[Calls, Given], Awaitable[render.Answer]]] = {
    "memory_search": Calls.search_memory,
    "memory_get": Calls.get,
    "memory_remember": Calls.remember,
    "memory_forget": Calls.forget,
    "memory_status": Calls.status,
    "search": Calls.search,
    "fetch": Calls.fetch,
}


def _located(text: str) -> Location:
    return parse_location(path_of(text) or text)


def _text(given: Given, name: str) -> str:
    value = given.get(name, "")
    return value if isinstance(value, str) else ""


def _words(given: Given, name: str) -> tuple[str, ...]:
    value = given.get(name, ())
    return value if isinstance(value, tuple) else ()


def _whole(given: Given, name: str) -> int | None:
    value = given.get(name)
    return value if isinstance(value, int) else None


def _number(given: Given, name: str) -> float | None:
    value = given.get(name)
    return value if isinstance(value, float) else None


def _day(given: Given, name: str) -> date | None:
    value = given.get(name)
    return value if isinstance(value, date) else None
