"""Starts the resident process."""

from __future__ import annotations

import os
import socket

from recollect.background.spawn import spawn
from recollect.shells.resident import wire

_CONNECT_SECONDS = 0.25


def start_if_missing(*, idle_seconds: int) -> None:
    """Start the resident process of this home, unless there is one."""
    address = wire.address_of(os.environ)
    if address is None:
        return
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_CONNECT_SECONDS)
        try:
            connection.connect(address)
        except TimeoutError:
            return  # it is there and busy
        except OSError:
            spawn(["resident", "--seconds", str(idle_seconds)], environ=os.environ)
