"""Waits for a model only so long: for callers that can do without it."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, TypeVar

from recollect.errors import ProviderBusyError

if TYPE_CHECKING:
    from collections.abc import Callable

Answer = TypeVar("Answer")


def begin(work: Callable[[], Answer], outcome: Future[Answer] | None = None) -> Future[Answer]:
    """Start work in its own thread, which does not keep the process from ending."""
    begun: Future[Answer] = outcome or Future()
    threading.Thread(target=settle, args=(begun, work), name="recollect-model", daemon=True).start()
    return begun


def settle(outcome: Future[Answer], work: Callable[[], Answer]) -> None:
    """Do work here, and say how it ended."""
    try:
        outcome.set_result(work())
    except BaseException as error:  # noqa: BLE001 - raised again by whoever asks for the result
        outcome.set_exception(error)


def within(seconds: float, work: Callable[[], Answer]) -> Answer:
    """Return what the work returns. If that takes longer, it continues in its own thread."""
    try:
        return begin(work).result(seconds)
    except TimeoutError:
        raise ProviderBusyError(
            f"The model did not answer within {seconds:g} seconds.", action="Try again later."
        ) from None
