"""A quoted phrase that occurs nowhere: what the store is asked for."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import pytest
from tests.support.notes import chunk_of, document_of

from recollect.search.options import SearchOptions
from recollect.search.pipeline import search
from recollect.stores.ram import RamStore
from recollect.text.phrases import phrases_in
from recollect.types import Query, Scope

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from recollect.stores.base import Proposals
    from recollect.types import Fingerprint, Vectors


class CountingStore(RamStore):
    """Counts what it is asked for."""

    proposed: int = 0
    looked_for: int = 0

    def propose(
        self,
        terms: Sequence[str],
        *,
        vectors: Mapping[Fingerprint, Vectors],
        scope: Scope,
        limit: int,
        stop: Collection[str] = (),
    ) -> Proposals:
        self.proposed += 1
        return super().propose(terms, vectors=vectors, scope=scope, limit=limit, stop=stop)

    def has_chunks(self, scope: Scope) -> bool:
        self.looked_for += 1
        return super().has_chunks(scope)


@pytest.mark.parametrize(
    ("question", "proposed", "looked_for"),
    [
        ("blue button", 1, 0),
        ("zebra", 1, 0),
        ('"blue button"', 1, 0),
        ('"green button"', 2, 1),
        ('"blue button" "green button"', 2, 2),
        ('"blue button" "the lamp"', 1, 2),  # both occur, but not together
    ],
)
def test_a_second_search_runs_only_without_a_phrase(
    question: str, proposed: int, looked_for: int
) -> None:
    store = CountingStore()
    for number, text in enumerate(["press the blue button", "the lamp and a button"]):
        path = f"memory/{number}.md"
        store.put(document_of(path), [chunk_of(path, text)], recipe="r")
    query = Query(question, max_results=5, scope=Scope(phrases=phrases_in(question)))

    search(query, store=store, asked=None, options=SearchOptions(), today=date(2026, 1, 1))

    assert (proposed, looked_for) == (store.proposed, store.looked_for)
