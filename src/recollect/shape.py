"""The JSON of a record: its fields in camelCase, without `is_`. A class says where it differs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import date, datetime
from enum import Enum
from functools import cache
from pathlib import PurePath
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from recollect.errors import RecollectError

if TYPE_CHECKING:
    from collections.abc import Callable

    Json = Mapping[str, object]

_NONE: Mapping[str, str] = MappingProxyType({})


class Shape(NamedTuple):
    """How the JSON of a class differs from its fields; several names are separated by spaces."""

    names: Mapping[str, str] = _NONE
    """The names of members that have another one than their field."""
    hidden: str = ""
    """Fields that are not members."""
    added: str = ""
    """Properties that are members, too."""
    optional: str = ""
    """Members that are left out if they are empty."""
    null: str = ""
    """Members that are null if they are empty."""
    merged: str = ""
    """Records whose members stand in the place of the record."""
    digits: int | None = 4
    """Digits of rounded numbers: beyond these, a score is noise."""
    moment: Callable[[datetime], str] = datetime.isoformat


class Member(NamedTuple):
    """A field of a record as a member of its JSON."""

    field: str
    name: str
    is_optional: bool
    is_null: bool
    is_merged: bool


_PLAIN = Shape()


def shape_of(record: type) -> Shape:
    """Return how the JSON of a class differs."""
    shape: Shape = getattr(record, "shape", _PLAIN)
    return shape


@cache
def members_of(record: type) -> tuple[Member, ...]:
    """Return the members of the JSON of a class."""
    shape = shape_of(record)
    hidden, optional, null, merged = (
        frozenset(each.split()) for each in (shape.hidden, shape.optional, shape.null, shape.merged)
    )
    fields = [each.name for each in dataclasses.fields(record)]
    return tuple(
        Member(
            name,
            shape.names.get(name) or camel(name),
            is_optional=name in optional,
            is_null=name in null,
            is_merged=name in merged,
        )
        for name in (*fields, *shape.added.split())
        if name not in hidden
    )


def camel(name: str) -> str:
    """Return the name of a field in camelCase, without `is_`."""
    first, *rest = name.removeprefix("is_").split("_")
    return first + "".join(map(str.capitalize, rest))


def as_json(value: object) -> object:
    """Return a record, or anything made of records, as JSON."""
    return _as_json(value, _PLAIN)


def json_of(record: object) -> dict[str, object]:
    """Return the JSON object of a record."""
    shape = shape_of(type(record))
    members: dict[str, object] = {}
    kind: type = type(record)
    for each in members_of(kind):
        value = getattr(record, each.field)
        if each.is_merged:
            members |= {} if value is None else _object(_as_json(value, shape))
        elif not ((each.is_optional or each.is_null) and _is_empty(value)):
            members[each.name] = _member(each.field, value, shape)
        elif each.is_null:
            members[each.name] = None
    return members


def _is_empty(value: object) -> bool:
    return value is False or (not value and not isinstance(value, (int, float)))


def _member(field: str, value: object, shape: Shape) -> object:
    if field == "degraded":  # the legs that did not run, with why
        return {"legs": _as_json(value, shape)} if value else None
    if field == "took_ms" and isinstance(value, float):
        return round(value, 1)
    return _as_json(value, shape)


def _object(value: object) -> dict[str, object]:
    assert isinstance(value, dict)  # noqa: S101 - a mistake in our own classes
    return value


def _as_json(value: object, shape: Shape) -> object:  # noqa: C901, PLR0911 - one row per type
    match value:
        case Enum():
            return value.value
        case None | bool() | int() | str():
            return value
        case float():
            return value if shape.digits is None else round(value, shape.digits)
        case tuple() | list():
            return [_as_json(each, shape) for each in value]
        case frozenset() | set():
            return sorted(value)
        case Mapping():
            return {str(name): _as_json(each, shape) for name, each in value.items()}
        case datetime():
            return shape.moment(value)
        case date():
            return value.isoformat()
        case RecollectError():
            return value.message
        case PurePath():
            return str(value)
    return json_of(value)
