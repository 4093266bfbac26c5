"""A memory and its hits in the shapes of OpenAI's vector stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.types import HEADING_SEPARATOR

if TYPE_CHECKING:
    from recollect.reports import Status
    from recollect.shape import Json
    from recollect.types import Hit

_ATTRIBUTE_CHARS = 512  # the API's limit


def vector_store_json(status: Status, *, created_at: int, active_at: int, is_behind: bool) -> Json:
    """Return a memory as a vector store.

    Args:
        status: the memory's status.
        created_at: seconds since 1970 when the server started; an index does not record its own.
        active_at: seconds since 1970 when the index was last synced.
        is_behind: whether there are changes that are not indexed yet.

    """
    failed = len(status.stale.failed)
    waiting = len(status.stale.changed)
    return {
        "id": status.agent,
        "object": "vector_store",
        "created_at": created_at,
        "last_active_at": active_at,
        "name": status.agent,
        "usage_bytes": status.index.size_bytes,
        "file_counts": {
            "in_progress": waiting,
            "completed": status.index.documents,
            "failed": failed,
            "cancelled": 0,
            "total": status.index.documents + waiting + failed,
        },
        "status": "in_progress" if is_behind else "completed",
        "metadata": {},
        "expires_after": None,
        "expires_at": None,
    }


def found_json(hit: Hit) -> Json:
    """Return a hit as a result of a vector store search: the whole chunk and its location."""
    attributes: dict[str, str | int] = {
        "path": hit.path[:_ATTRIBUTE_CHARS],
        "source": hit.source.value,
        "startLine": hit.start_line,
        "endLine": hit.end_line,
        "citation": hit.citation[:_ATTRIBUTE_CHARS],
        "heading": HEADING_SEPARATOR.join(hit.heading)[:_ATTRIBUTE_CHARS],
    }
    if hit.date:
        attributes["date"] = hit.date.isoformat()
    if hit.also_in:
        others = ", ".join(each.citation for each in hit.also_in)
        attributes["alsoIn"] = others[:_ATTRIBUTE_CHARS]
    return {
        "file_id": hit.path,
        "filename": hit.path,
        "score": round(hit.score, 4),
        "attributes": attributes,
        "content": [{"type": "text", "text": hit.text or hit.snippet}],
    }
