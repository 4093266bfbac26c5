"""How much to bring up to date now, and how much to leave for later or to someone else.

A command whose job is indexing does all of it and waits for whoever is at it. A search does what is
cheap, never waits for another process, and says what it left.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from recollect.ingest.lease import LeaseLostError, WriterLease
from recollect.ingest.refresh import RefreshOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from recollect.reports import Report
    from recollect.stores.base import Holder, Store
    from recollect.types import Progress

CHEAP_SECONDS = 1.0
"""A search reads changed files for so long before it answers."""
CHEAP_TEXTS = 64
"""And embeds so many texts: a few seconds on a slow machine, one request elsewhere."""
EMBED_SECONDS = 3.0
"""For so long: a server that hangs must not hang a search."""
FIRST_EMBED_SECONDS = 20.0
"""The first time, for so long: most memories are ready then, and a large one answers by keyword."""
PATIENCE_SECONDS = 2.0
"""And waits so long for its turn to write: a document takes another process milliseconds."""
_NAMED_ENTRIES = 3
"""More entries that are to be corrected are only counted: they are told at every search."""


@dataclass(frozen=True, slots=True)
class Fresh:
    """How far an index was brought up to date before a search."""

    report: Report
    holder: Holder | None
    """Another process that is at work on it."""

    @property
    def is_behind(self) -> bool:
        """True when there is work left that nobody has taken up."""
        return bool(self.report.left or self._waiting) and self.holder is None

    @property
    def _waiting(self) -> int:
        """Chunks that could be embedded and are not."""
        report = self.report
        return 0 if report.degraded else max(report.pending - report.refused, 0)

    def notices(self) -> Iterator[str]:
        """Yield what the answer cannot know of yet, and why."""
        yield from self.report.notices
        entries = [failure for failure in self.report.failed if failure.is_entry]
        for failure in entries[:_NAMED_ENTRIES]:
            yield f"{failure.path} {failure.reason}. {failure.action}"
        if more := len(entries[_NAMED_ENTRIES:]):
            yield f"{more} more in the lines of facts: `recollect facts list` names them all."
        for failure in self.report.failed:
            if not failure.is_entry:
                yield f"{failure.path} is not up to date: {failure.reason}. {failure.action}"
        if self.report.left:
            yield f"{self.report.left} new or changed files are not read yet."
        if self._waiting:
            yield f"{self._waiting} chunks are not embedded yet; keywords find them."
        if self.holder is not None and (self.report.left or self._waiting):
            yield f"{described(self.holder)} is at work on it."


class Upkeep:
    """Brings one index up to date."""

    def __init__(
        self,
        store: Store,
        *,
        refresh: Callable[[RefreshOptions], Report],
    ) -> None:
        """Store the parts.

        Args:
            store: has the lease, and tells whether anything was ever indexed.
            refresh: does the work.

        """
        self._store = store
        self._refresh = refresh

    def run(self, options: RefreshOptions, *, purpose: str, told: Callable[[str], None]) -> Report:
        """Do everything there is to do, after whoever is at it."""
        lease = WriterLease(self._store, purpose=purpose)
        while True:
            lease.acquire(
                wait_seconds=None,
                told=lambda holder: told(f"Waiting for {described(holder)} to finish …"),
            )
            try:
                return self._refresh(replace(options, progress=lease.guarded(options.progress)))
            except LeaseLostError:
                continue  # whoever took over does this work now; what it leaves is done after it
            finally:
                lease.release()

    def freshen(self, *, progress: Progress) -> Fresh:
        """Do what is cheap; the first time, read everything: an empty index answers nothing.

        Raises:
            StoreBusyError: another process does not let it write; the index can be read.

        """
        with self._store.patience(PATIENCE_SECONDS):
            return self._freshen(progress)

    def _freshen(self, progress: Progress) -> Fresh:
        turn = _Turn(WriterLease(self._store, purpose="a search"))
        cheap = RefreshOptions(
            retry=False,
            most=CHEAP_TEXTS,
            seconds=CHEAP_SECONDS,
            embed_seconds=EMBED_SECONDS,
            is_granted=turn.is_granted,
            progress=progress,
        )
        first = RefreshOptions(retry=False, embed_seconds=FIRST_EMBED_SECONDS, progress=progress)
        try:
            is_first = self._store.is_empty() and turn.is_granted()
            return Fresh(self._refresh(first if is_first else cheap), turn.holder)
        finally:
            turn.end()


class _Turn:
    """A search's turn to change an index: asked for when there is something to change, once."""

    def __init__(self, lease: WriterLease) -> None:
        self._lease = lease
        self._is_asked = False
        self.holder: Holder | None = None
        """Another process that is at work on it."""

    def is_granted(self) -> bool:
        """Tell whether nobody else is at work."""
        if not self._is_asked:
            self.holder = self._lease.acquire(wait_seconds=0.0)
            self._is_asked = True
        return self.holder is None

    def end(self) -> None:
        """Let others have theirs."""
        self._lease.release()


def described(holder: Holder) -> str:
    """Return who that is, in words."""
    seconds = max(time.time() - holder.since, 0)
    return f"{holder.purpose} (process {holder.pid}, for {seconds:.0f} s)"
