"""A sync looks at what changed, not at every chunk for its vector: by count, not by time."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
from tests.support import hashing
from tests.support.statements import counted_steps

from recollect import Memory
from recollect.errors import RequestRefusedError
from recollect.providers import options
from recollect.stores.sqlite import scan, seal
from recollect.stores.sqlite.scan import NumpyScan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from recollect.types import Role, Vectors

    Write = Callable[[str, str], Path]

FEW, MANY = 20, 300


@pytest.fixture(autouse=True)
def coded_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors are compared by codes and chunks are in segments, as in a large index."""
    monkeypatch.setattr(scan, "NumpyScan", partial(NumpyScan, exact_limit=10))
    monkeypatch.setattr(seal, "SIZES", seal.Sizes(tail=8))
    monkeypatch.setitem(options.PROVIDERS, hashing.NAME, options.PROVIDERS[hashing.NAME])
    hashing.register()


def opened(workspace: Path) -> Memory:
    home = {"RECOLLECT_HOME": str(workspace.parent / "home")}
    return Memory.open(workspace, environ=home, settings={"provider": hashing.NAME})


def sections(count: int, first: str = "") -> str:
    notes = (f"# Note {number}\n\nRoom {number} is {'dark ' * 150}\n" for number in range(count))
    return f"{first}\n\n{''.join(notes)}"


def steps(memory: Memory) -> tuple[int, int]:
    """Return how many steps a sync took, and how many texts it embedded."""
    store = memory.parts.store
    with counted_steps(store._connection) as taken:  # type: ignore[attr-defined]
        report = memory.sync()
    return sum(taken), report.embedded


def test_the_work_of_a_sync_does_not_grow_with_the_chunks(workspace: Path, write: Write) -> None:
    taken = {}
    for count in (FEW, MANY):
        write("memory/many.md", sections(count))
        write("memory/changing.md", "nothing\n")
        with opened(workspace) as memory:
            assert memory.sync().chunks > count
            unchanged, embedded = steps(memory)
            assert 0 == embedded
            write("memory/changing.md", f"something for {count}\n")
            changed, embedded = steps(memory)
            assert 1 == embedded
            taken[count] = unchanged, changed

    assert taken[MANY][0] <= taken[FEW][0] + FEW
    assert taken[MANY][1] <= taken[FEW][1] + FEW


def test_a_forced_sync_gives_back_lost_vectors(workspace: Path, write: Write) -> None:
    write("memory/many.md", sections(FEW))
    with opened(workspace) as memory:
        memory.sync()
        memory.parts.store._connection.execute("DELETE FROM vectors WHERE id % 4 = 1")  # type: ignore[attr-defined]
        assert 0 == memory.sync().embedded
        assert memory.verify().differences

        assert memory.sync(force=True).reused > 0
        assert 0 == memory.sync().pending


def test_a_search_embeds_new_texts_where_refused_ones_were(
    workspace: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    embed = hashing.HashingProvider.embed

    def choosy(self: hashing.HashingProvider, texts: Sequence[str], *, role: Role) -> Vectors:
        if any("poison" in text for text in texts):
            raise RequestRefusedError("no", action="no")
        return embed(self, texts, role=role)

    monkeypatch.setattr(hashing.HashingProvider, "embed", choosy)
    write("memory/note.md", "a note\n")
    refused = write("memory/bad.md", "poison\n")
    with opened(workspace) as memory:
        assert 1 == memory.sync().refused
        refused.unlink()
        write("memory/new.md", "fresh giraffe\n")
        memory.search("giraffe")

        assert 2 == memory.status().legs.vector.chunks
