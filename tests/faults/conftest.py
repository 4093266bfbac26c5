"""What tests of faults share."""

from __future__ import annotations

import pytest
from tests.support import hashing

from recollect.providers import options


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider that needs no model, under the name of another."""
    monkeypatch.setitem(options.PROVIDERS, hashing.NAME, options.PROVIDERS[hashing.NAME])
    hashing.register()
