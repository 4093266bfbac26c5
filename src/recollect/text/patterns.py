"""Regular expressions that are compiled when they are first used.

A search loads more than a hundred of them and uses a few; compiling those of `date_words` alone
takes as long as starting Python.
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
    """Stands for a compiled pattern, and compiles it when any of its attributes is read."""

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
