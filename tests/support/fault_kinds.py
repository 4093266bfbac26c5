"""The ways in which a disk fails, and which calls can fail so."""

from __future__ import annotations

import errno
from dataclasses import dataclass

READS, CHANGES, LOCKS = 1, 2, 4
"""What a call does; the same numbers as in faulty_disk.c."""
ERROR, SHORT, TORN = 0, 1, 2
"""How it fails: not done at all, done in part, done in part and then an error."""
_ANY = READS | CHANGES | LOCKS
_SPARE_KIB = (0, 256, 512, 1024, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 32768)
_HEAP_KIB = (64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 4096)
_ON_NAMES = frozenset({"open", "rename", "unlink", "mkdir", "rmdir", "link"})

_INTERRUPTED = frozenset({"open", "read", "write", "wait for lock"})


@dataclass(frozen=True, slots=True)
class Kind:
    """A way in which a call can fail."""

    name: str
    code: int = 0
    """The errno."""
    way: int = ERROR
    lasts_for: int = 0
    """What the calls do that fail from then on; 0 if only one fails."""
    doing: int = _ANY
    """What a call has to do to fail so."""
    calls: frozenset[str] = frozenset()
    """The names of calls that can fail so; empty is any."""
    heals: bool = False
    """True if the command has to succeed all the same."""
    spare_bytes: int | None = None
    """Address space that the process may still take."""
    heap_bytes: int | None = None
    """Memory that SQLite may take."""

    def can_hit(self, call: str, doing: int) -> bool:
        """Tell whether a call can fail so."""
        return bool(doing & self.doing) and (not self.calls or call in self.calls)


KINDS = (
    Kind("EIO", errno.EIO),
    Kind("ENOSPC", errno.ENOSPC, doing=CHANGES),
    Kind("EROFS", errno.EROFS, doing=CHANGES, calls=_ON_NAMES | {"chmod", "utime"}),
    Kind("EACCES", errno.EACCES, calls=_ON_NAMES | {"opendir", "stat", "access"}),
    Kind("EMFILE", errno.EMFILE, calls=frozenset({"open", "opendir"})),
    Kind("ENOLCK", errno.ENOLCK, doing=LOCKS),
    Kind("ENOMEM", errno.ENOMEM, calls=frozenset({"map"})),
    # A lock that is only tried does not wait, so no signal interrupts it.
    Kind("EINTR", errno.EINTR, calls=_INTERRUPTED, heals=True),
    Kind("short read or write", way=SHORT, calls=frozenset({"read", "write"}), heals=True),
    Kind("half a write, then ENOSPC", errno.ENOSPC, way=TORN, calls=frozenset({"write"})),
    Kind("full from then on", errno.ENOSPC, lasts_for=CHANGES, doing=CHANGES),
    Kind("read-only from then on", errno.EROFS, lasts_for=CHANGES, doing=CHANGES),
    Kind("dead from then on", errno.EIO, lasts_for=READS | CHANGES, doing=READS | CHANGES),
)
MEMORY_KINDS = (
    *(Kind(f"{each} KiB for the process", spare_bytes=each << 10) for each in _SPARE_KIB),
    *(Kind(f"{each} KiB for SQLite", heap_bytes=each << 10) for each in _HEAP_KIB),
)
"""Limits of memory; they hold for the whole command."""
