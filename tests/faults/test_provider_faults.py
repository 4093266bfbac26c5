"""A provider that fails in the middle: what it did is kept, and the report says how far it came."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recollect.errors import ProviderError
from recollect.ingest.embed import embed_missing
from recollect.stores.ram import RamStore
from recollect.types import Background, Chunk, Document, Fingerprint, Role, SourceKind, Stat, silent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.types import Progress, Vectors

SPACE = Fingerprint("test", "fails", 4, "plain")


class FailingProvider:
    """Embeds one batch, then gives up once, then works again."""

    fingerprint = SPACE
    background = Background(mean=0.0, deviation=1.0)

    def __init__(self) -> None:
        self.embedded: list[str] = []
        self.calls = 0

    def reads(self, text: str) -> float:
        del text
        return 1.0

    def prepare(self, *, progress: Progress, retry: bool) -> None:
        del progress, retry

    def embed(self, texts: Sequence[str], *, role: Role) -> Vectors:
        assert role is Role.DOCUMENT
        self.calls += 1
        if self.calls == 2:
            raise ProviderError("The quota is used up.", action="Top up and run again.")
        self.embedded.extend(texts)
        vectors = np.zeros((len(texts), 4), dtype=np.float32)
        vectors[:, 0] = 1.0
        return vectors

    def close(self) -> None:
        pass


def test_what_was_embedded_before_the_failure_is_kept_and_counted() -> None:
    store = RamStore()
    document = Document("memory/a.md", SourceKind.MEMORY, "", "d", Stat(0, 0), None)
    chunks = [Chunk("memory/a.md", SourceKind.MEMORY, n, n, f"text {n}") for n in range(1, 101)]
    store.put(document, chunks, recipe="r")
    provider = FailingProvider()

    first, why = embed_missing(store, provider=provider, pending=100, progress=silent)
    second, none = embed_missing(store, provider=provider, pending=68, progress=silent)

    assert (32, 68) == (first, second)
    assert why is not None
    assert "Top up and run again." == why.action
    assert none is None
    assert 100 == len(provider.embedded) == len(set(provider.embedded))
    assert 0 == store.status(SPACE).pending
