"""A clock that tests put forward, so that a time limit passes when a test says so."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


class Clock:
    """The monotonic clock of this process and of the event loops made from now on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._ahead = 0.0
        self._loops: list[asyncio.AbstractEventLoop] = []
        real, new_loop = time.monotonic, asyncio.new_event_loop

        def noted_loop() -> asyncio.AbstractEventLoop:
            self._loops.append(new_loop())
            return self._loops[-1]

        monkeypatch.setattr(time, "monotonic", lambda: real() + self._ahead)
        monkeypatch.setattr(asyncio, "new_event_loop", noted_loop)

    def forward(self, seconds: float) -> None:
        """Let time pass, and wake the loops to look at it."""
        self._ahead += seconds
        for loop in self._loops:
            with contextlib.suppress(RuntimeError):  # it is closed
                loop.call_soon_threadsafe(lambda: None)
