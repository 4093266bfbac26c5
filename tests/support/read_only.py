"""Runs a command on a folder that is really read-only, even to root: a mount of its own.

Needs Linux with user namespaces; a test that uses it is skipped elsewhere.
"""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

_MOUNT = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'


def on_read_only(folder: Path) -> list[str]:
    """Return the start of a command that sees this folder as a read-only disk."""
    if not _can_mount():
        pytest.skip("needs user namespaces")
    return ["unshare", "--map-root-user", "--mount", "sh", "-c", _MOUNT, str(folder)]


@cache
def _can_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    done = subprocess.run(
        ["unshare", "--map-root-user", "--mount", "true"], capture_output=True, check=False
    )
    return done.returncode == 0
