"""Runs a command on a folder that is really read-only, even to root: a mount of its own.

Needs Linux with user namespaces; a test that uses it is skipped elsewhere.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MOUNT = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'


def on_read_only(folder: Path) -> list[str]:
    """Return the start of a command that sees this folder as a read-only disk."""
    if not _can_mount():
        pytest.skip("needs user namespaces")
    return ["unshare", "--map-root-user", "--mount", "sh", "-c", _MOUNT, str(folder)]


def without_override() -> list[str]:
    """Return the start of a command to which permissions apply, even if root runs it."""
    if sys.platform == "win32":
        pytest.skip("permissions of folders are not kept there")
    if os.geteuid():
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("needs setpriv")
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]


@contextmanager
def not_writable(folder: Path) -> Iterator[None]:
    """Take the permission to write from a folder and all that is in it, until the end."""
    modes = {path: path.stat().st_mode for path in (folder, *folder.rglob("*"))}
    for path, mode in modes.items():
        path.chmod(mode & ~0o222)
    try:
        yield
    finally:
        for path, mode in modes.items():
            path.chmod(mode)


@cache
def _can_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    done = subprocess.run(
        ["unshare", "--map-root-user", "--mount", "true"], capture_output=True, check=False
    )
    return done.returncode == 0
