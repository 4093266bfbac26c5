"""Making the store agree with the files: walk, plan, read, chunk, put, embed."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from recollect.ingest.chunk import CHUNK_VERSION, ChunkOptions, chunk
from recollect.ingest.media import read_media
from recollect.ingest.plan import Plan, make_plan
from recollect.ingest.read import UnreadableError, read
from recollect.ingest.walk import WalkOptions, walk
from recollect.reports import Report, Staleness
from recollect.text.terms import TERMS_VERSION
from recollect.types import Step

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from recollect.ingest.walk import Found
    from recollect.reports import Failure
    from recollect.stores.base import Store
    from recollect.types import Document, Known, Progress, SourceKind


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """The settings of all ingest stages."""

    walk: WalkOptions = field(default_factory=WalkOptions)
    chunk: ChunkOptions = field(default_factory=ChunkOptions)

    @property
    def takes_media(self) -> bool:
        """True when media files are taken in: then the provider set is one that embeds them."""
        return bool(self.walk.media.modalities)

    @property
    def recipe(self) -> str:
        """Return the identity of the rules: documents stored under another one are redone."""
        return f"c{CHUNK_VERSION}.{self.chunk.tokens}.{self.chunk.overlap}-t{TERMS_VERSION}"


def sync(  # noqa: PLR0913 - what a sync needs
    workspace: Path,
    *,
    store: Store,
    options: IngestOptions,
    force: bool,
    progress: Progress,
    deadline: float | None = None,
) -> Report:
    """Bring documents, chunks and terms into agreement with the files; vectors come after.

    Past the deadline, a time of the monotonic clock, files that are left are counted and not read;
    those changed last come first then.
    """
    known = store.known()
    plan, unreadable = _survey(workspace, known, options=options, force=force)
    if deadline is not None:
        newest = sorted(plan.suspects, key=lambda each: each.stat.mtime_ns, reverse=True)
        plan = replace(plan, suspects=tuple(newest))
    counts, failed = _take_in(
        plan, known, store=store, options=options, progress=progress, deadline=deadline
    )
    for gone in plan.gone:
        store.drop(gone.path, source=gone.source)
    return Report(
        added=counts["added"],
        changed=counts["changed"],
        moved=counts["moved"],
        removed=len(plan.gone) - counts["moved"],
        unchanged=plan.unchanged + counts["unchanged"],
        failed=(*unreadable, *failed),
        left=counts["left"],
    )


def look(workspace: Path, *, store: Store, options: IngestOptions) -> Staleness:
    """Tell what a sync would change, without changing anything."""
    known = store.known()
    plan, unreadable = _survey(workspace, known, options=options, force=False)
    changed: list[str] = []
    failed = list(unreadable)
    for suspect in plan.suspects:
        try:
            document = _read(suspect, options=options)
        except UnreadableError as error:
            failed.append(error.failure)
            continue
        if not _is_current(document, known, options):
            changed.append(document.path)
    return Staleness(tuple(changed), tuple(gone.path for gone in plan.gone), tuple(failed))


def _survey(
    workspace: Path,
    known: Mapping[tuple[SourceKind, str], Known],
    *,
    options: IngestOptions,
    force: bool,
) -> tuple[Plan, list[Failure]]:
    found, unreadable = walk(workspace, options=options.walk)
    plan = make_plan(
        found,
        known=known,
        recipe=options.recipe,
        unreadable={failure.path for failure in unreadable},
        force=force,
    )
    return plan, unreadable


def _read(found: Found, *, options: IngestOptions) -> Document:
    if found.media is not None:
        return read_media(found, options=options.walk.media, now_ns=time.time_ns())
    return read(found, now_ns=time.time_ns())


def _is_current(
    document: Document, known: Mapping[tuple[SourceKind, str], Known], options: IngestOptions
) -> bool:
    before = known.get((document.source, document.path))
    return (
        before is not None and before.digest == document.digest and before.recipe == options.recipe
    )


def _take_in(  # noqa: PLR0913 - what taking in needs
    plan: Plan,
    known: Mapping[tuple[SourceKind, str], Known],
    *,
    store: Store,
    options: IngestOptions,
    progress: Progress,
    deadline: float | None,
) -> tuple[Counter[str], list[Failure]]:
    counts: Counter[str] = Counter()
    failed: list[Failure] = []
    departed = Counter(gone.digest for gone in plan.gone)
    for done, suspect in enumerate(plan.suspects):
        progress(Step("read", done, len(plan.suspects)))
        if deadline is not None and time.monotonic() > deadline:
            counts["left"] = len(plan.suspects) - done
            break
        try:
            document = _read(suspect, options=options)
        except UnreadableError as error:
            failed.append(error.failure)
            continue
        if _is_current(document, known, options):
            store.touch(document)
            counts["unchanged"] += 1
            continue
        store.put(document, chunk(document, options=options.chunk), recipe=options.recipe)
        if (document.source, document.path) in known:
            counts["changed"] += 1
        elif departed[document.digest]:
            departed[document.digest] -= 1
            counts["moved"] += 1
        else:
            counts["added"] += 1
    progress(Step("read", len(plan.suspects), len(plan.suspects)))
    return counts, failed
