"""Memory files as resources: listed page by page, read by their URI, `memory:///` and the path."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import mcp_types as types
from mcp.shared.exceptions import MCPError

from recollect.errors import NotFoundError, RecollectError
from recollect.text.safe import neutralised, on_one_line

if TYPE_CHECKING:
    from recollect.parts import MemoryParts
    from recollect.shells.hosted import HostedMemory
    from recollect.shells.serving import ServedMemory

MARKDOWN = "text/markdown"
PAGE_FILES = 100
NOT_FOUND = -32002
"""The protocol's code for a resource that does not exist."""
_SCHEME = "memory:///"
_UNQUOTED = "/@+,;=!$&'()*~"
"""What a URI's path may contain as it is, besides letters and digits."""
_ALL_LINES = 100_000  # more than an excerpt ever has
_EXCERPTS = 20  # of 12,000 characters each: the most of one file


def uri_of(path: str) -> str:
    """Return the URI of a path, or of a citation with its lines as the fragment."""
    path, mark, lines = path.rpartition("#L") if "#L" in path else (path, "", "")
    return f"{_SCHEME}{quote(path, safe=_UNQUOTED)}{mark}{lines}"


def path_of(uri: str) -> str | None:
    """Return the path, with its lines if there are any, of one of our URIs; None for any other."""
    if not uri.startswith(_SCHEME):
        return None
    path, mark, lines = uri.removeprefix(_SCHEME).partition("#")
    return f"{unquote(path)}{mark}{lines}"


class Resources:
    """The files of one memory."""

    def __init__(self, served: ServedMemory | HostedMemory) -> None:
        self._served = served

    async def page(self, cursor: str | None) -> dict[str, object]:
        """Return the next files after the cursor, which is the last URI of the page before.

        Raises:
            MCPError: the memory cannot be opened.

        """
        after = path_of(cursor or "") or ""
        try:
            async with self._served.time_limit():
                paths = await self._served.read(lambda memory: memory.paths())
        except RecollectError as error:
            raise _failed(error) from error
        rest = sorted(path for path in paths if path > after)
        shape: dict[str, object] = {
            "resources": [
                {"uri": uri_of(path), "name": on_one_line(path), "mimeType": MARKDOWN}
                for path in rest[:PAGE_FILES]
            ]
        }
        if len(rest) > PAGE_FILES:
            shape["nextCursor"] = uri_of(rest[PAGE_FILES - 1])
        return shape

    async def text(self, uri: str) -> str:
        """Return a file's text, neutralised.

        Raises:
            MCPError: there is no such memory file.

        """
        path = path_of(uri)
        if path is None:
            raise _error(NOT_FOUND, f"There is no resource {uri}.", uri)
        try:
            async with self._served.time_limit():
                text = await self._served.read(lambda memory: _read_all(memory, path))
            return neutralised(text)
        except NotFoundError as error:
            raise _error(NOT_FOUND, f"{error.message} {error.action}", uri) from error
        except RecollectError as error:
            raise _failed(error) from error


def _read_all(memory: MemoryParts, path: str) -> str:
    parts: list[str] = []
    line: int | None = 1
    while line is not None and len(parts) < _EXCERPTS:
        excerpt = memory.get(path, start_line=line, lines=_ALL_LINES)
        parts.append(excerpt.text)
        line = excerpt.next_line
    if line is not None:
        parts.append(f"[More content available. Use memory_get with from={line} to continue.]")
    return "\n".join(parts)


def _failed(error: RecollectError) -> MCPError:
    return _error(types.INTERNAL_ERROR, f"{error.message} {error.action}")


def _error(code: int, message: str, uri: str | None = None) -> MCPError:
    about = None if uri is None else {"uri": on_one_line(uri)}
    return MCPError(code, on_one_line(message), about)
