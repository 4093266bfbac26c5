"""How often a request waits for the database: both legs propose in one round trip."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import numpy as np
import psycopg
import pytest
from tests.postgres.serving import serving
from tests.support import hashing
from tests.support.notes import chunk_of, document_of, put_document
from tests.support.postgres import HOST, host_of
from tests.support.relay import relaying
from tests.support.servers import DATABASE

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


def test_both_legs_propose_in_one_round_trip_and_loading_is_a_second(
    watched: tuple[PostgresStore, Callable[[], int]],
) -> None:
    store, since = watched
    with store.snapshot():
        begun = since()
        found = store.propose(TERMS, asked=ASKED, scope=Scope(), limit=5)
        proposed = since()
        assert found.near is not None
        keys = sorted({*found.keyword.keys, *found.near.pools[0].keys})
        store.load(keys, terms=TERMS, fingerprint=SPACE)
        loaded = since()

    assert 3 == len(found.keyword.keys) == len(found.near.pools[0].keys)
    assert 1 == begun
    assert 1 + 1 == proposed  # the frequencies of the terms, then everything that is proposed
    assert 1 == loaded


def test_a_whole_search_waits_five_times(
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
    assert 5 == since()  # begin, frequencies, proposals, chunks, commit


def test_a_whole_request_to_a_server_waits_eight_times(
    address: str, environ: dict[str, str], tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(options.PROVIDERS, hashing.NAME, options.PROVIDERS[hashing.NAME])
    hashing.register()
    with relaying(host_of(address)) as relay:
        port = psycopg.conninfo.conninfo_to_dict(relay.address)["port"]
        store = f"postgresql://{HOST}@127.0.0.1:{port}/{DATABASE}"
        settings = {"store": store, "provider": hashing.NAME}
        with (
            MemoryHost.open(settings=settings, environ=environ) as host,
            serving(host) as served,
            served.client(served.token(tenant)) as client,
        ):
            with host.memory(tenant) as memory:
                memory.pushed.write([PushedChange("memory/a.md", b"The lamp is in the shed.")])
                memory.sync()
            root = f"/api/memories/{tenant}"
            waited = []
            for _ in range(2):
                before = relay.round_trips
                found = client.get(f"{root}/search", params={"query": "lamp"}).json()["results"]
                waited.append(relay.round_trips - before)
            before = relay.round_trips
            put = client.put(f"{root}/documents/memory/a.md", json={"text": "The lamp is gone."})
            written = relay.round_trips - before

    assert "memory/a.md" == found[0]["path"]
    # The token; the spaces; begin, frequencies, proposals, chunks, commit; superseded facts.
    assert 1 + 1 + 5 + 1 == waited[1]
    assert 200 == put.status_code
    assert 21 == written


def test_what_is_proposed_at_once_is_what_the_legs_propose(
    watched: tuple[PostgresStore, Callable[[], int]],
) -> None:
    ram, (store, _) = RamStore(), watched
    fill(ram)

    def places(each: Store) -> list[object]:
        found = each.propose(TERMS, asked=ASKED, scope=Scope(), limit=5)
        assert found.near is not None
        keys = [found.keyword.keys, *(pool.keys for pool in found.near.pools)]
        shown = [each.load(some, terms=(), fingerprint=None).paths for some in keys]
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
