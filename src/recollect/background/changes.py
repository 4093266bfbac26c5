"""Counts the changes of files exactly, so that a search can tell that there were none.

The watcher hears of a change some time after it, which is too late for a search right after a save.
On Linux, the kernel queues an event before the call that caused it returns; whoever reads the queue
has heard of everything that happened before. Where that does not hold (another system, a link to
another place, a disk of another machine, too many folders), the counter says that it cannot tell.

Some writes cause no event: through a map of the file in memory, or under another name of the same
file. So nobody should rely on the counter for long.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from recollect.stores.registry import is_store_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from recollect.ingest.walk import Watched

    Identity = tuple[str, int, int]

_MODIFY, _ATTRIB = 0x2, 0x4
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x40, 0x80, 0x100, 0x200
_DELETE_SELF, _MOVE_SELF = 0x400, 0x800
_OVERFLOW, _IGNORED, _IS_FOLDER = 0x4000, 0x8000, 0x4000_0000
_HEARD = _MODIFY | _ATTRIB | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _DELETE_SELF | _MOVE_SELF
_LOST = _OVERFLOW | _IGNORED | _IS_FOLDER | _DELETE_SELF | _MOVE_SELF
"""What is watched is no longer what should be."""
_DONT_FOLLOW = 0x200_0000
_EVENT = struct.Struct("iIII")
_READ_BYTES = 64 * 1024
_LOCAL = frozenset(
    ["bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "tmpfs", "xfs", "zfs"]
)
"""File systems that nobody changes but the programs of this machine."""


class ChangeCounter:
    """Counts the changes in the places of a memory. Threads may share one."""

    def __init__(
        self,
        places: Callable[[], Sequence[Watched]],
        *,
        is_own: Callable[[str], bool] = is_store_file,
    ) -> None:
        """Store the arguments; nothing is watched before the first call of `count`.

        Args:
            places: returns what to watch; called each time, since folders come and go.
            is_own: tells whether a sync itself writes a file, by its path.

        """
        self._places = places
        self._is_own = is_own
        self._lock = Lock()
        self._count = 0
        self._watched: list[Identity] | None = None
        self._queue: _Queue | None = None
        self._is_closed = False

    def count(self) -> int | None:
        """Return a number that is higher after each change; None if that is unknown."""
        with self._lock:
            if self._is_closed or sys.platform != "linux":
                return None
            places = self._places()
            identities = [_identity(each.path) for each in places]
            heard = self._queue.read(self._is_own) if self._queue else 0
            if heard or identities != self._watched:
                self._count += 1
            if heard & _LOST or identities != self._watched:
                self._watch(places)
                self._watched = identities
            return None if self._queue is None else self._count

    def close(self) -> None:
        """Stop watching."""
        with self._lock:
            self._is_closed = True
            self._drop_queue()

    def _watch(self, places: Sequence[Watched]) -> None:
        self._drop_queue()
        try:
            self._queue = _Queue()
            for each in _folders(places):
                self._queue.add(each)
        except OSError:  # a link, a disk of another machine, or the system's limit
            self._drop_queue()

    def _drop_queue(self) -> None:
        if self._queue is not None:
            self._queue.close()
            self._queue = None


class _Queue:
    """The kernel's queue of events for some folders and files."""

    def __init__(self) -> None:
        self._system = ctypes.CDLL(None, use_errno=True)
        self._descriptor = _checked(
            self._system.inotify_init1(os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0))
        )
        self._paths: dict[int, str] = {}

    def add(self, path: str) -> None:
        """Watch a folder or a file."""
        name = os.fsencode(path)
        mask = _HEARD | _DONT_FOLLOW
        number = _checked(self._system.inotify_add_watch(self._descriptor, name, mask))
        self._paths[number] = path

    def read(self, is_own: Callable[[str], bool]) -> int:
        """Return the kinds of all events since the last call, in one number; 0 if none."""
        heard = 0
        for number, kind, name in self._events():
            path = os.path.join(self._paths.get(number, ""), name)  # noqa: PTH118 - of bytes
            if not (name and is_own(path)):
                # What a link leads to is not watched.
                is_link = kind & (_CREATE | _MOVED_TO) and Path(path).is_symlink()
                heard |= kind | (_OVERFLOW if is_link else 0)
        return heard

    def close(self) -> None:
        """Forget everything."""
        os.close(self._descriptor)

    def _events(self) -> Iterator[tuple[int, int, str]]:
        with suppress(BlockingIOError):
            while True:
                data = os.read(self._descriptor, _READ_BYTES)
                at = 0
                while at < len(data):
                    number, kind, _, size = _EVENT.unpack_from(data, at)
                    at += _EVENT.size
                    yield number, kind, os.fsdecode(data[at : at + size].rstrip(b"\0"))
                    at += size


def _checked(answer: int) -> int:
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return answer


def _folders(places: Sequence[Watched]) -> Iterator[str]:
    """Yield what has to be watched: each folder before it is listed, so that nothing is missed.

    Raises:
        OSError: there is a link, or something that may change without an event.

    """
    local = _local_devices()
    for place in places:
        top = os.path.realpath(place.path)
        waiting = [top]
        while waiting:
            folder = waiting.pop()
            status = os.lstat(folder)
            if status.st_dev not in local:
                raise OSError(f"{folder} may be changed by another machine")
            yield folder
            if folder == top and not os.path.isdir(folder):  # noqa: PTH112 - a string
                break
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_symlink():
                        raise OSError(f"{entry.path} is a link")
                    if place.is_deep and entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)


def _local_devices() -> frozenset[int]:
    """Return the devices of file systems that only this machine changes."""
    found = set()
    for line in Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape").splitlines():
        before, _, after = line.partition(" - ")
        if after.split(" ")[0] in _LOCAL:
            major, _, minor = before.split(" ")[2].partition(":")
            found.add(os.makedev(int(major), int(minor)))
    return frozenset(found)


def _identity(path: Path) -> Identity:
    """Return which file or folder is at a path now; a place may vanish at any moment."""
    try:
        status = path.stat()
    except OSError:
        return str(path), 0, 0
    return str(path), status.st_dev, status.st_ino
