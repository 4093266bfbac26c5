"""Reading what a model sent as arguments: any of the names it may reach for, in the right types.

A name that is none of them is refused with the nearest that is, since an argument that is silently
left out gives an answer to another question.
"""

from __future__ import annotations

import difflib
import math
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING

from recollect.errors import UsageError
from recollect.shells.dates import DAY_EXAMPLES, parse_day
from recollect.shells.mcp.tools import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import date

    from recollect.shells.mcp.tools import Argument, Tool

    Value = str | int | float | bool | tuple[str, ...] | date

_TRUE = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_NEAR = 0.6  # how alike a name must be to be proposed


def understood(tool: Tool, given: Mapping[str, object]) -> dict[str, Value]:
    """Return the arguments of a call by their own names.

    Raises:
        UsageError: one is unknown, given twice, missing, or has a value that cannot be used.

    """
    known = _spellings(tool)
    values: dict[str, Value] = {}
    named: dict[str, str] = {}
    for name, value in given.items():
        argument = known.get(_plain(name))
        if argument is None:
            raise _unknown(tool, name)
        if value is None or value in ("", []):
            continue  # models fill in what they leave open
        read = _READERS[argument.kind](argument, value)
        if values.get(argument.name, read) != read:
            raise UsageError(
                f"{named[argument.name]} and {name} are the same argument of {tool.name}, with "
                "two values.",
                action=f"Give {argument.name} once.",
            )
        values[argument.name] = read
        named[argument.name] = name
    for argument in tool.arguments:
        if argument.is_required and argument.name not in values:
            raise UsageError(
                f"{tool.name} needs {argument.name}.", action=f"Call it with {argument.name}."
            )
    return values


def _spellings(tool: Tool) -> dict[str, Argument]:
    """Return every way to write a name: as it is first, then in the singular or plural."""
    known: dict[str, Argument] = {}
    named = [(each.name, each) for each in tool.arguments]
    named += [(other, each) for each in tool.arguments for other in each.others]
    for name, argument in named:
        known.setdefault(_plain(name), argument)
    for name, argument in named:
        known.setdefault(_plain(f"{name}s"), argument)
        known.setdefault(_plain(name.removesuffix("s")), argument)
    return known


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").casefold()


def _unknown(tool: Tool, name: str) -> UsageError:
    own = [argument.name for argument in tool.arguments]
    known = _spellings(tool)
    near = difflib.get_close_matches(_plain(name), known, n=1, cutoff=_NEAR)
    hint = f"Did you mean {known[near[0]].name}? " if near else ""
    listed = f"It takes {', '.join(own)}." if own else "It takes none."
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


def _whole(argument: Argument, value: object) -> int:
    number = _number(argument, value)
    if number < 1 or number != int(number):
        raise _wrong(argument, value, "a whole number from 1 on")
    return int(number)


def _flag(argument: Argument, value: object) -> bool:
    if isinstance(value, bool):
        return value
    if str(value).casefold() not in _TRUE:
        raise _wrong(argument, value, "true or false")
    return _TRUE[str(value).casefold()]


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


_READERS: dict[Kind, Callable[[Argument, object], Value]] = {
    Kind.TEXT: _text,
    Kind.WHOLE: _whole,
    Kind.NUMBER: _number,
    Kind.FLAG: _flag,
    Kind.WORDS: _words,
    Kind.DAY: _day,
}


def _wrong(argument: Argument, value: object, wanted: str) -> UsageError:
    shown = repr(value)
    return UsageError(
        f"{argument.name} must be {wanted}, not {shown[:80]}.", action=f"Correct {argument.name}."
    )
