"""What becomes of one file's text when an entry is added, and when it is taken out again.

Added first as an exact piece of text; taken out as that piece where it still stands as it was
written, and otherwise by what it means, whoever has reformatted the file since.
"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.install import json_edit
from recollect.install.notes import Note
from recollect.install.targets import NAME, Syntax, is_own_hook
from recollect.install.toml_edit import put_table, remove_table, shown_table

if TYPE_CHECKING:
    from recollect.install.json_edit import Edit
    from recollect.install.targets import Target, Wanted


def added(text: str, target: Target, *, note: Note | None) -> tuple[str, Note]:
    """Return the text that says what is wanted, and what has to be noted for taking it out.

    Raises:
        ValueError: the text cannot be understood, or is in the way.

    """
    pristine = _without_pieces(text, target, note)
    earlier = note or Note()
    kept = replace(earlier, pieces=()) if pristine is None else replace(earlier, pieces=(), made=())
    text = text if pristine is None else pristine
    for wanted in target.wanted:
        edit = _put(text, wanted, syntax=target.syntax)
        text = edit.text
        pieces = (*kept.pieces, edit.piece) if edit.piece else kept.pieces
        kept = replace(kept, pieces=pieces, made=(*kept.made, *edit.made))
    return text, kept


def taken_out(text: str, target: Target, *, note: Note | None) -> str:
    """Return the text without what was added to it.

    Raises:
        ValueError: the text cannot be understood.

    """
    pristine = _without_pieces(text, target, note)
    if pristine is not None:
        return pristine
    for wanted in target.wanted:
        text = _remove(text, wanted, syntax=target.syntax)
    for path in reversed(note.made if note else ()):
        if target.syntax is Syntax.JSON and _is_empty(text, path):
            text = json_edit.remove(text, path)
    return text


def says_nothing(text: str, *, syntax: Syntax) -> bool:
    """Tell whether a file with this text could as well not be there."""
    if syntax is Syntax.TOML:
        return not text.strip()
    return not text.strip() or (json_edit.parsed(text) == {} and "/" not in text)


def snippet(target: Target) -> str:
    """Return what the file is to say, to be pasted by hand."""
    if target.syntax is Syntax.TOML:
        return "\n".join(shown_table(each.path, each.value) for each in target.wanted)
    text = ""
    for wanted in target.wanted:
        text = _put(text, wanted, syntax=target.syntax).text
    return text


def _put(text: str, wanted: Wanted, *, syntax: Syntax) -> Edit:
    if wanted.is_element:
        return _put_element(text, wanted)
    tree = tomllib.loads(text) if syntax is Syntax.TOML else json_edit.parsed(text)
    there = json_edit.value_at(tree, wanted.path)
    if there is not None and not _is_own_server(there):
        raise ValueError(f"it has another server named {NAME!r}")
    if syntax is Syntax.TOML:
        return put_table(text, wanted.path, wanted.value)
    if there is None:
        return json_edit.put(text, wanted.path, dict(wanted.value))
    for key, value in wanted.value.items():  # what else was written there stays
        text = json_edit.put(text, (*wanted.path, key), value).text
    return json_edit.Edit(text)


def _put_element(text: str, wanted: Wanted) -> Edit:
    there = json_edit.value_at(json_edit.parsed(text), wanted.path)
    own = [each for each in there if is_own_hook(each)] if isinstance(there, list) else []
    if own == [wanted.value]:
        return json_edit.Edit(text)
    text = json_edit.remove_elements(text, wanted.path, is_own_hook)
    return json_edit.append(text, wanted.path, dict(wanted.value))


def _remove(text: str, wanted: Wanted, *, syntax: Syntax) -> str:
    if wanted.is_element:
        return json_edit.remove_elements(text, wanted.path, is_own_hook)
    tree = tomllib.loads(text) if syntax is Syntax.TOML else json_edit.parsed(text)
    if not _is_own_server(json_edit.value_at(tree, wanted.path)):
        return text
    if syntax is Syntax.TOML:
        return remove_table(text, wanted.path)
    return json_edit.remove(text, wanted.path)


def _is_own_server(entry: object) -> bool:
    """Tell whether an entry starts Recollect, whichever copy of it and on whichever folder."""
    if not isinstance(entry, dict):
        return False
    arguments = entry.get("args")
    words = [entry.get("command"), *(arguments if isinstance(arguments, list) else [])]
    return "mcp" in words and any(NAME in str(word) for word in words)


def _without_pieces(text: str, target: Target, note: Note | None) -> str | None:
    """Return the text as it was before, None where the pieces do not stand as they were added."""
    if note is None or not note.pieces:
        return None
    for piece in reversed(note.pieces):
        if text.count(piece) != 1:
            return None
        text = text.replace(piece, "")
    try:
        tree = tomllib.loads(text) if target.syntax is Syntax.TOML else json_edit.parsed(text)
    except ValueError:
        return None
    return text if isinstance(tree, dict) else None


def _is_empty(text: str, path: tuple[str, ...]) -> bool:
    return json_edit.value_at(json_edit.parsed(text), path) in ({}, [])
