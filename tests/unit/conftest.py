"""What the tests of the background need: an index file, and waiting for a condition."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.support.waiting import wait_until

from recollect.stores.ram import RamStore
from recollect.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from recollect.stores.base import Store


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """An index file with its tables and nothing in them."""
    path = tmp_path / "index.sqlite"
    SqliteStore.open(path).close()
    return path


@pytest.fixture
def file_store(index: Path) -> Iterator[SqliteStore]:
    """A store in the index file."""
    with SqliteStore.open(index) as store:
        yield store


@pytest.fixture(params=["file", "ram"])
def store(request: pytest.FixtureRequest) -> Store:
    """A store of each kind."""
    return request.getfixturevalue("file_store") if request.param == "file" else RamStore()


@pytest.fixture
def eventually() -> Callable[[Callable[[], object]], None]:
    """Wait until a condition holds, and fail if it never does."""
    return wait_until
