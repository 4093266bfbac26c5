"""Keys and addresses from the environment. A key is read when it is needed and never stored."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Mapping

_REFERENCE = "env:"
_HIDDEN = "•••"
_SHORTEST_KEY_CHARS = 6  # shorter ones are placeholders such as `none`, which any message may use


class Variables:
    """The environment, in a form that no record, message or traceback prints."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._environ = environ or {}

    def __repr__(self) -> str:
        return "Variables()"

    def get(self, name: str) -> str | None:
        """Return a variable's value; None if it is empty or not set."""
        return self._environ.get(name, "").strip() or None


def is_reference(text: str) -> bool:
    """Return whether a setting names a variable, as `env:NAME`."""
    name = text.removeprefix(_REFERENCE)
    return name != text and name.replace("_", "").isalnum()


def key_reference(value: object) -> str:
    """Read a setting that names the variable with a key; an error says so, and never the value."""
    if not isinstance(value, str) or not is_reference(value):
        raise ValueError("the variable that holds the key, as env:NAME; never the key itself")
    return value


def variable_of(reference: str) -> str:
    """Return the NAME of `env:NAME`."""
    return reference.removeprefix(_REFERENCE)


def hide_key(text: str, *, key: str | None) -> str:
    """Return the text without the key: servers quote what they were sent."""
    if key is None or len(key) < _SHORTEST_KEY_CHARS:
        return text
    for form in (key, quote(key, safe="")):
        text = text.replace(form, _HIDDEN)
    return text
