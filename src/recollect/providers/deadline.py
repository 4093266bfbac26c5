"""Waits for a model only so long: for callers that can do without it."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, TypeVar

from recollect.errors import ProviderBusyError

if TYPE_CHECKING:
    from collections.abc import Callable

Answer = TypeVar("Answer")


def begin(work: Callable[[], Answer]) -> Future[Answer]:
    """Start work in its own thread, which does not keep the process from ending."""
    outcome: Future[Answer] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
            outcome.set_exception(error)

    threading.Thread(target=run, name="recollect-model", daemon=True).start()
    return outcome


def within(seconds: float, work: Callable[[], Answer]) -> Answer:
    """Return what the work returns. If that takes longer, it continues in its own thread."""
    try:
        return begin(work).result(seconds)
    except TimeoutError:
        raise ProviderBusyError(
            f"The model did not answer within {seconds:g} seconds.", action="Try again later."
        ) from None
