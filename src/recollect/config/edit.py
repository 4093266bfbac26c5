"""Changing settings in a file that a person keeps: only the values named, nothing else moves.

The file is edited as text, because writing parsed TOML anew would lose comments and order. What
was meant is then compared with what a TOML reader sees; if they differ, nothing is written.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shutil
import tomllib
from typing import TYPE_CHECKING

from recollect.config.schema import canonical
from recollect.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_TABLE = re.compile(r"\s*\[")
_ASSIGNMENT = re.compile(
    r"""(?P<before>\s*["']?(?P<key>[A-Za-z0-9_-]+)["']?\s*=\s*)"""
    r"""(?P<value>"[^"\n]*"|'[^'\n]*'|[^\s#"'\[{]+)"""
    r"""(?P<after>\s*(?:\#.*)?)"""
)


def write_settings(file: Path, changes: Mapping[str, str | float]) -> str:
    """Set top-level settings in the user's file, made if missing; return what changed as a diff.

    Raises:
        ConfigError: the file cannot be edited safely or written; it is left as it was.

    """
    try:
        before = file.read_bytes().decode("utf-8") if file.exists() else ""
        after = edited(before, changes)
        file.resolve().parent.mkdir(parents=True, exist_ok=True)
        replace_text(file, after)
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


def replace_text(file: Path, text: str) -> None:
    """Give a file a new content in one step: a reader sees the old or the new, never half of it.

    Raises:
        OSError: it cannot be written, or its folder is not there; the old content stands.

    """
    real = file.resolve()  # a link stays a link
    beside = real.with_name(f".{real.name}.{os.getpid()}")
    try:
        beside.write_bytes(text.encode("utf-8"))
        if real.exists():
            shutil.copymode(real, beside)
        beside.replace(real)
    except OSError:
        beside.unlink(missing_ok=True)
        raise


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
