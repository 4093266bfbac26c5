"""Brings the documents, chunks and terms of a store into agreement with the files."""

from __future__ import annotations

import gc
import time
from bisect import bisect_left
from collections import Counter
from contextlib import contextmanager
from dataclasses import field, replace
from typing import TYPE_CHECKING

from recollect.ingest.read import UnreadableError
from recollect.records import dataclass
from recollect.reports import Report, Staleness
from recollect.stores.base import DocumentWrite
from recollect.types import Step

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from recollect.ingest.folders import Found
    from recollect.ingest.source import Source, Taken
    from recollect.reports import Failure
    from recollect.stores.base import Store
    from recollect.types import Document, Known, Progress, SourceKind

    Stored = Mapping[tuple[SourceKind, str], Known]


BATCH_DOCUMENTS = 256
BATCH_CHARS = 1 << 20
"""Both bounds are a tenth of a second of writing, and larger batches gain nothing."""
BATCH_SECONDS = 1.0
"""Files that are slow to read are found soon, too."""
_MOST_RACES = 5  # times another process may store a file before us until we leave it to them


@dataclass(frozen=True, slots=True)
class Plan:
    """What to read, what to drop, what to leave alone."""

    suspects: tuple[tuple[Source, Found], ...]
    """New files, and files whose stat changed: their digest decides."""
    gone: tuple[Known, ...]
    unchanged: int
    failed: tuple[Failure, ...]
    notices: tuple[str, ...] = ()

    def joint(self) -> dict[Source, list[Found]]:
        """Return the suspects of joint sources, which are stored together."""
        found: dict[Source, list[Found]] = {}
        for source, suspect in self.suspects:
            if source.is_joint:
                found.setdefault(source, []).append(suspect)
        return found

    def alone(self, *, newest_first: bool) -> list[tuple[Source, Found]]:
        """Return the other suspects, which are stored one by one."""
        found = [each for each in self.suspects if not each[0].is_joint]
        if newest_first:
            found.sort(key=lambda each: -each[1].stat.mtime_ns)
        return found


def sync_documents(  # noqa: PLR0913 - how much to do, and whom to call
    sources: Sequence[Source],
    *,
    store: Store,
    force: bool,
    progress: Progress,
    before_write: Callable[[], object],
    read_seconds: float | None,
    known: Stored | None = None,
) -> Report:
    """Store what is new or changed and drop what is gone.

    `before_write` is called once, before the first change. After `read_seconds` the rest is
    counted as left, and the files changed last are read first; looking for changed files does not
    count, or on a slow disk nothing would ever be read. `known` is what is stored of these
    sources, if they find only some files.
    """
    plan, known = _planned(sources, store=store, force=force, known=known)
    if plan.suspects or plan.gone:
        before_write()
    departed = Counter(gone.digest for gone in plan.gone)
    counts: Counter[str] = Counter()
    failed: list[Failure] = []
    for source, own in plan.joint().items():
        together, failures = _store_together(source, own, store=store, known=known, force=force)
        failed += failures
        counts.update(_kind_of_change(each, known, source, departed) for each in together)
    deadline = None if read_seconds is None else time.monotonic() + read_seconds
    suspects = plan.alone(newest_first=deadline is not None)
    writer = _DocumentWriter(store, known)
    for done, (source, suspect) in enumerate(suspects):
        progress(Step("read", done, len(suspects)))
        if deadline is not None and time.monotonic() > deadline:
            counts["left"] = len(suspects) - done
            break
        try:
            taken = source.take(suspect)
        except UnreadableError as error:
            failed.append(error.failure)
        else:
            failed += taken.failures
            counts[_kind_of_change(taken, known, source, departed)] += 1
            if force or not _is_current(taken, known, source):
                writer.put(taken, suspect, source)
            elif not _is_known(taken.document, known):
                writer.touch(taken.document)
    writer.flush()
    progress(Step("read", len(suspects), len(suspects)))
    for at in range(0, len(plan.gone), BATCH_DOCUMENTS):
        store.drop_many(plan.gone[at : at + BATCH_DOCUMENTS])
    return Report(
        added=counts["added"],
        changed=counts["changed"],
        moved=counts["moved"],
        removed=len(plan.gone) - counts["moved"],
        unchanged=plan.unchanged + counts["unchanged"],
        failed=_with_stored([*plan.failed, *failed], known),
        left=counts["left"],
        notices=plan.notices,
    )


def _planned(
    sources: Sequence[Source], *, store: Store, force: bool, known: Stored | None
) -> tuple[Plan, Stored]:
    """Return the plan, and what is stored as far as it is needed for it."""
    with _uncollected():
        known = store.known() if known is None else known
        plan = make_plan(sources, known=known, force=force)
        if not (plan.suspects or plan.gone or plan.failed):
            known = {}  # freed before the collector of cycles would look through it
    return plan, known


@contextmanager
def _uncollected() -> Iterator[None]:
    """Pause the collector of cycles: no record is part of one.

    With 100,000 files it would take a third of the time of a sync that finds nothing changed.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def find_staleness(sources: Sequence[Source], *, store: Store) -> Staleness:
    """Return what a sync would change, without changing anything."""
    known = store.known()
    plan = make_plan(sources, known=known, force=False)
    changed: list[str] = []
    failed = list(plan.failed)
    for source, suspect in plan.suspects:
        taken, failures = _take_all(source, [suspect])
        failed += failures
        changed += [each.document.path for each in taken if not _is_current(each, known, source)]
    return Staleness(tuple(changed), tuple(gone.path for gone in plan.gone), tuple(failed))


def make_plan(sources: Sequence[Source], *, known: Stored, force: bool) -> Plan:
    """Compare the files of all sources with what is stored, by their stats: nothing is read."""
    suspects: list[tuple[Source, Found]] = []
    failed: list[Failure] = []
    gone: list[Known] = []
    notices: list[str] = []
    unchanged = 0
    stored: dict[SourceKind, dict[str, Known]] = {}
    for one in known.values():
        stored.setdefault(one.source, {})[one.path] = one
    for source in sources:
        found, failures = source.find()
        recipe = source.recipe
        left = stored.pop(source.kind, {})
        if source.keeps_what_is_stored:
            continue
        for each in found:
            own = left.get(each.path)
            if (
                not force
                and own is not None
                and own.stat == each.stat
                and own.recipe == recipe
                and own.is_settled
            ):
                unchanged += 1
            else:
                suspects.append((source, each))
        for each in found:
            left.pop(each.path, None)
        # A path that could not be looked into is not gone: what is stored of it stays.
        unreadable = {failure.path for failure in failures if not failure.is_left_out}
        failed += failures
        lost = [each for each in left.values() if not _is_inside(each.path, unreadable)]
        if lost and (notice := source.dropped([each.path for each in lost])):
            notices.append(notice)
        gone += lost
    # What is stored of a source that is no longer configured goes.
    gone += [own for left in stored.values() for own in left.values()]
    return Plan(tuple(suspects), tuple(gone), unchanged, tuple(failed), tuple(notices))


def _with_stored(failed: Sequence[Failure], known: Stored) -> tuple[Failure, ...]:
    """Mark failures whose previous version is still indexed."""
    paths = sorted(path for _, path in known) if failed else []

    def is_stored(failure: Failure) -> bool:
        return failure.is_stored or any(
            _is_inside(path, (failure.path,))
            for start in (failure.path, f"{failure.path}/")
            for path in paths[bisect_left(paths, start) :][:1]
        )

    return tuple(
        replace(each, is_stored=not each.is_left_out and is_stored(each)) for each in failed
    )


def _is_inside(path: str, folders: Collection[str]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def _is_current(taken: Taken, known: Stored, source: Source) -> bool:
    document = taken.document
    before = known.get((document.source, document.path))
    return (
        before is not None and before.digest == document.digest and before.recipe == source.recipe
    )


def _is_known(document: Document, known: Stored) -> bool:
    """Return whether even the stat is stored, so that nothing has to be written."""
    before = known.get((document.source, document.path))
    state = (document.stat, document.is_settled)
    return before is not None and (before.stat, before.is_settled) == state


@dataclass(slots=True)
class _DocumentWriter:
    """Stores documents in batches: a transaction for each would be half of a first index.

    Each batch is bounded, so that other writers wait a fraction of a second and a killed process
    loses little. Call `flush` at the end.
    """

    store: Store
    known: Stored
    """What was stored when the caller decided to write."""
    _waiting: list[tuple[DocumentWrite, Found, Source]] = field(default_factory=list)
    _touched: list[DocumentWrite] = field(default_factory=list)
    _chars: int = 0
    _since: float = 0.0

    def put(self, taken: Taken, suspect: Found, source: Source) -> None:
        """Store a document with its chunks."""
        write = _write_of(taken, self.known, recipe=source.recipe)
        self._waiting.append((write, suspect, source))
        self._added(len(write.document.text))

    def touch(self, document: Document) -> None:
        """Update the stat of a document whose content is stored."""
        self._touched.append(DocumentWrite(document, None, ""))
        self._added(0)

    def flush(self) -> None:
        """Store what is collected, in one step."""
        waiting, touched = self._waiting, self._touched
        self._waiting, self._touched, self._chars = [], [], 0
        if not (waiting or touched):
            return
        with _uncollected():
            stored = self.store.put_many([*(write for write, _, _ in waiting), *touched])
        for lost, is_stored in zip(waiting, stored, strict=False):
            if not is_stored:
                self._put_after_race(*lost)

    def _added(self, chars: int) -> None:
        now = time.monotonic()
        count = len(self._waiting) + len(self._touched)
        self._since = now if count == 1 else self._since
        self._chars += chars
        is_large = count >= BATCH_DOCUMENTS or self._chars >= BATCH_CHARS
        if is_large or now - self._since >= BATCH_SECONDS:
            self.flush()

    def _put_after_race(self, lost: DocumentWrite, suspect: Found, source: Source) -> None:
        """Read the file again that another process stored first, lest old content replace newer."""
        for _ in range(_MOST_RACES - 1):
            before = self.store.known([lost.name]).get(lost.name)
            try:
                taken = source.take(suspect)
            except UnreadableError:
                return  # gone or unreadable by now: the next sync sees it
            if before is not None and before.digest == taken.document.digest:
                return
            write = DocumentWrite(taken.document, taken.chunks(), source.recipe, before)
            if all(self.store.put_many([write])):
                return


def _write_of(taken: Taken, known: Stored, *, recipe: str) -> DocumentWrite:
    """Return what to store for a file, expecting the known state to be stored."""
    document = taken.document
    before = known.get((document.source, document.path))
    return DocumentWrite(document, taken.chunks(), recipe, before)


def _store_together(
    source: Source, suspects: Sequence[Found], *, store: Store, known: Stored, force: bool
) -> tuple[list[Taken], list[Failure]]:
    """Store a joint source in one step; if it or its state in the store changes, read all again."""
    taken: list[Taken] = []
    failed: list[Failure] = []
    for attempt in range(_MOST_RACES):
        recipe = source.recipe
        taken, failed = _take_all(source, suspects)
        is_one_moment = source.recipe == recipe and not source.has_changed()
        if is_one_moment or attempt == _MOST_RACES - 1:
            changed = [each for each in taken if force or not _is_current(each, known, source)]
            writes = [_write_of(each, known, recipe=source.recipe) for each in changed]
            if all(store.put_many(writes, jointly=True)):
                same = (each.document for each in taken if each not in changed)
                others = (each for each in same if not _is_known(each, known))
                store.put_many([DocumentWrite(each, None, "") for each in others])
                break
        known = store.known()
        suspects = [found for _, found in make_plan([source], known=known, force=force).suspects]
    return taken, failed


def _take_all(source: Source, suspects: Sequence[Found]) -> tuple[list[Taken], list[Failure]]:
    taken: list[Taken] = []
    failed: list[Failure] = []
    for suspect in suspects:
        try:
            taken.append(source.take(suspect))
        except UnreadableError as error:
            failed.append(error.failure)
        else:
            failed += taken[-1].failures
    return taken, failed


def _kind_of_change(taken: Taken, known: Stored, source: Source, departed: Counter[str]) -> str:
    """Return `unchanged`, `changed`, `moved` or `added`."""
    document = taken.document
    if _is_current(taken, known, source):
        return "unchanged"
    if (document.source, document.path) in known:
        return "changed"
    if departed[document.digest]:
        departed[document.digest] -= 1
        return "moved"
    return "added"
