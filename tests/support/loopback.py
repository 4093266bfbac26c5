"""An embedding server on loopback, and an environment that uses it and nothing else."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from tests.vendors.openai import OpenAiFormat
from tests.vendors.server import VendorServer, slow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_KEY = "sk-loopback"


@contextlib.contextmanager
def loopback_vendor(folder: Path, *, answer_seconds: float = 0.0) -> Iterator[dict[str, str]]:
    """Serve vectors of 32 dimensions, equal for equal texts, and yield the environment.

    Args:
        folder: holds the home and the user's folder.
        answer_seconds: how long each request takes, so that a run can be killed while it waits.

    """
    with VendorServer(OpenAiFormat(), key=_KEY) as server:
        # Killed clients leave broken connections. That is expected here, so print nothing.
        server._server.handle_error = lambda *_: None  # type: ignore[method-assign]
        if answer_seconds:
            server.script = lambda _number, _request: slow(answer_seconds)
        yield {
            "HOME": str(folder / "user"),
            "PATH": os.environ["PATH"],
            "RECOLLECT_HOME": str(folder / "home"),
            "RECOLLECT_PROVIDER": "openai",
            "RECOLLECT_DIMENSIONS": "32",
            "RECOLLECT_WATCH_DEBOUNCE_MS": "100",
            "OPENAI_API_KEY": _KEY,
            "OPENAI_BASE_URL": f"{server.url}/v1",
        }
