"""Finds the folders of an installation, from the environment alone.

Imports nothing else: a client of the resident process starts with this.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # the module `typing` is slow to load
if TYPE_CHECKING:
    from collections.abc import Mapping


def home_folder(environ: Mapping[str, str]) -> str:
    """Return the folder with the indexes: as named, or the platform's."""
    named = environ.get("RECOLLECT_HOME")
    if named:
        return os.path.expanduser(named)  # noqa: PTH111 - pathlib is slow to load
    return f"{platform_folder(environ, 'data')}/recollect"


def platform_folder(environ: Mapping[str, str], kind: str) -> str:
    """Return where the platform keeps the user's `data`, `cache` or `config`."""
    if named := environ.get(f"XDG_{kind.upper()}_HOME"):
        return named
    home = user_folder(environ)
    if sys.platform == "darwin":
        return f"{home}/Library/{'Caches' if kind == 'cache' else 'Application Support'}"
    if sys.platform == "win32":
        return environ.get("LOCALAPPDATA") or f"{home}/AppData/Local"
    return f"{home}/{ {'data': '.local/share', 'cache': '.cache', 'config': '.config'}[kind] }"


def user_folder(environ: Mapping[str, str]) -> str:
    """Return the user's home folder."""
    return environ["HOME"] if "HOME" in environ else os.path.expanduser("~")  # noqa: PTH111
