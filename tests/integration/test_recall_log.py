"""The log of recalls: private, bounded, without secrets, and off by a setting."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from recollect import Memory
from recollect.search import recall_log

if TYPE_CHECKING:
    from collections.abc import Callable

WORDS = {"provider": "none"}


def logs(environ: dict[str, str]) -> list[Path]:
    return sorted(Path(environ["RECOLLECT_HOME"]).glob("recalls/*"))


@pytest.fixture
def notes(workspace: Path, write: Callable[[str, str], Path]) -> Path:
    write("memory/harbour.md", "# Harbour\n\nThe mooring fee is 40 francs.\n")
    return workspace


def test_a_recall_is_logged_with_its_places_for_the_owner_only(
    notes: Path, environ: dict[str, str]
) -> None:
    with Memory.open(notes, environ=environ, settings=WORDS) as memory:
        memory.recall("what is the mooring fee")
        memory.recall("zebra crossing: my password is hunter2hunter2")
        assert memory.recall_log is not None
        last, first = memory.recall_log.newest(10)
    [file] = logs(environ)

    assert ("what is the mooring fee", True) == (first.prompt, first.is_confident)
    assert [("memory/harbour.md", 1, 3)] == [
        (hit.path, hit.start_line, hit.end_line) for hit in first.hits
    ]
    assert first.hits[0].legs["keyword"] > 0
    assert () == last.hits
    assert "hunter2" not in file.read_text(encoding="utf-8")
    assert "francs" not in file.read_text(encoding="utf-8")
    assert 0o600 == stat.S_IMODE(file.stat().st_mode)
    assert 0o700 == stat.S_IMODE(file.parent.stat().st_mode)


def test_nothing_is_logged_if_it_is_off_limited_or_in_ram(
    notes: Path, environ: dict[str, str]
) -> None:
    for settings, scopes in (
        ({"recall.log": False}, None),
        ({}, ["user:ada"]),
        ({"store": "ram:"}, None),
    ):
        with Memory.open(
            notes, environ=environ, settings={**WORDS, **settings}, scopes=scopes
        ) as memory:
            assert memory.recall("mooring fee").hits
            assert memory.recall_log is None

    assert [] == logs(environ)


def test_old_entries_make_room_and_damaged_ones_are_skipped(
    notes: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall_log, "MAX_BYTES", 2000)
    with Memory.open(notes, environ=environ, settings=WORDS) as memory:
        for number in range(30):
            memory.recall(f"mooring fee {number}")
        [file] = logs(environ)
        size = file.stat().st_size
        file.write_bytes(file.read_bytes() + b'{"at": "2026-\n[1]\n')
        assert memory.recall_log is not None
        newest = memory.recall_log.newest(3)

    assert size <= 2000
    assert ["mooring fee 29"] == [each.prompt for each in newest]


def test_a_log_that_cannot_be_written_is_told_and_the_block_comes(
    notes: Path, environ: dict[str, str]
) -> None:
    with Memory.open(notes, environ=environ, settings=WORDS) as memory:
        memory.sync()
        place = notes.parent / "home" / "recalls"
        place.write_text("not a folder", encoding="utf-8")
        recalled = memory.recall("mooring fee")

    assert recalled.hits
    assert any("not in the log" in notice for notice in recalled.results.notices)
