"""Serving over standard input and output: the greeting first, then whatever takes time to load."""

from __future__ import annotations

import gc
import signal
import sys
from typing import TYPE_CHECKING

from recollect.shells.mcp.greet import greet
from recollect.shells.mcp.wire import Wire

if TYPE_CHECKING:
    from recollect.shells.mcp.offer import Offer


def serve_stdio(offer: Offer) -> None:
    """Serve until the input ends or a signal comes."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)  # until the conversation takes them over
    wire = Wire.claim()
    first = wire.receive()
    if first is None:
        return
    greeting = greet(first, instructions=offer.instructions)
    if greeting is not None:
        try:
            wire.send(greeting.answer)
        except OSError:  # the client has gone already
            return
    # Loading makes many objects that stay: looking for garbage among them is time for nothing.
    gc.disable()
    import asyncio  # noqa: PLC0415 - as all that follows, half a second after the greeting

    from recollect.shells.mcp.talk import talk  # noqa: PLC0415

    gc.freeze()
    gc.enable()
    if greeting is None:
        asyncio.run(talk(wire, offer, lines=[first], left_out=None))
    elif greeting.is_replayed:
        asyncio.run(talk(wire, offer, lines=[first], left_out=greeting.id))
    else:
        asyncio.run(talk(wire, offer, lines=[], left_out=None))


def _leave(_number: int, _frame: object) -> None:
    sys.exit(0)  # nothing is open yet
