"""OpenClaw's configuration file: where it is, and what it says once its includes are read.

It knows nothing of what the keys mean. Variables and secrets are not looked up: what is named
`${NAME}` in the file stays so.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    Table = Mapping[str, object]

_FILE = "openclaw.json"
_STATE = ".openclaw"
_INCLUDE = "$include"
_DEEPEST = 10  # includes inside includes; as in OpenClaw
_PLACE = re.compile(r"<string>:(?P<line>\d+) (?P<what>.*) at column (?P<column>\d+)", re.DOTALL)


def default_file(environ: Mapping[str, str]) -> Path:
    """Return the file that OpenClaw itself would read."""
    named = environ.get("OPENCLAW_CONFIG_PATH", "").strip()
    return expanded(named, environ) if named else state_folder(environ) / _FILE


def state_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder where OpenClaw keeps everything unless told otherwise."""
    named = environ.get("OPENCLAW_STATE_DIR", "").strip()
    return expanded(named, environ) if named else _home(environ) / _STATE


def expanded(path: str, environ: Mapping[str, str]) -> Path:
    """Return a path as OpenClaw reads it, `~` being its home."""
    return _home(environ) / path[1:].lstrip("/\\") if path[:1] == "~" else Path(path)


def read_tree(file: Path) -> Table:
    """Return the whole configuration.

    Raises:
        ConfigError: the file, or one that it includes, is not there or cannot be understood.

    """
    tree = _with_includes(_parsed(file), chain=(file.resolve(),))
    if not isinstance(tree, dict):
        raise ConfigError(
            f"{file} holds no table of settings.", action="Name OpenClaw's openclaw.json."
        )
    return tree


def table_at(tree: object, *path: str) -> Table:
    """Return the table at a path, an empty one where there is none."""
    for name in path:
        tree = tree.get(name) if isinstance(tree, dict) else None
    return tree if isinstance(tree, dict) else {}


def _home(environ: Mapping[str, str]) -> Path:
    named = environ.get("OPENCLAW_HOME", "").strip() or environ.get("HOME", "").strip()
    return Path(named).expanduser() if named else Path.home()


def _parsed(file: Path) -> object:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise ConfigError(
            f"There is no OpenClaw configuration at {file}.",
            action="Name the file: `recollect config import-openclaw FILE`.",
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise ConfigError(
            f"{file} cannot be read ({reason}).", action="Make it readable, or name another file."
        ) from error
    try:
        return _json5(text, file=file)
    except RecursionError as error:
        raise ConfigError(
            f"{file} cannot be read: it is nested too deeply.", action="Name OpenClaw's own file."
        ) from error


def _json5(text: str, *, file: Path) -> object:
    try:
        return json.loads(text)  # most files are plain JSON, which is read a thousand times faster
    except ValueError:
        import json5  # noqa: PLC0415 - needed by this command only

        try:
            return json5.loads(text)
        except ValueError as error:
            found = _PLACE.fullmatch(str(error))
            place = f"{file}:{found['line']}:{found['column']}" if found else str(file)
            # No cause is kept: a traceback would show the text, and it may hold keys.
            raise ConfigError(
                f"{place} is not JSON5: {found['what'] if found else error}.",
                action="Correct the file; `openclaw config validate` checks it too.",
            ) from None


def _with_includes(value: object, *, chain: tuple[Path, ...]) -> object:
    """Put in what `$include` names: tables are merged, lists joined, what is beside it wins."""
    if isinstance(value, list):
        return [_with_includes(each, chain=chain) for each in value]
    if not isinstance(value, dict):
        return value
    own = {key: _with_includes(each, chain=chain) for key, each in value.items() if key != _INCLUDE}
    if _INCLUDE not in value:
        return own
    named = value[_INCLUDE]
    merged: object = {}
    for name in named if isinstance(named, list) else [named]:
        merged = _merged(merged, _included(str(name), chain=chain))
    return _merged(merged, own) if own else merged


def _included(name: str, *, chain: tuple[Path, ...]) -> object:
    root, including = chain[0].parent, chain[-1]
    file = (including.parent / name).resolve()
    if not file.is_relative_to(root):
        raise ConfigError(
            f"{including} includes {name}, which is not below {root}.",
            action="Import from a copy that has everything in one folder.",
        )
    if file in chain or len(chain) > _DEEPEST:
        raise ConfigError(
            f"{including} includes {name}, which leads in a circle or too deep.",
            action="Correct the `$include`.",
        )
    return _with_includes(_parsed(file), chain=(*chain, file))


def _merged(under: object, over: object) -> object:
    if isinstance(under, list) and isinstance(over, list):
        return [*under, *over]
    if isinstance(under, dict) and isinstance(over, dict):
        both = {key: _merged(under[key], over[key]) for key in under.keys() & over.keys()}
        return {**under, **over, **both}
    return over
