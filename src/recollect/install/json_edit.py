"""Adding to and taking from a JSON text that someone keeps, comments and layout as they were.

What is added is one piece of text, so that it can be taken out again to the byte. Every edit is
checked against a parser: if it does not mean exactly what was wanted, it is not made.
"""

from __future__ import annotations

import copy
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from recollect.install.json_scan import Node, remarks_end, scan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_INDENT = re.compile(r"\n([ \t]+)[^\s]")
_COMMA = re.compile(r"(?:\s+|//[^\n\r]*|/\*.*?\*/)*(,)", re.DOTALL)
_LINE_END = re.compile(r"[ \t]*\r?\n")
_DEFAULT_INDENT = "  "


@dataclass(frozen=True, slots=True)
class Edit:
    """A text after an edit."""

    text: str
    piece: str = ""
    """What was added, in one piece; empty where something was replaced or nothing changed."""
    made: tuple[tuple[str, ...], ...] = ()
    """The tables and lists that had to be made for it."""


def parsed(text: str) -> object:
    """Return what a text says, comments or not; an empty text says nothing, that is `{}`.

    Raises:
        ValueError: it is not JSON, not even JSON5, or nested too deeply.

    """
    body = text.removeprefix("\ufeff")
    if not body.strip():
        return {}
    try:
        return cast(object, json.loads(body))
    except ValueError:
        return _with_comments(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _with_comments(text: str) -> object:
    import json5  # noqa: PLC0415 - a thousand times slower, and seldom needed

    try:
        scan(text)  # says where it is wrong
        return cast(object, json5.loads(text.removeprefix("\ufeff")))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def dumped(value: object) -> str:
    """Return a value on one line."""
    return json.dumps(value, ensure_ascii=False)


def value_at(tree: object, path: Sequence[str]) -> object:
    """Return the value at a path, None where there is none."""
    for key in path:
        tree = tree.get(key) if isinstance(tree, dict) else None
    return tree


def put(text: str, path: Sequence[str], value: object) -> Edit:
    """Set the value at a path; tables on the way are made.

    Raises:
        ValueError: the text is not JSON, or something else than a table is in the way.

    """
    before = parsed(text)
    if value_at(before, path) == value and value is not None:
        return Edit(text)
    return _checked(text, _put(text, tuple(path), value), _with(before, path, value))


def append(text: str, path: Sequence[str], element: object) -> Edit:
    """Add an element to the end of the list at a path; the list is made if there is none.

    Raises:
        ValueError: the text is not JSON, or something else than a list is there.

    """
    before = parsed(text)
    there = value_at(before, path)
    if there is None:
        edit = _put(text, tuple(path), [element])
        made = Edit(edit.text, edit.piece, (*edit.made, tuple(path)))
        return _checked(text, made, _with(before, path, [element]))
    if not isinstance(there, list):
        raise ValueError(f"{'.'.join(path)} is no list")  # noqa: TRY004 - the text is wrong
    node = _node_at(scan(text), path)
    places = [each.start for each in node.elements or ()]
    ends = [each.end for each in node.elements or ()]
    edit = _inserted(text, node, key=None, value=element, places=places, ends=ends)
    return _checked(text, edit, _with(before, path, [*there, element]))


def remove(text: str, path: Sequence[str]) -> str:
    """Take out the member at a path; nothing happens where there is none.

    Raises:
        ValueError: the text is not JSON, or cannot be cut there.

    """
    before = parsed(text)
    if not isinstance(table := value_at(before, path[:-1]), dict) or path[-1] not in table:
        return text
    node = _node_at(scan(text), path[:-1])
    members = node.members or ()
    gone = next(index for index, each in enumerate(members) if each.key == path[-1])
    spans = [(each.start, each.value.end) for each in members]
    left = {key: each for key, each in table.items() if key != path[-1]}
    edit = Edit(_cut(text, node, spans, gone))
    return _checked(text, edit, _with(before, path[:-1], left)).text


def remove_elements(text: str, path: Sequence[str], unwanted: Callable[[object], bool]) -> str:
    """Take elements out of the list at a path.

    Raises:
        ValueError: the text is not JSON, or cannot be cut there.

    """
    before = parsed(text)
    while isinstance(there := value_at(before, path), list):
        gone = next((index for index, each in enumerate(there) if unwanted(each)), None)
        if gone is None:
            break
        node = _node_at(scan(text), path)
        spans = [(each.start, each.end) for each in node.elements or ()]
        left = [each for index, each in enumerate(there) if index != gone]
        edit = Edit(_cut(text, node, spans, gone))
        text = _checked(text, edit, _with(before, path, left)).text
        before = parsed(text)
    return text


def _put(text: str, path: tuple[str, ...], value: object) -> Edit:
    if not text.removeprefix("\ufeff").strip():
        piece = json.dumps(_with({}, path, value), indent=2, ensure_ascii=False) + "\n"
        return Edit(text + piece, piece, _ways(path, 0))
    node = scan(text)
    for depth, key in enumerate(path):
        if node.members is None:
            where = ".".join(path[:depth]) or "the text"
            raise ValueError(f"{where} is no table")
        found = node.member(key)
        if found is None:
            whole = _with({}, path[depth + 1 :], value) if path[depth + 1 :] else value
            places = [each.start for each in node.members]
            ends = [each.value.end for each in node.members]
            edit = _inserted(text, node, key=key, value=whole, places=places, ends=ends)
            return Edit(edit.text, edit.piece, _ways(path, depth + 1))
        node = found.value
    indent = _line_indent(text, node.start)
    return Edit(text[: node.start] + _shown(text, value, indent=indent) + text[node.end :])


def _ways(path: tuple[str, ...], first: int) -> tuple[tuple[str, ...], ...]:
    """Return the tables on the way that did not exist, outermost first."""
    return tuple(path[:depth] for depth in range(max(1, first), len(path)))


def _inserted(  # noqa: PLR0913 - one place to insert, for members and elements
    text: str, node: Node, *, key: str | None, value: object, places: list[int], ends: list[int]
) -> Edit:
    """Insert as the last of its siblings, or as the first where comments are in the way."""
    newline = "\r\n" if "\r\n" in text else "\n"
    outer = _line_indent(text, node.start)
    if not places:
        inner = outer + _unit(text)
        place = remarks_end(text, node.start + 1)
        rest = text[place : node.end - 1]
        closing = "" if "\n" in rest else newline + outer
        member = _named(text, key, value, indent=inner)
        return _spliced(text, place, f"{newline}{inner}{member}{closing}")
    inner = text[text.rfind("\n", 0, places[0]) + 1 : places[0]]
    if inner.strip() or "\n" not in text[node.start : places[0]]:  # all on one line
        member = _named(text, key, value, indent=None)
        return _spliced(text, ends[-1], f", {member}")
    member = _named(text, key, value, indent=inner)
    rest = text[ends[-1] : node.end - 1]
    if not rest.strip():
        return _spliced(text, ends[-1], f",{newline}{inner}{member}")
    if rest.lstrip().startswith(","):
        place = remarks_end(text, ends[-1] + rest.index(",") + 1)
        return _spliced(text, place, f"{newline}{inner}{member},")
    place = remarks_end(text, node.start + 1)
    return _spliced(text, place, f"{newline}{inner}{member},")


def _spliced(text: str, place: int, piece: str) -> Edit:
    return Edit(text[:place] + piece + text[place:], piece)


def _cut(text: str, node: Node, spans: list[tuple[int, int]], gone: int) -> str:
    """Return the text without one of several siblings and one comma; every comment stays."""
    start, end = spans[gone]
    around = text[node.start + 1 : start] + text[end : node.end - 1]
    if len(spans) == 1 and around.strip() in ("", ","):
        return text[: node.start + 1] + text[node.end - 1 :]
    after = _COMMA.match(text, end)
    if after is None and gone:  # the last one: the comma before it has to go
        before = _COMMA.match(text, spans[gone - 1][1])
        if before is not None:
            place = before.start(1)
            if not text[place + 1 : start].strip():
                return text[:place] + text[end:]
            text = text[:place] + text[place + 1 :]
            start, end = start - 1, end - 1
    elif after is not None:
        place = after.start(1)
        text = text[:place] + text[place + 1 :]
        end = place if not text[end:place].strip() else end
    return _without_line(text, start, end)


def _without_line(text: str, start: int, end: int) -> str:
    """Return the text without a span, and without its line where nothing else is on it."""
    first = text.rfind("\n", 0, start) + 1
    rest = _LINE_END.match(text, end)
    if first and rest and not text[first:start].strip():
        return text[:first] + text[rest.end() :]
    return text[:start] + text[end:].lstrip(" \t")


def _named(text: str, key: str | None, value: object, *, indent: str | None) -> str:
    shown = _shown(text, value, indent=indent)
    return shown if key is None else f"{dumped(key)}: {shown}"


def _shown(text: str, value: object, *, indent: str | None) -> str:
    """Return a value in the layout of the text, its further lines indented; None for one line."""
    if indent is None:
        return dumped(value)
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = json.dumps(value, indent=_unit(text), ensure_ascii=False).split("\n")
    return f"{newline}{indent}".join(lines)


def _unit(text: str) -> str:
    found = _INDENT.search(text)
    return found[1] if found else _DEFAULT_INDENT


def _line_indent(text: str, place: int) -> str:
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _node_at(node: Node, path: Sequence[str]) -> Node:
    for key in path:
        found = node.member(key)
        if found is None:
            raise ValueError(f"{'.'.join(path)} is not there")
        node = found.value
    return node


def _with(tree: object, path: Sequence[str], value: object) -> object:
    """Return the tree with another value at a path."""
    if not path:
        return value
    if tree is not None and not isinstance(tree, dict):
        raise ValueError(f"{path[0]} is inside of what is no table")
    copied = copy.copy(tree) if isinstance(tree, dict) else {}
    copied[path[0]] = _with(copied.get(path[0]), path[1:], value)
    return copied


def _checked(before: str, edit: Edit, expected: object) -> Edit:
    if edit.text != before and parsed(edit.text) != expected:
        raise ValueError("its form does not allow a change that leaves the rest alone")
    return edit
