"""Edits the text of a plain JSON file: one value is set or removed, and the rest stays as it was.

JSON with comments and other JSON5 is not edited: a wrong guess about what a comment belongs to
would damage a file that someone keeps by hand.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Sequence

    Names = Sequence[str | int]
    """Where a value is: keys of objects, and indexes of lists."""

_DECODE = json.JSONDecoder().raw_decode
_SPACE = re.compile(r"\s*")
_INDENT = re.compile(r"\n([ \t]+)\S")
_MARK = "\ufeff"


def read_json(text: str) -> object:
    """Return the value of a plain JSON text; an empty text is an empty object.

    Raises:
        ValueError: it is not plain JSON. The message quotes nothing of it, since it may hold keys.

    """
    body = text.removeprefix(_MARK)
    try:
        return json.loads(body, object_pairs_hook=_unique) if body.strip() else {}
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not plain JSON: {error.msg} in line {error.lineno}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def value_at(tree: object, path: Names) -> object:
    """Return the value at a path of keys; None if there is none."""
    for key in path:
        tree = tree.get(cast("str", key)) if isinstance(tree, dict) else None
    return tree


def set_json(text: str, path: Names, value: object) -> str:
    """Return the text with a value set; objects on the way are created.

    The index after the last element of a list appends to it.

    Raises:
        ValueError: the text is not plain JSON, or something else than an object is in the way.

    """
    read_json(text)
    if not text.removeprefix(_MARK).strip():
        return f"{text}{json.dumps(_nested(path, value), indent=2, ensure_ascii=False)}\n"
    at = end = _start(text)
    for depth, key in enumerate(path):
        if text[at] != ("{" if isinstance(key, str) else "["):
            kind = "an object" if isinstance(key, str) else "a list"
            raise ValueError(f"{'.'.join(map(str, path[:depth])) or 'the text'} is not {kind}")
        child = next((each for each in _children(text, at) if each.key == key), None)
        if child is None:
            return _inserted(text, at, key, _nested(path[depth + 1 :], value))
        at, end = child.value, child.end
    return f"{text[:at]}{_shown(text, value, indent=_indent_at(text, at))}{text[end:]}"


def remove_json(text: str, path: Names) -> str:
    """Return the text without the value at a path; unchanged if there is none.

    Raises:
        ValueError: the text is not plain JSON.

    """
    read_json(text)
    at, siblings, place = _start(text), [], 0
    for key in path:
        siblings = _children(text, at) if text[at] in "{[" else []
        keys = [each.key for each in siblings]
        if key not in keys:
            return text
        outer, place = at, keys.index(key)
        at = siblings[place].value
    if len(siblings) == 1:
        closing = _DECODE(text, outer)[1] - 1
        return text[: outer + 1] + text[closing:]
    if place:
        return text[: siblings[place - 1].end] + text[siblings[place].end :]
    return text[: siblings[0].start] + text[siblings[1].start :]


class _Child(NamedTuple):
    """A member of an object or an element of a list, and its span in the text."""

    key: str | int
    start: int
    value: int
    """Where its value starts; for an element this is `start`."""
    end: int


def _children(text: str, at: int) -> list[_Child]:
    """Return what is inside the object or list at a place of a text that is plain JSON."""
    found: list[_Child] = []
    place = _skip(text, at + 1)
    while text[place] not in "}]":
        key: str | int = len(found)
        start = place
        if text[at] == "{":
            key, place = _DECODE(text, place)
            place = _skip(text, _skip(text, place) + 1)  # past the colon
        end = _DECODE(text, place)[1]
        found.append(_Child(key, start, place, end))
        place = _skip(text, end)
        if text[place] == ",":
            place = _skip(text, place + 1)
    return found


def _inserted(text: str, at: int, key: str | int, value: object) -> str:
    """Return the text with a new last member or element, laid out as those before it."""
    name = f"{json.dumps(key, ensure_ascii=False)}: " if isinstance(key, str) else ""
    newline = "\r\n" if "\r\n" in text else "\n"
    siblings = _children(text, at)
    if not siblings:
        outer, closing = _indent_at(text, at), _DECODE(text, at)[1] - 1
        inner = outer + _unit(text)
        member = f"{newline}{inner}{name}{_shown(text, value, indent=inner)}"
        end = "" if "\n" in text[at:closing] else newline + outer
        return f"{text[: at + 1]}{member}{end}{text[at + 1 :]}"
    first, last = siblings[0], siblings[-1]
    indent = text[text.rfind("\n", 0, first.start) + 1 : first.start]
    if indent.strip() or "\n" not in text[at : first.start]:  # all on one line
        member = f", {name}{json.dumps(value, ensure_ascii=False)}"
    else:
        member = f",{newline}{indent}{name}{_shown(text, value, indent=indent)}"
    return text[: last.end] + member + text[last.end :]


def _shown(text: str, value: object, *, indent: str) -> str:
    """Return a value in the layout of the text, its further lines indented."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = json.dumps(value, indent=_unit(text), ensure_ascii=False).split("\n")
    return f"{newline}{indent}".join(lines)


def _unit(text: str) -> str:
    found = _INDENT.search(text)
    return found[1] if found else "  "


def _indent_at(text: str, place: int) -> str:
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _nested(path: Names, value: object) -> object:
    for key in reversed(path):
        value = {key: value} if isinstance(key, str) else [value]
    return value


def _start(text: str) -> int:
    return _skip(text, len(_MARK) if text.startswith(_MARK) else 0)


def _skip(text: str, place: int) -> int:
    return cast("re.Match[str]", _SPACE.match(text, place)).end()


def _unique(members: list[tuple[str, object]]) -> dict[str, object]:
    table = dict(members)
    if len(table) < len(members):
        raise ValueError("it has a key twice in one object")
    return table
