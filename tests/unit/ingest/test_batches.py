"""Runs that end before their batches do, and what the next run makes of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest
from tests.support.notes import put_document

from recollect.errors import (
    ProviderBusyError,
    ProviderError,
    ProviderSetupError,
    QuotaError,
)
from recollect.ingest.batches import embed_by_batch
from recollect.ingest.spaces import CachedVectors
from recollect.stores import notes
from recollect.stores.base import SpaceTexts
from recollect.stores.ram import RamStore
from recollect.types import (
    Chunk,
    Document,
    Fingerprint,
    SourceKind,
    Stat,
    Step,
    digest_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from recollect.ingest.batches import OpenAiBatches
    from recollect.reports import Embedded
    from recollect.types import Vector

SPACE = Fingerprint("vendor", "model", 4, "plain")
TODAY = date(2026, 10, 2)


@dataclass(eq=False)
class RamBatches:
    """A vendor in memory. Batches end when told to, in the way the switches say."""

    most_texts: int = 3
    silent: set[str] = field(default_factory=set)
    """Texts that bring nothing."""
    failing: Callable[[str], bool] = lambda _name: False
    """Which batches fail as a whole."""
    submit_error: Callable[[], ProviderError | None] = lambda: None
    look_error: Callable[[str], ProviderError | None] = lambda _name: None
    is_over: bool = True
    batches: dict[str, dict[str, str]] = field(default_factory=dict)
    handed_in: Counter[str] = field(default_factory=Counter)

    def submit(self, texts: Mapping[str, str]) -> str:
        if error := self.submit_error():
            raise error
        assert 0 < len(texts) <= self.most_texts
        name = f"batch-{len(self.batches) + 1}"
        self.batches[name] = dict(texts)
        self.handed_in.update(texts.values())
        return name

    def look(self, batch: str) -> str | None:
        if error := self.look_error(batch):
            raise error
        if not self.is_over:
            return None
        return "" if self.failing(batch) or batch not in self.batches else batch

    def collect(self, file: str) -> Iterator[tuple[str, Vector]]:
        yield "a stranger's digest", np.ones(4, dtype=np.float32)
        for digest, text in self.batches.get(file, {}).items():
            if text not in self.silent:
                vector = np.zeros(4, dtype=np.float32)
                vector[len(text) % 4] = 1
                yield digest, vector


class KilledError(Exception):
    """The process ends here."""


def killed(_seconds: float) -> bool:
    raise KilledError


def gone_home(_seconds: float) -> bool:
    return False


class Patient:
    """Waits without time passing, and does something meanwhile."""

    def __init__(self, *meanwhile: Callable[[], None], most: int = 20) -> None:
        self._meanwhile = list(meanwhile)
        self._left = most

    def __call__(self, seconds: float) -> bool:
        assert 30.0 == seconds
        self._left -= 1
        assert self._left, "the run never ends"
        if self._meanwhile:
            self._meanwhile.pop(0)()
        return True


@dataclass(eq=False)
class Desk:
    store: RamStore
    vendor: RamBatches
    steps: list[Step] = field(default_factory=list)

    def run(self, wait: Callable[[float], bool] | None = None) -> Embedded:
        return embed_by_batch(
            self.store,
            fingerprint=SPACE,
            batches=cast("OpenAiBatches", self.vendor),
            vectors=CachedVectors(self.store, SPACE, cache=None, today=TODAY),
            progress=self.steps.append,
            wait=wait or Patient(),
        )

    def missing(self) -> set[str]:
        return {missing.text for missing in self.store.missing(SpaceTexts(SPACE), limit=1000)}


def note(path: str, *texts: str) -> tuple[Document, list[Chunk]]:
    content = "\n".join(texts)
    document = Document(
        path=path,
        source=SourceKind.MEMORY,
        text=content,
        digest=digest_of(content.encode()),
        stat=Stat(len(content), 1),
        when=None,
    )
    chunks = [
        Chunk(path, SourceKind.MEMORY, start_line=line, end_line=line, text=text)
        for line, text in enumerate(texts, start=1)
    ]
    return document, chunks


def put(store: RamStore, path: str, *texts: str) -> None:
    document, chunks = note(path, *texts)
    put_document(store, document, chunks, recipe="r")


SEVEN = ("a", "bb", "ccc", "dddd", "eeeee", "ffffff", "ggggggg")


@pytest.fixture
def desk() -> Desk:
    store = RamStore()
    put(store, "memory/seven.md", *SEVEN)
    return Desk(store, RamBatches())


def test_all_texts_get_a_vector_in_batches_no_larger_than_allowed(desk: Desk) -> None:
    report = desk.run()

    assert set() == desk.missing()
    assert (7, None) == (report.done, report.degradation)
    assert [3, 3, 1] == [len(texts) for texts in desk.vendor.batches.values()]
    assert {} == notes.batches(desk.store, SPACE)


def test_progress_ends_at_all_texts(desk: Desk) -> None:
    desk.vendor.is_over = False

    desk.run(Patient(lambda: None, lambda: setattr(desk.vendor, "is_over", True)))

    assert Step("embed", 0, 7) in desk.steps
    assert Step("embed", 7, 7) == desk.steps[-1]


def test_nothing_to_do_asks_and_says_nothing() -> None:
    desk = Desk(RamStore(), RamBatches(submit_error=lambda: pytest.fail("asked")))

    report = desk.run()

    assert (0, None, []) == (report.done, report.degradation, desk.steps)


def test_a_run_killed_while_waiting_is_resumed_and_hands_nothing_in_twice(desk: Desk) -> None:
    desk.vendor.is_over = False
    with pytest.raises(KilledError):
        desk.run(killed)
    desk.vendor.is_over = True

    report = desk.run()

    assert (7, None, set()) == (report.done, report.degradation, desk.missing())
    assert Counter(SEVEN) == desk.vendor.handed_in


def test_a_run_killed_while_collecting_is_resumed_and_hands_nothing_in_twice(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = desk.vendor.collect

    def broken(file: str) -> Iterator[tuple[str, Vector]]:
        for place, outcome in enumerate(whole(file)):
            if place == 3:
                raise KilledError
            yield outcome

    monkeypatch.setattr(desk.vendor, "collect", broken)
    with pytest.raises(KilledError):
        desk.run()
    monkeypatch.setattr(desk.vendor, "collect", whole)

    desk.run()

    assert set() == desk.missing()
    assert Counter(SEVEN) == desk.vendor.handed_in


def test_texts_written_meanwhile_are_submitted_while_another_batch_is_pending(desk: Desk) -> None:
    desk.vendor.is_over = False
    desk.run(gone_home)
    put(desk.store, "memory/more.md", "a", "a new thought")

    desk.run(gone_home)

    assert Counter([*SEVEN, "a new thought"]) == desk.vendor.handed_in


def test_what_is_under_way_at_the_end_is_reported_with_what_to_do(desk: Desk) -> None:
    desk.vendor.is_over = False

    report = desk.run(gone_home)
    degradation = report.degradation

    assert degradation is not None
    assert "The vendor has not finished 7 texts yet." == degradation.reason
    assert "`recollect index` again later" in degradation.action


def test_texts_without_a_vector_are_handed_in_once_in_a_run_and_again_in_the_next(
    desk: Desk,
) -> None:
    desk.vendor.silent = {"ccc", "ggggggg"}
    first = desk.run()
    assert (5, None, {"ccc", "ggggggg"}) == (first.done, first.degradation, desk.missing())
    assert Counter(SEVEN) == desk.vendor.handed_in
    desk.vendor.silent = set()

    second = desk.run()

    assert (2, None, set()) == (second.done, second.degradation, desk.missing())
    assert Counter([*SEVEN, "ccc", "ggggggg"]) == desk.vendor.handed_in


def test_what_an_earlier_run_was_refused_is_handed_in_by_the_run_that_learns_of_it(
    desk: Desk,
) -> None:
    desk.vendor.is_over = False
    desk.run(gone_home)
    desk.vendor.is_over = True
    desk.vendor.silent = {"bb"}

    report = desk.run(Patient(desk.vendor.silent.clear))

    assert (7, None) == (report.done, report.degradation)
    assert Counter([*SEVEN, "bb"]) == desk.vendor.handed_in


def test_a_batch_the_vendor_forgot_is_handed_in_again(desk: Desk) -> None:
    desk.vendor.is_over = False
    desk.run(gone_home)
    desk.vendor.is_over = True
    forgotten = set(desk.vendor.batches)
    desk.vendor.failing = forgotten.__contains__

    report = desk.run()

    assert (7, None, set()) == (report.done, report.degradation, desk.missing())
    assert 2 * Counter(SEVEN).total() == desk.vendor.handed_in.total()


def test_a_vendor_with_too_much_under_way_is_handed_the_rest_later(desk: Desk) -> None:
    def full() -> ProviderError | None:
        is_full = len(notes.batches(desk.store, SPACE)) >= 1
        return ProviderBusyError("Too many batches.", action="Wait.") if is_full else None

    desk.vendor.submit_error = full
    desk.vendor.is_over = False
    waits = [lambda: None] * 5

    report = desk.run(Patient(*waits, lambda: setattr(desk.vendor, "is_over", True)))

    assert (7, None, set()) == (report.done, report.degradation, desk.missing())
    assert Counter(SEVEN) == desk.vendor.handed_in


@pytest.mark.parametrize(
    "error",
    [
        QuotaError("The quota is used up.", action="Top up."),
        ProviderSetupError("The key is wrong.", action="Check the key."),
    ],
)
def test_a_vendor_that_takes_no_more_ends_the_run_and_the_next_one_collects(
    desk: Desk, error: ProviderError
) -> None:
    desk.vendor.submit_error = lambda: error if len(desk.vendor.batches) == 2 else None

    report = desk.run()

    assert report.degradation is not None
    assert f"{error.message} The vendor has not finished 6 texts yet." == report.degradation.reason
    assert error.action == report.degradation.action
    desk.run()
    assert {"ggggggg"} == desk.missing()


def test_a_vendor_that_stops_answering_ends_the_run_and_forgets_nothing(desk: Desk) -> None:
    asked: list[str] = []

    def down(batch: str) -> ProviderError:
        asked.append(batch)
        return ProviderBusyError("Down.", action="Later.")

    desk.vendor.look_error = down

    report = desk.run()

    assert report.degradation is not None
    assert report.degradation.reason.startswith("Down.")
    assert ["batch-1", "batch-2"] == asked  # given up early
    assert 3 == len(notes.batches(desk.store, SPACE))


def test_one_batch_that_cannot_be_fetched_does_not_hold_up_the_others(desk: Desk) -> None:
    desk.vendor.look_error = lambda name: (
        ProviderBusyError("Slow.", action="Later.") if name == "batch-1" else None
    )

    report = desk.run()

    assert (4, 3) == (report.done, len(desk.missing()))
    assert ["batch-1"] == list(notes.batches(desk.store, SPACE))


def test_spaces_do_not_mix(desk: Desk) -> None:
    other = Fingerprint("vendor", "another model", 4, "plain")
    notes.put_batch(desk.store, other, "batch-of-another-space", ["digest"])

    report = desk.run()

    assert (7, None) == (report.done, report.degradation)
    assert ["batch-of-another-space"] == list(notes.batches(desk.store, other))


def test_a_large_store_is_read_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.ingest.batches._PAGE", 2)
    store = RamStore()
    put(store, "memory/many.md", *(f"text {number}" for number in range(25)))
    desk = Desk(store, RamBatches(most_texts=10))

    report = desk.run()

    assert (25, None) == (report.done, report.degradation)
    assert [10, 10, 5] == [len(texts) for texts in desk.vendor.batches.values()]
