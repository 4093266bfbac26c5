"""Checks how much code there is: every line has to be read by somebody."""

from __future__ import annotations

import inspect
from pathlib import Path

import recollect
from recollect.search.answer import search
from recollect.stores import ram

LIMIT = 49_894
"""Lines of Python in src. Lower it when code is removed; whoever raises it gives the reason in the
message of the same commit."""


def test_the_source_is_not_longer_than_its_limit() -> None:
    files = Path(recollect.__file__).parent.rglob("*.py")

    assert LIMIT >= sum(file.read_bytes().count(b"\n") for file in files)


def test_a_search_reads_like_its_stages() -> None:
    assert 30 >= len(inspect.getsource(search).splitlines())


def test_the_store_that_defines_the_others_stays_short() -> None:
    assert 500 > len(inspect.getsource(ram).splitlines())
