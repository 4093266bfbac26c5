"""Refusing what a vendor refuses: `VendorServer(format, route=strict)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from tests.vendors.server import Exchange, Request

Refused = tuple[int, str]
"""A status and the vendor's words."""


@runtime_checkable
class StrictFormat(Protocol):
    def refusal(self, request: Request) -> Refused | None:
        """Return what the vendor says to a request it does not take."""


def strict(exchange: Exchange) -> bool:
    """Answer a request that the vendor would not take; True when it was one."""
    wire = exchange.server.format
    refused = wire.refusal(exchange.request) if isinstance(wire, StrictFormat) else None
    if refused is None:
        return False
    status, message = refused
    exchange.send_json(status, wire.error(status, message))
    return True


def bad_inputs(given: object, *, most: int) -> str | None:
    """Return what is wrong with a list of inputs, in no vendor's words."""
    if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
        return "input must be a list of strings"
    if not given or not all(given):
        return "input must not be empty"
    if len(given) > most:
        return f"too many inputs: {len(given)} where {most} are allowed"
    return None
