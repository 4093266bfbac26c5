"""Giving a file of someone else's a new content in one step, whatever happens in between."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_OWNER_ONLY = 0o600
_AS_THE_MASK_SAYS = 0o666


def write_text(file: Path, text: str, *, private: bool) -> None:
    """Replace the content; a reader sees the old or the new. Links, owner and permissions stay.

    Args:
        file: its folder is there.
        text: the whole of it.
        private: a file that is not there yet will be its owner's alone.

    Raises:
        OSError: it cannot be written; the old content stands.

    """
    real = file.resolve()
    beside = real.with_name(f".{real.name}.{os.getpid()}")
    former = real.stat() if real.exists() else None
    try:
        # Agents keep keys in such files: nobody else may read the copy for a moment either.
        kept_back = private or former is not None
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        handle = os.open(beside, flags, _OWNER_ONLY if kept_back else _AS_THE_MASK_SAYS)
        with os.fdopen(handle, "wb") as stream:
            stream.write(text.encode("utf-8"))
            stream.flush()
            os.fsync(stream.fileno())
        if former is not None:
            if os.name == "posix" and os.geteuid() == 0:  # as by sudo: it stays its owner's
                os.chown(beside, former.st_uid, former.st_gid)
            beside.chmod(stat.S_IMODE(former.st_mode))
        beside.replace(real)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
