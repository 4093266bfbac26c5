"""A provider that fails in the middle: what it did is kept, and the report says how far it came."""

from __future__ import annotations

import threading
from datetime import date
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.support.notes import put_document
from tests.support.waiting import PATIENCE_SECONDS

from recollect.errors import (
    ProviderBusyError,
    ProviderError,
    QuotaError,
    RequestRefusedError,
    VectorsRejectedError,
)
from recollect.ingest.embed import embed_missing
from recollect.ingest.spaces import Budget, CachedVectors, VectorSpace
from recollect.providers.base import Limits
from recollect.stores.base import SpaceTexts
from recollect.stores.ram import RamStore
from recollect.types import Background, Chunk, Document, Fingerprint, Role, SourceKind, Stat, silent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from recollect.reports import Embedded
    from recollect.types import Progress, Step, Vectors

SPACE = Fingerprint("test", "scripted", 4, "plain")
NOTHING = ProviderError("no", action="none")


class ScriptedProvider:
    """Embeds, unless its script raises; counts what it embedded."""

    fingerprint = SPACE
    background = Background(mean=0.0, deviation=1.0)

    def __init__(
        self,
        script: Callable[[int, Sequence[str]], ProviderError | None],
        *,
        limits: Limits | None = None,
    ) -> None:
        self.limits = limits or Limits(texts=32, tokens=1_000_000, in_flight=1)
        self.embedded: list[str] = []
        self.sizes: list[int] = []
        self._script = script
        self._lock = threading.Lock()

    def reads(self, text: str) -> float:
        del text
        return 1.0

    def prepare(self) -> None:
        pass

    def embed(self, texts: Sequence[str], *, role: Role) -> Vectors:
        assert role is Role.DOCUMENT
        with self._lock:
            self.sizes.append(len(texts))
            error = self._script(len(self.sizes), texts)
            if error is not None:
                raise error
            self.embedded.extend(texts)
        vectors = np.zeros((len(texts), 4), dtype=np.float32)
        vectors[:, 0] = 1.0
        return vectors

    def close(self) -> None:
        pass


def filled(count: int) -> RamStore:
    store = RamStore()
    document = Document("memory/a.md", SourceKind.MEMORY, "", "d", Stat(0, 0), None)
    texts = (f"text number {n}" for n in range(count))
    chunks = [
        Chunk("memory/a.md", SourceKind.MEMORY, n, n, text) for n, text in enumerate(texts, start=1)
    ]
    put_document(store, document, chunks, recipe="r")
    return store


def run(
    store: RamStore,
    provider: ScriptedProvider,
    *,
    most: int | None = None,
    progress: Progress = silent,
) -> Embedded:
    vectors = CachedVectors(store, SPACE, cache=None, today=date(2026, 1, 1))
    budget = Budget(texts=most)
    return embed_missing(
        store, VectorSpace(provider), vectors=vectors, pending=100, progress=progress, budget=budget
    )


def test_what_was_embedded_before_a_failure_is_kept_and_the_next_run_embeds_the_rest() -> None:
    store = filled(100)
    spent = QuotaError("The quota is used up.", action="Top up and run again.")
    provider = ScriptedProvider(lambda call, _: spent if call == 2 else None)

    first = run(store, provider)
    second = run(store, provider)

    assert (32, 68) == (first.done, second.done)
    assert first.degradation is not None
    assert "Top up and run again." == first.degradation.action
    assert (False, True) == (first.is_complete, second.is_complete)
    assert second.degradation is None
    assert 100 == len(provider.embedded) == len(set(provider.embedded))
    assert 0 == store.status(SpaceTexts(SPACE)).pending


def test_a_quota_that_is_used_up_is_asked_once() -> None:
    spent = QuotaError("The quota is used up.", action="Top up.")
    provider = ScriptedProvider(lambda *_: spent)

    run(filled(100), provider)

    assert [32] == provider.sizes


def test_a_server_that_takes_ten_texts_is_soon_asked_for_eight() -> None:
    too_many = RequestRefusedError("too many inputs", action="fewer")
    provider = ScriptedProvider(lambda _, texts: too_many if len(texts) > 10 else None)
    store = filled(200)

    report = run(store, provider)

    assert report.is_complete
    assert report.degradation is None
    assert 200 == len(provider.embedded) == len(set(provider.embedded))
    refused = [size for size in provider.sizes if size > 10]
    assert len(refused) <= 6
    assert provider.sizes.count(8) >= 22
    assert len(provider.sizes) <= 30


def test_one_text_that_is_refused_is_left_out_and_costs_the_others_nothing() -> None:
    bad = RequestRefusedError("this input is not allowed", action="another text")
    provider = ScriptedProvider(lambda _, texts: bad if "text number 7" in texts else None)
    store = filled(200)

    report = run(store, provider)

    assert 199 == len(set(provider.embedded)) == len(provider.embedded)
    assert report.is_complete
    assert report.degradation is not None
    assert "1 text was left out" in report.degradation.reason
    assert ["text number 7"] == [each.text for each in store.missing(SpaceTexts(SPACE), limit=9)]
    assert provider.sizes.count(32) >= 5


def test_a_server_that_refuses_everything_is_not_asked_for_every_text() -> None:
    wrong = VectorsRejectedError("3 dimensions where 4 were expected", action="Check the model.")
    provider = ScriptedProvider(lambda *_: wrong)

    report = run(filled(500), provider)

    assert len(provider.sizes) < 20
    assert report.degradation is not None
    assert "Check the model." == report.degradation.action
    assert not report.is_complete


def test_a_long_text_is_embedded_in_parts() -> None:
    too_long = RequestRefusedError("maximum context length", action="shorter")
    provider = ScriptedProvider(lambda _, texts: too_long if len(texts[0]) > 2000 else None)
    store = RamStore()
    text = "word " * 1500
    chunk = Chunk("memory/a.md", SourceKind.MEMORY, 1, 1, text)
    document = Document("memory/a.md", SourceKind.MEMORY, text, "d", Stat(0, 0), None)
    put_document(store, document, [chunk], recipe="r")

    report = run(store, provider)

    assert report.is_complete
    assert report.degradation is None
    assert "".join(provider.embedded) == text
    assert 0 == store.status(SpaceTexts(SPACE)).pending


def test_a_batch_without_an_answer_is_retried_after_the_others() -> None:
    silence = ProviderBusyError("no answer", action="wait")
    provider = ScriptedProvider(lambda call, _: silence if call == 1 else None)
    store = filled(100)

    report = run(store, provider)

    assert report.is_complete
    assert 100 == len(set(provider.embedded)) == len(provider.embedded)


def test_a_dead_server_ends_the_run_after_three_parcels() -> None:
    silence = ProviderBusyError("no answer", action="wait")
    provider = ScriptedProvider(lambda *_: silence)

    report = run(filled(500), provider)

    assert 3 == len(provider.sizes)
    assert report.degradation is not None
    assert "wait" == report.degradation.action


def test_several_requests_are_under_way_but_never_more_than_allowed() -> None:
    gate = threading.Barrier(4, timeout=PATIENCE_SECONDS)
    waiting = threading.Semaphore(4)
    most = [0]

    class Slow(ScriptedProvider):
        def embed(self, texts: Sequence[str], *, role: Role) -> Vectors:
            assert waiting.acquire(blocking=False), "a fifth request is under way"
            most[0] += 1
            gate.wait()
            waiting.release()
            return super().embed(texts, role=role)

    provider = Slow(lambda *_: None, limits=Limits(texts=8, tokens=10**6, in_flight=4))
    store = filled(64)

    report = run(store, provider)

    assert report.is_complete
    assert 64 == report.done
    assert 8 == most[0]


def test_progress_counts_texts_and_tokens() -> None:
    steps: list[Step] = []
    provider = ScriptedProvider(lambda *_: None)

    report = run(filled(100), provider, progress=steps.append)

    assert (100, 100) == (steps[-1].done, steps[-1].total)
    assert report.tokens == steps[-1].tokens > 0


def test_a_bounded_run_is_not_complete_and_the_next_goes_on() -> None:
    store = filled(100)
    provider = ScriptedProvider(lambda *_: None)

    first = run(store, provider, most=40)
    second = run(store, provider)

    assert (40, 60) == (first.done, second.done)
    assert (False, True) == (first.is_complete, second.is_complete)


def test_an_interrupted_run_keeps_what_is_under_way() -> None:
    store = filled(64)
    provider = ScriptedProvider(lambda *_: None, limits=Limits(texts=8, tokens=10**6, in_flight=4))

    def interrupt(step: Step) -> None:
        if step.done >= 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(store, provider, progress=interrupt)

    assert len(provider.embedded) == store.status(SpaceTexts(SPACE)).vectors < 64
