"""The web page and its files, from the package.

Names are looked up among those that are there; no path is ever built from a request.
"""

from __future__ import annotations

import asyncio
from importlib.resources import files
from pathlib import PurePosixPath

from starlette.responses import Response

from recollect.shells.http.kinds import text
from recollect.shells.http.operation import Call, Operation, Where, required
from recollect.shells.http.refuse import RequestError

_MEDIA = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}
_PAGE = "index.html"
NAME = required(
    "name",
    text(most=100, pattern=r"^[a-z0-9][a-z0-9._-]*$", says="the name of a file of the page"),
    "Of a file that belongs to the page.",
    where=Where.PATH,
)


async def page(call: Call) -> Response:
    """Return the page."""
    del call
    return await asyncio.to_thread(_file, _PAGE)


async def static(call: Call) -> Response:
    """Return a file of the page."""
    return await asyncio.to_thread(_file, call[NAME])


def _file(name: str) -> Response:
    folder = files("recollect.shells") / "web"
    known = {each.name: each for each in folder.iterdir()} if folder.is_dir() else {}
    media = _MEDIA.get(PurePosixPath(name).suffix)
    if name not in known or media is None:
        raise RequestError(
            404, "not_found", "The page has no such file.", action="Open / for the page."
        )
    # A browser asks again each time: after an upgrade the page and its files fit together.
    kept = {"Cache-Control": "no-cache", "Content-Type": media}
    return Response(known[name].read_bytes(), headers=kept)


OPERATIONS = (
    Operation(
        "GET",
        "/",
        page,
        "The web page.",
        answer={"type": "string"},
        media="text/html",
        is_open=True,
    ),
    Operation(
        "GET",
        "/static/{name}",
        static,
        "A file of the web page.",
        params=(NAME,),
        answer={"type": "string"},
        media="*/*",
        errors=(404,),
        is_open=True,
    ),
)
