"""Describes responses, by pydantic models of records; validating costs more than making them."""

from __future__ import annotations

import types as python_types
from collections.abc import Mapping
from dataclasses import is_dataclass
from datetime import date, datetime
from enum import Enum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, create_model

from recollect import reports, types
from recollect.facts.record import Fact
from recollect.facts.rules import Duplicate, Verdict
from recollect.records import dataclass
from recollect.shape import Shape, members_of, shape_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAMES = {
    **vars(types),
    **vars(reports),
    **{each.__name__: each for each in (Mapping, date, datetime, Path, Fact, Duplicate, Verdict)},
}
"""What the annotations of records name, and only type checkers import there."""
_REQUIRED = ...


@dataclass(frozen=True, slots=True)
class Degraded:
    """The legs that did not run or were incomplete."""

    legs: Mapping[str, types.Degradation]


@cache
def model_of(record: type) -> type[BaseModel]:
    """Return the model of a record's JSON."""
    fields: dict[str, Any] = dict(_fields(record))
    return create_model(
        record.__name__, __config__=ConfigDict(extra="forbid"), __doc__=record.__doc__, **fields
    )


def _fields(record: type) -> Iterator[tuple[str, tuple[object, object]]]:
    """Yield the members of a record's JSON, each with its type and default."""
    hints = get_type_hints(record, localns=_NAMES)
    shape = shape_of(record)
    for each in members_of(record):
        hint = hints.get(each.field)
        if hint is None:  # a property
            hint = get_type_hints(getattr(record, each.field).fget, localns=_NAMES)["return"]
        if each.is_merged:
            kinds = [kind for kind in get_args(hint) or (hint,) if kind is not type(None)]
            for name, (kind, default) in _fields(kinds[0]):
                yield name, (kind, _REQUIRED if default is _REQUIRED and hint in kinds else None)
            continue
        kind = _described(Degraded | None if each.field == "degraded" else hint, shape)
        if each.is_null:
            kind = Union[kind, None]  # noqa: UP007 - of types that are values here
        if each.is_optional:
            kind = _without_none(kind)
        yield each.name, (kind, None if each.is_optional else _REQUIRED)


def _without_none(kind: Any) -> object:  # noqa: ANN401 - any type
    kinds = tuple(each for each in get_args(kind) if each is not type(None))
    is_union = get_origin(kind) in (Union, python_types.UnionType)
    return Union[kinds] if is_union else kind  # noqa: UP007


def _described(hint: Any, shape: Shape) -> Any:  # noqa: ANN401, PLR0911 - one row per type
    """Return the type of the JSON that `as_json` makes of such a value."""
    kind = get_origin(hint) or hint
    inner = [_described(each, shape) for each in get_args(hint) if each is not Ellipsis]
    if kind in (Union, python_types.UnionType):
        return Union[tuple(inner)]  # noqa: UP007 - of types that are values here
    if kind in (tuple, frozenset, list):
        return list[inner[0]]  # type: ignore[valid-type]  # a value here
    if kind is Mapping:
        return dict[str, inner[1]]  # type: ignore[valid-type]  # a value here
    if kind is datetime and shape.moment is not datetime.isoformat:
        return str
    if isinstance(kind, type) and issubclass(kind, Enum):
        return Literal[tuple(each.value for each in kind)]
    if isinstance(kind, type) and is_dataclass(kind):
        return model_of(kind)
    return Any if kind is object else hint
