"""One set of tests for every Store: what RAM defines, the others must do."""

from __future__ import annotations

import itertools
import os
import threading
from contextlib import closing
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.support.notes import (
    drop_document,
    keyword_pool,
    known_document,
    put_document,
    vector_pool,
)
from tests.support.postgres import database

from recollect.errors import StoreCorruptError, StoreError, VectorsRejectedError
from recollect.ingest.lease import beat, give_back, take
from recollect.reports import Amount, Amounts, DaySummary, DocumentSummary
from recollect.stores import notes
from recollect.stores.base import DocumentWrite, Holder, Missing, SpaceTexts, patience, published_in
from recollect.stores.postgres import open_database
from recollect.stores.ram import RamStore
from recollect.stores.sqlite import SqliteStore, seal
from recollect.stores.sqlite.scan import NumpyScan
from recollect.text.phrases import phrases_in
from recollect.text.tags import tags_named
from recollect.text.terms import query_terms
from recollect.types import (
    Background,
    Chunk,
    ChunkKey,
    Document,
    FactMark,
    Fingerprint,
    Scope,
    SourceKind,
    Stat,
    SupersededFact,
    digest_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from recollect.stores.base import Space, Store
    from recollect.types import Known

SPACE = Fingerprint("test", "model", 8, "plain")
OTHER = Fingerprint("test", "another", 8, "plain")

_tenants = itertools.count()


def open_postgres(path: Path) -> Store:
    # One server for all processes of a run, a tenant for each test.
    return open_database(
        database(path.parent.parent.parent), tenant=f"{os.getpid()}-{next(_tenants)}"
    )


OPENERS: dict[str, Callable[[Path], Store]] = {
    "ram": lambda _: RamStore(),
    "sqlite": SqliteStore.open,
    "sqlite-segments": SqliteStore.open,
    "sqlite-codes": lambda path: SqliteStore.open(path, engine=NumpyScan(exact_limit=2)),
    "sqlite-vec": lambda path: SqliteStore.open(path, engine="sqlite-vec"),
    "postgres": open_postgres,
}


every_engine = pytest.mark.parametrize("store", list(OPENERS), indirect=True)
"""For tests that propose, load, prune or check: only there the ways of a file differ."""


@pytest.fixture(params=["ram", "sqlite", "postgres"])
def store(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Store]:
    if request.param == "sqlite-segments":
        monkeypatch.setattr(seal, "SIZES", seal.Sizes(tail=0, tiers=(2, 4, 8)))
    opened = OPENERS[request.param](tmp_path / "index.sqlite")
    yield opened
    opened.close()


def document(path: str, text: str, *, when: date | None = None) -> Document:
    return Document(
        path=path,
        source=SourceKind.MEMORY,
        text=text,
        digest=digest_of(text.encode()),
        stat=Stat(len(text), 1),
        when=when,
    )


def put(store: Store, path: str, *texts: str, when: date | None = None) -> None:
    whole = document(path, "\n".join(texts), when=when)
    chunks = [
        Chunk(path, SourceKind.MEMORY, line, line, text, heading=("Top", "Part"), when=when)
        for line, text in enumerate(texts, start=1)
    ]
    put_document(store, whole, chunks, recipe="r1")


def put_media(store: Store, path: str, content: bytes, *, label: str) -> str:
    """Store a media file as its label; return the digest that its vector is kept under."""
    whole = replace(
        document(path, label),
        digest=digest_of(content),
        stat=Stat(len(content), 1),
        is_media=True,
    )
    chunk = Chunk(path, SourceKind.MEMORY, 1, 1, label, media=whole.digest)
    put_document(store, whole, [chunk], recipe="r1")
    return chunk.digest


def unit(*values: float) -> np.ndarray:
    vector = np.zeros(8, dtype=np.float32)
    vector[: len(values)] = values
    return vector / np.linalg.norm(vector)


def embed(store: Store, space: Fingerprint, **vectors: np.ndarray) -> None:
    """Give the chunks whose text is the keyword's name that vector."""
    store.put_vectors(
        space,
        digests=[digest_of(text.encode()) for text in vectors],
        vectors=np.stack(list(vectors.values())),
    )


def texts_of(store: Store, keys: object) -> list[str]:
    loaded = store.load(keys, terms=[], fingerprint=None)  # type: ignore[arg-type]
    return [chunk.text for chunk in loaded.chunks]


@every_engine
def test_an_entry_keeps_its_importance_and_is_proposed_for_its_triggers(store: Store) -> None:
    entry = Chunk(
        "MEMORY.md", SourceKind.MEMORY, 1, 1, "- No deploys", importance=9, triggers="ship it"
    )
    put_document(store, document("MEMORY.md", entry.text), [entry], recipe="r1")

    found = keyword_pool(store, ["ship"], scope=Scope(), limit=5)

    assert [entry] == list(store.load(found.keys, terms=[], fingerprint=None).chunks)


@every_engine
def test_an_empty_store_answers_with_nothing(store: Store) -> None:
    assert {} == store.known()
    assert () == keyword_pool(store, ["apple"], scope=Scope(), limit=5).keys
    assert () == vector_pool(store, SPACE, vector=unit(1), scope=Scope(), limit=5).keys
    assert [] == store.missing(SpaceTexts(SPACE), limit=5)
    assert (0, 0) == (
        store.status(SpaceTexts(SPACE)).documents,
        store.status(SpaceTexts(SPACE)).chunks,
    )


@every_engine
@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ('"blue button"', {"press the blue button", "the Blue-Buttons of old"}),
        ('button "press the"', {"press the blue button"}),
        ('"blue button" "of old"', {"the Blue-Buttons of old"}),
        ('zebra "the button"', {"the button is blue"}),
        ('"按钮蓝色"', {"按钮\n蓝色"}),
        ('"蓝色按钮"', {"点击蓝色按钮回滚"}),
        ('"Top Part"', None),
        ('"memory/a.md"', None),
        ('"얼"', {"금강산의 얼굴빛"}),
        ('"nowhere to be seen"', set()),
    ],
)
def test_a_phrase_is_a_filter_on_every_leg(
    store: Store, question: str, expected: set[str] | None
) -> None:
    texts = (
        "press the blue button",
        "the button is blue",
        "the Blue-Buttons of old",
        "点击蓝色按钮回滚",
        "按钮\n蓝色",
        "금강산의 얼굴빛",
    )
    put(store, "memory/a.md", *texts)
    embed(store, SPACE, **{text: unit(1, place) for place, text in enumerate(texts)})
    scope = Scope(phrases=phrases_in(question))

    keywords = keyword_pool(store, query_terms(question).terms, scope=scope, limit=10).keys
    nearest = vector_pool(store, SPACE, vector=unit(1), scope=scope, limit=10).keys

    everything = set(texts) if expected is None else expected
    assert everything == set(texts_of(store, nearest))
    assert everything >= set(texts_of(store, keywords))
    if question != '"얼"':  # not a term: only vectors reach it
        assert everything == set(texts_of(store, keywords))


TAGGED = {
    "recipe": {"Käsespätzle", "for four", "late turn #recipe"},
    "#Recipe": {"Käsespätzle", "for four", "late turn #recipe"},
    "travel": {"Tram 28 #travel/lisbon", "the hotel"},
    "travel/lisbon": {"Tram 28 #travel/lisbon", "the hotel"},
    "lisbon": set(),
    "日记": {"早上 #日记", "晚上"},
    "work": {"- deploy on Mondays #work"},
    "recipe travel": set(),
    "recipe dinner": {"Käsespätzle", "for four"},
    "recip": set(),
}
"""What is found by tags: all of a note, but single entries and turns."""


@every_engine
def test_tags_are_a_filter_on_every_leg(store: Store) -> None:
    files = {
        "notes/spaetzle.md": ("Käsespätzle", "for four"),
        "notes/lisbon.md": ("Tram 28 #travel/lisbon", "the hotel"),
        "notes/zh.md": ("早上 #日记", "晚上"),
        "notes/plain.md": ("a recipe without a tag, and a #recipes one",),
        "MEMORY.md": ("- deploy on Mondays #work", "- tea, not coffee #home"),
        "sessions/a.jsonl": ("late turn #recipe", "another turn"),
    }
    for path, texts in files.items():
        source = SourceKind.SESSIONS if path.endswith(".jsonl") else SourceKind.MEMORY
        chunks = [Chunk(path, source, at, at, text) for at, text in enumerate(texts, start=1)]
        if path == "notes/spaetzle.md":
            chunks[0] = replace(chunks[0], triggers="#recipe #dinner")
        put_document(store, replace(document(path, "x"), source=source), chunks, recipe="r1")
    everything = [text for texts in files.values() for text in texts]
    embed(store, SPACE, **{text: unit(1, place) for place, text in enumerate(everything)})
    words = [word for text in everything for word in query_terms(text).terms]
    for names, expected in TAGGED.items():
        scope = Scope(tags=tags_named(names.split()))

        keywords = keyword_pool(store, words, scope=scope, limit=20).keys
        nearest = vector_pool(store, SPACE, vector=unit(1), scope=scope, limit=20).keys
        listed = store.documents(scope, limit=20, offset=0).documents
        assert store.holds(scope) is bool(listed)

        assert expected == set(texts_of(store, nearest)) == set(texts_of(store, keywords)), names
        assert bool(expected) == bool(listed), names


def test_what_is_put_is_known_with_its_digest_stat_and_recipe(store: Store) -> None:
    put(store, "memory/a.md", "apple")

    known = store.known()[SourceKind.MEMORY, "memory/a.md"]

    assert digest_of(b"apple") == known.digest
    assert Stat(5, 1) == known.stat
    assert "r1" == known.recipe
    assert known.is_settled


@every_engine
def test_a_chunk_comes_back_as_it_was_put(store: Store) -> None:
    chunk = Chunk(
        path="memory/a.md",
        source=SourceKind.MEMORY,
        start_line=3,
        end_line=9,
        text="apple 数据库\n\ttabs",
        heading=("Größe", "B > C"),
        prefix="Größe",
        when=date(2026, 2, 1),
    )
    put_document(store, document("memory/a.md", "x", when=date(2026, 2, 1)), [chunk], recipe="r1")

    keys = keyword_pool(store, ["数据"], scope=Scope(), limit=5).keys
    loaded = store.load(keys, terms=[], fingerprint=None)

    assert [chunk] == list(loaded.chunks)


@every_engine
def test_putting_a_document_again_replaces_all_its_chunks(store: Store) -> None:
    put(store, "memory/a.md", "apple", "banana")
    put(store, "memory/a.md", "cherry")

    assert () == keyword_pool(store, ["appl", "banana"], scope=Scope(), limit=5).keys
    assert ["cherry"] == texts_of(
        store, keyword_pool(store, ["cherri"], scope=Scope(), limit=5).keys
    )
    assert 1 == store.status(None).chunks


@every_engine
def test_dropping_a_document_takes_its_chunks_along_and_no_others(store: Store) -> None:
    put(store, "memory/a.md", "apple")
    put(store, "memory/b.md", "apple")
    drop_document(store, "memory/a.md")

    keys = keyword_pool(store, ["appl"], scope=Scope(), limit=5).keys

    assert ["memory/b.md"] == [
        chunk.path for chunk in store.load(keys, terms=[], fingerprint=None).chunks
    ]
    assert 1 == keyword_pool(store, ["appl"], scope=Scope(), limit=5).corpus.frequencies["appl"]


def known_of(store: Store, path: str = "memory/a.md") -> Known | None:
    return known_document(store, path, source=SourceKind.MEMORY)


def put_over(store: Store, text: str, over: Known | None) -> bool:
    chunk = Chunk("memory/a.md", SourceKind.MEMORY, 1, 1, text)
    return put_document(store, document("memory/a.md", text), [chunk], recipe="r1", expected=over)


def found(store: Store) -> list[str]:
    keys = keyword_pool(store, ["appl", "banana", "cherri"], scope=Scope(), limit=5).keys
    return sorted(texts_of(store, keys))


def test_what_is_known_of_one_document_is_what_is_known_of_all(store: Store) -> None:
    put(store, "memory/a.md", "apple")

    assert store.known()[SourceKind.MEMORY, "memory/a.md"] == known_of(store)
    assert known_of(store, "memory/b.md") is None
    assert known_document(store, "memory/a.md", source=SourceKind.SESSIONS) is None


@every_engine
def test_a_document_is_put_over_what_is_there_if_that_is_what_was_seen(store: Store) -> None:
    first = put_over(store, "apple", None)
    second = put_over(store, "banana", known_of(store))

    assert (True, True) == (first, second)
    assert ["banana"] == found(store)


@every_engine
def test_a_document_that_came_meanwhile_is_not_replaced_by_one_thought_new(store: Store) -> None:
    put(store, "memory/a.md", "apple")
    before = known_of(store)

    assert not put_over(store, "banana", None)
    assert ["apple"] == found(store)
    assert before == known_of(store)


@every_engine
def test_an_older_content_is_not_put_over_a_newer_one(store: Store) -> None:
    put(store, "memory/a.md", "apple")
    seen = known_of(store)
    put(store, "memory/a.md", "banana")
    newer = known_of(store)

    assert not put_over(store, "cherry", seen)
    assert ["banana"] == found(store)
    assert newer == known_of(store)
    assert 1 == store.status(None).chunks


@every_engine
def test_a_document_that_went_meanwhile_does_not_come_back(store: Store) -> None:
    put(store, "memory/a.md", "apple")
    seen = known_of(store)
    drop_document(store, "memory/a.md")

    assert not put_over(store, "banana", seen)
    assert {} == store.known()
    assert [] == found(store)


@pytest.mark.parametrize("change", ["stat", "recipe"])
def test_another_stat_or_recipe_is_another_state_too(store: Store, change: str) -> None:
    put(store, "memory/a.md", "apple")
    seen = known_of(store)
    same = document("memory/a.md", "apple")
    if change == "stat":
        store.put_many([DocumentWrite(replace(same, stat=Stat(5, 99)), None, "")])
    else:
        put_document(store, same, [], recipe="r2")

    assert not put_over(store, "banana", seen)
    assert put_over(store, "banana", known_of(store))


def test_many_documents_are_dropped_except_those_that_another_changed(store: Store) -> None:
    for name in ("a", "b", "c"):
        put(store, f"memory/{name}.md", "apple")
    seen = list(store.known().values())
    put(store, "memory/b.md", "banana")

    store.drop_many(seen)

    assert [(SourceKind.MEMORY, "memory/b.md")] == list(store.known())


def write_of(path: str, text: str, *, expected: Known | None) -> DocumentWrite:
    chunk = Chunk(path, SourceKind.MEMORY, 1, 1, text)
    return DocumentWrite(document(path, text), [chunk], "r1", expected)


@every_engine
def test_of_many_documents_only_those_that_another_changed_are_left_out(store: Store) -> None:
    put(store, "memory/a.md", "apple")
    seen = known_of(store)
    put(store, "memory/a.md", "avocado")

    stored = store.put_many(
        [
            write_of("memory/b.md", "banana", expected=None),
            write_of("memory/a.md", "apricot", expected=seen),
            write_of("memory/c.md", "cherry", expected=None),
            write_of("memory/c.md", "coconut", expected=None),
        ]
    )

    assert [True, False, True, False] == stored
    found = keyword_pool(
        store, query_terms("apricot avocado banana cherry coconut").terms, scope=Scope(), limit=9
    )
    assert {"avocado", "banana", "cherry"} == set(texts_of(store, found.keys))


@every_engine
def test_of_documents_that_belong_together_none_is_stored_if_another_changed_one(
    store: Store,
) -> None:
    put(store, "memory/a.md", "apple")
    seen = known_of(store)
    put(store, "memory/a.md", "banana")
    apple = write_of("memory/a.md", "apple", expected=known_of(store))
    cherries = write_of("memory/b.md", "cherries", expected=None)

    refused = store.put_many([cherries, replace(apple, expected=seen)], jointly=True)
    kept = found(store)
    stored = store.put_many([cherries, apple], jointly=True)

    assert ([False, False], [True, True]) == (refused, stored)
    assert (["banana"], ["apple", "cherries"]) == (kept, found(store))
    assert [] == store.put_many([], jointly=True)


def test_many_documents_are_stored_together_or_not_at_all(store: Store) -> None:
    if isinstance(store, RamStore):
        pytest.skip("a write to memory does not fail")
    broken = replace(document("memory/b.md", "banana"), stat=Stat(2**70, 1))

    with pytest.raises((OverflowError, StoreError)):
        store.put_many(
            [
                write_of("memory/a.md", "apple", expected=None),
                DocumentWrite(broken, [], "r1"),
            ]
        )

    assert {} == store.known()


@every_engine
def test_what_one_source_holds_does_not_stand_in_the_way_of_another(store: Store) -> None:
    put(store, "memory/a.md", "apple")
    seen = known_of(store)
    other = replace(document("memory/a.md", "banana"), source=SourceKind.SESSIONS)
    chunk = Chunk("memory/a.md", SourceKind.SESSIONS, 1, 1, "banana")

    assert put_document(store, other, [chunk], recipe="r1", expected=None)
    assert seen == known_of(store)
    drop_document(store, "memory/a.md")
    assert ["banana"] == found(store)


def test_touching_documents_changes_their_stats_only(store: Store) -> None:
    put(store, "memory/a.md", "apple")
    put(store, "memory/b.md", "banana")
    before = store.known()[SourceKind.MEMORY, "memory/b.md"]
    same, other = document("memory/a.md", "apple"), document("memory/b.md", "blueberry")
    later = [replace(each, stat=Stat(5, 99), is_settled=False) for each in (same, other)]

    store.put_many([DocumentWrite(each, None, "") for each in later])

    known = store.known()
    touched = known[SourceKind.MEMORY, "memory/a.md"]
    assert (Stat(5, 99), False) == (touched.stat, touched.is_settled)
    assert before == known[SourceKind.MEMORY, "memory/b.md"]
    assert 2 == store.status(None).chunks


@every_engine
def test_any_of_the_terms_is_enough_and_absent_terms_are_harmless(store: Store) -> None:
    put(store, "memory/a.md", "apple pie", "banana split", "cherry cake")

    keys = keyword_pool(store, ["appl", "banana", "unheard"], scope=Scope(), limit=5).keys

    assert {"apple pie", "banana split"} == set(texts_of(store, keys))


@every_engine
def test_headings_and_file_names_are_searchable(store: Store) -> None:
    put(store, "memory/project-lantern.md", "plain text")

    assert 1 == len(keyword_pool(store, ["project-lantern.md"], scope=Scope(), limit=5).keys)
    assert 1 == len(keyword_pool(store, ["part"], scope=Scope(), limit=5).keys)


@every_engine
def test_the_corpus_tells_counts_lengths_and_frequencies(store: Store) -> None:
    put(store, "memory/a.md", "apple apple pie", "apple")

    corpus = keyword_pool(store, ["appl", "pie", "unheard"], scope=Scope(), limit=5).corpus

    assert 2 == corpus.chunks
    assert (3 + 1) / 2 == corpus.mean_length
    assert {"appl": 2, "pie": 1, "unheard": 0} == dict(corpus.frequencies)


@every_engine
def test_loading_counts_terms_per_field(store: Store) -> None:
    put(store, "memory/apple.md", "apple apple pie")
    keys = keyword_pool(store, ["pie"], scope=Scope(), limit=5).keys

    loaded = store.load(keys, terms=["appl", "pie", "part"], fingerprint=None)

    assert [[[2, 0, 1], [1, 0, 0], [0, 1, 0]]] == loaded.counts.tolist()
    assert [3] == loaded.lengths.tolist()


def test_each_text_without_a_vector_is_missing_once(store: Store) -> None:
    put(store, "memory/a.md", "apple", "banana")
    put(store, "memory/b.md", "apple")
    embed(store, SPACE, banana=unit(1))

    assert [("apple", digest_of(b"apple"))] == [
        (each.text, each.digest) for each in store.missing(SpaceTexts(SPACE), limit=5)
    ]
    assert 2 == store.status(SpaceTexts(SPACE)).pending
    assert {"apple", "banana"} == {each.text for each in store.missing(SpaceTexts(OTHER), limit=5)}


def test_missing_texts_carry_their_prefix(store: Store) -> None:
    chunk = Chunk("memory/a.md", SourceKind.MEMORY, 1, 1, "body", prefix="Top > Part")
    put_document(store, document("memory/a.md", "body"), [chunk], recipe="r1")

    assert ["Top > Part\nbody"] == [each.text for each in store.missing(SpaceTexts(SPACE), limit=5)]
    assert [chunk.digest] == [each.digest for each in store.missing(SpaceTexts(SPACE), limit=5)]


@every_engine
def test_the_nearest_come_first_with_their_cosines(store: Store) -> None:
    put(store, "memory/a.md", "apple", "banana", "cherry", "damson")
    embed(store, SPACE, apple=unit(1), banana=unit(3, 4), cherry=unit(0, 1), damson=unit(0, 0, 1))

    pool = vector_pool(store, SPACE, vector=unit(1), scope=Scope(), limit=2)

    assert ["apple", "banana"] == texts_of(store, pool.keys)
    assert [1.0, 0.6] == pytest.approx(list(pool.cosines), abs=1e-6)


@every_engine
def test_spaces_of_equal_dimensions_never_meet(store: Store) -> None:
    put(store, "memory/a.md", "apple", "banana", "cherry")
    embed(store, SPACE, apple=unit(1), banana=unit(0, 1), cherry=unit(0, 0, 1))
    embed(store, OTHER, banana=unit(1))

    pool = vector_pool(store, OTHER, vector=unit(1), scope=Scope(), limit=5)
    loaded = store.load(pool.keys, terms=[], fingerprint=OTHER)

    assert ["banana"] == texts_of(store, pool.keys)
    assert [True] == loaded.has_vector.tolist()


@every_engine
def test_a_vector_stays_for_an_equal_text_elsewhere(store: Store) -> None:
    put(store, "memory/old.md", "apple", "banana", "cherry")
    embed(store, SPACE, apple=unit(1), banana=unit(0, 1), cherry=unit(0, 0, 1))
    drop_document(store, "memory/old.md")
    put(store, "memory/new.md", "apple")

    assert [] == store.missing(SpaceTexts(SPACE), limit=5)
    assert ["apple"] == texts_of(
        store, vector_pool(store, SPACE, vector=unit(1), scope=Scope(), limit=5).keys
    )


@every_engine
def test_loading_gives_vectors_where_there_are_any(store: Store) -> None:
    put(store, "memory/a.md", "apple", "banana")
    embed(store, SPACE, apple=unit(3, 4))
    keys = keyword_pool(store, ["appl", "banana"], scope=Scope(), limit=5).keys

    loaded = store.load(sorted(keys), terms=[], fingerprint=SPACE)

    assert [True, False] == loaded.has_vector.tolist()
    assert unit(3, 4).tolist() == pytest.approx(loaded.vectors[0].tolist())


def put_words(store: Store, space: Fingerprint, **words: bytes) -> None:
    """Give the chunks whose text is the keyword's name a vector and these word codes."""
    store.put_vectors(
        space,
        digests=[digest_of(text.encode()) for text in words],
        vectors=np.stack([unit(1)] * len(words)),
        words=list(words.values()),
    )


@every_engine
def test_word_codes_come_back_for_the_chunks_that_have_some(store: Store) -> None:
    put(store, "memory/a.md", "apple", "banana", "cherry")
    put_words(store, SPACE, apple=b"\x01\x02", banana=b"")
    keys = sorted(keyword_pool(store, ["appl", "banana", "cherri"], scope=Scope(), limit=5).keys)

    assert {keys[0]: b"\x01\x02"} == store.word_codes(SPACE, keys=keys)
    assert {} == store.word_codes(OTHER, keys=keys)
    assert ["cherry"] == [missing.text for missing in store.missing(SpaceTexts(SPACE), limit=5)]


@every_engine
def test_word_codes_are_added_to_a_vector_that_is_there_and_then_stay(store: Store) -> None:
    put(store, "memory/a.md", "apple")
    embed(store, SPACE, apple=unit(1))
    put_words(store, SPACE, apple=b"\x01")
    put_words(store, SPACE, apple=b"\x02")

    keys = keyword_pool(store, ["appl"], scope=Scope(), limit=5).keys
    assert {keys[0]: b"\x01"} == store.word_codes(SPACE, keys=keys)
    assert [] == store.check(deep=True)


def test_word_codes_that_do_not_fit_are_rejected(store: Store) -> None:
    put(store, "memory/a.md", "apple")
    digests = [digest_of(b"apple")]

    with pytest.raises(VectorsRejectedError):
        store.put_vectors(SPACE, digests=digests, vectors=np.stack([unit(1)]), words=[b"1", b"2"])

    assert ["apple"] == [missing.text for missing in store.missing(SpaceTexts(SPACE), limit=5)]


@every_engine
def test_word_codes_go_when_the_store_is_cleared(store: Store) -> None:
    put(store, "memory/a.md", "apple")
    put_words(store, SPACE, apple=b"\x01")

    store.clear()
    put(store, "memory/a.md", "apple")
    embed(store, SPACE, apple=unit(1))

    keys = keyword_pool(store, ["appl"], scope=Scope(), limit=5).keys
    assert {} == store.word_codes(SPACE, keys=keys)


@every_engine
def test_loading_leaves_out_what_is_gone_and_keeps_the_order(store: Store) -> None:
    put(store, "memory/a.md", "apple", "banana", "cherry")
    keys = sorted(keyword_pool(store, ["appl", "banana", "cherri"], scope=Scope(), limit=5).keys)

    loaded = store.load([keys[2], 10_000, keys[0]], terms=[], fingerprint=None)  # type: ignore[list-item]

    assert ["cherry", "apple"] == [chunk.text for chunk in loaded.chunks]


@every_engine
@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        (Scope(path="memory/x/*.md"), {"new x"}),
        (Scope(path="memory/**"), {"old", "new x", "undated"}),
        (Scope(since=date(2026, 1, 1)), {"new x"}),
        (Scope(before=date(2026, 1, 1)), {"old"}),
        (Scope(since=date(2025, 1, 1), before=date(2026, 2, 1)), {"old"}),
        (Scope(source=SourceKind.SESSIONS), set()),
        (Scope(source=SourceKind.MEMORY), {"old", "new x", "undated"}),
    ],
)
def test_a_scope_is_applied_by_both_legs_before_the_limit(
    store: Store, scope: Scope, expected: set[str]
) -> None:
    for number in range(8):
        put(store, f"other/{number}.md", f"word {number}", when=None)
    put(store, "memory/old.md", "old", when=date(2025, 6, 1))
    put(store, "memory/x/new.md", "new x", when=date(2026, 2, 1))
    put(store, "memory/undated.md", "undated")
    for text in ("old", "new x", "undated"):
        embed(store, SPACE, **{text: unit(1, 5)})
    embed(store, SPACE, **{f"word {number}": unit(1) for number in range(8)})
    if scope == Scope(source=SourceKind.MEMORY):
        for number in range(8):
            drop_document(store, f"other/{number}.md")

    keyword = keyword_pool(store, ["old", "new", "x", "undat", "word"], scope=scope, limit=3)
    nearest = vector_pool(store, SPACE, vector=unit(1), scope=scope, limit=3)

    assert expected == set(texts_of(store, keyword.keys))
    assert expected == set(texts_of(store, nearest.keys))


@pytest.mark.parametrize(
    "vectors",
    [
        np.zeros((1, 8), dtype=np.float32),
        np.full((1, 8), np.nan, dtype=np.float32),
        np.ones((2, 8), dtype=np.float32) / np.sqrt(8, dtype=np.float32),
        np.ones((1, 4), dtype=np.float32) / 2,
    ],
    ids=["not unit", "not finite", "wrong count", "wrong dimensions"],
)
def test_vectors_that_would_poison_the_space_are_rejected(
    store: Store, vectors: np.ndarray
) -> None:
    put(store, "memory/a.md", "apple")

    with pytest.raises(VectorsRejectedError):
        store.put_vectors(SPACE, digests=[digest_of(b"apple")], vectors=vectors)

    assert 1 == store.status(SpaceTexts(SPACE)).pending


def test_clearing_forgets_documents_and_vectors(store: Store) -> None:
    put(store, "memory/a.md", "apple")
    embed(store, SPACE, apple=unit(1))
    store.clear()
    put(store, "memory/a.md", "apple")

    assert 1 == store.status(SpaceTexts(SPACE)).pending
    assert 1 == store.status(SpaceTexts(SPACE)).chunks


def test_status_estimates_the_tokens_of_all_texts(store: Store) -> None:
    put(store, "a.md", "The boat is red, and the oars are green.")

    assert len("The boat is red, and the oars are green.") // 4 == store.status(None).tokens


def test_status_counts_per_source(store: Store) -> None:
    put(store, "memory/a.md", "apple", "banana")
    put(store, "memory/b.md", "cherry")
    embed(store, SPACE, apple=unit(1))

    status = store.status(SpaceTexts(SPACE))

    assert {"memory": Amount(2, 3)} == dict(status.by_source)
    assert (1, 2) == (status.vectors, status.pending)


def test_missing_texts_come_in_the_order_of_arrival_and_go_on_behind_one(store: Store) -> None:
    put(store, "memory/b.md", *(f"text {number}" for number in range(5)))
    put(store, "memory/a.md", *(f"text {number}" for number in range(3, 9)))
    drop_document(store, "memory/b.md")
    put(store, "memory/b.md", "text 2", "text 9")

    first = store.missing(SpaceTexts(SPACE), limit=4)
    rest = store.missing(SpaceTexts(SPACE), limit=9, after=first[-1].number)

    numbers = [missing.number for missing in (*first, *rest)]
    assert numbers == sorted(set(numbers))
    assert 4 == len(first)
    texts = [missing.text for missing in (*first, *rest)]
    assert sorted(f"text {number}" for number in range(2, 10)) == sorted(texts)
    # A text that was gone and comes back may count as new.
    assert [f"text {number}" for number in range(3, 10)] == [
        each for each in texts if each != "text 2"
    ]


def test_a_space_is_unknown_before_anything_of_it_is_stored(store: Store) -> None:
    assert SPACE not in store.spaces()
    assert published_in(store.spaces()) is None


def test_a_background_is_kept_with_its_space_alone(store: Store) -> None:
    store.put_background(SPACE, Background(0.25, 0.125))

    assert Background(0.25, 0.125) == space_of(store, SPACE).background
    assert OTHER not in store.spaces()


def test_one_space_at_a_time_is_published(store: Store) -> None:
    store.publish(SPACE)
    store.publish(OTHER)

    assert OTHER == published_in(store.spaces())
    assert [False, True] == [space_of(store, own).is_published for own in (SPACE, OTHER)]


@every_engine
def test_a_space_whose_model_decides_is_held_to_its_first_vectors(store: Store) -> None:
    native = Fingerprint("test", "org/any", None, "plain", "1f2e3d4c")
    put(store, "memory/a.md", "apple", "banana")
    embed(store, native, apple=unit(1))

    with pytest.raises(VectorsRejectedError):
        store.put_vectors(
            native,
            digests=[digest_of(b"banana")],
            vectors=np.full((1, 4), 0.5, dtype=np.float32),
        )

    assert 8 == space_of(store, native).dimensions
    assert ["banana"] == [missing.text for missing in store.missing(SpaceTexts(native), limit=5)]
    found = vector_pool(store, native, vector=unit(1), scope=Scope(), limit=5)
    assert ["apple"] == texts_of(store, found.keys)


@every_engine
def test_pruning_keeps_what_chunks_and_kept_spaces_hold(store: Store) -> None:
    texts = [f"text {number}" for number in range(600)]
    put(store, "memory/kept.md", *texts[:300])
    put(store, "memory/gone.md", *texts[300:])
    for space in (SPACE, OTHER):
        embed(store, space, **{text: unit(1, place) for place, text in enumerate(texts)})
    drop_document(store, "memory/gone.md")

    dropped = store.prune(keep={SPACE})

    assert 900 == dropped
    assert [] == store.missing(SpaceTexts(SPACE), limit=1)
    assert OTHER not in store.spaces()
    found = vector_pool(store, SPACE, vector=unit(1, 100), scope=Scope(), limit=1)
    assert ["text 100"] == texts_of(store, found.keys)
    assert 0 == store.prune(keep={SPACE})


def space_of(store: Store, fingerprint: Fingerprint) -> Space:
    return store.spaces()[fingerprint]


def test_a_media_file_is_missing_only_where_media_are_asked_for(store: Store) -> None:
    put(store, "memory/a.md", "apple")
    digest = put_media(store, "assets/a.png", b"12345", label="Image file: a.png")

    assert ["apple"] == [missing.text for missing in store.missing(SpaceTexts(SPACE), limit=5)]
    [media] = store.missing(SpaceTexts(SPACE, media=True), limit=5)
    assert Missing(digest, "Image file: a.png", "assets/a.png", 5, media.number) == media
    assert [] == list(store.missing(SpaceTexts(SPACE, media=True), limit=5, after=media.number))
    assert (1, 2) == (
        store.status(SpaceTexts(SPACE)).pending,
        store.status(SpaceTexts(SPACE, media=True)).pending,
    )


def test_a_media_file_with_a_vector_is_neither_missing_nor_pending(store: Store) -> None:
    digest = put_media(store, "assets/a.png", b"12345", label="Image file: a.png")
    store.put_vectors(SPACE, digests=[digest], vectors=unit(1)[np.newaxis])

    assert [] == list(store.missing(SpaceTexts(SPACE, media=True), limit=5))
    assert [0, 0] == [
        store.status(SpaceTexts(SPACE, media=media)).pending for media in (False, True)
    ]
    assert [1, 1] == [
        store.status(SpaceTexts(SPACE, media=media)).vectors for media in (False, True)
    ]
    assert (0, 1) == (
        store.status(SpaceTexts(OTHER)).pending,
        store.status(SpaceTexts(OTHER, media=True)).pending,
    )


def test_equal_media_are_missing_once_and_gone_with_their_document(store: Store) -> None:
    first = put_media(store, "assets/a/x.png", b"12345", label="Image file: x.png")
    second = put_media(store, "assets/b/x.png", b"12345", label="Image file: x.png")
    other = put_media(store, "assets/c/x.png", b"54321", label="Image file: x.png")

    assert first == second
    assert [first, other] == [
        missing.digest for missing in store.missing(SpaceTexts(SPACE, media=True), limit=5)
    ]
    for path in ("assets/a/x.png", "assets/b/x.png", "assets/c/x.png"):
        drop_document(store, path)
    assert [] == list(store.missing(SpaceTexts(SPACE, media=True), limit=5))
    assert 0 == store.status(SpaceTexts(SPACE, media=True)).pending


@every_engine
def test_a_media_chunk_comes_back_as_it_was_put_and_is_found_by_its_label(store: Store) -> None:
    digest = put_media(store, "assets/a.png", b"12345", label="Image file: a.png")
    store.put_vectors(SPACE, digests=[digest], vectors=unit(1)[np.newaxis])

    keys = keyword_pool(store, ["imag"], scope=Scope(), limit=5).keys
    loaded = store.load(keys, terms=["imag"], fingerprint=SPACE)

    assert [digest_of(b"12345")] == [chunk.media for chunk in loaded.chunks]
    assert [digest] == [chunk.digest for chunk in loaded.chunks]
    assert [True] == loaded.has_vector.tolist()


def test_a_note_that_spells_out_a_files_digest_does_not_share_its_vector(store: Store) -> None:
    label = "Image file: a.png"
    digest = put_media(store, "assets/a.png", b"12345", label=label)
    put(store, "memory/a.md", digest_of(b"12345") + label)

    assert digest not in {missing.digest for missing in store.missing(SpaceTexts(SPACE), limit=5)}


def put_facts(store: Store, **marks: FactMark) -> None:
    """Store facts whose text is the keyword's name, beside one note."""
    chunks = [
        Chunk("memory/facts/all.md", SourceKind.FACTS, line, line, f"kettle {text}", fact=mark)
        for line, (text, mark) in enumerate(marks.items(), start=1)
    ]
    facts = replace(document("memory/facts/all.md", "facts"), source=SourceKind.FACTS)
    put_document(store, facts, chunks, recipe="r1")
    put(store, "memory/note.md", "kettle note")
    texts = [f"kettle {text}" for text in (*marks, "note")]
    store.put_vectors(
        SPACE,
        digests=[digest_of(text.encode()) for text in texts],
        vectors=np.stack([unit(1, place) for place, _ in enumerate(texts)]),
    )


def seen(store: Store, **scope: object) -> tuple[set[str], set[str]]:
    """Return the texts that each leg finds of the facts."""
    within = Scope(**scope)  # type: ignore[arg-type]
    keyword = keyword_pool(store, ["kettl"], scope=within, limit=9).keys
    vector = vector_pool(store, SPACE, vector=unit(1), scope=within, limit=9).keys
    found = [
        {text.removeprefix("kettle ") for text in texts_of(store, keys)}
        for keys in (keyword, vector)
    ]
    return found[0], found[1]


def test_both_legs_see_only_facts_of_the_scopes_asked_for(store: Store) -> None:
    put_facts(
        store,
        everyone=FactMark("f-1"),
        ann=FactMark("f-2", scope="user:ann"),
        bob=FactMark("f-3", scope="user:bob"),
    )

    assert ({"everyone", "note"},) * 2 == seen(store)
    assert ({"everyone", "ann", "note"},) * 2 == seen(
        store, audience=frozenset({"global", "user:ann"})
    )
    assert ({"note"},) * 2 == seen(store, audience=frozenset())


def test_both_legs_see_a_fact_only_while_it_holds(store: Store) -> None:
    put_facts(
        store,
        old=FactMark("f-1", until=datetime(2026, 3, 1, tzinfo=UTC), superseded_by="f-2"),
        new=FactMark("f-2", since=datetime(2026, 3, 1, tzinfo=UTC)),
    )

    assert ({"new", "note"},) * 2 == seen(store)
    assert ({"new", "note"},) * 2 == seen(store, as_of=datetime(2026, 3, 1, tzinfo=UTC))
    assert ({"old", "note"},) * 2 == seen(store, as_of=datetime(2026, 2, 28, tzinfo=UTC))
    assert ({"old", "new", "note"},) * 2 == seen(store, with_superseded=True)
    # Asked before, and nothing was stored since.
    assert ({"new", "note"},) * 2 == seen(store, as_of=datetime(2026, 3, 1, 0, 0, 1, tzinfo=UTC))


@every_engine
def test_facts_of_other_scopes_change_no_number(store: Store) -> None:
    marks = {"everyone": FactMark("f-1"), "ann": FactMark("f-2", scope="user:ann")}
    hidden = {"bob": FactMark("f-3", scope="user:bob"), "eve": FactMark("f-4", scope="user:eve")}
    ann = frozenset({"global", "user:ann"})

    def numbers() -> tuple[object, ...]:
        shown = store.status(SpaceTexts(SPACE), audience=ann)
        listed = store.documents(Scope(audience=ann), limit=9, offset=0)
        counts = (shown.documents, shown.chunks, shown.by_source, shown.vectors, shown.pending)
        corpus = keyword_pool(store, ["kettl", "bob"], scope=Scope(audience=ann), limit=9).corpus
        return (*counts, shown.size_bytes, listed, corpus)

    put_facts(store, **marks)
    alone = numbers()
    put_facts(store, **marks, **hidden)

    assert alone == numbers()
    assert 3 == store.status(SpaceTexts(SPACE), audience=ann).chunks
    assert 5 == store.status(SpaceTexts(SPACE)).chunks


@every_engine
def test_hidden_facts_take_no_place_among_those_asked_for(store: Store) -> None:
    put_facts(
        store,
        **{f"hidden{number}": FactMark(f"f-{number}", scope="user:x") for number in range(5)},
        shown=FactMark("f-9"),
    )

    keyword = keyword_pool(store, ["kettl"], scope=Scope(source=SourceKind.FACTS), limit=1).keys
    vector = vector_pool(
        store, SPACE, vector=unit(1), scope=Scope(source=SourceKind.FACTS), limit=1
    ).keys

    assert ["kettle shown"] == texts_of(store, keyword) == texts_of(store, vector)


@every_engine
def test_a_fact_comes_back_with_its_mark(store: Store) -> None:
    mark = FactMark(
        "f-1", "user:ann", datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 2, 3, tzinfo=UTC), "f-2"
    )
    put_facts(store, tea=mark)
    scope = Scope(audience=frozenset({"user:ann"}), with_superseded=True, source=SourceKind.FACTS)

    keys = keyword_pool(store, ["tea"], scope=scope, limit=5).keys
    [chunk] = store.load(keys, terms=[], fingerprint=None).chunks

    assert mark == chunk.fact


def test_a_store_holds_something_once_it_has_a_document(store: Store) -> None:
    before = store.holds()
    put_document(store, document("memory/a.md", ""), [], recipe="r1")

    assert (False, True) == (before, store.holds())


def test_the_chunks_of_a_document_come_in_the_order_of_its_lines(store: Store) -> None:
    put(store, "memory/a.md", "cherry", "apple", "banana")
    put(store, "memory/b.md", "damson")

    chunks = store.chunks_of("memory/a.md", source=SourceKind.MEMORY)

    assert ["cherry", "apple", "banana"] == [chunk.text for chunk in chunks]
    assert [] == list(store.chunks_of("memory/a.md", source=SourceKind.SESSIONS))


def test_superseded_facts_come_with_their_successors(store: Store) -> None:
    march = datetime(2026, 3, 1, tzinfo=UTC)
    put_facts(
        store,
        old=FactMark("f-1", until=march, superseded_by="f-2"),
        new=FactMark("f-2", since=march),
        lost=FactMark("f-3", until=march, superseded_by="f-9"),
        ended=FactMark("f-4", until=march),
        foreign=FactMark("f-5", scope="user:ann", until=march, superseded_by="f-2"),
    )
    replaced = SupersededFact("f-1", "kettle old", "", by="f-2", instead="kettle new")
    lost = SupersededFact("f-3", "kettle lost", "", by="f-9", instead="")

    assert [replaced, lost] == list(store.superseded(Scope()))
    assert [replaced, lost] == list(store.superseded(Scope(as_of=march)))
    assert [] == list(store.superseded(Scope(as_of=datetime(2026, 2, 28, tzinfo=UTC))))
    assert ["f-5"] == [
        fact.id for fact in store.superseded(Scope(audience=frozenset({"user:ann"})))
    ]


def test_batches_are_remembered_by_space_until_they_are_dropped(store: Store) -> None:
    notes.put_batch(store, SPACE, "b-2", ["d2", "d1"])
    notes.put_batch(store, SPACE, "b-1", ["d3"])
    notes.put_batch(store, OTHER, "b-1", ["d4"])
    notes.drop_batch(store, OTHER, "b-1")
    notes.drop_batch(store, OTHER, "never there")

    assert {"b-1": {"d3"}, "b-2": {"d1", "d2"}} == dict(notes.batches(store, SPACE))
    assert ["b-1", "b-2"] == list(notes.batches(store, SPACE))
    assert {} == notes.batches(store, OTHER)


def test_refused_texts_are_remembered_by_space_until_the_next_full_run(store: Store) -> None:
    notes.put_refused(store, SPACE, ["d1", "d2"])
    first = notes.refused(store, SPACE)
    notes.put_refused(store, SPACE, ["d2"])

    assert ["d1", "d2"] == sorted(first)
    assert (["d2"], []) == (list(notes.refused(store, SPACE)), list(notes.refused(store, OTHER)))


def test_the_version_changes_with_every_chunk_and_vector_and_with_nothing_else(
    store: Store,
) -> None:
    seen = [store.version()]
    put(store, "memory/a.md", "apple", "banana")
    seen.append(store.version())
    embed(store, SPACE, apple=unit(1))
    seen.append(store.version())
    put(store, "memory/a.md", "apple", "cherry")
    seen.append(store.version())
    drop_document(store, "memory/a.md")
    seen.append(store.version())

    assert 5 == len(set(seen))
    store.publish(SPACE)
    notes.put_refused(store, SPACE, ["d"])
    assert seen[-1] == store.version()


@every_engine
def test_a_vector_that_is_there_stays(store: Store) -> None:
    put(store, "memory/a.md", "apple")
    embed(store, SPACE, apple=unit(1))
    before = store.version()
    embed(store, SPACE, apple=unit(0, 1))

    assert [1.0] == list(vector_pool(store, SPACE, vector=unit(1), scope=Scope(), limit=1).cosines)
    assert before == store.version()


def test_documents_are_listed_newest_first_with_what_the_scope_sees(store: Store) -> None:
    put(store, "memory/undated.md", "apple")
    put(store, "memory/old.md", "banana", "cherry", when=date(2026, 1, 1))
    put(store, "memory/new.md", "damson", when=date(2026, 2, 1))
    put_facts(store, mine=FactMark("f-1"), theirs=FactMark("f-2", scope="user:ann"))

    everything = store.documents(Scope(), limit=10, offset=0)
    page = store.documents(Scope(path="memory/*.md", before=date(2027, 1, 1)), limit=1, offset=1)

    assert [
        "memory/new.md",
        "memory/old.md",
        "memory/facts/all.md",
        "memory/note.md",
        "memory/undated.md",
    ] == [each.path for each in everything.documents]
    assert 5 == everything.total
    old = DocumentSummary(
        "memory/old.md", SourceKind.MEMORY, date(2026, 1, 1), "Top", ("Part",), 2, 13
    )
    assert ((old,), 2) == (page.documents, page.total)
    [facts] = (each for each in everything.documents if each.source == SourceKind.FACTS)
    assert (1, None) == (facts.chunks, facts.title)


def test_days_count_documents_and_chunks_by_source(store: Store) -> None:
    put(store, "memory/a.md", "apple", "banana", when=date(2026, 2, 1))
    put(store, "memory/b.md", "cherry", when=date(2026, 2, 1))
    put(store, "memory/c.md", "damson", when=date(2026, 1, 1))
    put_facts(store, mine=FactMark("f-1"), theirs=FactMark("f-2", scope="user:ann"))

    assert (
        DaySummary(None, Amounts({"facts": Amount(1, 1), "memory": Amount(1, 1)})),
        DaySummary(date(2026, 1, 1), Amounts({"memory": Amount(1, 1)})),
        DaySummary(date(2026, 2, 1), Amounts({"memory": Amount(2, 3)})),
    ) == store.days(Scope())


@every_engine
def test_embedded_chunks_are_known_by_key_and_come_with_their_vectors(store: Store) -> None:
    put(store, "memory/a.md", "apple", "banana", "cherry", when=date(2026, 2, 1))
    put(store, "other/b.md", "apple")
    embed(store, SPACE, apple=unit(1), cherry=unit(3, 4))

    keys = store.embedded(SPACE, scope=Scope(path="memory/*")).tolist()
    loaded = store.load([keys[1], ChunkKey(10_000), keys[0]], terms=(), fingerprint=SPACE)

    assert 3 == len(store.embedded(SPACE, scope=Scope()))
    assert [] == store.embedded(OTHER, scope=Scope()).tolist()
    assert [keys[1], keys[0]] == list(loaded.keys)
    assert ["cherry", "apple"] == [each.text for each in loaded.chunks]
    assert np.allclose(np.stack([unit(3, 4), unit(1)]), loaded.vectors)


@every_engine
def test_a_shared_store_is_the_same_one_and_is_closed_on_its_own(store: Store) -> None:
    def add_elsewhere() -> None:
        shared, notices = store.share()
        with closing(shared):
            assert () == notices
            put(shared, "memory/b.md", "banana")

    put(store, "memory/a.md", "apple")
    in_thread(add_elsewhere).join(30)

    assert ["apple", "banana"] == found(store)


@every_engine
def test_inside_a_snapshot_nothing_changes(store: Store) -> None:
    put(store, "memory/a.md", "apple")
    shared, _ = store.share()

    with store.snapshot():
        before = found(store)
        writer = in_thread(lambda: put(shared, "memory/b.md", "banana"))
        writer.join(0.2)  # a store that does not wait is done by then
        assert before == found(store)
    writer.join(30)

    assert ["apple", "banana"] == found(store)
    shared.close()


@every_engine
def test_writes_in_little_time_are_writes(store: Store) -> None:
    with patience(0.5):
        put(store, "memory/a.md", "apple")

    assert ["apple"] == found(store)


def in_thread(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


OURS = Holder("ours", "index", 1, "here", since=10.0, beat=10.0)
THEIRS = Holder("theirs", "watch", 2, "there", since=20.0, beat=20.0)


def held_by(store: Store, name: str = "writer") -> Holder | None:
    return store.lease(name, lambda held: held)


def test_a_lease_has_one_holder_until_it_is_given_back(store: Store) -> None:
    assert take(store, OURS, is_gone=lambda _: False) is None
    assert OURS == take(store, THEIRS, is_gone=lambda _: False)
    give_back(store, token=THEIRS.token)
    assert OURS == held_by(store)
    assert held_by(store, "another") is None
    give_back(store, token=OURS.token)
    assert take(store, THEIRS, is_gone=lambda _: False) is None
    assert THEIRS == held_by(store)


def test_a_heartbeat_says_whether_the_lease_was_taken_over(store: Store) -> None:
    take(store, OURS, is_gone=lambda _: False)
    assert beat(store, token=OURS.token, now=15.0)
    assert replace(OURS, beat=15.0) == held_by(store)
    assert take(store, THEIRS, is_gone=lambda holder: holder.beat < 20.0) is None
    assert not beat(store, token=OURS.token, now=25.0)
    assert THEIRS == held_by(store)


def test_another_thread_may_ask_for_a_lease(store: Store) -> None:
    take(store, OURS, is_gone=lambda _: False)
    seen: list[Holder | None] = []

    in_thread(lambda: seen.append(held_by(store))).join()

    assert [OURS] == seen


def test_a_store_knows_whose_it_is(store: Store) -> None:
    before = notes.workspace_of(store)
    claims = [
        notes.claim(store, "/first"),
        notes.claim(store, "/first"),
        notes.claim(store, "/second"),
    ]

    assert (None, "/second") == (before, notes.workspace_of(store))
    assert [None, None, "/first"] == claims


@every_engine
def test_a_sound_store_has_nothing_to_say(store: Store) -> None:
    put(store, "memory/a.md", *(f"text {number}" for number in range(5)))
    embed(store, SPACE, **{f"text {number}": unit(1, number) for number in range(5)})

    assert ([], []) == (store.check(), store.check(deep=True))
    assert store.is_writable
    assert store.status(None).location == store.location


@every_engine
def test_after_recovery_the_store_is_empty_and_works_or_the_damage_is_raised(
    store: Store,
) -> None:
    put(store, "memory/a.md", "apple")
    damages = [StoreCorruptError("It is damaged.", action="-")] * 2
    told: list[str] = []

    def work() -> bool:
        if damages:
            raise damages.pop()
        return store.holds()

    if not isinstance(store, SqliteStore):
        with pytest.raises(StoreCorruptError):
            store.recovering(work, tell=told.extend)
        return

    held = store.recovering(work, tell=told.extend)
    put(store, "memory/b.md", "banana")

    [notice] = told
    assert not held
    assert ["banana"] == found(store)
    assert notice.startswith("It was damaged. It was set aside")


def test_a_closed_store_cannot_be_used(store: Store) -> None:
    shared, _ = store.share()
    shared.close()

    with pytest.raises(StoreError):
        shared.known()
    assert {} == store.known()
