"""Holding requests, on a clock of our own."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from tests.support.waiting import PATIENCE_SECONDS

from recollect.providers.remote import pace as pace_module
from recollect.providers.remote.pace import Pace

if TYPE_CHECKING:
    from collections.abc import Callable


class Clock:
    """Time that passes only where somebody waits, and what happens meanwhile."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.meanwhile: list[Callable[[], None]] = []

    def wait(self, seconds: float) -> None:
        self.now += seconds
        if self.meanwhile:
            self.meanwhile.pop(0)()

    def is_set(self) -> bool:
        return False


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(pace_module, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


def on(clock: Clock) -> Pace:
    pace = Pace()
    pace._stopped = clock  # type: ignore[assignment]
    return pace


def waited(clock: Clock, pace: Pace) -> float:
    """Return how long a request waits for its turn."""
    begun = clock.now
    assert pace.wait_turn()
    return round(clock.now - begun, 6)


def test_a_pause_holds_everyone(clock: Clock) -> None:
    pace = on(clock)
    assert 0.0 == waited(clock, pace)
    pace.hold(30)
    pace.hold(5)

    assert [30.0, 0.0] == [waited(clock, pace), waited(clock, pace)]


def test_a_pause_holds_those_who_wait_for_their_turn_already(clock: Clock) -> None:
    pace = on(clock)
    pace.hold(3)
    clock.meanwhile.append(lambda: pace.hold(40))

    # 3 s for the turn, during which the server asks for 40 s
    assert 43.0 == waited(clock, pace)


def test_a_request_that_cannot_go_in_time_does_not_wait(clock: Clock) -> None:
    pace = on(clock)
    pace.hold(10)
    begun = clock.now

    assert not pace.wait_turn(most_seconds=6)
    assert begun == clock.now
    assert 10.0 == waited(clock, pace)


def test_a_turn_that_moves_away_meanwhile_is_given_up(clock: Clock) -> None:
    pace = on(clock)
    pace.hold(5)
    clock.meanwhile.append(lambda: pace.hold(60))

    assert not pace.wait_turn(most_seconds=6)


def test_stopping_ends_all_waiting() -> None:
    pace = Pace()
    pace.hold(10 * PATIENCE_SECONDS)
    threads = [threading.Thread(target=pace.wait_turn, daemon=True) for _ in range(4)]
    threads.append(threading.Thread(target=pace.wait, args=(10 * PATIENCE_SECONDS,), daemon=True))
    for thread in threads:
        thread.start()
    pace.stop()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)

    assert pace.is_stopped
    assert not any(thread.is_alive() for thread in threads)
