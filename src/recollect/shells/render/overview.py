"""The overview of a memory as JSON: documents, days, and the map."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.shells.render.shared import degraded_json

if TYPE_CHECKING:
    from recollect.reports import (
        Amount,
        ChunkMap,
        DaySummary,
        Documents,
        MapPoint,
        Related,
        Timeline,
    )
    from recollect.shells.render.shared import Json

_DIGITS = 4  # of a coordinate: a thousandth of a screen's width


def documents_json(documents: Documents) -> Json:
    """Return the contract of `/api/documents`."""
    return {
        "documents": [
            {
                "path": each.path,
                "source": each.source.value,
                "date": each.date.isoformat() if each.date else None,
                "title": each.title,
                "headings": list(each.headings),
                "chunks": each.chunks,
                "sizeBytes": each.size_bytes,
            }
            for each in documents.documents
        ],
        "total": documents.total,
    }


def timeline_json(timeline: Timeline) -> Json:
    """Return the contract of `/api/timeline`."""
    return {
        "days": [
            {"date": day.date.isoformat() if day.date else None, **_day_json(day)}
            for day in timeline.days
        ],
        "undated": _day_json(timeline.undated),
    }


def related_json(related: Related) -> Json:
    """Return the contract of `/api/related`."""
    return {
        "notes": [
            {
                "path": each.path,
                "startLine": each.start_line,
                "endLine": each.end_line,
                "heading": list(each.heading),
                "source": each.source.value,
                "date": each.date.isoformat() if each.date else None,
                "similarity": round(each.similarity, _DIGITS),
            }
            for each in related.notes
        ],
        "degraded": degraded_json(related.degraded),
    }


def map_json(drawn: ChunkMap) -> Json:
    """Return the contract of `/api/map`."""
    return {
        "points": [_point_json(point) for point in drawn.points],
        "query": None
        if drawn.query is None
        else {"x": round(drawn.query[0], _DIGITS), "y": round(drawn.query[1], _DIGITS)},
        "nearest": list(drawn.nearest),
        "shown": len(drawn.points),
        "total": drawn.total,
        "leftOut": drawn.left_out,
        "trust": round(drawn.trust, _DIGITS),
        "groups": [
            {
                "words": list(group.words),
                "x": round(group.x, _DIGITS),
                "y": round(group.y, _DIGITS),
                "size": group.size,
            }
            for group in drawn.groups
        ],
        "degraded": degraded_json(drawn.degraded),
    }


def _day_json(day: DaySummary) -> Json:
    return {
        **_amount_json(day.total),
        "bySource": {source: _amount_json(amount) for source, amount in day.by_source.items()},
    }


def _amount_json(amount: Amount) -> Json:
    return {"documents": amount.documents, "chunks": amount.chunks}


def _point_json(point: MapPoint) -> Json:
    return {
        "x": round(point.x, _DIGITS),
        "y": round(point.y, _DIGITS),
        "path": point.path,
        "startLine": point.start_line,
        "endLine": point.end_line,
        "heading": list(point.heading),
        "source": point.source.value,
        "date": point.date.isoformat() if point.date else None,
        "group": point.group,
    }
