"""Declares a setting as a field of the Options of the stage that reads it, and nowhere else.

The table of settings, its documentation and its validation are derived by walking the Options. A
value that cannot be read is a ValueError with what was expected, worded to follow "Give".
"""

from __future__ import annotations

import json
import math
import re
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from recollect.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from dataclasses import Field

T = TypeVar("T")
_METADATA = "setting"
_LIST = re.compile(r'\s*\[\s*(".*"\s*)?\]\s*', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table of settings."""

    key: str
    default: object
    parse: Callable[[object], object]
    about: str
    user_only: bool = False
    """A workspace's own file may not set it."""
    secret: bool = False
    """A wrong value may be a secret, and is never shown."""


def setting(key: str, default: T, parse: Callable[[object], T], about: str) -> T:
    """Return a dataclass field that is a setting; typed as its value, as `field` itself is."""
    return _declared(Setting(key, default, parse, about), default)


def user_setting(
    key: str, default: T, parse: Callable[[object], T], about: str, *, secret: bool = False
) -> T:
    """Return a setting that a workspace's own file may not set: a cloned folder is not trusted."""
    return _declared(Setting(key, default, parse, about, True, secret), default)


def _declared(row: Setting, default: T) -> T:
    return field(default=default, metadata={_METADATA: row})


def setting_of(each: Field[object]) -> Setting | None:
    """Return the setting that a dataclass field is, or None."""
    return cast("Setting | None", each.metadata.get(_METADATA))


def number(low: float, high: float) -> Callable[[object], float]:
    """Return a reader of numbers in a range."""

    def parse(value: object) -> float:
        try:
            given = float(value) if isinstance(value, (int, float, str)) else math.nan
        except (ValueError, OverflowError):  # the latter for a number of 400 digits
            given = math.nan
        if isinstance(value, bool) or not low <= given <= high:
            raise ValueError(f"a number from {low:g} to {high:g}")
        return given

    return parse


share = number(0, 1)


def whole(low: int, high: int) -> Callable[[object], int]:
    """Return a reader of whole numbers in a range."""

    def parse(value: object) -> int:
        text = str(value).strip()
        is_whole = not isinstance(value, (bool, float)) and re.fullmatch(r"-?[0-9]{1,18}", text)
        if not is_whole or not low <= int(text) <= high:
            raise ValueError(f"a whole number from {low} to {high}")
        return int(text)

    return parse


def switch(value: object) -> bool:
    """Read true or false."""
    text = str(value).lower()
    if text not in {"true", "false", "1", "0", "yes", "no", "on", "off"}:
        raise ValueError("true or false")
    return text in {"true", "1", "yes", "on"}


def plain(value: object) -> str:
    """Read any text."""
    if not isinstance(value, str):
        raise ValueError("a text")  # noqa: TRY004 - as every reader here
    return value


def one_of(names: Collection[str]) -> Callable[[object], str]:
    """Return a reader of one of several names."""

    def parse(value: object) -> str:
        if not isinstance(value, str) or value not in names:
            raise ValueError(f"one of {', '.join(names)}")
        return value

    return parse


def some_of(names: Collection[str]) -> Callable[[object], tuple[str, ...]]:
    """Return a reader of at least one of several names."""

    def parse(value: object) -> tuple[str, ...]:
        given = _split(value)
        if not given or not set(given) <= set(names):
            raise ValueError(f"a list of {', '.join(names)}")
        return tuple(given)

    return parse


def paths(value: object) -> tuple[str, ...]:
    """Read a list of paths and globs."""
    given = _split(value)
    if given is None or any("\0" in each for each in given):  # no path can have a NUL
        raise ValueError("a list of paths or globs")
    return tuple(each for each in given if each)


def endings(value: object) -> tuple[str, ...]:
    """Read a list of endings of file names."""
    given = _split(value)
    if given is None or not all(re.fullmatch(r"\.[\w.+-]{1,20}|", each) for each in given):
        raise ValueError("a list of endings such as .txt,.org")
    return tuple(each.lower() for each in given if each)


def path(value: object) -> Path:
    """Read the path of a file or folder; `~` is the user's home."""
    if not isinstance(value, str) or not value:
        raise ValueError("the path of a file or folder")
    return Path(value).expanduser()


def url(value: object) -> str:
    """Read the address of a server."""
    if not isinstance(value, str) or not re.match(r"https?://[^/\s@]+", value):
        raise ValueError("an address that starts with http:// or https://, without a password")
    return value.rstrip("/")


def optional(parse: Callable[[object], T]) -> Callable[[object], T | None]:
    """Return a reader that takes nothing, or an empty text, as unset."""
    return lambda value: None if value in (None, "") else parse(value)


def _split(value: object) -> list[str] | None:
    """Return the parts of a list, or of one as a text; None if it is neither."""
    given = value.split(",") if isinstance(value, str) else value
    if isinstance(value, str) and _LIST.fullmatch(value):
        with suppress(ValueError):  # globs have brackets, too
            given = json.loads(value)
    if not isinstance(given, (list, tuple)) or not all(isinstance(each, str) for each in given):
        return None
    return [each.strip() for each in given]
