"""Adding a table to a TOML text that someone keeps, and taking it out again; the rest stays.

The table goes to the end of the text. What was meant is compared with what a TOML reader sees; if
they differ, nothing is changed.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING

from recollect.config.edit import amended
from recollect.install.json_edit import Edit, value_at

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_HEADER = re.compile(r"[ \t]*\[")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def put_table(text: str, path: Sequence[str], table: Mapping[str, object]) -> Edit:
    """Set the values of a table; one that is there keeps what else it says.

    Raises:
        ValueError: the text is not TOML, or has a form in which this cannot be done.

    """
    before = tomllib.loads(text)
    there = value_at(before, path)
    if there is None:
        return _appended(text, path, table, before=before)
    if not isinstance(there, dict):
        raise ValueError(f"{'.'.join(path)} is no table")  # noqa: TRY004 - the text is wrong
    changes = {
        ".".join((*path, key)): value for key, value in table.items() if there.get(key) != value
    }
    if any(isinstance(value, dict) for value in changes.values()):
        raise ValueError(f"{'.'.join(path)} has tables of its own")
    if not changes:
        return Edit(text)
    return Edit(amended(text, changes))  # type: ignore[arg-type]  # no tables are left


def remove_table(text: str, path: Sequence[str]) -> str:
    """Take out a table with the tables inside it; comments above the next one stay with that.

    Raises:
        ValueError: the text is not TOML, or the table has no header of its own.

    """
    before = tomllib.loads(text)
    if value_at(before, path) is None:
        return text
    kept: list[str] = []
    remarks: list[str] = []  # comments and blanks inside, which may belong to what follows
    is_inside = False
    for line in _LINE.findall(text):
        name = _name(line) if _HEADER.match(line) else None
        if name is not None:
            was_inside, is_inside = is_inside, name[: len(path)] == list(path)
            if was_inside and not is_inside:
                _close_gap(kept, remarks)
        is_remark = line.lstrip().startswith("#") or not line.strip()
        if not is_inside:
            kept.append(line)
        remarks = [*remarks, line] if is_inside and is_remark else []
    if is_inside:
        _close_gap(kept, remarks)
    after = "".join(kept)
    left = tomllib.loads(after)
    # A header that only led to it may stay, and says nothing.
    if value_at(left, path) is not None or _without(left, path) != _without(before, path):
        raise ValueError("its form does not allow a change that leaves the rest alone")
    return after


def shown_table(path: Sequence[str], table: Mapping[str, object]) -> str:
    """Return a table as TOML, with a header."""
    lines = [f"[{'.'.join(map(_key, path))}]"]
    lines += [f"{_key(key)} = {_value(value)}" for key, value in table.items()]
    return "\n".join(lines) + "\n"


def _appended(
    text: str, path: Sequence[str], table: Mapping[str, object], *, before: Mapping[str, object]
) -> Edit:
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text else newline if text.endswith("\n") else 2 * newline
    piece = gap + shown_table(path, table).replace("\n", newline)
    expected = _with(before, path, dict(table))
    try:
        is_right = tomllib.loads(text + piece) == expected
    except tomllib.TOMLDecodeError:
        is_right = False
    if not is_right:
        raise ValueError(f"{path[0]} is not written as tables with headers")
    return Edit(text + piece, piece)


def _close_gap(kept: list[str], remarks: list[str]) -> None:
    """Add what stood after the table, with no more blank lines than there were before it."""
    while kept and remarks and not kept[-1].strip() and not remarks[0].strip():
        del remarks[0]
    kept += remarks


def _name(header: str) -> list[str] | None:
    """Return the keys of a header; None where the line is not one, such as a list's last."""
    try:
        parsed: object = tomllib.loads(header)
    except tomllib.TOMLDecodeError:
        return None
    names: list[str] = []
    while isinstance(parsed, (dict, list)) and len(parsed) == 1:
        if isinstance(parsed, list):
            parsed = parsed[0]
        else:
            ((name, parsed),) = parsed.items()
            names.append(name)
    return names


def _with(tree: Mapping[str, object], path: Sequence[str], value: object) -> dict[str, object]:
    below = tree.get(path[0])
    if len(path) == 1:
        return {**tree, path[0]: value}
    inner = below if isinstance(below, dict) else {}
    return {**tree, path[0]: _with(inner, path[1:], value)}


def _without(tree: Mapping[str, object], path: Sequence[str]) -> dict[str, object]:
    """Return the tree without a table, and without those that only led to it."""
    below = tree.get(path[0])
    rest = {key: value for key, value in tree.items() if key != path[0]}
    if len(path) > 1 and isinstance(below, dict) and (inner := _without(below, path[1:])):
        return {**tree, path[0]: inner}
    return rest


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def _value(value: object) -> str:
    if isinstance(value, dict):
        inside = ", ".join(f"{_key(key)} = {_value(each)}" for key, each in value.items())
        return f"{{ {inside} }}"
    return json.dumps(value, ensure_ascii=False)  # a JSON string, number or list is a TOML one
