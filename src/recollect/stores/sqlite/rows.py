"""Rows of the file as the records they hold."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from recollect.stores.sqlite.facts import mark_of
from recollect.types import Chunk, Known, SourceKind, Stat

if TYPE_CHECKING:
    from collections.abc import Sequence

HEADING_JOINT = "\x1f"  # cannot stand in a heading: control characters are not text
CHUNK_COLUMNS = (
    "c.id, d.path, d.source, c.start_line, c.end_line, c.text, c.heading, c.prefix, c.day, "
    "c.speaker, c.moment, (SELECT content FROM media WHERE chunk = c.id), "
    "(SELECT json_array(id, scope, since, until, superseded_by) FROM facts WHERE chunk = c.id)"
)
"""What `chunk_of` reads, in its order; `c` is the chunk and `d` its document."""


KNOWN = "SELECT source, path, digest, size_bytes, mtime_ns, recipe, is_settled FROM documents"
"""What `known_of` reads."""


def chunk_of(row: Sequence[object]) -> Chunk:
    """Return the chunk of a row that begins with CHUNK_COLUMNS."""
    (
        _,
        path,
        source,
        start_line,
        end_line,
        text,
        heading,
        prefix,
        day,
        speaker,
        moment,
        media,
        fact,
        *_,
    ) = row
    return Chunk(
        path=str(path),
        source=SourceKind(str(source)),
        start_line=int(str(start_line)),
        end_line=int(str(end_line)),
        text=str(text),
        heading=tuple(str(heading).split(HEADING_JOINT)) if heading else (),
        prefix=str(prefix),
        when=date.fromisoformat(str(day)) if day else None,
        speaker=str(speaker),
        moment=str(moment),
        media=media.hex() if isinstance(media, bytes) else "",
        fact=mark_of(str(fact)) if fact else None,
    )


def known_of(row: Sequence[object]) -> Known:
    """Return what is remembered of a document."""
    source, path, digest, size_bytes, mtime_ns, recipe, is_settled = row
    return Known(
        path=str(path),
        source=SourceKind(str(source)),
        digest=str(digest),
        stat=Stat(size_bytes, mtime_ns),  # type: ignore[arg-type]  # the columns are integers
        recipe=str(recipe),
        is_settled=bool(is_settled),
    )
