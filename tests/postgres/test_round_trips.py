"""How often a request waits for the database, and how much that sends."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.postgres.serving import serving
from tests.support import hashing
from tests.support.notes import chunk_of, document_of, put_document
from tests.support.postgres import host_of, url_of
from tests.support.relay import relaying

from recollect.errors import StoreBusyError
from recollect.hosting.host import MemoryHost
from recollect.providers import options
from recollect.search.answer import search
from recollect.search.embed import AskedVectors
from recollect.search.options import SearchOptions
from recollect.stores.base import SpaceVectors
from recollect.stores.postgres import open_database
from recollect.stores.pushed import PushedChange
from recollect.stores.ram import RamStore
from recollect.types import Background, Fingerprint, Query, Scope, digest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from recollect.stores.base import Store
    from recollect.stores.postgres import PostgresStore

SPACE = Fingerprint("test", "trips", 8, "plain")
ASKED = SpaceVectors(SPACE, np.eye(1, 8, dtype=np.float32))
TERMS = ["lamp", "shed", "boat"]
MOST_KILOBYTES = 150
"""Of a search that chooses among 200 chunks, and reads half of them."""


class Given:
    """Stands in for a provider: all vectors exist."""

    fingerprint = SPACE
    background = Background(0.0, 0.1)

    def reads(self, _text: str) -> float:
        """Return 1: every text counts."""
        return 1.0


@pytest.fixture
def watched(address: str, tenant: str) -> Iterator[tuple[PostgresStore, Callable[[], int]]]:
    """A store with notes, and what returns the round trips since it was asked."""
    with relaying(address) as relay, open_database(relay.address, tenant=tenant) as store:
        fill(store)
        store.propose(TERMS, asked=ASKED, scope=Scope(), limit=5)  # learns which tables exist
        before = relay.round_trips

        def since() -> int:
            nonlocal before
            passed, before = relay.round_trips - before, relay.round_trips
            return passed

        yield store, since


def fill(store: Store) -> None:
    texts = ["The lamp is in the shed.", "The boat has a lamp.", "A shed for the boat."]
    for number, text in enumerate(texts):
        path = f"memory/{number}.md"
        put_document(store, document_of(path), [chunk_of(path, text)], recipe="r")
        digest = digest_of(text.encode())
        vector = np.eye(8, dtype=np.float32)[number : number + 1]
        store.put_vectors(SPACE, digests=[digest], vectors=vector)
    store.publish(SPACE)


def test_a_transaction_begins_with_what_it_asks_first(
    watched: tuple[PostgresStore, Callable[[], int]],
) -> None:
    store, since = watched
    with store.snapshot():
        assert 0 == since()
        found = store.propose(TERMS, asked=ASKED, scope=Scope(), limit=5)
        proposed = since()
        assert found.near is not None
        keys = sorted({*found.keyword.keys, *found.near.pools[0].keys})
        store.load(keys, terms=TERMS, fingerprint=SPACE)
        loaded = since()

    assert 3 == len(found.keyword.keys) == len(found.near.pools[0].keys)
    assert (1, 1, 1) == (proposed, loaded, since())  # the last one commits


def test_a_text_that_nobody_asked_for_is_sent_when_it_is_read(
    watched: tuple[PostgresStore, Callable[[], int]],
) -> None:
    store, since = watched
    with store.snapshot():
        keys = store.propose(TERMS, asked=ASKED, scope=Scope(), limit=5).keyword.keys
        loaded = store.load(keys, terms=TERMS, fingerprint=SPACE)
        assert loaded.ask_texts is not None
        loaded.ask_texts(keys[:1])
    first, second, third = loaded.chunks
    since()

    asked = first.text
    assert 0 == since()  # it came with the commit
    others = second.text, third.text
    assert 1 == since()

    stored = {chunk.text for chunk in store.load(keys, terms=(), fingerprint=None).chunks}
    assert stored == {asked, *others}


def test_a_text_that_is_gone_when_it_is_read_is_told(
    watched: tuple[PostgresStore, Callable[[], int]],
) -> None:
    store, _ = watched
    with store.snapshot():
        keys = store.propose(TERMS, asked=ASKED, scope=Scope(), limit=5).keyword.keys
        loaded = store.load(keys, terms=TERMS, fingerprint=SPACE)
    store.clear()

    with pytest.raises(StoreBusyError, match="changed while it was searched"):
        assert loaded.chunks[0].text


def test_a_whole_search_waits_three_times(
    watched: tuple[PostgresStore, Callable[[], int]],
) -> None:
    store, since = watched
    asked = AskedVectors(Given(), ASKED.vectors)  # type: ignore[arg-type]

    found = search(
        Query("lamp in the shed", 3),
        store=store,
        asked=asked,
        options=SearchOptions(),
        today=date(2026, 1, 1),
    )

    assert "memory/0.md" == found.hits[0].path
    assert 3 == since()  # proposals and superseded facts, chunks, commit


def test_a_whole_request_to_a_server_waits_five_times_and_a_write_eight(
    address: str, environ: dict[str, str], tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(options.PROVIDERS, hashing.NAME, options.PROVIDERS[hashing.NAME])
    hashing.register()
    text = "The lamp is in the shed, and so is the boat. " * 20
    with relaying(host_of(address)) as relay:
        settings = {"store": url_of(relay.address), "provider": hashing.NAME}
        with (
            MemoryHost.open(settings=settings, environ=environ) as host,
            serving(host) as served,
            served.client(served.token(tenant)) as client,
        ):
            with host.memory(tenant) as memory:
                changes = [
                    PushedChange(f"memory/{number}.md", f"Note {number}. {text}".encode())
                    for number in range(300)
                ]
                memory.pushed.write(changes)
                memory.sync()
            root = f"/api/memories/{tenant}"
            waited = []
            for _ in range(2):
                before, answered = relay.round_trips, relay.answered_bytes
                found = client.get(f"{root}/search", params={"query": "lamp"}).json()["results"]
                waited.append(relay.round_trips - before)
                kilobytes = (relay.answered_bytes - answered) / 1000
            before = relay.round_trips
            put = client.put(f"{root}/documents/memory/1.md", json={"text": "The lamp is gone."})
            written = relay.round_trips - before

    assert found[0]["path"].startswith("memory/")
    # The token; the spaces; proposals and superseded facts; chunks; commit.
    assert 1 + 1 + 1 + 1 + 1 == waited[1]
    assert kilobytes < MOST_KILOBYTES
    assert 200 == put.status_code
    # The token; begin; write; commit; what is known; the text; begin; chunks and commit.
    assert 1 + 3 + 1 + 1 + 2 == written


def test_what_is_proposed_at_once_is_what_the_legs_propose(
    watched: tuple[PostgresStore, Callable[[], int]],
) -> None:
    ram, (store, _) = RamStore(), watched
    fill(ram)

    def places(each: Store) -> list[object]:
        found = each.propose(TERMS, asked=ASKED, scope=Scope(), limit=5)
        assert found.near is not None
        keys = [found.keyword.keys, *(pool.keys for pool in found.near.pools)]
        loaded = [each.load(some, terms=(), fingerprint=None) for some in keys]
        shown = [[chunk.path for chunk in some.chunks] for some in loaded]
        return [found.keyword.corpus, shown, found.near.space]

    assert places(ram) == places(store)


def test_a_question_of_another_length_is_not_compared(
    watched: tuple[PostgresStore, Callable[[], int]],
) -> None:
    store, _ = watched
    longer = SpaceVectors(SPACE, np.eye(1, 16, dtype=np.float32))

    for each in (store, RamStore()):
        if each is not store:
            fill(each)
        found = each.propose(TERMS, asked=longer, scope=Scope(), limit=5)

        assert found.near is not None
        assert not found.near.is_comparable
        assert 3 == len(found.keyword.keys)
