"""The states that a disk can be in after the power was cut, built from a journal of its changes.

What was synced is there. Of what was not, any part may be: writes to a file in any order and torn
at sectors, names in a folder up to any one of them. A name is safe only after its folder was
synced, as POSIX has it; common file systems promise more.
"""

from __future__ import annotations

import copy
import os
import shutil
from collections import defaultdict
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

_SECTOR_BYTES = 512
_TORN_SHARE = 0.2  # of the writes that were not synced


@dataclass(frozen=True, slots=True)
class Change:
    """One line of the journal; see `record` in faulty_disk.c."""

    event: str
    inode: int
    offset: int
    data: bytes
    path: str
    other: str


def read_journal(file: Path) -> list[Change]:
    """Return the changes in order."""
    found = []
    with file.open("rb") as stream:
        while line := stream.readline():
            event, inode, offset, size, path, other = line.decode().rstrip("\n").split("\t")
            data = stream.read(int(size))
            found.append(Change(event, int(inode), int(offset), data, path, other))
    return found


class DiskModel:
    """A disk with what is safe on it, and what is not yet."""

    def __init__(self, top: Path) -> None:
        """Take what is there now as safe."""
        self._top = top
        self._keys = count()
        self._names: dict[str, int] = {}
        """The key of the file that each path leads to."""
        self._folders: set[str] = set()
        self._contents: dict[int, bytes] = {}
        self._by_inode: dict[int, int] = {}
        self._times: dict[str, tuple[bytes, int]] = {}
        self._writes: dict[int, list[Change]] = defaultdict(list)
        self._renames: dict[str, list[tuple[Change, int]]] = defaultdict(list)
        """Changes of names in each folder, with the key of the file."""
        self._folders.update(str(each) for each in (top, *top.rglob("*")) if each.is_dir())
        for file in top.rglob("*"):
            if file.is_file():
                key = self._key(file.stat().st_ino, is_new=True)
                self._names[str(file)] = key
                self._contents[key] = file.read_bytes()
                self._times[str(file)] = self._contents[key], file.stat().st_mtime_ns

    def copy(self) -> DiskModel:
        """Return the same disk, to go another way."""
        return copy.deepcopy(self)

    def apply(self, change: Change) -> None:
        """Note a change, which is safe only after a sync."""
        if change.event == "sync":
            self._sync(change)
        elif change.event in ("write", "truncate"):
            self._writes[self._key(change.inode)].append(change)
        elif change.event != "mark":
            is_new = change.event == "create"
            is_file = change.event in ("create", "rename", "unlink")
            key = self._key(change.inode, is_new=is_new) if is_file else -1
            place = change.other or change.path
            self._renames[os.path.dirname(place)].append((change, key))  # noqa: PTH120 - many

    def _key(self, inode: int, *, is_new: bool = False) -> int:
        """Return the key of a file: inode numbers are used again."""
        if is_new or inode not in self._by_inode:
            self._by_inode[inode] = next(self._keys)
        return self._by_inode[inode]

    def _sync(self, change: Change) -> None:
        if change.path in self._renames or change.path in self._folders:
            for each, key in self._renames.pop(change.path, ()):
                _rename(self._names, self._folders, each, key)
            return
        key = self._key(change.inode)
        self._contents[key] = _written(self._contents.get(key, b""), self._writes.pop(key, ()))

    def cut(self, folder: Path, *, chance: random.Random, share: float) -> None:
        """Write a state after a power loss.

        Args:
            folder: replaced by the state.
            chance: decides.
            share: of what is not safe that is there all the same; 0 and 1 leave no choice.

        """
        names, folders = dict(self._names), set(self._folders)
        for changes in self._renames.values():
            kept = sum(chance.random() < share for _ in changes)
            for change, key in changes[:kept]:
                _rename(names, folders, change, key)
        shutil.rmtree(folder, ignore_errors=True)
        for each in sorted(folders):
            if all(
                str(parent) in folders for parent in Path(each).parents if self._is_inside(parent)
            ):
                self._at(folder, each).mkdir(parents=True, exist_ok=True)
        for path, key in names.items():
            file = self._at(folder, path)
            if file.parent.is_dir():
                writes = [each for each in self._writes.get(key, ()) if chance.random() < share]
                torn = list(_torn(writes, chance)) if 0 < share < 1 else writes
                content = _written(self._contents.get(key, b""), torn)
                file.write_bytes(content)
                before, mtime_ns = self._times.get(path, (None, 0))
                if content == before:
                    os.utime(file, ns=(mtime_ns, mtime_ns))

    def _is_inside(self, path: Path) -> bool:
        return path.is_relative_to(self._top)

    def _at(self, folder: Path, path: str) -> Path:
        return folder / Path(path).relative_to(self._top)


def _rename(names: dict[str, int], folders: set[str], change: Change, key: int) -> None:
    if change.event == "mkdir":
        folders.add(change.path)
    elif change.event == "rmdir":
        folders.discard(change.path)
    elif change.event == "create":
        names[change.path] = key
    else:
        names.pop(change.path, None)
        if change.event == "rename":
            names[change.other] = key


def _written(content: bytes, changes: Sequence[Change]) -> bytes:
    made = bytearray(content)
    for change in changes:
        size = change.offset if change.event == "truncate" else change.offset + len(change.data)
        made.extend(bytes(max(size - len(made), 0)))
        if change.event == "truncate":
            del made[size:]
        else:
            made[change.offset : size] = change.data
    return bytes(made)


def _torn(changes: Sequence[Change], chance: random.Random) -> Iterator[Change]:
    """Yield the changes; of some writes only the sectors up to one."""
    for change in changes:
        sectors = len(change.data) // _SECTOR_BYTES
        if sectors and chance.random() < _TORN_SHARE:
            size = chance.randint(0, sectors) * _SECTOR_BYTES
            yield Change("write", change.inode, change.offset, change.data[:size], "", "")
        else:
            yield change
