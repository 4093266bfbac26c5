"""Documents are stored many at a time, and soon; what another process stored is not overwritten."""

from __future__ import annotations

import gc
import os
from collections import Counter
from typing import TYPE_CHECKING

from tests.support.statements import counted_statements

from recollect import Memory
from recollect.ingest import documents
from recollect.ingest.documents import BATCH_DOCUMENTS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

    from recollect.types import Step

FILES = 2 * BATCH_DOCUMENTS + 1
LONG_AGO = 1_000_000_000


def opened(workspace: Path) -> Memory:
    home = str(workspace.parent / "home")
    return Memory.open(workspace, environ={"RECOLLECT_HOME": home, "RECOLLECT_PROVIDER": "none"})


def written(workspace: Path, *, count: int = FILES, text: str = "A note.\n") -> list[Path]:
    files = [workspace / "memory" / f"{number}.md" for number in range(count)]
    for file in files:
        file.write_text(text, encoding="utf-8")
        os.utime(file, (LONG_AGO, LONG_AGO))
    return files


def transactions(counts: Counter[str]) -> int:
    return counts["BEGIN IMMEDIATE"]


def test_files_are_stored_touched_and_dropped_in_a_few_transactions(workspace: Path) -> None:
    files = written(workspace)
    with counted_statements() as counts, opened(workspace) as memory:
        memory.sync()
        counts.clear()
        memory.sync()
        beside = transactions(counts)  # those of the lease
        counts.clear()

        for file in files:
            file.write_text("Another note.\n", encoding="utf-8")
            os.utime(file, (LONG_AGO, LONG_AGO))
        stored = memory.sync()
        for_put = transactions(counts) - beside
        counts.clear()
        for file in files:
            os.utime(file, (LONG_AGO + 1, LONG_AGO + 1))
        touched = memory.sync()
        for_touch = transactions(counts) - beside
        counts.clear()
        for file in files:
            file.unlink()
        dropped = memory.sync()
        for_drop = transactions(counts) - beside

    assert (FILES, FILES, FILES) == (stored.changed, touched.unchanged, dropped.removed)
    assert (3, 3, 3) == (for_put, for_touch, for_drop)


def test_long_texts_are_stored_in_smaller_batches(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "BATCH_CHARS", 1000)
    with counted_statements() as counts, opened(workspace) as memory:
        memory.sync()
        counts.clear()
        memory.sync()
        beside = transactions(counts)
        counts.clear()
        written(workspace, count=5, text="word " * 100)

        memory.sync()

        assert 3 == transactions(counts) - beside  # two files fill a batch


def test_files_that_are_slow_to_read_are_found_by_others_meanwhile(
    workspace: Path, write: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("memory/known.md", "Known before.\n")
    with opened(workspace) as memory, opened(workspace) as other:
        memory.sync()
        written(workspace, count=3)
        seen: list[int] = []
        monkeypatch.setattr(documents, "BATCH_SECONDS", 0.0)
        memory.sync(progress=lambda _step: seen.append(len(other.paths())))

    assert [1, 2, 3, 4] == sorted(set(seen))


def test_what_another_process_stored_meanwhile_is_not_put_back(workspace: Path) -> None:
    with opened(workspace) as memory, opened(workspace) as other:
        first, _second = written(workspace, count=2, text="Old.\n")

        def interfere(step: Step) -> None:
            if step.done == 1:  # the first file is read, and not stored yet
                first.write_text("Young.\n", encoding="utf-8")
                other.search("young")

        memory.sync(progress=interfere)

        assert ["Young."] == [hit.text for hit in other.search("young", sync=False).hits]


def test_a_sync_without_changes_looks_at_folders_and_not_into_files(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: Counter[str] = Counter()

    def counting(name: str) -> None:
        real = getattr(os, name)

        def counted(*args: object, **kwargs: object) -> object:
            calls[name] += 1
            return real(*args, **kwargs)

        monkeypatch.setattr(os, name, counted)

    def unchanged(count: int) -> tuple[dict[str, int], dict[str, int]]:
        written(workspace, count=count)
        memory.sync()
        calls.clear()
        statements.clear()
        assert count == memory.sync().unchanged
        return dict(calls), dict(statements)

    with counted_statements() as statements, opened(workspace) as memory:
        for name in ("open", "stat", "lstat", "scandir", "readlink"):
            counting(name)
        few, many = unchanged(10), unchanged(50)

    assert few == many  # one look at each entry of a folder is all that grows
    assert gc.isenabled()
