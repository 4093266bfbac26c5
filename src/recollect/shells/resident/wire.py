"""What the client and the resident process agree on: where, who, and the shape of a request.

The socket is 0600 in a folder of 0700; both sides look at the owner. Imports nothing that is slow
to load: the client pays for it on every command.
"""

from __future__ import annotations

import os
import stat
import sys

from recollect.config.home import home_folder
from recollect.version import __version__

TYPE_CHECKING = False  # the module `typing` is slow to load
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

COMMANDS = ("search", "recall", "hook")
"""What a resident process answers."""
MAX_REQUEST_BYTES = 1 << 20
MAX_ANSWER_BYTES = 1 << 26
MAX_ADDRESS_BYTES = 100
"""Systems take socket addresses of 104 to 108 bytes."""
SIZE_BYTES = 4
ACCEPTED = b"a"
STDOUT, STDERR, ENDED = b"1", b"2", b"x"
"""The kinds of frames in an answer: output in its order, then the exit code."""

_FIXED = ("PYTHON", "LC_", "LANG", "TZ", "OMP_", "OPENBLAS_", "LD_")
"""Variables that a running process has read once and for all."""
_SET_BY_COMMANDS = {"OPENBLAS_NUM_THREADS": "1"}


class WireError(Exception):
    """What arrived is not a request or an answer."""


def folder_of(environ: Mapping[str, str]) -> str:
    """Return the folder of the socket, which may not exist."""
    return f"{home_folder(environ)}/resident"


def address_of(environ: Mapping[str, str]) -> str | None:
    """Return the path of the socket; None if the system cannot have one there."""
    address = os.path.abspath(f"{folder_of(environ)}/socket")  # noqa: PTH100 - pathlib is slow
    is_usable = os.name == "posix" and len(os.fsencode(address)) <= MAX_ADDRESS_BYTES
    return address if is_usable else None


def identity(environ: Mapping[str, str]) -> list[str]:
    """Return what must be equal for a process to stand in for another."""
    code = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))  # noqa: PTH120
    found = {**_SET_BY_COMMANDS, **environ}
    fixed = sorted(f"{name}={found[name]}" for name in found if name.startswith(_FIXED))
    flags = (sys.flags.dev_mode, sys.flags.optimize, sys.getfilesystemencoding(), sys.warnoptions)
    stamp = os.stat(f"{code}/version.py").st_mtime_ns  # noqa: PTH116
    return [__version__, sys.version, code, str(stamp), repr(flags), *fixed]


def is_private(folder: str) -> bool:
    """Return whether a folder belongs to this user and nobody else may enter it."""
    try:
        status = os.lstat(folder)
    except OSError:
        return False
    is_own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    return is_own and not status.st_mode & (stat.S_IRWXG | stat.S_IRWXO)


def pack(parts: Iterable[Iterable[str]]) -> bytes:
    """Return lists of texts as bytes. None of the texts may contain a NUL."""
    lists = [[os.fsencode(each) for each in part] for part in parts]
    return b"".join(
        len(part).to_bytes(SIZE_BYTES, "big") + b"".join(each + b"\0" for each in part)
        for part in lists
    )


def unpack(content: bytes, count: int) -> list[list[str]]:
    """Return the lists that were packed.

    Raises:
        WireError: the bytes are not so many lists.

    """
    parts = []
    for _ in range(count):
        wanted = int.from_bytes(content[:SIZE_BYTES], "big")
        *texts, content = content[SIZE_BYTES:].split(b"\0", wanted)
        if len(texts) != wanted:
            raise WireError("a list is cut off")
        parts.append([os.fsdecode(each) for each in texts])
    if content:
        raise WireError("there is more than a request")
    return parts


def sized(content: bytes) -> bytes:
    """Return bytes behind their length."""
    return len(content).to_bytes(SIZE_BYTES, "big") + content


def frame(kind: bytes, content: bytes) -> bytes:
    """Return one frame of an answer."""
    return kind + sized(content)


def frames(content: bytes) -> list[tuple[bytes, bytes]]:
    """Return the frames of an answer; the last one holds the exit code.

    Raises:
        WireError: the answer is cut off, or not one.

    """
    found = []
    while content:
        kind, size = content[:1], int.from_bytes(content[1 : 1 + SIZE_BYTES], "big")
        start = 1 + SIZE_BYTES
        found.append((kind, content[start : start + size]))
        content = content[start + size :]
    is_complete = bool(found) and found[-1][0] == ENDED and found[-1][1].isdigit()
    if not is_complete or any(kind not in (STDOUT, STDERR) for kind, _ in found[:-1]):
        raise WireError("the answer is cut off")
    return found
