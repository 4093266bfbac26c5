"""One after the other: what threads that share an object have to keep to.

A connection to an index serves one thread at a time, and a search asks it more than once.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import RLock


class Shared(Protocol):
    """What threads may share."""

    turn: RLock
    """Held by whoever is at work."""


Owner = TypeVar("Owner", bound=Shared)
P = ParamSpec("P")
Answer = TypeVar("Answer")


def in_turn(
    method: Callable[Concatenate[Owner, P], Answer],
) -> Callable[Concatenate[Owner, P], Answer]:
    """Return the method for callers in several threads: each waits for its turn."""

    @wraps(method)
    def wait(self: Owner, /, *args: P.args, **kwargs: P.kwargs) -> Answer:
        with self.turn:
            return method(self, *args, **kwargs)

    return wait
