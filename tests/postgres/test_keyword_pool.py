"""The pool of the keyword leg is that of the RAM store, however chunks are cut into segments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.support.notes import chunk_of, document_of, drop_document, keyword_pool, put_document

from recollect.stores.postgres import segments
from recollect.stores.ram import RamStore
from recollect.types import Phrase, Scope

if TYPE_CHECKING:
    from collections.abc import Callable

    from recollect.stores.base import Store
    from recollect.stores.postgres import PostgresStore

    Open = Callable[[str], PostgresStore]

DOCUMENTS, OF_DOCUMENT = 20, 20
POOL = 15
QUESTIONS = 25
WORDS = [f"w{number}" for number in range(300)]
SCOPES = {
    "all": Scope(),
    "path": Scope(path="memory/1*.md"),
    "phrase": Scope(phrases=(Phrase("w0", ("w0",), ("w0",)),)),
}


@pytest.fixture(params=[(8, (32, 128)), (8, (10_000,)), (1_000, (10_000,))], ids=repr)
def stores(
    request: pytest.FixtureRequest, opened: Open, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> tuple[RamStore, PostgresStore]:
    """The same chunks twice: merged segments, small ones, or none at all.

    A few words are in most chunks, as in any language.
    """
    tail, tiers = request.param
    monkeypatch.setattr(segments, "TAIL", tail)
    monkeypatch.setattr(segments, "TIERS", tiers)
    monkeypatch.setattr(segments, "_BLOCK_BYTES", 400)
    both = (RamStore(), opened(tenant))
    chance = np.random.default_rng(5)
    for number in range(DOCUMENTS):
        put(both, number, chance)
    return both


def put(both: tuple[Store, ...], number: int, chance: np.random.Generator) -> None:
    shares = 1 / np.arange(1, len(WORDS) + 1)
    path = f"memory/{number}.md"
    drawn = chance.choice(WORDS, (OF_DOCUMENT, 30), p=shares / shares.sum())
    chunks = [chunk_of(path, " ".join(row), line=at + 1) for at, row in enumerate(drawn)]
    for store in both:
        put_document(store, document_of(path), chunks, recipe="r")


def answers(store: Store, scope: Scope) -> list[object]:
    chance = np.random.default_rng(6)
    found: list[object] = []
    for _ in range(QUESTIONS):
        question = ["w0", "w1", "w2", *chance.choice(WORDS[30:], 4, replace=False).tolist()]
        pool = keyword_pool(store, question, scope=scope, limit=POOL, stop={"w0"})
        loaded = store.load(pool.keys, terms=question, fingerprint=None)
        found.append((pool.corpus, [(each.path, each.start_line) for each in loaded.chunks]))
    return found


@pytest.mark.parametrize("scope", SCOPES.values(), ids=SCOPES)
def test_the_pool_is_that_of_the_memory_as_it_is(
    stores: tuple[RamStore, PostgresStore], opened: Open, tenant: str, scope: Scope
) -> None:
    ram, postgres = stores
    assert answers(ram, scope) == answers(postgres, scope)

    chance = np.random.default_rng(7)
    others = (ram, opened(tenant))  # another process changes it
    for number in (3, 11, 3, 17):
        put(others, number, chance)
    for store in others:
        drop_document(store, "memory/5.md")

    assert answers(ram, scope) == answers(postgres, scope)
    assert [] == postgres.check(deep=True)


def test_segments_that_lost_most_of_their_chunks_are_written_again(
    stores: tuple[RamStore, PostgresStore],
) -> None:
    ram, postgres = stores
    for number in range(DOCUMENTS - 2):
        for store in stores:
            drop_document(store, f"memory/{number}.md")

    count = "SELECT sum(chunks), sum(octet_length(removed)) / 8 FROM segments WHERE tenant = %s"
    ((held, removed),) = postgres._session.read(count, (postgres._tenant,))
    held, removed = held or 0, removed or 0
    assert removed * 2 <= held <= 2 * 2 * OF_DOCUMENT
    assert [] == postgres.check(deep=True)
    assert answers(ram, Scope()) == answers(postgres, Scope())


def test_a_reader_sees_segments_and_chunks_of_one_moment(
    stores: tuple[RamStore, PostgresStore], opened: Open, tenant: str
) -> None:
    _, postgres = stores
    with postgres.snapshot():
        before = answers(postgres, Scope())
        put((opened(tenant),), 4, np.random.default_rng(8))

        assert before == answers(postgres, Scope())

    assert before != answers(postgres, Scope())


def test_a_check_finds_postings_that_are_not_those_of_the_chunks(
    stores: tuple[RamStore, PostgresStore],
) -> None:
    _, postgres = stores
    with postgres._session.writing() as connection:
        (count,) = connection.execute("SELECT count(*) FROM postings").fetchall()[0]
        own = "tenant = current_setting('recollect.tenant')"
        least = f"SELECT min(term) FROM postings WHERE {own}"  # noqa: S608 - our own names
        ((term,),) = connection.execute(least.encode()).fetchall()
        wrong = f"DELETE FROM postings WHERE {own} AND term = %s"  # noqa: S608 - our own names
        connection.execute(wrong.encode(), (term,))

    assert bool(count) is bool(postgres.check(deep=True))
