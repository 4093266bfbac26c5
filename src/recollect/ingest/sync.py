"""files ─ find ─▶ changed ─ read ─▶ Document ─ chunk ─▶ Chunk ─ put ─▶ Store ─ embed ─▶ Vector.

A command whose job is indexing waits for its turn and does everything. A search does what is cheap,
never waits for another process, and returns what it left undone.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar

from recollect.errors import DiskError, StoreCorruptError, StoreError, system_failures_explained
from recollect.ingest.documents import sync_documents
from recollect.ingest.lease import PATIENCE_SECONDS, LeaseLostError, WriterLease, describe
from recollect.ingest.spaces import Budget
from recollect.records import dataclass
from recollect.reports import Report
from recollect.stores.base import patience
from recollect.types import Leg, silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from recollect.ingest.fill import Embedder
    from recollect.ingest.source import Source
    from recollect.stores.base import Holder, Store
    from recollect.types import Degradation, Progress

P = ParamSpec("P")
Answer = TypeVar("Answer")

CHEAP = Budget(retries=False, texts=64, read_seconds=1.0, embed_seconds=3.0)
"""What a search does before it answers: a server that hangs must not hang it."""
FIRST = Budget(retries=False, embed_seconds=20.0)
"""What the first search does on an empty store; a large one then answers by keyword."""
TRUSTED_SECONDS = 30.0
"""Seconds a search may rely on the change counter before it checks the files again."""
_NAMED = ((True, 3, "lines need a correction"), (False, 10, "files are not up to date"))
"""How many broken entries, and how many files, a search names; the rest are counted."""


@dataclass(frozen=True, slots=True)
class SyncOptions:
    """How much one sync does."""

    force: bool = False
    """Read every file again, whatever its stat says."""
    budget: Budget = Budget()
    may_embed: Callable[[], bool] = lambda: True
    """Called before anything is changed; if it returns False, nothing is embedded."""
    progress: Progress = silent


@dataclass(frozen=True, slots=True)
class Freshness:
    """How far a search brought the store up to date."""

    report: Report
    holder: Holder | None
    """Another process that is working on the store."""
    tells_counts: bool = True
    """Whether its reader may know how much there is, of all scopes together."""

    @property
    def is_behind(self) -> bool:
        """True if work is left that no other process is doing."""
        return bool(self.report.left or self._waiting) and self.holder is None

    @property
    def is_complete(self) -> bool:
        """True if nothing was left to do or to say."""
        is_done = self.holder is None and not self.report.degraded
        return is_done and not self._waiting and next(self.notices(), None) is None

    @property
    def trouble(self) -> Degradation | None:
        """Why texts could not be embedded."""
        return (self.report.degraded or {}).get(Leg.VECTOR)

    @property
    def _waiting(self) -> int:
        """Chunks that could be embedded and are not yet."""
        report = self.report
        return 0 if report.degraded else max(report.pending - report.refused, 0)

    def notices(self) -> Iterator[str]:
        """Yield what the answer cannot know yet, and why."""
        yield from self.report.notices
        for is_entry, most, what in _NAMED:
            failed = [each for each in self.report.failed if each.is_entry == is_entry]
            yield from (each.notice for each in failed[:most])
            if more := len(failed[most:]):
                yield f"{more} more {what}: `recollect index` names them all."
        if self.report.left:
            yield f"{self._count(self.report.left)} new or changed files are not read yet."
        if self._waiting:
            waiting = self._count(self._waiting)
            chunks = "1 chunk is" if self._waiting == 1 else f"{waiting} chunks are"
            yield f"{chunks} not embedded yet; keywords find them."
        if self.holder is not None and (self.report.left or self._waiting):
            yield f"{describe(self.holder)} is working on it."

    def _count(self, count: int) -> str:
        return str(count) if self.tells_counts else "Some"


_DONE = Freshness(Report(), None)


class Reader(Protocol):
    """An object whose methods read the store of a Syncer."""

    syncer: Syncer


Owner = TypeVar("Owner", bound=Reader)


def rebuilds(
    method: Callable[Concatenate[Owner, P], Answer],
) -> Callable[Concatenate[Owner, P], Answer]:
    """Return the method wrapped so that a damaged store is rebuilt, and the method called again."""

    @wraps(method)
    def guarded(self: Owner, /, *args: P.args, **kwargs: P.kwargs) -> Answer:
        return self.syncer.rebuilding(lambda: method(self, *args, **kwargs))

    return guarded


class Syncer:
    """Makes one store agree with its sources."""

    def __init__(  # noqa: PLR0913 - the parts, and what its reader may know
        self,
        store: Store,
        *,
        sources: Sequence[Source],
        embedder: Embedder,
        purpose: str,
        notices: Sequence[str] = (),
        tells_counts: bool = True,
        changes: Callable[[], object | None] = lambda: None,
    ) -> None:
        """Store the parts.

        Other processes see the `purpose` at work; `notices` is what is to be told of how the store
        was opened; `changes` returns what differs after each change of a file.
        """
        self.sources = sources
        self.store = store
        self._embedder = embedder
        self._purpose = purpose
        self._notices = tuple(notices)
        self._tells_counts = tells_counts
        self._changes = changes
        self.freshness = _DONE
        """How far the last search got, unless another process does the rest."""
        self._is_filled = False
        """Whether the last sync left something in the store."""
        self._settled: _State | None = None
        """The state in which nothing was left to do or to say."""

    def take_notices(self) -> tuple[str, ...]:
        """Return what happened to the store since the last call, for the user."""
        notices, self._notices = self._notices, ()
        return notices

    def sync(self, options: SyncOptions, *, on_wait: Callable[[str], None]) -> Report:
        """Do everything, after any process at work on the store, of which `on_wait` is told."""
        if options.force and self.store.is_writable:
            self._repairing(self._require_sound)  # whoever forces a sync suspects it
        report = self._repairing(lambda: self._sync_alone(options, on_wait=on_wait))
        self.freshness = _DONE
        self._is_filled = report.chunks > 0
        return report

    def has_lost_index(self) -> bool:
        """Return whether what the last sync left is gone: deleted, replaced or emptied.

        Damage is left to the next search or sync, which reports it.
        """
        try:
            self._repairing(lambda: None)  # goes on with the file that is there now
            return self.store.is_replacement or (self._is_filled and not self.store.holds())
        except StoreError:
            return False

    def sync_part(self, source: Source, paths: Iterable[str]) -> Report:
        """Read some documents of a source now; their texts are embedded by a later sync."""
        return sync_documents(
            [source],
            store=self.store,
            known=self.store.known((source.kind, path) for path in paths),
            force=False,
            progress=silent,
            before_write=lambda: None,
            read_seconds=None,
        )

    def freshen(self, progress: Progress) -> tuple[str, ...]:
        """Do what is cheap; return what the user should know about the rest.

        The first time everything is read: an empty store answers nothing. If files and store are
        known to be as the last time left them, no file is looked at.
        """
        if not self.store.is_writable:
            return ()
        try:
            with system_failures_explained(), patience(PATIENCE_SECONDS):
                state = self._repairing(self._state)
                if state is not None and state == self._settled:
                    return ()
                self.freshness = self._repairing(lambda: self._freshen(progress))
                # As it was before: what happened meanwhile has to be looked at next time.
                self._settled = state if self.freshness.is_complete else None
        except (
            StoreError,
            DiskError,
        ) as error:  # a full disk does not keep what is indexed from answering
            return (f"The index is not up to date: {error.message} {error.action}",)
        return tuple(self.freshness.notices())

    def hand_over(self) -> None:
        """Record that another process does what the last search left."""
        self.freshness = _DONE

    def rebuilding(self, work: Callable[[], Answer]) -> Answer:
        """Do the work; if the store is damaged, rebuild it and do the work again.

        Everything that reads the store goes through here; `rebuilds` is the same as a decorator.
        """

        def work_on_full_store() -> Answer:
            if self.store.is_replacement:
                self._sync(SyncOptions(budget=FIRST))
            return work()

        return self._repairing(work_on_full_store)

    def _repairing(self, work: Callable[[], Answer]) -> Answer:
        """Do the work; if the store is damaged, repair or replace it and do the work again."""
        told: list[str] = []
        try:
            return self.store.recovering(work, tell=told.extend)
        finally:
            self._notices += tuple(told)

    def _require_sound(self) -> None:
        if problems := self.store.check():
            raise StoreCorruptError(
                f"The index {self.store.location} is damaged ({'; '.join(problems)}).",
                action="Run `recollect index --force`.",
            )

    def _sync(self, options: SyncOptions) -> Report:
        """Read what changed, then embed what has no vector."""
        started = time.perf_counter()
        report = sync_documents(
            self.sources,
            store=self.store,
            force=options.force,
            progress=options.progress,
            before_write=options.may_embed,
            read_seconds=options.budget.read_seconds,
        )
        report = self._embedder.embed_pending(
            report, options.budget, may_embed=options.may_embed, progress=options.progress
        )
        self.store.is_replacement = False
        return replace(report, took_ms=(time.perf_counter() - started) * 1000)

    def _sync_alone(self, options: SyncOptions, *, on_wait: Callable[[str], None]) -> Report:
        lease = WriterLease(self.store, purpose=self._purpose)
        while True:
            lease.acquire(
                on_wait=lambda holder: on_wait(f"Waiting for {describe(holder)} to finish …"),
            )
            try:
                return self._sync(replace(options, progress=lease.guarded(options.progress)))
            except LeaseLostError:
                continue  # another process took over; what it leaves is done after it
            finally:
                lease.release()

    def _state(self) -> _State | None:
        """Return what tells whether anything changed; None if that is unknown."""
        changes = self._changes()
        if changes is None:
            return None
        return _State(changes, self.store.version(), int(time.monotonic() / TRUSTED_SECONDS))

    def _freshen(self, progress: Progress) -> Freshness:
        lease = WriterLease(self.store, purpose="a search")
        cheap = SyncOptions(budget=CHEAP, may_embed=lease.is_granted, progress=progress)
        first = SyncOptions(budget=FIRST, progress=progress)
        try:
            is_first = not self.store.holds() and lease.is_granted()
            report = self._sync(first if is_first else cheap)
            return Freshness(report, lease.holder, tells_counts=self._tells_counts)
        finally:
            lease.release()


class _State(NamedTuple):
    """Files and store at one moment, without looking at any file."""

    changes: object
    """Differs after a change of a file."""
    version: tuple[int, ...]
    """Version of the store, which another process may change."""
    period: int
    """Files are checked at least once per period."""
