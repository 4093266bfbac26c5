"""The embedding server of a soak, in a process of its own that can be killed.

usage: python -m tests.campaigns.soak.vendor PORT SEED FAULT_SHARE

Speaks OpenAI's format. A share of the requests is answered with 429 or 503, half an answer or
another program's page, or not at all.
"""

from __future__ import annotations

import random
import sys
import threading
from typing import TYPE_CHECKING

from tests.vendors.openai import OpenAiFormat
from tests.vendors.server import (
    VendorServer,
    hang,
    html_page,
    not_a_number,
    refuse,
    too_few,
    truncate,
    wait_and_retry,
)

if TYPE_CHECKING:
    from tests.vendors.server import Fault, Request

KEY = "sk-loopback"
_HANG_SECONDS = 15.0
_KEPT = 1000  # requests, of which only the number is of interest here


def main() -> None:
    """Serve until standard input is closed."""
    port, seed, share = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    chance = random.Random(seed)
    faults: dict[Fault, int] = {
        wait_and_retry(1): 6,
        refuse(503, "overloaded"): 6,
        truncate: 2,
        html_page: 2,
        too_few: 1,
        not_a_number: 1,
        hang(threading.Event(), at_most=_HANG_SECONDS): 2,
    }

    def script(_number: int, _request: Request) -> Fault | None:
        with server.lock:
            if len(server.requests) > _KEPT:
                server.requests.clear()
                server.embedded.clear()
                server.sizes.clear()
            if chance.random() >= share:
                return None
            [fault] = chance.choices(list(faults), weights=list(faults.values()))
            return fault

    with VendorServer(OpenAiFormat(), key=KEY, script=script, port=port) as server:
        server._server.handle_error = lambda *_: None  # type: ignore[method-assign]  # killed clients
        print(server.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
