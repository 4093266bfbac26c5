"""Edits the text of a `.gitattributes` file: a pattern and its attributes on each line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def read_attributes(text: str) -> dict[str, dict[str, str]]:
    """Return the attributes with a value by their pattern; later lines win."""
    found: dict[str, dict[str, str]] = {}
    for line in text.splitlines():
        pattern, *attributes = line.split() or ["#"]
        if not pattern.startswith("#"):
            pairs = (each.partition("=") for each in attributes if "=" in each)
            found.setdefault(pattern, {}).update({name: value for name, _, value in pairs})
    return found


def add_attributes(text: str, pattern: str, attributes: Mapping[str, object]) -> str:
    """Return the text with another line at its end."""
    ending = "" if not text or text.endswith("\n") else "\n"
    return f"{text}{ending}{attributes_line(pattern, attributes)}"


def remove_attributes(text: str, pattern: str, attributes: Mapping[str, object]) -> str:
    """Return the text without the line."""
    wanted = attributes_line(pattern, attributes).split()
    return "".join(line for line in text.splitlines(keepends=True) if line.split() != wanted)


def attributes_line(pattern: str, attributes: Mapping[str, object]) -> str:
    """Return the line, with its line end."""
    return " ".join([pattern, *(f"{name}={value}" for name, value in attributes.items())]) + "\n"
