"""The pool of the keyword leg is the same whether or not all postings are read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.support.notes import chunk_of, document_of, drop_document, keyword_pool, put_document

from recollect.stores.postgres import keyword
from recollect.stores.postgres.connect import run
from recollect.stores.ram import RamStore
from recollect.types import Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from recollect.stores.base import Store
    from recollect.stores.postgres import PostgresStore
    from recollect.stores.postgres.connect import Connection, Cursor

    Open = Callable[[str], PostgresStore]

CHUNKS = 400
POOL = 15
QUESTIONS = 40
WORDS = [f"w{number}" for number in range(300)]


@pytest.fixture
def stores(
    opened: Open, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> tuple[RamStore, PostgresStore]:
    """The same chunks twice; a few words are in most of them, as in any language."""
    monkeypatch.setattr(keyword, "_FREQUENT", CHUNKS // 10)
    chance = np.random.default_rng(5)
    shares = 1 / np.arange(1, len(WORDS) + 1)
    both = (RamStore(), opened(tenant))
    for number in range(CHUNKS // 20):
        path = f"memory/{number}.md"
        drawn = chance.choice(WORDS, (20, 30), p=shares / shares.sum())
        chunks = [chunk_of(path, " ".join(row), line=at + 1) for at, row in enumerate(drawn)]
        for store in both:
            put_document(store, document_of(path), chunks, recipe="r")
    return both


def places(store: Store, question: list[str], scope: Scope) -> list[tuple[str, int]]:
    keys = keyword_pool(store, question, scope=scope, limit=POOL, stop={"w0"}).keys
    loaded = store.load(keys, terms=question, fingerprint=None)
    return list(zip(loaded.paths, loaded.start_lines, strict=True))


@pytest.mark.parametrize("scope", [Scope(), Scope(path="memory/1*.md")], ids=["all", "filter"])
def test_frequent_terms_are_looked_up_only_for_chunks_that_can_be_in_the_pool(
    stores: tuple[RamStore, PostgresStore], scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    ram, postgres = stores
    read_all = 0

    def counted(connection: Connection, statement: str, values: Sequence[object] = ()) -> Cursor:
        nonlocal read_all
        if "WITH rare" in statement:
            plan = run(connection, f"EXPLAIN ANALYZE {statement}", values).fetchall()
            read_all += not re.search(r"(?:Hash|Group)Aggregate .*never executed", str(plan))
        return run(connection, statement, values)

    monkeypatch.setattr(keyword, "run", counted)
    chance = np.random.default_rng(6)
    for _ in range(QUESTIONS):
        rare = chance.choice(WORDS[30:120], 4, replace=False)
        question = ["w0", "w1", "w2", *rare.tolist()]
        assert places(ram, question, scope) == places(postgres, question, scope)

    assert read_all < QUESTIONS // 2


def test_counts_that_were_kept_are_those_of_the_memory_as_it_is(
    stores: tuple[RamStore, PostgresStore], opened: Open, tenant: str
) -> None:
    ram, postgres = stores
    question = ["w0", "w1", "w200"]
    before = keyword_pool(postgres, question, scope=Scope(), limit=POOL).corpus

    for store in (ram, opened(tenant)):  # another process changes it
        drop_document(store, "memory/3.md")
    after = keyword_pool(postgres, question, scope=Scope(), limit=POOL).corpus

    assert before != after
    assert keyword_pool(ram, question, scope=Scope(), limit=POOL).corpus == after
    assert keyword_pool(postgres, question, scope=Scope(), limit=POOL).corpus == after
