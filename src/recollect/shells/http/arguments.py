"""Reading a request's arguments by the parameters of its operation; anything else is refused."""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING

from recollect.errors import UsageError
from recollect.shells.http.kinds import WrongValueError, shown
from recollect.shells.http.operation import Where

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from recollect.shells.http.operation import Operation, Param

_ACTION = "See /openapi.json for what it takes."


class ArgumentError(UsageError):
    """An argument is wrong; knows which."""

    def __init__(self, message: str, *, param: str | None, action: str = _ACTION) -> None:
        super().__init__(message, action=action)
        self.param = param


def read_arguments(
    operation: Operation,
    *,
    query: Iterable[tuple[str, str]],
    path: Mapping[str, str],
    body: bytes,
) -> dict[str, object]:
    """Return the arguments by name.

    Raises:
        ArgumentError: one is unknown, missing, given twice or not of its kind.

    """
    by_place: dict[Where, list[Param[object]]] = {where: [] for where in Where}
    for param in operation.params:
        by_place[param.where].append(param)
    found = _read_texts(by_place[Where.QUERY], query)
    found.update(_read_texts(by_place[Where.PATH], path.items()))
    if operation.has_body:
        found.update(_read_body(by_place[Where.BODY], body))
    elif body:
        raise ArgumentError("This takes no body.", param=None)
    return found


def _read_texts(
    params: Sequence[Param[object]], given: Iterable[tuple[str, str]]
) -> dict[str, object]:
    known = {param.name: param for param in params}
    texts: dict[str, list[str]] = {}
    for name, value in given:
        if name not in known:
            raise _unknown(name, known)
        texts.setdefault(name, []).append(value)
    found: dict[str, object] = {}
    for name, param in known.items():
        values = texts.get(name, [])
        if not values:
            _expect_optional(param)
        elif param.is_repeated:
            found[name] = _checked(param, [_unwrapped(param, each) for each in values])
        elif len(values) > 1:
            raise ArgumentError(f"{name} is given {len(values)} times.", param=name)
        else:
            found[name] = _checked(param, _unwrapped(param, values[0]))
    return found


def _read_body(params: Sequence[Param[object]], body: bytes) -> dict[str, object]:
    given = parse_object(body)
    known = {param.name: param for param in params}
    for name in given:
        if name not in known:
            raise _unknown(name, known)
    found: dict[str, object] = {}
    for name, param in known.items():
        value = given.get(name)  # null is a member that is not given
        if value is None:
            _expect_optional(param)
        else:
            found[name] = _checked(param, value)
    return found


def parse_object(body: bytes) -> dict[str, object]:
    """Return the JSON object of a body.

    Raises:
        ArgumentError: it holds none.

    """
    try:
        value = json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise ArgumentError(
            "The body is not JSON.", param=None, action="Send a JSON object in UTF-8."
        ) from None
    if not isinstance(value, dict):
        raise ArgumentError(
            "The body is not a JSON object.", param=None, action="Send {…} with named members."
        )
    return value


def _refuse_constant(name: str) -> object:
    raise ValueError(name)


def _unwrapped(param: Param[object], text: str) -> object:
    try:
        return param.kind.unwrap(text)
    except WrongValueError as error:
        raise ArgumentError(f"{param.name} {error}.", param=param.name) from None


def _checked(param: Param[object], value: object) -> object:
    try:
        return param.kind.read(value)
    except WrongValueError as error:
        raise ArgumentError(f"{param.name} {error}.", param=param.name) from None


def _expect_optional(param: Param[object]) -> None:
    if param.is_required:
        raise ArgumentError(
            f"{param.name} is missing.",
            param=param.name,
            action=f"Give {param.name}: {param.about}",
        )


def _unknown(name: str, known: Mapping[str, Param[object]]) -> ArgumentError:
    if not known:
        return ArgumentError(f"There is no parameter {shown(name)} here: none.", param=name)
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    action = f"Did you mean {near[0]}?" if near else f"It takes {', '.join(sorted(known))}."
    return ArgumentError(f"There is no parameter {shown(name)} here.", param=name, action=action)
