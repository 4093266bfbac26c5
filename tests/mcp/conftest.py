"""What tests of the server need: an environment in which it stops at once."""

from __future__ import annotations

import pytest


@pytest.fixture
def environ(environ: dict[str, str]) -> dict[str, str]:
    """The usual environment; a watcher looks up after each pause to see that it is to stop."""
    return {**environ, "RECOLLECT_WATCH_DEBOUNCE_MS": "100"}


@pytest.fixture
def plain(environ: dict[str, str]) -> dict[str, str]:
    """An environment without a model, for what does not hang on one."""
    return {**environ, "RECOLLECT_PROVIDER": "none"}
