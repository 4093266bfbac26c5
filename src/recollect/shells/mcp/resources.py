"""Memory files as resources: listed page by page, read by their address."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

import mcp_types as types
from mcp.shared.exceptions import MCPError

from recollect.errors import NotFoundError, RecollectError
from recollect.shells.mcp.uri import TEMPLATE, path_of, uri_of
from recollect.text.safe import neutralised

if TYPE_CHECKING:
    from recollect.memory import Memory
    from recollect.shells.serving import ServedMemory

MARKDOWN = "text/markdown"
PAGE = 100
"""Files listed at once."""
NOT_FOUND = -32002
"""The protocol's own code for a resource that is not there."""
TEMPLATES = {
    "resourceTemplates": [
        {
            "uriTemplate": TEMPLATE,
            "name": "memory file",
            "description": "A memory file by its path, as memory_search cites it.",
            "mimeType": MARKDOWN,
        }
    ]
}
_LINES = 100_000  # more than an excerpt ever holds
_PARTS = 20  # excerpts of 12,000 characters that one resource is read in


class Resources:
    """The files of one memory."""

    def __init__(self, live: ServedMemory) -> None:
        self._live = live

    async def page(self, cursor: str | None) -> dict[str, object]:
        """Return the files that come after the cursor, in the order of their paths.

        Raises:
            MCPError: the cursor is not one of ours, or the memory cannot be opened.

        """
        after = "" if cursor is None else _read_cursor(cursor)
        try:
            paths = await self._live.run(lambda memory: memory.paths())
        except RecollectError as error:
            raise _failed(error) from error
        rest = sorted(path for path in paths if path > after)
        shape: dict[str, object] = {
            "resources": [
                {"uri": uri_of(path), "name": path, "mimeType": MARKDOWN} for path in rest[:PAGE]
            ]
        }
        if len(rest) > PAGE:
            shape["nextCursor"] = _cursor(rest[PAGE - 1])
        return shape

    async def text(self, address: str) -> str:
        """Return a file's text, made harmless.

        Raises:
            MCPError: there is no such memory file.

        """
        path = path_of(address)
        if path is None:
            raise MCPError(NOT_FOUND, f"There is no resource {address}.", {"uri": address})
        try:
            return neutralised(await self._live.run(lambda memory: _whole(memory, path)))
        except NotFoundError as error:
            raise MCPError(
                NOT_FOUND, f"{error.message} {error.action}", {"uri": address}
            ) from error
        except RecollectError as error:
            raise _failed(error) from error


def _whole(memory: Memory, path: str) -> str:
    parts: list[str] = []
    line: int | None = 1
    while line is not None and len(parts) < _PARTS:
        excerpt = memory.get(path, start_line=line, lines=_LINES)
        parts.append(excerpt.text)
        line = excerpt.next_line
    if line is not None:
        parts.append(f"[More content available. Use memory_get with from={line} to continue.]")
    return "\n".join(parts)


def _cursor(path: str) -> str:
    return base64.urlsafe_b64encode(path.encode()).decode()


def _read_cursor(cursor: str) -> str:
    try:
        return base64.b64decode(cursor, altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise MCPError(types.INVALID_PARAMS, "The cursor is not one of this server's.") from error


def _failed(error: RecollectError) -> MCPError:
    return MCPError(types.INTERNAL_ERROR, f"{error.message} {error.action}")
