"""Adds entries to an agent's configuration file, or removes them, and keeps its layout.

JSON with comments and other JSON5 is not edited: that would lose what someone wrote by hand.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING, Any

from recollect.config.edit import edit_toml, shown_table
from recollect.install.agents import NAME, Syntax, is_own_hook

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.install.agents import AgentEntry, AgentFile

    Tree = dict[str, object]

_BYTE_ORDER_MARK = "\ufeff"
_BEGIN, _END = "<!-- recollect: begin -->", "<!-- recollect: end -->"
_OWN_SCRIPT = "// Recollect: "
_INDENT = re.compile(r"\n([ \t]+)\S")


def with_entries(text: str, target: AgentFile) -> str:
    """Return the text with the entries."""
    if target.syntax is Syntax.MARKDOWN:
        return _with_block(text, str(target.entries[0].value["text"]))
    if target.syntax is Syntax.SCRIPT:
        if text and not text.startswith(_OWN_SCRIPT):
            raise ValueError("another program wrote it")
        return str(target.entries[0].value["text"])
    if _has_all(text, target):
        return text
    tree = _read(text, target.syntax)
    for entry in target.entries:
        _require_own(_value_at(tree, entry.path), entry)
        if target.syntax is Syntax.TOML:
            text = edit_toml(text, {entry.path: entry.value})
        else:
            _put(tree, entry)
    return text if target.syntax is Syntax.TOML else _written(tree, like=text)


def without_entries(text: str, target: AgentFile) -> str:
    """Return the text without the entries, and without objects and lists left empty by that."""
    if NAME not in text:
        return text
    if target.syntax is Syntax.MARKDOWN:
        return _with_block(text, "")
    if target.syntax is Syntax.SCRIPT:
        return "" if text.startswith(_OWN_SCRIPT) else text
    tree = _read(text, target.syntax)
    is_changed = False
    for entry in target.entries:
        if target.syntax is not Syntax.TOML:
            is_changed |= _take_out(tree, entry)
        elif _is_own_server(_value_at(tree, entry.path)):
            text = edit_toml(text, {entry.path: None}).rstrip("\r\n") + _newline(text)
    return _written(tree, like=text) if is_changed else text


def was_made_here(before: str, after: str) -> bool:
    """Return whether an emptied file was made for its entries: an object on one line was not."""
    return not after.strip() or (after.strip() == "{}" and "\n" in before.strip())


def snippet(target: AgentFile) -> str:
    """Return the entries of a file, to be pasted by hand."""
    if target.syntax is Syntax.TOML:
        return "\n".join(shown_table(each.path, each.value) for each in target.entries)
    return with_entries("", target)


def _with_block(text: str, block: str) -> str:
    """Return a text with the block between our marks at its end; none if it is empty."""
    newline = _newline(text)
    if [text.count(_BEGIN), text.count(_END)] not in ([0, 0], [1, 1]):
        raise ValueError("its marks of Recollect are not one pair")
    before, begin, rest = text.partition(_BEGIN)
    if begin and _END not in rest:
        raise ValueError("its marks of Recollect are in the wrong order")
    after = rest.partition(_END)[2]
    marked = f"{_BEGIN}\n{block}{_END}".replace("\n", newline)
    if begin and block:
        return before + marked + after
    if begin and after:
        return before.removesuffix(newline) + after.removeprefix(newline)
    if begin:
        return before.removesuffix(newline * 2)
    if not block:
        return text
    is_ended = text.endswith("\n") or not text
    gap = "" if not text else newline if is_ended else newline * 2
    return f"{text}{gap}{marked}{newline if is_ended else ''}"


def _put(tree: Tree, entry: AgentEntry) -> None:
    """Set an entry, creating objects on the way; what a user added to a server stays."""
    *outer, last = entry.path
    for key in outer:
        if tree.get(key) is None:
            tree[key] = {}
        inner = tree[key]
        if not isinstance(inner, dict):
            raise ValueError(f"{key} is not an object")  # noqa: TRY004 - a file, not an argument
        tree = inner
    if not entry.is_element:
        there = tree.get(last)
        own = there if isinstance(there, dict) else {}
        own.update(entry.value)
        tree[last] = own
        return
    elements = tree.setdefault(last, [])
    if not isinstance(elements, list):
        raise ValueError(f"{'.'.join(entry.path)} is not a list")  # noqa: TRY004
    elements[:] = [*(each for each in elements if not is_own_hook(each)), entry.value]


def _take_out(tree: Tree, entry: AgentEntry) -> bool:
    """Remove an entry and what it leaves empty; return whether it was there."""
    there = _value_at(tree, entry.path)
    if entry.is_element and isinstance(there, list):
        kept = [each for each in there if not is_own_hook(each)]
        if len(kept) == len(there):
            return False
        there[:] = kept
    elif entry.is_element or not _is_own_server(there):
        return False
    for depth in range(len(entry.path), 0, -1):
        *outer, last = entry.path[:depth]
        around = _value_at(tree, outer)
        is_entry = depth == len(entry.path) and not entry.is_element
        if isinstance(around, dict) and (is_entry or not around[last]):
            del around[last]
    return True


def _require_own(there: object, entry: AgentEntry) -> None:
    if there is not None and not entry.is_element and not _is_own_server(there):
        raise ValueError(f"it has another server named {NAME!r}")


def _has_all(text: str, target: AgentFile) -> bool:
    """Return whether the file already has every entry; also of JSON with comments."""
    try:
        tree: object = _read(text, target.syntax)
    except ValueError:
        if target.syntax is not Syntax.JSON:
            raise
        import json5  # noqa: PLC0415 - a thousand times slower, and seldom needed

        try:
            tree = json5.loads(text)
        except (ValueError, RecursionError):
            return False
    return all(_has(tree, entry) for entry in target.entries)


def _has(tree: object, entry: AgentEntry) -> bool:
    there = _value_at(tree, entry.path)
    if entry.is_element:
        own = [each for each in there if is_own_hook(each)] if isinstance(there, list) else []
        return own == [entry.value]
    return isinstance(there, dict) and {**there, **entry.value} == there


def _is_own_server(entry: object) -> bool:
    """Return whether an entry starts Recollect, whichever copy of it and on whichever folder."""
    if not isinstance(entry, dict):
        return False
    words: list[object] = []
    for part in (entry.get("command"), entry.get("args")):  # some have both in one list
        words += part if isinstance(part, list) else [part]
    return "mcp" in words and any(NAME in str(word) for word in words)


def _value_at(tree: object, path: Sequence[str]) -> object:
    for key in path:
        tree = tree.get(key) if isinstance(tree, dict) else None
    return tree


def _read(text: str, syntax: Syntax) -> Tree:
    if syntax is Syntax.TOML:
        return tomllib.loads(text)
    tree = _read_json(text)
    if not isinstance(tree, dict):
        raise ValueError("it is not an object")  # noqa: TRY004 - a file, not an argument
    return tree


def _read_json(text: str) -> object:
    """Return the value of plain JSON; errors quote nothing of the text, which may hold keys."""
    body = text.removeprefix(_BYTE_ORDER_MARK)
    try:
        return json.loads(body, object_pairs_hook=_unique) if body.strip() else {}
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not plain JSON: {error.msg} in line {error.lineno}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _unique(members: list[tuple[str, object]]) -> dict[str, object]:
    table = dict(members)
    if len(table) < len(members):
        raise ValueError("it has a key twice in one object")
    return table


def _written(tree: Tree, *, like: str) -> str:
    """Return the text of a tree, in the layout of another text."""
    newline = _newline(like)
    unit = found[1] if (found := _INDENT.search(like)) else "  "
    layout: dict[str, Any] = {"indent": unit}
    if like.strip() and "\n" not in like.strip():
        layout = {} if ": " in like else {"separators": (",", ":")}
    text = json.dumps(tree, **layout, ensure_ascii=False, allow_nan=False)
    text = text.replace("\n", newline)
    mark = _BYTE_ORDER_MARK if like.startswith(_BYTE_ORDER_MARK) else ""
    return mark + text + (newline if not like.strip() or like.endswith("\n") else "")


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
