"""When a worker syncs, how it goes on after a failure, and how it ends."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from tests.support.waiting import PATIENCE_SECONDS

from recollect.background import worker as module
from recollect.background.watch import Watcher
from recollect.background.worker import Worker
from recollect.errors import RecollectError, StoreFullError
from recollect.reports import Report
from recollect.types import Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from recollect.types import Progress

    Eventually = Callable[[Callable[[], object]], None]
    Work = Callable[[Progress, Callable[[str], None]], Report]

FULL = StoreFullError("No room left.", action="Free disk space.")


class Synced:
    """Stands in for a memory: each sync does the next piece of work, the last one for ever."""

    def __init__(self, *works: Work) -> None:
        self._works = list(works)
        self.syncs = 0
        self.opened = 0
        self.closed = 0
        self.is_lost = False

    def sync(self, *, retry: bool, progress: Progress, on_wait: Callable[[str], None]) -> Report:
        assert not retry
        self.syncs += 1
        work = self._works.pop(0) if len(self._works) > 1 else self._works[0]
        return work(progress, on_wait)

    def has_lost_index(self) -> bool:
        is_lost, self.is_lost = self.is_lost, False
        return is_lost

    @contextmanager
    def open(self) -> Iterator[Synced]:
        self.opened += 1
        try:
            yield self
        finally:
            self.closed += 1


class Running:
    """A worker at work, with what it told."""

    def __init__(self, memory: Synced) -> None:
        self.ended: list[Report | RecollectError] = []
        self.worker = Worker(
            memory.open,
            watcher=self._watcher,
            on_sync=self.ended.append,
        )
        self.worker.start()

    def _watcher(self, changed: Callable[[], None]) -> Watcher:
        self.change = changed
        return Watcher(list, on_change=changed, on_notice=lambda _: None, pause_ms=50)


def well(_progress: Progress, _told: Callable[[str], None]) -> Report:
    return Report(added=1)


def badly(_progress: Progress, _told: Callable[[str], None]) -> Report:
    raise FULL


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_RETRY_SECONDS", 0.01)
    monkeypatch.setattr(module, "_HELD_SECONDS", 0.01)
    monkeypatch.setattr(module, "_LOOK_SECONDS", 0.01)


def test_one_who_wakes_it_gets_a_sync_and_can_see_it_under_way(eventually: Eventually) -> None:
    held, seen = threading.Event(), threading.Event()

    def slowly(_progress: Progress, _told: Callable[[str], None]) -> Report:
        seen.set()
        held.wait(PATIENCE_SECONDS)
        return Report()

    memory = Synced(well, slowly)
    running = Running(memory)
    eventually(lambda: running.ended and not running.worker.is_syncing)

    running.worker.wake()

    assert seen.wait(PATIENCE_SECONDS)
    assert running.worker.is_syncing
    held.set()
    eventually(lambda: len(running.ended) == 2 and not running.worker.is_syncing)
    running.worker.stop()


def test_it_syncs_at_the_start_and_after_every_change(eventually: Eventually) -> None:
    memory = Synced(well)
    running = Running(memory)
    eventually(lambda: len(running.ended) == 1)

    running.change()
    eventually(lambda: len(running.ended) == 2)
    running.worker.stop()

    assert (2, 1, 1) == (memory.syncs, memory.opened, memory.closed)


def test_a_lost_index_is_reported_and_rebuilt_at_once(eventually: Eventually) -> None:
    memory = Synced(well)
    running = Running(memory)
    eventually(lambda: len(running.ended) == 1)

    memory.is_lost = True
    eventually(lambda: len(running.ended) == 3)
    running.worker.stop()

    _, lost, rebuilt = running.ended
    assert isinstance(lost, RecollectError)
    assert "deleted" in lost.message
    assert Report(added=1) == rebuilt


def test_a_failed_sync_is_reported_and_retried_without_another_change(
    eventually: Eventually,
) -> None:
    memory = Synced(badly, well)
    running = Running(memory)

    eventually(lambda: len(running.ended) == 2)
    running.worker.stop()

    assert [FULL, Report(added=1)] == running.ended
    assert (2, 2) == (memory.opened, memory.closed)


def test_a_mistake_of_ours_is_logged_and_does_not_end_the_watch(
    eventually: Eventually, caplog: pytest.LogCaptureFixture
) -> None:
    def mistaken(_progress: Progress, _told: Callable[[str], None]) -> Report:
        raise ZeroDivisionError

    running = Running(Synced(mistaken, well))

    eventually(lambda: running.ended)
    running.worker.stop()

    assert [Report(added=1)] == running.ended
    assert "ZeroDivisionError" in caplog.text


def test_stopping_does_not_wait_for_the_end_of_a_long_sync(eventually: Eventually) -> None:
    began = threading.Event()

    def long(progress: Progress, _told: Callable[[str], None]) -> Report:
        began.set()
        while True:
            progress(Step("embed", 1, 1_000_000))

    memory = Synced(long)
    running = Running(memory)
    assert began.wait(PATIENCE_SECONDS)

    running.worker.stop()

    assert [] == running.ended
    assert memory.opened == memory.closed
    eventually(lambda: "recollect-worker" not in {each.name for each in threading.enumerate()})


def test_while_another_process_is_at_work_it_comes_back_and_can_be_stopped(
    eventually: Eventually,
) -> None:
    def held(_progress: Progress, told: Callable[[str], None]) -> Report:
        told("Waiting for another to finish …")
        raise AssertionError("it waited in there")

    memory = Synced(held)
    running = Running(memory)
    eventually(lambda: memory.syncs >= 3)

    running.worker.stop()

    assert [] == running.ended


def test_it_can_be_started_again(eventually: Eventually) -> None:
    running = Running(Synced(well))
    eventually(lambda: running.ended)
    running.worker.stop()

    running.worker.start()
    eventually(lambda: len(running.ended) == 2)
    running.worker.stop()


def test_stopping_what_was_never_started_is_harmless() -> None:
    watcher = Watcher(list, on_change=lambda: None, on_notice=lambda _: None, pause_ms=50)

    Worker(Synced(well).open, watcher=lambda _: watcher, on_sync=lambda _: None).stop()
