"""What every vendor's Batch API does, proven against its format on loopback."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.vendors.batches import EXPIRED, FAILED, Desk, OpenAiDesk, VoyageDesk
from tests.vendors.openai import OpenAiFormat
from tests.vendors.server import VendorServer, bag_of_words, html_page, refuse

from recollect.errors import ProviderBusyError, ProviderSetupError
from recollect.ingest.batches import batch_api
from recollect.providers.mistral import open_mistral
from recollect.providers.openai import open_openai
from recollect.providers.options import ProviderOptions, RemoteOptions
from recollect.providers.voyage import open_voyage
from recollect.types import (
    digest_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from recollect.ingest.batches import OpenAiBatches
    from recollect.providers.remote.provider import RemoteProvider

DIMENSIONS = 16
TEXTS = ("A heron on the ice.", "Tea at four.", "The key is under the mat.", "A grey heron.")


@dataclass(frozen=True)
class Vendor:
    name: str
    opener: Callable[..., RemoteProvider]
    desk: type[Desk]
    root: str


VENDORS = (
    Vendor("openai", open_openai, OpenAiDesk, "/v1"),
    Vendor("voyage", open_voyage, VoyageDesk, "/v1"),
)


@dataclass
class Counter:
    """A vendor's desk, the server it stands in, and a way to walk up to it."""

    vendor: Vendor
    desk: Desk
    server: VendorServer
    providers: list[RemoteProvider] = field(default_factory=list)

    def batches(self, *, dimensions: int = DIMENSIONS) -> OpenAiBatches:
        """A new process's view of the API."""
        remote = RemoteOptions(base_url=self.server.url + self.vendor.root)
        options = ProviderOptions(self.vendor.name, dimensions=dimensions, remote=remote)
        provider = self.vendor.opener(options)
        self.providers.append(provider)
        opened = batch_api(provider)
        assert opened is not None
        return opened


@pytest.fixture(params=VENDORS, ids=lambda vendor: vendor.name)
def counter(request: pytest.FixtureRequest) -> Iterator[Counter]:
    vendor: Vendor = request.param
    desk = vendor.desk()
    with VendorServer(OpenAiFormat(), route=desk) as server:
        counter = Counter(vendor, desk, server)
        yield counter
        for provider in counter.providers:
            provider.close()


def by_digest(*texts: str) -> Mapping[str, str]:
    return {digest_of(text.encode("utf-8", "surrogatepass")): text for text in texts}


def collected(batches: OpenAiBatches, batch: str) -> dict[str, list[float]]:
    """The vectors that came back, rounded for comparison."""
    found = batches.collect(batches.look(batch) or "")
    return {digest: [round(float(value), 5) for value in vector] for digest, vector in found}


def expected(texts: Mapping[str, str]) -> dict[str, list[float]]:
    vectors = {}
    for digest, text in texts.items():
        vector = np.array(bag_of_words(text, DIMENSIONS), dtype=np.float32)
        vectors[digest] = [round(float(value), 5) for value in vector / np.linalg.norm(vector)]
    return vectors


def test_texts_handed_in_come_back_as_unit_vectors_by_their_digests(counter: Counter) -> None:
    texts = by_digest(*TEXTS)
    batches = counter.batches()

    batch = batches.submit(texts)

    assert batches.look(batch) is not None
    assert expected(texts) == collected(batches, batch)


def test_texts_with_any_characters_arrive_whole(counter: Counter) -> None:
    texts = by_digest(
        '"quoted"\nand broken\r\n', "привет \u2028 \u0085 мир", "会議は午後四時 🦆", "\\"
    )
    batches = counter.batches()

    batch = batches.submit(texts)

    assert set(texts.values()) == set(counter.desk.embedded)
    assert expected(texts) == collected(batches, batch)


def test_half_a_character_does_not_spoil_the_file(counter: Counter) -> None:
    batches = counter.batches()

    batch = batches.submit(by_digest("broken \ud83d emoji"))

    assert ["broken ? emoji"] == list(counter.desk.embedded)
    assert 1 == len(collected(batches, batch))


def test_a_batch_is_looked_at_until_it_is_over(counter: Counter) -> None:
    counter.desk.looks_until_over = 2
    batches = counter.batches()
    batch = batches.submit(by_digest(*TEXTS))

    assert [False, False, True] == [batches.look(batch) is not None for _ in range(3)]


def test_a_refused_text_is_left_out_and_the_others_come_back_with_vectors(
    counter: Counter,
) -> None:
    texts = by_digest(*TEXTS)
    counter.desk.refusals = {TEXTS[1]: "The text is too long."}
    batches = counter.batches()

    vectors = collected(batches, batches.submit(texts))

    assert set(texts) - {digest_of(TEXTS[1].encode())} == set(vectors)


def test_a_batch_that_ran_out_of_time_gives_what_it_has(counter: Counter) -> None:
    counter.desk.ending = EXPIRED
    batches = counter.batches()
    batch = batches.submit(by_digest(*TEXTS))

    assert batches.look(batch) is not None
    assert 2 == len(collected(batches, batch))


def test_a_failed_batch_is_over_and_gives_nothing(counter: Counter) -> None:
    counter.desk.ending = FAILED
    batches = counter.batches()
    batch = batches.submit(by_digest(*TEXTS))

    assert batches.look(batch) is not None
    assert {} == collected(batches, batch)


def test_vectors_of_the_wrong_length_are_left_out(counter: Counter) -> None:
    counter.desk.spoil = True
    batches = counter.batches()

    assert {} == collected(batches, batches.submit(by_digest(*TEXTS)))


def test_a_vendor_that_is_busy_is_not_asked_twice_at_once(counter: Counter) -> None:
    counter.desk.busy_answers = 1
    batches = counter.batches()

    with pytest.raises(ProviderBusyError):
        batches.submit(by_digest(*TEXTS))

    assert {} == counter.desk.batches
    assert batches.look(batches.submit(by_digest(*TEXTS))) is not None
    assert 1 == len(counter.desk.batches)


def test_a_batch_the_vendor_does_not_know_is_over_without_vectors(counter: Counter) -> None:
    batches = counter.batches()
    batch = batches.submit(by_digest(*TEXTS))
    counter.desk.batches.clear()

    assert batches.look(batch) is not None
    assert {} == collected(batches, batch)


def test_answers_the_vendor_dropped_are_left_out(counter: Counter) -> None:
    batches = counter.batches()
    batch = batches.submit(by_digest(*TEXTS))
    gone = refuse(403, "You do not have permission to access the File or it may not exist.")
    counter.server.script = lambda _, request: gone if "output-" in request.path else None

    assert {} == collected(batches, batch)


def test_a_wrong_key_is_an_error_and_not_a_lost_batch(counter: Counter) -> None:
    batches = counter.batches()
    batch = batches.submit(by_digest(*TEXTS))
    counter.server.script = lambda _number, _request: refuse(401, "the key is wrong")

    with pytest.raises(ProviderSetupError):
        batches.look(batch)


def test_a_proxys_page_is_an_error_and_not_an_empty_batch(counter: Counter) -> None:
    batches = counter.batches()
    batch = batches.submit(by_digest(*TEXTS))
    counter.server.script = lambda _, request: html_page if "output-" in request.path else None

    with pytest.raises(ProviderBusyError, match="is not JSON lines"):
        collected(batches, batch)


def test_lines_of_unknown_shape_are_left_out(counter: Counter) -> None:
    batches = counter.batches()
    batch = batches.submit(by_digest(*TEXTS))
    [handed] = counter.desk.batches.values()
    digest = digest_of(TEXTS[0].encode())
    handed.answers = [{}, {"custom_id": digest, "key": digest}, {"custom_id": 3, "key": None}]

    assert {} == collected(batches, batch)


def test_a_batch_holds_no_more_than_its_vendor_and_one_download_take(counter: Counter) -> None:
    most = counter.batches().most_texts
    bytes_a_text = 3072 * 24  # the longest vectors, each number in full

    assert 500 <= most <= 50_000
    assert most * bytes_a_text < 256 * 1024 * 1024


def test_vendors_without_a_batch_api_have_none() -> None:
    assert batch_api(open_mistral(ProviderOptions("mistral"))) is None


def test_what_is_handed_in_is_worded_by_the_providers_own_api(counter: Counter) -> None:
    counter.batches().submit(by_digest(TEXTS[0]))

    [handed] = counter.desk.batches.values()
    words = json.dumps([handed.request, handed.lines])

    named = {
        "openai": ["text-embedding-3-small", '"dimensions": 16'],
        "voyage": ["voyage-4-large", '"output_dimension": 16', '"input_type": "document"'],
    }
    assert [] == [word for word in named[counter.vendor.name] if word not in words]
