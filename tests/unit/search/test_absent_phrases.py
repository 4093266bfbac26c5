"""A quoted phrase that occurs nowhere: what the store is asked for, and what the answer says."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

import pytest
from tests.support.notes import chunk_of, document_of, put_document

from recollect.search.answer import search
from recollect.search.options import SearchOptions
from recollect.stores.ram import RamStore
from recollect.text.phrases import phrases_in
from recollect.types import Query, Scope

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from recollect.stores.base import Proposals, SpaceVectors, Store
    from recollect.types import Results

TODAY = date(2026, 11, 17)


class CountingStore(RamStore):
    """Counts what it is asked for."""

    proposed: int = 0
    looked_for: int = 0

    def propose(
        self,
        terms: Sequence[str],
        *,
        asked: SpaceVectors | None,
        scope: Scope,
        limit: int,
        stop: Collection[str] = (),
    ) -> Proposals:
        self.proposed += limit > 1  # a spelling is looked up with one
        return super().propose(terms, asked=asked, scope=scope, limit=limit, stop=stop)

    def holds(self, scope: Scope | None = None) -> bool:
        self.looked_for += 0 if scope is None else len(scope.phrases)
        return super().holds(scope)


def put(store: Store, *texts: str) -> None:
    for number, text in enumerate(texts):
        path = f"memory/{number}.md"
        put_document(store, document_of(path), [chunk_of(path, text)], recipe="r")


def answer(store: Store, question: str) -> Results:
    query = Query(question, max_results=5, scope=Scope(phrases=phrases_in(question)))
    return search(query, store=store, options=SearchOptions(), today=TODAY)


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
    put(store, "press the blue button", "the lamp and a button")

    answer(store, question)

    assert (proposed, looked_for) == (store.proposed, store.looked_for)


@pytest.mark.parametrize("question", ['"what happened" yesterday', 'what "happened" yesterday'])
def test_a_day_does_not_make_up_for_an_absent_phrase(question: str) -> None:
    store, path, yesterday = RamStore(), "memory/2026-11-16.md", date(2026, 11, 16)
    chunk = replace(chunk_of(path, "What a day: Ada painted the shed."), when=yesterday)
    put_document(store, replace(document_of(path), when=yesterday), [chunk], recipe="r")

    quoted, plain = answer(store, question), answer(store, question.replace('"', ""))

    assert path == quoted.hits[0].path
    assert (False, 0.0) == (quoted.confident, quoted.confidence)
    assert plain.confident


@pytest.mark.parametrize("question", ['"PROJ-4711"', '"memory/0"', 'see "PROJ-4711"'])
def test_an_identifier_in_a_phrase_that_occurs_is_known(question: str) -> None:
    store = RamStore()
    put(store, "See PROJ 4711")

    found = answer(store, question)

    assert () == found.notices
    assert found.confidence > 0


def test_only_the_identifier_outside_a_phrase_that_occurs_is_unknown() -> None:
    store = RamStore()
    put(store, "See PROJ 4711")

    assert ("Nothing contains AB-9.",) == answer(store, 'is AB-9 like "PROJ-4711"').notices


def test_an_identifier_is_unknown_although_a_longer_one_is_quoted() -> None:
    store = RamStore()
    put(store, "The rollout went well.")

    quoted, named = answer(store, 'is AB-1 like "XAB-12 rollout"').notices

    assert '"XAB-12 rollout"' in quoted
    assert "Nothing contains AB-1." == named


def test_a_long_phrase_is_shortened_in_a_notice() -> None:
    store = RamStore()
    put(store, "press the blue button")

    (notice,) = answer(store, f'"press the {"green " * 600}button"').notices

    assert '"press the green' in notice
    assert notice.endswith('…".')
    assert len(notice) < 200


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (8, ()),
        (9, ("the quotes of the other were ignored.",)),
        (11, ("the quotes of the 3 others were ignored.",)),
    ],
)
def test_phrases_beyond_the_eighth_are_mentioned(count: int, expected: tuple[str, ...]) -> None:
    words = [f"word{chr(97 + number)}" for number in range(count)]
    store = RamStore()
    put(store, " ".join(words))

    notices = answer(store, " ".join(f'"{word}"' for word in words)).notices

    assert expected == tuple(notice.split("; ")[1] for notice in notices)
