"""Lets threads share an object: its methods run one at a time, under the object's lock.

A connection to a store serves one thread at a time, and one search makes several calls on it.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import RLock


class Lockable(Protocol):
    """An object whose methods threads take turns to call."""

    lock: RLock


Owner = TypeVar("Owner", bound=Lockable)
P = ParamSpec("P")
Answer = TypeVar("Answer")


def synchronized(
    method: Callable[Concatenate[Owner, P], Answer],
) -> Callable[Concatenate[Owner, P], Answer]:
    """Return the method wrapped so that it holds `self.lock` while it runs."""

    @wraps(method)
    def locked(self: Owner, /, *args: P.args, **kwargs: P.kwargs) -> Answer:
        with self.lock:
            return method(self, *args, **kwargs)

    return locked
