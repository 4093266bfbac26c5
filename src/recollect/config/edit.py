"""Changing settings in a file that a person keeps: only the values named, nothing else moves.

The file is edited as text, because writing parsed TOML anew would lose comments and order. What
was meant is then compared with what a TOML reader sees; if they differ, nothing is written.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.config.schema import canonical
from recollect.errors import ConfigError
from recollect.text.files import replace_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Value = str | float | list[str]
    """What a settings file holds for a setting; `bool` and `int` are floats to a type checker."""

_TABLE = re.compile(r"\s*\[")
_ASSIGNMENT = re.compile(
    r"""(?P<before>\s*["']?(?P<key>[A-Za-z0-9_-]+)["']?\s*=\s*)"""
    r"""(?P<value>"[^"\n]*"|'[^'\n]*'|[^\s#"'\[{]+)"""
    r"""(?P<after>\s*(?:\#.*)?)"""
)
_UP_TO_VALUE = re.compile(r"[^=]*=[ \t]*")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")  # TOML's, which are not all that `splitlines` takes for one
_COMMENT = re.compile(r"[ \t]*#")


def write_settings(file: Path, changes: Mapping[str, str | float]) -> str:
    """Set top-level settings in the user's file, made if missing; return what changed as a diff.

    Raises:
        ConfigError: the file cannot be edited safely or written; it is left as it was.

    """
    try:
        before = file.read_bytes().decode("utf-8") if file.exists() else ""
        after = edited(before, changes)
        file.resolve().parent.mkdir(parents=True, exist_ok=True)
        replace_file(file, after.encode())
    except (OSError, ValueError) as error:
        # Not the whole error: it may name a temporary file.
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        lines = "; ".join(_line(key, value) for key, value in changes.items())
        raise ConfigError(
            f"The settings in {file} cannot be changed ({reason}).",
            action=f"Write them there yourself, above the first [table]: {lines}",
        ) from error
    return "\n".join(
        difflib.unified_diff(
            before.splitlines(), after.splitlines(), str(file), str(file), n=1, lineterm=""
        )
    )


def edited(text: str, changes: Mapping[str, str | float]) -> str:
    """Return the TOML text with these top-level settings, every other line as it was.

    Raises:
        ValueError: the text has a form in which the settings cannot be set line by line.

    """
    lines = text.splitlines(keepends=True)
    top = next((place for place, line in enumerate(lines) if _TABLE.match(line)), len(lines))
    left = dict(changes)
    for place in range(top):
        found = _ASSIGNMENT.fullmatch(lines[place].rstrip("\r\n"))
        if found and (key := canonical(found["key"])) in left:
            ending = lines[place][found.end() :]
            lines[place] = f"{found['before']}{json.dumps(left.pop(key))}{found['after']}{ending}"
    if top < len(lines):
        while top and lines[top - 1].startswith("#"):  # a comment stays with its table
            top -= 1
    lines[top:top] = _added(left, above=lines[:top], below=lines[top:])
    after = "".join(lines)
    if _top_level(after) != {**_top_level(text), **changes}:
        raise ValueError("its form does not allow a change line by line")
    return after


def _added(left: Mapping[str, str | float], *, above: list[str], below: list[str]) -> list[str]:
    added = [f"{_line(key, value)}\n" for key, value in left.items()]
    if added and above and not above[-1].endswith("\n"):
        added.insert(0, "\n")
    if added and below:
        added.append("\n")
    return added


def _line(key: str, value: str | float) -> str:
    return f"{key} = {json.dumps(value)}"  # a JSON string or number is a TOML one


def _top_level(text: str) -> dict[str, object]:
    return {canonical(key): value for key, value in tomllib.loads(text).items()}


def write_changes(
    file: Path, changes: Mapping[str, Value | None], *, check: Callable[[str], None]
) -> str:
    """Set or, where the value is None, remove settings of any table; return the diff.

    Args:
        file: made, with its folder, if missing.
        changes: by the full name, such as `mmr.enabled`.
        check: is given the text to be written, and raises if it must not be.

    Raises:
        ConfigError: the file cannot be edited safely or written; it is left as it was.

    """
    try:
        before = file.read_bytes().decode("utf-8") if file.exists() else ""
        after = amended(before, changes)
        check(after)
        file.resolve().parent.mkdir(parents=True, exist_ok=True)
        replace_file(file, after.encode())
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        by_hand = "; ".join(
            f"remove {name}" if value is None else _assignment(name, value)
            for name, value in changes.items()
        )
        raise ConfigError(
            f"The settings in {file} cannot be changed ({reason}).",
            action=f"Change them there yourself: {by_hand}",
        ) from error
    return "\n".join(
        difflib.unified_diff(
            before.splitlines(), after.splitlines(), str(file), str(file), n=1, lineterm=""
        )
    )


def amended(text: str, changes: Mapping[str, Value | None]) -> str:
    """Return the TOML text with these settings changed, every other line as it was.

    A value that spans lines is replaced as a whole. A setting that is not there yet goes to the
    end of its table, or with its full name above the first one.

    Raises:
        ValueError: the text is not TOML, or has a form in which this cannot be done.

    """
    expected = {**settings_in(text), **changes}
    lines = _LINE.findall(text)
    statements = list(_statements(lines))
    left = {name: value for name, value in changes.items() if value is not None}
    for statement in reversed(statements):
        if statement.name is not None and statement.name in changes:
            value = left.pop(statement.name, None)
            own = "".join(lines[statement.first : statement.end])
            lines[statement.first : statement.end] = [] if value is None else [_with(own, value)]
    ending = "\r\n" if "\r\n" in text else "\n"
    for name, value in left.items():
        _insert(lines, name, value, ending=ending)
    after = "".join(lines)
    if settings_in(after) != {name: value for name, value in expected.items() if value is not None}:
        raise ValueError("its form does not allow a change line by line")
    return after


def settings_in(text: str) -> dict[str, object]:
    """Return the values of a TOML text by the full name, in the table's spelling.

    Raises:
        ValueError: the text is not TOML.

    """
    return dict(_flat(tomllib.loads(text)))


def writable(checked: object, *, given: object) -> Value:
    """Return a checked value in the form that a settings file holds."""
    if isinstance(checked, tuple):
        return [str(each) for each in checked]
    if isinstance(checked, (bool, int, float)):
        return checked
    if isinstance(checked, Path):
        # `~` is kept for other machines; what is relative would depend on where one stands.
        return str(given) if str(given).startswith("~") else str(checked.absolute())
    return "" if checked is None else str(checked)


@dataclass(frozen=True, slots=True)
class _Statement:
    """The lines of an assignment, or of a table's header."""

    first: int
    end: int
    table: str
    name: str | None
    """In full; None for a header."""


def _statements(lines: list[str]) -> Iterator[_Statement]:
    """Yield what stands in the lines of a valid text; blanks and comments are skipped."""
    table, first = "", 0
    while first < len(lines):
        end = first + 1
        if _TABLE.match(lines[first]):
            table = ".".join(_path(tomllib.loads(lines[first])))
            yield _Statement(first, end, table, None)
        else:
            # The shortest run of lines that is TOML by itself: a value may span several.
            while (parsed := _parsed("".join(lines[first:end]))) is None:
                end += 1
            if parsed:
                yield _Statement(first, end, table, ".".join(filter(None, (table, *_path(parsed)))))
        first = end


def _parsed(text: str) -> dict[str, object] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _path(parsed: object) -> list[str]:
    """Return the keys on the way down while there is but one."""
    names: list[str] = []
    while isinstance(parsed, dict) and len(parsed) == 1:
        ((name, parsed),) = parsed.items()
        names.append(canonical(name))
    return names


def _with(statement: str, value: Value) -> str:
    """Return an assignment with another value, its spacing and comment as they were."""
    before = _UP_TO_VALUE.match(statement)
    parsed = _parsed(statement)
    body = statement.rstrip("\r\n")
    ending = statement[len(body) :]
    comments = (body[found.start() :] for found in _COMMENT.finditer(body))
    # A `#` inside a string begins no comment: without it the value would not be the same.
    comment = next((own for own in comments if _parsed(body.removesuffix(own)) == parsed), "")
    return f"{before[0] if before else ''}{_toml(value)}{comment}{ending}"


def _insert(lines: list[str], name: str, value: Value, *, ending: str) -> None:
    table, _, key = name.rpartition(".")
    statements = list(_statements(lines))
    inside = [each for each in statements if each.table == table]
    if not inside:
        inside, key = [each for each in statements if not each.table], name
    added = [f"{_assignment(key, value)}{ending}"]
    if inside:
        place = inside[-1].end
    else:
        place = statements[0].first if statements else len(lines)
        while statements and place and lines[place - 1].startswith("#"):
            place -= 1  # a comment stays with its table
        added += [ending] if statements else []
    if place and not lines[place - 1].endswith("\n"):
        added.insert(0, ending)
    lines[place:place] = added


def _assignment(name: str, value: Value) -> str:
    return f"{name} = {_toml(value)}"


def _toml(value: Value) -> str:
    return json.dumps(value, ensure_ascii=False)  # TOML knows no surrogate pairs


def _flat(table: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{canonical(key)}.")
        else:
            yield f"{prefix}{canonical(key)}", value
