"""The keys that encrypt stores at rest, by folder. Nothing here knows what kind of file a store is.

A home has one key: it is told once, when a memory is opened, and every file of the home is opened
with it from then on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.errors import ConfigError
from recollect.text.patterns import deferred

if TYPE_CHECKING:
    from pathlib import Path

KEY_VARIABLE = "RECOLLECT_KEY"
_KEY = deferred(r"[0-9A-Fa-f]{64}")  # 256 bits, used as they are: a password would need more
_keys: dict[Path, str] = {}


def use_key(folder: Path, key: str | None) -> None:
    """Encrypt the stores below a folder with a key; None leaves them in plain.

    Raises:
        ConfigError: it is not a key.

    """
    if not key:
        _keys.pop(folder.absolute(), None)
        return
    if not _KEY.fullmatch(key):
        raise ConfigError(
            f"{KEY_VARIABLE} is not a key: it must have 64 hexadecimal digits.",
            action="`openssl rand -hex 32` prints a new one. Keep it where you keep passwords.",
        )
    _keys[folder.absolute()] = key.lower()


def key_of(file: Path) -> str | None:
    """Return the key of a store's file; None if it is in plain."""
    return next((_keys[each] for each in file.absolute().parents if each in _keys), None)
