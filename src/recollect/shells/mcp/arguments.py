"""Reads the arguments that a model sent: any of their names, converted to the right types.

An unknown name is refused, with the nearest known one: ignoring it would answer a different
question.
"""

from __future__ import annotations

import difflib
import math
from contextlib import suppress
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from recollect.errors import UsageError
from recollect.text.days import DAY_EXAMPLES, parse_day

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from recollect.shells.mcp.tools import Tool
    from recollect.types import Argument, ArgumentType

    Value = str | int | float | bool | tuple[str, ...] | date

_FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_MIN_SIMILARITY = 0.6  # of a name that is suggested instead of an unknown one
_SHOWN_CHARS = 80


def parse_arguments(tool: Tool, given: Mapping[str, object]) -> dict[str, Any]:
    """Return the arguments of a call, by their own names and in their types.

    Raises:
        UsageError: one is unknown, given twice, missing, or has a value of the wrong type.

    """
    known = _spellings(tool)
    values: dict[str, Any] = {}
    written: dict[str, str] = {}
    for name, value in given.items():
        argument = known.get(_normalised(name))
        if argument is None:
            raise _unknown(tool, name)
        if value is None or value in ("", []):
            continue  # models also send arguments that they leave open
        read = _READERS[argument.type](argument, value)
        if values.get(argument.name, read) != read:
            raise UsageError(
                f"{written[argument.name]} and {name} are the same argument of {tool.name}, but "
                "have different values.",
                action=f"Give {argument.name} once.",
            )
        values[argument.name] = read
        written[argument.name] = name
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


def _text(argument: Argument, value: object) -> str:
    if isinstance(value, list) and len(value) == 1:
        [value] = value
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise _wrong(argument, value, "text")
    text = str(value).strip()
    if argument.choices:
        text = text.casefold()
        if text not in argument.choices:
            raise _wrong(argument, value, f"one of {', '.join(argument.choices)}")
    return text


def _number(argument: Argument, value: object) -> float:
    try:
        number = float(value) if isinstance(value, (int, float, str)) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if isinstance(value, bool) or not math.isfinite(number):
        raise _wrong(argument, value, "a number")
    return number


def _integer(argument: Argument, value: object) -> int:
    number = _number(argument, value)
    if number < 1 or number != int(number):
        raise _wrong(argument, value, "a whole number, 1 or more")
    return int(number)


def _flag(argument: Argument, value: object) -> bool:
    if isinstance(value, bool):
        return value
    if str(value).casefold() not in _FLAGS:
        raise _wrong(argument, value, "true or false")
    return _FLAGS[str(value).casefold()]


def _words(argument: Argument, value: object) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise _wrong(argument, value, "a list of words")
    return tuple(part.strip() for part in parts if part.strip())


def _day(argument: Argument, value: object) -> date:
    text = str(value).strip()
    with suppress(ValueError):  # models also send a date with a time
        text = str(datetime.fromisoformat(text).date())
    try:
        return parse_day(text)
    except ValueError:
        raise _wrong(argument, value, f"a day such as {DAY_EXAMPLES}") from None


_READERS: dict[ArgumentType, Callable[[Argument, object], Value]] = {
    "string": _text,
    "integer": _integer,
    "number": _number,
    "boolean": _flag,
    "array": _words,
    "day": _day,
}


def _wrong(argument: Argument, value: object, expected: str) -> UsageError:
    shown = repr(value)[:_SHOWN_CHARS]
    return UsageError(
        f"{argument.name} must be {expected}, not {shown}.", action=f"Correct {argument.name}."
    )
