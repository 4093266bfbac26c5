"""Making the store agree with its sources: find, plan, take, put."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from recollect.ingest.chunk import CHUNK_VERSION, ChunkOptions
from recollect.ingest.plan import make_plan
from recollect.ingest.read import UnreadableError
from recollect.ingest.walk import WalkOptions
from recollect.reports import Report, Staleness
from recollect.text.terms import TERMS_VERSION
from recollect.types import Step

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from recollect.ingest.source import Source, Taken
    from recollect.ingest.walk import Found
    from recollect.reports import Failure
    from recollect.stores.base import Store
    from recollect.types import Known, Progress, SourceKind

    Stored = Mapping[tuple[SourceKind, str], Known]


_RACES = 5  # how often other processes may be faster with one file


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """The settings of all ingest stages."""

    walk: WalkOptions = field(default_factory=WalkOptions)
    chunk: ChunkOptions = field(default_factory=ChunkOptions)

    @property
    def takes_media(self) -> bool:
        """True when media files are taken in: then the provider set is one that embeds them."""
        return self.walk.media.enabled

    @property
    def recipe(self) -> str:
        """Return the identity of the rules: documents stored under another one are redone."""
        return f"c{CHUNK_VERSION}.{self.chunk.tokens}.{self.chunk.overlap}-t{TERMS_VERSION}"


@dataclass(frozen=True, slots=True)
class _Survey:
    """What a look at all sources showed."""

    suspects: tuple[tuple[Source, Found], ...]
    gone: tuple[Known, ...]
    unchanged: int
    failed: tuple[Failure, ...]


def sync(  # noqa: PLR0913 - how much is to be done, and who is told
    sources: Sequence[Source],
    *,
    store: Store,
    force: bool,
    progress: Progress,
    begins: Callable[[], object] = lambda: None,
    seconds: float | None = None,
) -> Report:
    """Bring documents, chunks and terms into agreement with the files; vectors come after.

    With a limit in seconds, files that are left when they are over are counted and not read; those
    changed last come first then. Looking for changed files does not count: on a slow disk nothing
    would ever be read.

    Args:
        sources: where the files are.
        store: what is to agree with them.
        force: look at every file again.
        progress: is told how far reading has come.
        begins: is called if there is anything to read or to drop, before that is done.
        seconds: how long to read; None is all.

    """
    known = store.known()
    survey = _survey(sources, known, force=force)
    suspects = survey.suspects
    if suspects or survey.gone:
        begins()
    deadline = None if seconds is None else time.monotonic() + seconds
    if deadline is not None:
        suspects = tuple(sorted(suspects, key=lambda each: -each[1].stat.mtime_ns))
    departed = Counter(gone.digest for gone in survey.gone)
    counts: Counter[str] = Counter()
    failed: list[Failure] = []
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
            counts[_kind(taken, known, source=source, departed=departed)] += 1
            if force or not _is_current(taken, known, source):
                _put(taken, suspect, source=source, store=store, known=known)
            else:
                store.touch(taken.document)
    progress(Step("read", len(suspects), len(suspects)))
    for gone in survey.gone:
        # Not if another process has taken it in since: then it is there again.
        store.drop(gone.path, source=gone.source, expected=gone)
    return Report(
        added=counts["added"],
        changed=counts["changed"],
        moved=counts["moved"],
        removed=len(survey.gone) - counts["moved"],
        unchanged=survey.unchanged + counts["unchanged"],
        failed=(*survey.failed, *failed),
        left=counts["left"],
    )


def look(sources: Sequence[Source], *, store: Store) -> Staleness:
    """Tell what a sync would change, without changing anything."""
    known = store.known()
    survey = _survey(sources, known, force=False)
    changed: list[str] = []
    failed = list(survey.failed)
    for source, suspect in survey.suspects:
        try:
            taken = source.take(suspect)
        except UnreadableError as error:
            failed.append(error.failure)
            continue
        if not _is_current(taken, known, source):
            changed.append(taken.document.path)
    return Staleness(tuple(changed), tuple(gone.path for gone in survey.gone), tuple(failed))


def _survey(sources: Sequence[Source], known: Stored, *, force: bool) -> _Survey:
    suspects: list[tuple[Source, Found]] = []
    failed: list[Failure] = []
    gone: list[Known] = []
    unchanged = 0
    for source in sources:
        found, failures = source.find()
        plan = make_plan(
            found,
            known={key: own for key, own in known.items() if own.source is source.kind},
            recipe=source.recipe,
            unreadable={failure.path for failure in failures},
            force=force,
        )
        suspects += [(source, suspect) for suspect in plan.suspects]
        failed += failures
        gone += plan.gone
        unchanged += plan.unchanged
    # What is stored of a source that is no longer wanted goes.
    kinds = {source.kind for source in sources}
    gone += [own for own in known.values() if own.source not in kinds]
    return _Survey(tuple(suspects), tuple(gone), unchanged, tuple(failed))


def _is_current(taken: Taken, known: Stored, source: Source) -> bool:
    document = taken.document
    before = known.get((document.source, document.path))
    return (
        before is not None and before.digest == document.digest and before.recipe == source.recipe
    )


def _put(taken: Taken, suspect: Found, *, source: Source, store: Store, known: Stored) -> None:
    """Store a document, unless another process was faster: then what it is now is read again.

    Without that a slow process would put an old content over a newer one.
    """
    document = taken.document
    before = known.get((document.source, document.path))
    for _ in range(_RACES):
        if store.put(taken.document, taken.chunks(), recipe=source.recipe, expected=before):
            return
        before = store.known_of(document.path, source=document.source)
        try:
            taken = source.take(suspect)
        except UnreadableError:
            return  # gone or unreadable by now: the next sync sees it
        if before is not None and before.digest == taken.document.digest:
            return


def _kind(taken: Taken, known: Stored, *, source: Source, departed: Counter[str]) -> str:
    """Return what a document was: unchanged, changed, moved or added."""
    document = taken.document
    if _is_current(taken, known, source):
        return "unchanged"
    if (document.source, document.path) in known:
        return "changed"
    if departed[document.digest]:
        departed[document.digest] -= 1
        return "moved"
    return "added"
