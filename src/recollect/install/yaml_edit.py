"""Edits the text of a YAML file: one entry of a section is set or removed, and the rest stays.

Comments and layout stay because the text is edited where the parser says the entry is. The result
is parsed again and must mean exactly what was wanted; otherwise the file is not edited.
"""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import yaml

    Tree = dict[str, object]

_STEP = "  "
_NULL_TAG = "tag:yaml.org,2002:null"
_UNSAFE = "its layout cannot be edited safely"


def read_yaml(text: str) -> object:
    """Return the value of a YAML text; an empty text is an empty mapping.

    Raises:
        ValueError: it is not plain YAML. The message quotes nothing of it, since it may hold keys.

    """
    import yaml  # noqa: PLC0415 - only few agents have YAML

    try:
        found = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ValueError(f"it is not plain YAML: {error.problem}{line}") from None
    except (yaml.YAMLError, RecursionError):
        raise ValueError("it is not plain YAML") from None
    return {} if found is None else found


def set_yaml(text: str, path: Sequence[str], value: Mapping[str, object]) -> str:
    """Return the text with an entry of a section.

    Args:
        text: of the file.
        path: the section, and the name of the entry in it.
        value: of the entry; replaces the whole entry.

    Raises:
        ValueError: the text cannot be edited safely.

    """
    section, name = path
    wanted = _tree(text)
    entries = wanted.get(section)
    if entries is not None and not isinstance(entries, dict):
        raise ValueError(f"{section} is not a mapping")
    wanted[section] = {**(entries or {}), name: dict(value)}
    return _checked(_set(text, section, name, value), wanted)


def remove_yaml(text: str, path: Sequence[str]) -> str:
    """Return the text without an entry, and without its section if nothing else is in it.

    Raises:
        ValueError: the text cannot be edited safely.

    """
    section, name = path
    wanted = _tree(text)
    entries = wanted.get(section)
    if not isinstance(entries, dict) or name not in entries:
        return text
    del entries[name]
    if not entries:
        del wanted[section]
    root = _root(text)
    around = _child(root, section)
    entry = _child(around[1], name) if around else None
    if around is None or entry is None:
        raise ValueError(_UNSAFE)
    key, node = entry if entries else around
    after = text[: _line_start(text, key.start_mark.index)] + text[_end(text, node, key) :]
    return _checked(after, wanted)


def _set(text: str, section: str, name: str, value: Mapping[str, object]) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    around = _child(_root(text), section)
    if around is None:
        entry = _lines(name, value, indent=_STEP, newline=newline)
        return f"{_ended(text, newline)}{section}:{newline}{entry}"
    key, node = around
    if node.tag == _NULL_TAG:
        at = _line_end(text, key.end_mark.index)
        entry = _lines(name, value, indent=_STEP, newline=newline)
        return f"{_ended(text[:at], newline)}{entry}{text[at:]}"
    if not isinstance(node.value, list) or node.flow_style:
        raise ValueError(f"{section} is written in braces")
    indent = " " * cast("int", node.start_mark.column)
    entry = _lines(name, value, indent=indent, newline=newline)
    if there := _child(node, name):
        start, end = _line_start(text, there[0].start_mark.index), _end(text, there[1], there[0])
    else:  # below the last one: a comment above the first belongs to that
        last_key, last = node.value[-1]
        start = end = _end(text, last, last_key)
    return f"{_ended(text[:start], newline)}{entry}{text[end:]}"


def _checked(after: str, wanted: Tree) -> str:
    try:
        is_right = read_yaml(after) == wanted or (not wanted and not read_yaml(after))
    except ValueError:
        is_right = False
    if not is_right:
        raise ValueError(_UNSAFE)
    return after


def _tree(text: str) -> Tree:
    found = read_yaml(text)
    if not isinstance(found, dict):
        raise ValueError("it is not a mapping")  # noqa: TRY004 - a file, not an argument
    return copy.deepcopy(found)


def _root(text: str) -> yaml.Node | None:
    import yaml  # noqa: PLC0415 - only few agents have YAML

    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode):
        return None  # `~`, which is as good as empty
    if root.flow_style:
        raise ValueError("it is written in braces")
    return root


def _child(node: yaml.Node | None, name: str) -> tuple[yaml.Node, yaml.Node] | None:
    """Return key and value of an entry of a mapping."""
    found = [pair for pair in (node.value if node else ()) if pair[0].value == name]
    if len(found) > 1:
        raise ValueError(f"it has {name} twice")
    return found[0] if found else None


def _lines(name: str, value: Mapping[str, object], *, indent: str, newline: str) -> str:
    try:
        fields = [f"{key}: {json.dumps(each, ensure_ascii=False)}" for key, each in value.items()]
    except TypeError:
        raise ValueError(_UNSAFE) from None
    lines = [f"{indent}{name}:", *(f"{indent}{_STEP}{field}" for field in fields)]
    return "".join(f"{line}{newline}" for line in lines)


def _end(text: str, node: yaml.Node, key: yaml.Node) -> int:
    """Return where the line after a value begins; comments below it are not part of it."""
    while isinstance(node.value, list) and node.value and not node.flow_style:
        last = node.value[-1]
        key, node = last if isinstance(last, tuple) else (last, last)
    end: int = (key if node.tag == _NULL_TAG else node).end_mark.index
    is_at_line_start = end > 0 and text[end - 1] == "\n"  # after a block of text
    return end if is_at_line_start else _line_end(text, end)


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _line_end(text: str, at: int) -> int:
    return text.find("\n", at) + 1 or len(text)


def _ended(text: str, newline: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}{newline}"
