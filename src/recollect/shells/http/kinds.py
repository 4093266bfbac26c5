"""What the value of a parameter may be: its JSON schema and how it is read, in one record.

The schema that is published is the one that values are held against.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from recollect.shells.render.search import Json

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_WHOLE = re.compile(r"-?[0-9]{1,18}")
_NUMBER = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?([eE][+-]?[0-9]{1,3})?")
_SHOWN_CHARS = 60  # of a wrong value, in the answer that refuses it
# Of the years 1900 to 9998: beyond, a day may have no beginning or end in some time zone.
_DAY = r"^(19[0-9]{2}|[2-8][0-9]{3}|9[0-8][0-9]{2}|99[0-8][0-9]|999[0-8])-[0-9]{2}-[0-9]{2}$"


class WrongValueError(ValueError):
    """A value that is not of its kind; says what one would be."""


@dataclass(frozen=True, slots=True)
class Kind(Generic[T_co]):
    """What a value may be."""

    schema: Json
    read: Callable[[object], T_co]
    """Returns the value of what JSON holds; raises WrongValueError."""
    unwrap: Callable[[str], object] = lambda text: text
    """Returns what JSON would hold, of the text of a query; raises WrongValueError."""


def text(*, least: int = 0, most: int, pattern: str | None = None, says: str = "") -> Kind[str]:
    """Return the kind of texts of so many characters.

    Args:
        least: characters it has.
        most: characters it may have.
        pattern: a regular expression that is found in it, in the words of JSON Schema.
        says: what the pattern means, after "must be".

    """
    schema: dict[str, object] = {"type": "string", "maxLength": most}
    if least:
        schema["minLength"] = least
    if pattern:
        schema["pattern"] = pattern
    found = _compiled(pattern) if pattern else None

    def read(value: object) -> str:
        if not isinstance(value, str):
            raise WrongValueError("must be a text")
        if not least <= len(value) <= most:
            raise WrongValueError(f"must have {least} to {most} characters")
        if found is not None and not found.search(value):
            raise WrongValueError(f"must be {says}, not {shown(value)}")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise WrongValueError("must be valid Unicode") from None
        return value

    return Kind(schema, read)


def whole(*, least: int, most: int) -> Kind[int]:
    """Return the kind of whole numbers in a range."""
    wanted = f"must be a whole number from {least} to {most}"

    def read(value: object) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise WrongValueError(f"{wanted}, not {shown(value)}")
        return value

    def unwrap(given: str) -> object:
        if not _WHOLE.fullmatch(given):
            raise WrongValueError(f"{wanted}, not {shown(given)}")
        return int(given)

    return Kind({"type": "integer", "minimum": least, "maximum": most}, read, unwrap)


def number(*, least: float, most: float) -> Kind[float]:
    """Return the kind of numbers in a range."""
    wanted = f"must be a number from {least:g} to {most:g}"

    def read(value: object) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise WrongValueError(f"{wanted}, not {shown(value)}")
        if not least <= value <= most:  # neither is nan
            raise WrongValueError(f"{wanted}, not {shown(value)}")
        return float(value)

    def unwrap(given: str) -> object:
        if not _NUMBER.fullmatch(given):
            raise WrongValueError(f"{wanted}, not {shown(given)}")
        return float(given)

    return Kind({"type": "number", "minimum": least, "maximum": most}, read, unwrap)


def flag() -> Kind[bool]:
    """Return the kind of true and false."""

    def read(value: object) -> bool:
        if not isinstance(value, bool):
            raise WrongValueError(f"must be true or false, not {shown(value)}")
        return value

    def unwrap(given: str) -> object:
        if given not in {"true", "false"}:
            raise WrongValueError(f"must be true or false, not {shown(given)}")
        return given == "true"

    return Kind({"type": "boolean"}, read, unwrap)


def choice(*values: str) -> Kind[str]:
    """Return the kind of one of these words."""

    def read(value: object) -> str:
        if not isinstance(value, str) or value not in values:
            raise WrongValueError(f"must be one of {', '.join(values)}, not {shown(value)}")
        return value

    return Kind({"type": "string", "enum": list(values)}, read)


def day() -> Kind[date]:
    """Return the kind of days, as 2026-02-01."""
    wanted = "must be a day such as 2026-02-01"
    found = _compiled(_DAY)

    def read(value: object) -> date:
        if not isinstance(value, str) or not found.search(value):
            raise WrongValueError(f"{wanted}, not {shown(value)}")
        try:
            return date.fromisoformat(value)
        except ValueError:
            raise WrongValueError(f"{wanted}, not {shown(value)}") from None

    return Kind({"type": "string", "format": "date", "pattern": _DAY}, read)


def several(of: Kind[T], *, most: int) -> Kind[tuple[T, ...]]:
    """Return the kind of lists; in a query the parameter is repeated."""

    def read(value: object) -> tuple[T, ...]:
        if not isinstance(value, list | tuple):
            raise WrongValueError(f"must be a list, not {shown(value)}")
        if len(value) > most:
            raise WrongValueError(f"must have {most} members at most")
        return tuple(of.read(each) for each in value)

    schema = {"type": "array", "items": of.schema, "maxItems": most}
    return Kind(schema, read, of.unwrap)


def _compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern of JSON Schema, in which `$` is the very end and not a line's."""
    return re.compile(pattern[:-1] + r"\Z" if pattern.endswith("$") else pattern)


def shown(value: object) -> str:
    """Return a wrong value as it is shown to whoever sent it: in short, and harmless."""
    words = ascii(value)
    return words if len(words) <= _SHOWN_CHARS else f"{words[:_SHOWN_CHARS]}…"
