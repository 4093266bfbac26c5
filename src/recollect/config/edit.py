"""Edits TOML files that a person keeps: only the values named change, or nothing is written."""

from __future__ import annotations

import difflib
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, cast

import tomlkit
from tomlkit.container import Container, OutOfOrderTableProxy
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Comment, Null, Table

from recollect.config.paths import settings_text
from recollect.config.schema import canonical, flatten
from recollect.errors import ConfigError
from recollect.text.confined import replace_inside
from recollect.text.files import delete_file, make_private_folder, replace_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tomlkit.items import Item, Key

    Value = str | float | list[str]
    """What a settings file holds for a setting; `bool` and `int` are floats to a type checker."""
    Names = tuple[str, ...]
    """Where a value is: the tables it is in, and its own key."""
    Body = list[tuple[Key | None, Item]]
    Holder = Container | OutOfOrderTableProxy
    """What holds keys: a document, a table, or a table that is written in several places."""
    Line = tuple[Body, int, Comment]
    """A comment, and its place in a table's body."""

_NOT_POSSIBLE = "it cannot be edited without changing other lines"


def write_settings(
    file: Path,
    changes: Mapping[str, Value | None],
    *,
    check: Callable[[str], None] = lambda _text: None,
    inside: Path | None = None,
) -> str:
    """Set settings in a file, or remove those whose value is None; return the diff.

    `check` may raise on the new text. A file `inside` the workspace may not lead out of it and is
    removed once empty; any other is for its owner only, as it may hold keys. A ConfigError
    leaves the file unchanged.
    """
    try:
        before = settings_text(file, inside=inside) if file.exists() else ""
        after = edit_settings(before, changes)
        check(after)
        _write(file, after, inside=inside)
    except (OSError, ValueError, RecursionError) as error:
        # Not the whole error: it may name a temporary file.
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        by_hand = "; ".join(
            f"remove {name}" if value is None else f"{name} = {tomlkit.item(value).as_string()}"
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


def _write(file: Path, text: str, *, inside: Path | None) -> None:
    if inside is None:
        make_private_folder(file.resolve().parent)
        replace_file(file, text.encode(), private=True)
    elif text.strip() or file.is_symlink():
        replace_inside(file, text.encode(), inside)
    else:
        delete_file(file)


def edit_settings(text: str, changes: Mapping[str, Value | None]) -> str:
    """Return the text of a settings file with these settings changed."""
    by_path = {tuple(name.split(".")): value for name, value in changes.items()}
    return edit_toml(text, by_path, spelling=canonical)


def settings_in(text: str) -> dict[str, object]:
    """Return the values in the text of a settings file by their full names."""
    return {".".join(path): value for path, value in flatten(tomllib.loads(text), canonical)}


def writable(checked: object, *, given: object) -> Value:
    """Return a checked value in the form that a settings file holds."""
    if isinstance(checked, tuple):
        return [str(each) for each in checked]
    if isinstance(checked, (bool, int, float)):
        return checked
    if isinstance(checked, Path):
        # `~` stays, for other machines; a relative path would depend on the current folder.
        return str(given) if str(given).startswith("~") else str(checked.absolute())
    return "" if checked is None else str(checked)


def edit_toml(
    text: str, changes: Mapping[Names, object], *, spelling: Callable[[str], str] = str
) -> str:
    """Return TOML text with values set, or removed where they are None; a ValueError if it cannot.

    A mapping is merged into its table, or appended as a new one. `spelling` makes keys alike.
    """
    expected = _expected(dict(flatten(tomllib.loads(text), spelling)), changes)
    try:
        after = _edited(text, changes, spelling)
        if "\r\n" in text:
            after = re.sub(r"(?<!\r)\n", "\r\n", after)
        is_right = dict(flatten(tomllib.loads(after), spelling)) == expected
    except (TOMLKitError, ValueError, TypeError) as error:  # TypeError: a value in a table's place
        raise ValueError(_NOT_POSSIBLE) from error
    if not is_right:
        raise ValueError(_NOT_POSSIBLE)
    return after


def shown_table(path: Sequence[str], table: Mapping[str, object]) -> str:
    """Return a table as TOML, with its header."""
    for name in reversed(path):
        table = {name: table}
    return tomlkit.dumps(table)


def _edited(text: str, changes: Mapping[Names, object], spelling: Callable[[str], str]) -> str:
    document = tomlkit.parse(text)
    # To tomlkit, a comment above a header is the end of the table before: it would be separated
    # from its header by what is added there, and vanish with that table.
    headers = [(each, each.trivia.indent, lines) for each, lines in _headers(document.body, [])]
    for _, _, lines in headers:
        for body, place, _ in lines:
            body[place] = (None, Null())
    tables = [
        shown_table(path, value)
        for path, value in changes.items()
        if not _change(document, path, value, spelling) and isinstance(value, dict)
    ]
    left = {id(each) for each, _ in _headers(document.body, [])}
    for each, indent, lines in headers:
        if id(each) in left:
            comments = "".join(line.as_string() for _, _, line in lines)
            each.trivia.indent = f"{each.trivia.indent.removesuffix(indent)}{comments}{indent}"
        else:
            for body, place, line in lines:
                body[place] = (None, line)
    after = tomlkit.dumps(document)
    for table in tables:
        after += ("" if not after else "\n" if after.endswith("\n") else "\n\n") + table
    return after


def _headers(body: Body, pending: list[Line]) -> Iterator[tuple[Table, list[Line]]]:
    """Yield the tables that have a header, each with the comment lines right above it."""
    for place, (key, each) in enumerate(body):
        if isinstance(each, Comment):
            pending.append((body, place, each))
        elif isinstance(each, (Table, AoT)) and not (key is not None and key.is_dotted()):
            for table in each.body if isinstance(each, AoT) else [each]:
                if not table.is_super_table():
                    yield table, pending.copy()
                    pending.clear()
                yield from _headers(table.value.body, pending)
        elif not isinstance(each, Null):
            pending.clear()


def _change(table: Holder, path: Names, value: object, spelling: Callable[[str], str]) -> bool:
    """Set or remove the value at a path; False if it would need a table with a new header."""
    name, rest = path[0], path[1:]
    key = next((key for key in table if spelling(key) == name), None)
    if key is None:
        if value is None or isinstance(value, dict):
            return value is None
        if isinstance(table, OutOfOrderTableProxy):
            table[name] = value
        else:
            table.append(tomlkit.key(path), value)
    elif rest:
        return _change(_inside(table, key), rest, value, spelling)
    elif isinstance(value, dict):
        _merge(_inside(table, key), value, spelling)
    elif value is None:
        del table[key]
    elif table[key] != value:
        table[key] = value
    return True


def _merge(table: Holder, values: dict[str, object], spelling: Callable[[str], str]) -> None:
    for name, value in values.items():
        if not _change(table, (name,), value, spelling):
            inline = tomlkit.inline_table()
            inline.update(cast("dict[str, object]", value))
            table[name] = inline


def _inside(table: Holder, key: str) -> Holder:
    inner = table[key]
    if not isinstance(inner, dict):
        raise ValueError(_NOT_POSSIBLE)  # noqa: TRY004 - the text is wrong
    return cast("Holder", inner)


def _expected(values: Mapping[Names, object], changes: Mapping[Names, object]) -> object:
    """Return what the text should say after the changes, by the place of each value."""
    expected = dict(values)
    for path, value in changes.items():
        if not isinstance(value, dict):
            expected = {at: old for at, old in expected.items() if at[: len(path)] != path}
        if value is not None:
            expected |= dict(flatten({path[-1]: value}, str, path[:-1]))
    return expected
