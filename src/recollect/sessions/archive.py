"""Imported transcripts: where a copy is kept below the archive, and how it gets there."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from recollect.sessions.turn import Format
from recollect.text.files import replacing

if TYPE_CHECKING:
    from pathlib import Path

    from recollect.sessions.find import Found


def kept_under(found: Found) -> tuple[str, ...]:
    """Return folders below the archive that tell what the original's folders told."""
    match found.format:
        case Format.OPENCLAW:
            return ("agents", found.agent or "main", "sessions")
        case Format.CLAUDE_CODE:
            return (found.format.value, found.file.parent.name)
        case Format.CODEX:
            return (found.format.value,)


def has_all(copy: Path, *, of: Path) -> bool:
    """Tell whether the archive has all of a transcript already: they only grow."""
    return copy.is_file() and copy.stat().st_size >= of.stat().st_size


def keep(file: Path, target: Path) -> None:
    """Copy a transcript in one step, for its owner's eyes only."""
    with replacing(target, private=True) as staged:  # a transcript may hold secrets
        shutil.copyfile(file, staged)
        status = file.stat()
        os.utime(staged, ns=(status.st_atime_ns, status.st_mtime_ns))
