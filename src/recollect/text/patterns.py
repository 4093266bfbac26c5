"""Regular expressions that are compiled when they are first used.

A command loads some two hundred of them and uses a few; compiling those of `date_words` alone takes
as long as starting Python.
"""

from __future__ import annotations

import re
from typing import cast

__all__ = ["deferred"]

_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "sub", "split")


def deferred(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return a regular expression, as `re.compile` does, but compiled by its first use."""
    return cast("re.Pattern[str]", _Uncompiled(text, flags))


class _Uncompiled:
    """Has what a compiled pattern has, from the moment on at which any of it is asked for."""

    def __init__(self, text: str, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> object:
        """Compile; the next use finds the methods in place and does not come here."""
        if name.startswith("__"):
            raise AttributeError(name)  # what copying asks for, of an object without its text yet
        compiled = re.compile(self._text, self._flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)
