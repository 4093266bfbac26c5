"""What keeps the index of a server fresh, as far as a server has to know it."""

from __future__ import annotations

from typing import Protocol


class Worker(Protocol):
    """Syncs in a thread of its own. `Memory.worker` makes one."""

    is_syncing: bool

    def start(self) -> None:
        """Begin."""

    def wake(self) -> None:
        """Sync now."""

    def stop(self) -> None:
        """Stop, and return when all is released."""
