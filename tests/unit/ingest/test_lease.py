"""The writer's lease: who holds it, who may take it over, and what a holder notices."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import apsw
import pytest
from tests.support.waiting import PATIENCE_SECONDS

from recollect.errors import StoreBusyError
from recollect.ingest import lease
from recollect.ingest.lease import WRITER, LeaseLostError, WriterLease, give_back, is_gone, take
from recollect.stores.base import Holder, patience
from recollect.types import Step, silent

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from recollect.stores.base import Store
    from recollect.stores.sqlite import SqliteStore

    Eventually = Callable[[Callable[[], object]], None]

STEP = Step("read", 1, 2)


def held_by(store: Store) -> Holder | None:
    return store.lease(WRITER, lambda held: held)


@pytest.fixture
def ended_pid() -> int:
    """The id of a process that is no more."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


def someone(pid: int, *, host: str = "", silent_seconds: float = 0.0) -> Holder:
    now = time.time()
    return Holder("theirs", "a test", pid, host or socket.gethostname(), now, now - silent_seconds)


def hold(store: Store, holder: Holder) -> None:
    assert take(store, holder, is_gone=lambda _: True) is None


def test_a_lease_is_held_until_it_is_given_back(store: Store) -> None:
    own = WriterLease(store, purpose="a test")

    assert own.acquire() is None
    held = held_by(store)
    own.release()

    assert held is not None
    assert "a test" == held.purpose
    assert held_by(store) is None


def test_who_comes_second_is_told_who_was_first(store: Store) -> None:
    first, second = WriterLease(store, purpose="the first"), WriterLease(store, purpose="second")
    first.acquire()

    holder = second.acquire()
    second.release()
    again = WriterLease(store, purpose="third").acquire()
    first.release()

    assert holder is not None
    assert again is not None
    assert ("the first", "the first") == (holder.purpose, again.purpose)


def test_waiting_says_once_for_whom_and_ends_with_the_lease(store: Store) -> None:
    first, second = WriterLease(store, purpose="the first"), WriterLease(store, purpose="second")
    first.acquire()
    told: list[str] = []
    is_told = threading.Event()

    def tell(holder: Holder) -> None:
        told.append(holder.purpose)
        is_told.set()

    def wait_for_it() -> None:
        second.acquire(on_wait=tell)
        second.release()

    waiting = threading.Thread(target=wait_for_it)
    waiting.start()
    assert is_told.wait(PATIENCE_SECONDS)
    first.release()
    waiting.join(20)

    assert ["the first"] == told
    assert not waiting.is_alive()


def test_the_lease_of_a_process_that_died_is_taken_over_at_once(
    store: Store, ended_pid: int
) -> None:
    hold(store, someone(ended_pid))
    own = WriterLease(store, purpose="a test")

    assert own.acquire() is None
    own.release()


def test_a_process_of_another_machine_is_judged_by_its_silence_alone(ended_pid: int) -> None:
    elsewhere = someone(ended_pid, host="elsewhere")

    assert not is_gone(elsewhere)
    assert is_gone(someone(ended_pid, host="elsewhere", silent_seconds=31))


def test_a_process_that_is_alive_and_silent_for_too_long_is_gone() -> None:
    own = someone(os.getpid())

    assert not is_gone(replace(own, beat=own.beat - 29))
    assert is_gone(replace(own, beat=own.beat - 31))


def test_the_heart_gives_signs_of_life(
    store: Store, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "_BEAT_SECONDS", 0.01)
    own = WriterLease(store, purpose="a test")
    own.acquire()
    first = held_by(store)

    eventually(lambda: (held := held_by(store)) and first and held.beat > first.beat)
    own.release()


def test_a_holder_whose_lease_was_taken_over_notices_and_ends_its_work(
    store: Store, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "_BEAT_SECONDS", 0.01)
    own = WriterLease(store, purpose="a test")
    own.acquire()
    progress = own.guarded(silent)
    progress(STEP)

    hold(store, someone(1))
    eventually(lambda: own._is_lost)
    with pytest.raises(LeaseLostError):
        progress(STEP)
    own.release()

    assert "theirs" == getattr(held_by(store), "token", None)


def test_a_lease_taken_again_is_not_lost(
    store: Store, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "_BEAT_SECONDS", 0.01)
    own = WriterLease(store, purpose="a test")
    own.acquire()
    hold(store, someone(1))
    eventually(lambda: own._is_lost)
    own.release()
    give_back(store, token="theirs")  # noqa: S106 - a name, not a secret

    own.acquire()
    own.guarded(silent)(STEP)

    assert not own._is_lost
    own.release()


def test_a_long_transaction_does_not_cost_the_holder_its_lease(
    index: Path, file_store: SqliteStore, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "_BEAT_SECONDS", 0.01)
    missed = threading.Event()
    beat = lease.beat

    def counted(store: Store, *, token: str, now: float) -> bool:
        try:
            return beat(store, token=token, now=now)
        except StoreBusyError:
            missed.set()
            raise

    monkeypatch.setattr(lease, "beat", counted)
    own = WriterLease(file_store, purpose="a test")
    with patience(0.02):
        own.acquire()
    other = apsw.Connection(str(index))
    other.execute("BEGIN IMMEDIATE")

    assert missed.wait(PATIENCE_SECONDS)
    other.execute("ROLLBACK")
    other.close()
    first = held_by(file_store)
    eventually(lambda: (held := held_by(file_store)) and first and held.beat > first.beat)
    assert not own._is_lost
    own.release()
    assert held_by(file_store) is None


def test_while_another_writes_without_an_end_its_holder_is_still_named(
    index: Path, file_store: SqliteStore
) -> None:
    hold(file_store, someone(1))
    other = apsw.Connection(str(index))
    other.execute("BEGIN IMMEDIATE")

    with patience(0.02):
        holder = WriterLease(file_store, purpose="a test").acquire()
    other.close()

    assert "theirs" == getattr(holder, "token", None)


def test_an_index_that_cannot_be_written_is_reported_in_our_own_words(
    index: Path, file_store: SqliteStore
) -> None:
    other = apsw.Connection(str(index))
    other.execute("BEGIN IMMEDIATE")

    with patience(0.02), pytest.raises(StoreBusyError) as raised:
        WriterLease(file_store, purpose="a test").acquire(on_wait=lambda _: None)
    other.close()

    assert "locked" not in raised.value.message + raised.value.action
    assert str(index) in raised.value.message


def test_without_memory_for_a_thread_releasing_does_not_fail(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    own = WriterLease(store, purpose="test")

    with pytest.raises(RuntimeError, match="can't start new thread"):
        own.acquire()
    own.release()
