"""Reads the arguments that a model sent: any of their names, converted to the right types.

An unknown name is refused, with the nearest known one: ignoring it would answer a different
question.
"""

from __future__ import annotations

import difflib
from contextlib import suppress
from datetime import date, datetime
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import (
    BeforeValidator,
    ConfigDict,
    FiniteFloat,
    PositiveInt,
    TypeAdapter,
    ValidationError,
)

from recollect.errors import UsageError
from recollect.text.days import DAY_EXAMPLES, parse_day

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recollect.shells.mcp.tools import Tool
    from recollect.types import Argument, ArgumentType

_MIN_SIMILARITY = 0.6  # of a name that is suggested instead of an unknown one
_SHOWN_CHARS = 80


def parse_arguments(tool: Tool, given: Mapping[str, object]) -> dict[str, Any]:
    """Return the arguments of a call, by their own names and in their types.

    Raises:
        UsageError: one is unknown, given twice, missing, or has a value of the wrong type.

    """
    known = _spellings(tool)
    values: dict[str, Any] = {}
    for name, value in given.items():
        argument = known.get(_normalised(name))
        if argument is None:
            raise _unknown(tool, name)
        if value is None or value in ("", []):
            continue  # models also send arguments that they leave open
        read = _read(argument, value)
        if values.get(argument.name, read) != read:
            raise UsageError(
                f"{argument.name} is given twice, as {name} and by another name.",
                action=f"Give {argument.name} once.",
            )
        values[argument.name] = read
    for argument in tool.arguments:
        if argument.is_required and argument.name not in values:
            raise UsageError(
                f"{tool.name} needs {argument.name}.", action=f"Call it with {argument.name}."
            )
    return values


def _spellings(tool: Tool) -> dict[str, Argument]:
    """Return the accepted names: those given first, then their singulars and plurals."""
    known: dict[str, Argument] = {}
    named = [(each.name, each) for each in tool.arguments]
    named += [(other, each) for each in tool.arguments for other in each.aliases.split()]
    for name, argument in named:
        known.setdefault(_normalised(name), argument)
    for name, argument in named:
        known.setdefault(_normalised(f"{name}s"), argument)
        known.setdefault(_normalised(name.removesuffix("s")), argument)
    return known


def _normalised(name: str) -> str:
    return name.replace("_", "").replace("-", "").casefold()


def _unknown(tool: Tool, name: str) -> UsageError:
    own = [argument.name for argument in tool.arguments]
    known = _spellings(tool)
    near = difflib.get_close_matches(_normalised(name), known, n=1, cutoff=_MIN_SIMILARITY)
    hint = f"Did you mean {known[near[0]].name}? " if near else ""
    listed = f"It takes {', '.join(own)}." if own else "It takes no arguments."
    return UsageError(f"{tool.name} has no argument {name!r}.", action=f"{hint}{listed}")


def _read(argument: Argument, value: object) -> object:
    """Return the value of an argument in its type.

    Raises:
        UsageError: it has another one.

    """
    kind, expected = _KINDS[argument.type]
    choices = argument.choices
    if choices:
        value, expected = str(value).strip().casefold(), f"one of {', '.join(choices)}"
    is_wrong = isinstance(value, bool) and argument.type != "boolean"
    try:
        read: object = None if is_wrong else kind.validate_python(value)
    except ValidationError:
        is_wrong = True
    if is_wrong or (choices and read not in choices):
        shown = repr(value)[:_SHOWN_CHARS]
        raise UsageError(
            f"{argument.name} must be {expected}, not {shown}.", action=f"Correct {argument.name}."
        )
    return read


def _only_one(value: object) -> object:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _split(value: object) -> object:
    return [part for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _day(value: object) -> date:
    text = str(value).strip()
    with suppress(ValueError):  # models also send a date with a time
        text = str(datetime.fromisoformat(text).date())
    return parse_day(text)


_STRIPPED = ConfigDict(str_strip_whitespace=True)
_TEXT = ConfigDict(coerce_numbers_to_str=True, str_strip_whitespace=True)
_WORDS = Annotated[tuple[str, ...], BeforeValidator(_split)]
_KINDS: dict[ArgumentType, tuple[TypeAdapter[Any], str]] = {
    "string": (TypeAdapter(Annotated[str, BeforeValidator(_only_one)], config=_TEXT), "text"),
    "integer": (TypeAdapter(PositiveInt), "a whole number, 1 or more"),
    "number": (TypeAdapter(FiniteFloat), "a number"),
    "boolean": (TypeAdapter(bool), "true or false"),
    "array": (TypeAdapter(_WORDS, config=_STRIPPED), "a list of words"),
    "day": (TypeAdapter(Annotated[date, BeforeValidator(_day)]), f"a day such as {DAY_EXAMPLES}"),
}
"""How a value is read, and what an error says is expected."""
