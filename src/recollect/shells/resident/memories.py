"""Memories that stay open between the commands of a resident process.

A command may get the memory of an earlier one only if it could not tell the difference: the same
settings and variables, the same index file, and nothing that an earlier command left behind.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from recollect.memory import Memory
from recollect.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from recollect.config import Setup

_MOST_KEPT = 2  # each holds a model and a connection
_NOT_READ = frozenset({"COLUMNS", "LINES", "OLDPWD", "PWD", "SHLVL", "TERM", "_"})
"""Variables that differ from command to command, and that no memory reads."""


@dataclass(frozen=True, slots=True)
class _KeptMemory:
    opened_with: tuple[object, ...]
    index: tuple[int, int]
    memory: Memory


class OpenMemories:
    """The memories that the last commands used."""

    def __init__(self, *, idle_seconds: float) -> None:
        self.idle_seconds = idle_seconds
        """As the settings of the last command say."""
        self._kept: list[_KeptMemory] = []

    @contextmanager
    def borrow(self, setup: Setup) -> Iterator[Memory]:
        """Open the memory of a command, or take the one of an earlier command."""
        self.idle_seconds = setup.config.resident_seconds
        memory = self._take(setup) or Memory.open_setup(setup)
        try:
            yield memory
            is_kept = memory.settle()
        except BaseException:
            memory.close()
            raise
        if not is_kept:
            memory.close()
            return
        memory.count_changes()
        self._kept.append(_KeptMemory(_what_counts(setup), _identity(setup.index), memory))
        if len(self._kept) > _MOST_KEPT:
            self._kept.pop(0).memory.close()

    def close(self) -> None:
        """Close all of them."""
        while self._kept:
            self._kept.pop().memory.close()

    def _take(self, setup: Setup) -> Memory | None:
        wanted = _what_counts(setup)
        kept = next((each for each in self._kept if each.opened_with == wanted), None)
        if kept is None:
            return None
        self._kept.remove(kept)
        if kept.index == _identity(setup.index):
            return kept.memory
        kept.memory.close()  # the file was deleted or replaced
        return None


def _what_counts(setup: Setup) -> tuple[object, ...]:
    """Return everything that a memory depends on when it is opened."""
    config = setup.config
    variables = {name: setup.environ[name] for name in setup.environ if name not in _NOT_READ}
    where = (setup.workspace, setup.agent, setup.named_agent, setup.places, config.user_file)
    return (*where, dict(config.values), dict(config.origins), variables)


def _identity(file: Path) -> tuple[int, int]:
    try:
        status = file.stat()
    except OSError:
        return (0, 0)
    return status.st_dev, status.st_ino
