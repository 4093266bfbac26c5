"""Adds entries to the text of an agent's configuration file, and removes them again.

What is added is one piece of text. It is removed as that piece if it is still there, and otherwise
by its meaning: the agent may have reformatted its file since.
"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, cast

from recollect.config.edit import edit_toml, shown_table
from recollect.install.agents import NAME, Syntax, is_own_hook
from recollect.install.attributes import (
    add_attributes,
    attributes_line,
    read_attributes,
    remove_attributes,
)
from recollect.install.json_edit import read_json, remove_json, set_json, value_at
from recollect.install.yaml_edit import read_yaml, remove_yaml, set_yaml
from recollect.records import dataclass

if TYPE_CHECKING:
    from recollect.install.agents import AgentEntry, AgentFile


@dataclass(frozen=True, slots=True)
class InstallRecord:
    """What was added to one file."""

    pieces: tuple[str, ...] = ()
    """In the order in which they were added."""
    made: tuple[tuple[str, ...], ...] = ()
    """Objects and lists that were created on the way, outermost first."""
    made_file: bool = False
    made_folders: tuple[str, ...] = ()
    """Outermost first."""


def with_entries(
    text: str, target: AgentFile, *, record: InstallRecord | None
) -> tuple[str, InstallRecord]:
    """Return the text with the entries, and what to record for removing them.

    Raises:
        ValueError: the text cannot be edited safely.

    """
    if _has_all(text, target):
        return text, record or InstallRecord()
    pristine = _without_pieces(text, target, record)
    kept = replace(record or InstallRecord(), pieces=())
    if pristine is not None:
        text, kept = pristine, replace(kept, made=())
    for entry in target.entries:
        after = _put(text, entry, syntax=target.syntax)
        made = _missing(_read(text, target.syntax), entry)
        piece = _inserted_piece(text, after)
        pieces = (*kept.pieces, piece) if piece else kept.pieces
        text, kept = after, replace(kept, pieces=pieces, made=(*kept.made, *made))
    return text, kept


def without_entries(text: str, target: AgentFile, *, record: InstallRecord | None) -> str:
    """Return the text without the entries.

    Raises:
        ValueError: the text cannot be edited safely.

    """
    if target.syntax is not Syntax.ATTRIBUTES and NAME not in text:
        return text
    pristine = _without_pieces(text, target, record)
    if pristine is not None:
        return pristine
    for entry in target.entries:
        text = _removed(text, entry, syntax=target.syntax)
    for path in reversed(record.made if record else ()):
        if target.syntax is Syntax.JSON and value_at(read_json(text), path) in ({}, []):
            text = remove_json(text, path)
    return text


def is_empty(text: str, *, syntax: Syntax) -> bool:
    """Tell whether a file with this text says nothing."""
    return not text.strip() or (syntax is Syntax.JSON and read_json(text) == {})


def snippet(target: AgentFile) -> str:
    """Return the entries of a file, to be pasted by hand."""
    if target.syntax is Syntax.ATTRIBUTES:
        return "".join(attributes_line(each.path[0], each.value) for each in target.entries)
    if target.syntax is Syntax.TOML:
        return "\n".join(shown_table(each.path, each.value) for each in target.entries)
    text = ""
    for entry in target.entries:
        text = _put(text, entry, syntax=target.syntax)
    return text


def _put(text: str, entry: AgentEntry, *, syntax: Syntax) -> str:
    there = value_at(_read(text, syntax), entry.path)
    if entry.is_element:
        if there is not None and not isinstance(there, list):
            raise ValueError(f"{'.'.join(entry.path)} is not a list")
        if [each for each in there or () if is_own_hook(each)] == [entry.value]:
            return text
        text = _removed(text, entry, syntax=syntax)
        left = value_at(read_json(text), entry.path)
        return set_json(text, (*entry.path, len(cast("list[object]", left or []))), entry.value)
    if syntax is Syntax.ATTRIBUTES:
        is_there = _has(_read(text, syntax), entry)
        return text if is_there else add_attributes(text, entry.path[0], entry.value)
    return _put_server(text, entry, there, syntax=syntax)


def _put_server(text: str, entry: AgentEntry, there: object, *, syntax: Syntax) -> str:
    if there is not None and not _is_own_server(there):
        raise ValueError(f"it has another server named {NAME!r}")
    if syntax is Syntax.TOML:
        return edit_toml(text, {entry.path: entry.value})
    if syntax is Syntax.YAML:
        own = cast("dict[str, object]", there or {})
        return set_yaml(text, entry.path, {**own, **entry.value})
    if there is None:
        return set_json(text, entry.path, entry.value)
    for key, value in entry.value.items():  # what else the user wrote there stays
        if value_at(there, (key,)) != value:
            text = set_json(text, (*entry.path, key), value)
    return text


def _removed(text: str, entry: AgentEntry, *, syntax: Syntax) -> str:
    if syntax is Syntax.ATTRIBUTES:
        return remove_attributes(text, entry.path[0], entry.value)
    there = value_at(_read(text, syntax), entry.path)
    if entry.is_element:
        elements = there if isinstance(there, list) else []
        for place in reversed([at for at, each in enumerate(elements) if is_own_hook(each)]):
            text = remove_json(text, (*entry.path, place))
        return text
    if not _is_own_server(there):
        return text
    if syntax is Syntax.TOML:
        return edit_toml(text, {entry.path: None})
    if syntax is Syntax.YAML:
        return remove_yaml(text, entry.path)
    return remove_json(text, entry.path)


def _has_all(text: str, target: AgentFile) -> bool:
    """Tell whether the file already has every entry; also of JSON with comments."""
    if target.syntax is not Syntax.JSON:
        tree = _read(text, target.syntax)
    else:
        try:
            tree = read_json(text)
        except ValueError:
            import json5  # noqa: PLC0415 - a thousand times slower, and seldom needed

            try:
                tree = json5.loads(text)
            except (ValueError, RecursionError):
                return False
    return all(_has(tree, entry) for entry in target.entries)


def _has(tree: object, entry: AgentEntry) -> bool:
    there = value_at(tree, entry.path)
    if entry.is_element:
        own = [each for each in there if is_own_hook(each)] if isinstance(there, list) else []
        return own == [entry.value]
    return isinstance(there, dict) and {**there, **entry.value} == there


def _is_own_server(entry: object) -> bool:
    """Tell whether an entry starts Recollect, whichever copy of it and on whichever folder."""
    if not isinstance(entry, dict):
        return False
    arguments = entry.get("args")
    words = [entry.get("command"), *(arguments if isinstance(arguments, list) else [])]
    return "mcp" in words and any(NAME in str(word) for word in words)


def _without_pieces(text: str, target: AgentFile, record: InstallRecord | None) -> str | None:
    """Return the text as it was before; None if the pieces are not there as they were added."""
    if record is None or not record.pieces:
        return None
    for piece in reversed(record.pieces):
        if text.count(piece) != 1:
            return None
        text = text.replace(piece, "")
    try:
        return text if isinstance(_read(text, target.syntax), dict) else None
    except ValueError:
        return None


def _inserted_piece(before: str, after: str) -> str:
    """Return what was inserted at one place; empty if the change is anything else."""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False))
    start = sum(1 for _ in same)
    end = len(after) - (len(before) - start)
    return after[start:end] if after[end:] == before[start:] else ""


def _missing(tree: object, entry: AgentEntry) -> tuple[tuple[str, ...], ...]:
    """Return the objects and lists that have to be created for an entry, outermost first."""
    inner = len(entry.path) + (1 if entry.is_element else 0)
    paths = (entry.path[:depth] for depth in range(1, inner))
    return tuple(path for path in paths if value_at(tree, path) is None)


def _read(text: str, syntax: Syntax) -> object:
    if syntax is Syntax.ATTRIBUTES:
        return read_attributes(text)
    if syntax is Syntax.YAML:
        return read_yaml(text)
    return tomllib.loads(text) if syntax is Syntax.TOML else read_json(text)
