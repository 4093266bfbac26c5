"""Filters of OpenAI's vector stores, as far as a search can be narrowed by them.

`path`, `source` and `date` can be compared, and comparisons joined by `and`. What cannot be mapped
is refused, never passed over: a filter that does nothing would show what it was to leave out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import reduce
from typing import TYPE_CHECKING

from recollect.shells.http.kinds import Kind, WrongValueError, day, shown
from recollect.types import SourceKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recollect.shells.render.search import Json

_NEXT = timedelta(days=1)
_MOST_CHARS = 1000
_MOST_FILTERS = 20
_SOURCES = tuple(kind.value for kind in SourceKind)
_GLOB_SIGNS = re.compile(r"([*?\[])")
_DAYS = day()
_COMPARISON_KEYS = {"type", "key", "value"}
_COMPOUND_KEYS = {"type", "filters"}


@dataclass(frozen=True, slots=True)
class Narrowed:
    """What a filter leaves."""

    path: str | None = None
    """A glob that one path alone matches."""
    source: str | None = None
    since: date | None = None
    before: date | None = None
    is_empty: bool = False
    """The comparisons contradict each other: nothing can pass them all."""


def _comparison(key: str, types: tuple[str, ...], value: Json) -> Json:
    return {
        "type": "object",
        "properties": {
            "type": {"type": "string", "enum": list(types)},
            "key": {"const": key},
            "value": value,
        },
        "required": ["type", "key", "value"],
        "additionalProperties": False,
    }


COMPARISON: Json = {
    "anyOf": [
        _comparison("path", ("eq",), {"type": "string", "minLength": 1, "maxLength": _MOST_CHARS}),
        _comparison("source", ("eq",), {"type": "string", "enum": list(_SOURCES)}),
        _comparison("date", ("eq", "gt", "gte", "lt", "lte"), _DAYS.schema),
    ]
}
SCHEMA: Json = {
    "anyOf": [
        *COMPARISON["anyOf"],  # type: ignore[misc]  # the list above
        {
            "type": "object",
            "properties": {
                "type": {"const": "and"},
                "filters": {"type": "array", "items": COMPARISON, "maxItems": _MOST_FILTERS},
            },
            "required": ["type", "filters"],
            "additionalProperties": False,
        },
    ]
}


def filters() -> Kind[Narrowed]:
    """Return the kind of filters that can be mapped."""
    return Kind(SCHEMA, _read)


def _read(value: object) -> Narrowed:
    if not isinstance(value, dict) or "filters" not in value:
        return _compared(value, Narrowed())
    if set(value) != _COMPOUND_KEYS or value["type"] != "and":
        raise WrongValueError(f"can be joined by and, not by {shown(value.get('type'))}")
    several = value["filters"]
    if not isinstance(several, list) or len(several) > _MOST_FILTERS:
        raise WrongValueError(f"must join {_MOST_FILTERS} comparisons at most")
    return reduce(lambda narrowed, each: _compared(each, narrowed), several, Narrowed())


def _compared(value: object, narrowed: Narrowed) -> Narrowed:
    if not isinstance(value, dict):
        raise WrongValueError(f"must be a comparison, not {shown(value)}")
    if set(value) != _COMPARISON_KEYS:
        raise WrongValueError("must have type, key and value")
    key = value["key"]
    if key == "date":
        return _read_date(value, narrowed)
    if key not in ("path", "source"):  # anything may come, also what no set takes
        raise WrongValueError(f"can compare path, source and date, not {shown(key)}")
    if value["type"] != "eq":
        raise WrongValueError(f"can compare {key} by eq only, not by {shown(value['type'])}")
    return _read_same(str(key), value["value"], narrowed)


def _read_same(key: str, wanted: object, narrowed: Narrowed) -> Narrowed:
    if not isinstance(wanted, str) or not 1 <= len(wanted) <= _MOST_CHARS:
        raise WrongValueError(f"must compare {key} with a text, not {shown(wanted)}")
    if key == "source":
        if wanted not in _SOURCES:
            raise WrongValueError(
                f"must name a source ({', '.join(_SOURCES)}), not {shown(wanted)}"
            )
        if narrowed.source not in (None, wanted):
            return replace(narrowed, is_empty=True)
        return replace(narrowed, source=wanted)
    if wanted.endswith("/"):  # to a glob that is all that is below
        return replace(narrowed, is_empty=True)
    # A leading slash ties a glob to the top: the same name in a folder is another path.
    glob = "/" + _GLOB_SIGNS.sub(r"[\1]", wanted)
    if narrowed.path not in (None, glob):
        return replace(narrowed, is_empty=True)
    return replace(narrowed, path=glob)


def _read_date(value: Mapping[str, object], narrowed: Narrowed) -> Narrowed:
    named = _DAYS.read(value["value"])
    kind = value["type"]
    since = {"eq": named, "gte": named, "gt": named + _NEXT}.get(str(kind))
    before = {"eq": named + _NEXT, "lt": named, "lte": named + _NEXT}.get(str(kind))
    if since is None and before is None:
        raise WrongValueError(f"can compare date by eq, gt, gte, lt and lte, not {shown(kind)}")
    since = max(filter(None, (since, narrowed.since)), default=None)
    before = min(filter(None, (before, narrowed.before)), default=None)
    is_empty = narrowed.is_empty or (since is not None and before is not None and since >= before)
    return replace(narrowed, since=since, before=before, is_empty=is_empty)
