"""The web page and its files.

A requested name is looked up among the files that exist; no path is built from it.
"""

from __future__ import annotations

import asyncio
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Annotated

from fastapi import Path
from pydantic import Field
from starlette.responses import Response

from recollect.shells.http.errors import RequestError
from recollect.shells.http.parameters import must_be

_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


FileName = Annotated[
    str,
    Field(max_length=100, pattern=r"^[a-z0-9][a-z0-9._-]*$"),
    must_be("the name of a file of the page"),
    Path(description="The name of a file of the page."),
]


async def page() -> Response:
    """Return the web page."""
    return await asyncio.to_thread(_read, "index.html")


async def static(name: FileName) -> Response:
    """Return a file of the web page."""
    return await asyncio.to_thread(_read, name)


def _read(name: str) -> Response:
    folder = files("recollect.shells") / "web"
    known = {each.name: each for each in folder.iterdir()} if folder.is_dir() else {}
    media_type = _MEDIA_TYPES.get(PurePosixPath(name).suffix)
    if name not in known or media_type is None:
        raise RequestError(
            404, "not_found", "The page has no such file.", action="Open / for the page."
        )
    # Browsers check each time, so that after an upgrade the page and its files match.
    headers = {"Cache-Control": "no-cache", "Content-Type": media_type}
    return Response(known[name].read_bytes(), headers=headers)
