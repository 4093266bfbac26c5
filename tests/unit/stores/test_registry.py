"""Stores by address, and the files of a home."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from recollect.errors import ConfigError, StoreCorruptError
from recollect.stores import notes
from recollect.stores.registry import (
    check_engine,
    inspect_file,
    is_store_file,
    open_cache,
    open_store,
    remove_file,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_a_path_and_its_address_are_the_same_store(tmp_path: Path) -> None:
    path = tmp_path / "home" / "a.sqlite"
    first, _ = open_store(path)
    with closing(first):
        notes.claim(first, "/workspace")
    second, notices = open_store(f"file:{path}", engine="sqlite-vec")
    with closing(second):
        assert ("/workspace", str(path)) == (notes.workspace_of(second), second.location)
        assert ("sqlite-vec", ()) == (second.status(None).engine, notices)


def test_every_store_in_ram_is_a_new_one(tmp_path: Path) -> None:
    first, second = (open_store("ram:")[0] for _ in range(2))
    notes.claim(first, "/workspace")

    assert notes.workspace_of(second) is None
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize("address", ["cloud://somewhere", "a.sqlite", ""])
def test_an_unknown_kind_is_refused_with_those_that_exist(address: str) -> None:
    with pytest.raises(ConfigError) as raised:
        open_store(address)

    assert "file:, ram:" in raised.value.action


def test_a_store_in_ram_has_no_vector_cache(tmp_path: Path) -> None:
    file = tmp_path / "cache.sqlite"

    assert open_cache("ram:", file, max_bytes=100) is None
    assert open_cache("file:a", file, max_bytes=0) is None
    assert open_cache("file:a", file, max_bytes=100) is not None


def test_looking_at_a_damaged_file_leaves_it_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    path.write_text("not a database" * 100, encoding="utf-8")

    with pytest.raises(StoreCorruptError):
        inspect_file(path)

    assert [path] == list(tmp_path.iterdir())


def test_a_file_is_removed_with_its_side_files(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    notes.claim(open_store(path)[0], "/workspace")

    assert all(is_store_file(str(file)) for file in tmp_path.iterdir())
    assert (True, False) == (remove_file(path), remove_file(path))
    assert [] == list(tmp_path.iterdir())
    assert not is_store_file("notes.md")


def test_the_engine_behind_files_works_here() -> None:
    assert ("sqlite", True) == (check_engine().name, check_engine().works)
