"""The pictures in notes: which file one means, and its bytes.

Threat: a note may name any file. Only a picture of a known format is read, which the walk that
finds the notes finds, too: nothing outside of their folders, and nothing that is excluded.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from recollect.browse.links import places_of
from recollect.errors import NotFoundError
from recollect.ingest.media import MOST_BYTES
from recollect.ingest.read import UnreadableError, content_of
from recollect.ingest.walk import walk

if TYPE_CHECKING:
    from pathlib import Path

    from recollect.ingest.options import WalkOptions

_FORMATS = {
    "png": ("image/png", re.compile(rb"\x89PNG\r\n\x1a\n")),
    "gif": ("image/gif", re.compile(rb"GIF8[79]a")),
    "webp": ("image/webp", re.compile(rb"RIFF.{4}WEBP", re.DOTALL)),
    **dict.fromkeys(("jpg", "jpeg"), ("image/jpeg", re.compile(rb"\xff\xd8\xff"))),
}
"""The type and the first bytes of pictures by the end of their names; SVG may hold scripts."""
_SHOWN = "PNG, JPEG, GIF and WebP of up to 10 MiB in folders of notes are shown."


def read_picture(
    path: str, *, note: str, folder: Path | None, options: WalkOptions
) -> tuple[bytes, str]:
    """Return the bytes and the media type of a picture that a note names by its path or name."""
    found = walk(folder, options=options, takes=_format_of)[0] if folder is not None else ()
    files = {each.path: each for each in found}
    by_name = {each.path.rpartition("/")[2]: each.path for each in reversed(found)}
    for place in (*places_of(path, source=note), by_name.get(path, "")):
        if place in files and (form := _format_of(place)):
            try:
                content, _ = content_of(files[place], max_bytes=MOST_BYTES, action=_SHOWN)
            except UnreadableError as error:
                raise NotFoundError(str(error), action=error.failure.action) from error
            if form[1].match(content):
                return content, form[0]
    raise NotFoundError(f"There is no picture {path} among the notes.", action=_SHOWN)


def _format_of(name: str) -> tuple[str, re.Pattern[bytes]] | None:
    return _FORMATS.get(name.rpartition(".")[2].lower())
