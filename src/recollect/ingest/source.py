"""A Source: a place that texts come from, such as the notes of a workspace, facts or sessions."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.ingest.read import read
from recollect.ingest.walk import layout_of, walk
from recollect.records import dataclass
from recollect.reports import Failure
from recollect.types import SourceKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from recollect.ingest.folders import Found
    from recollect.ingest.options import ChunkOptions, IngestOptions
    from recollect.types import Chunk, Document


@dataclass(frozen=True, slots=True)
class Taken:
    """A file as it was read."""

    document: Document
    chunks: Callable[[], list[Chunk]]
    """Chunks the document; called only if the document has to be stored."""
    failures: tuple[Failure, ...] = ()
    """What is wrong with some of its lines; the rest is indexed."""


class Source(ABC):
    """Finds files and reads them as documents."""

    kind: SourceKind
    """The kind of all its documents."""
    is_joint = False
    """Whether its documents depend on each other, so that they are stored together.

    The recipe says how, and changes when that does.
    """

    keeps_what_is_stored = False
    """Whether it finds nothing and loses nothing, because other processes sync it."""

    def has_changed(self) -> bool:
        """Return whether a file changed since `find`; asked only of a joint source."""
        return False

    @property
    @abstractmethod
    def recipe(self) -> str:
        """Return the identity of the rules: documents stored under another one are redone."""

    @abstractmethod
    def find(self) -> tuple[list[Found], list[Failure]]:
        """Return every file, and every path that could not be looked into.

        What is stored of a failed path, or below it, is kept, unless a setting leaves it out.
        """

    def dropped(self, paths: Sequence[str]) -> str | None:
        """Return a notice if some of these stored paths are files that no longer belong to it."""
        del paths
        return None

    @abstractmethod
    def take(self, found: Found) -> Taken:
        """Read one file, or raise UnreadableError."""


class NotesSource(Source):
    """The Markdown files of a workspace and its extra paths, and media files if wanted."""

    kind = SourceKind.MEMORY

    def __init__(self, workspace: Path, *, options: IngestOptions) -> None:
        self._workspace = workspace
        self._options = options

    @property
    def recipe(self) -> str:
        """Return the identity of the chunking and term rules."""
        return self._options.recipe

    def find(self) -> tuple[list[Found], list[Failure]]:
        """Walk the workspace and the extra paths."""
        return walk(self._workspace, options=self._options.walk)

    def dropped(self, paths: Sequence[str]) -> str | None:
        """Return a notice of notes that a new MEMORY.md or memory/ leaves out."""
        return layout_of(self._workspace, options=self._options.walk).dropped(paths)

    def take(self, found: Found) -> Taken:
        """Read a note, or the label of a media file."""
        now_ns = time.time_ns()
        if found.media is None:
            return taken_note(read(found, now_ns=now_ns), options=self._options.chunk)
        # Slow to load, and a search that finds nothing changed needs none of them.
        from recollect.ingest.chunk import chunk  # noqa: PLC0415
        from recollect.ingest.media import read_media  # noqa: PLC0415

        document = read_media(found, now_ns=now_ns)
        return Taken(document, lambda: chunk(document, options=self._options.chunk))


def taken_note(document: Document, *, options: ChunkOptions) -> Taken:
    """Return a note that was read, with its chunks and what is wrong with its lines."""
    from recollect.ingest.chunk import NoteLines, chunk  # noqa: PLC0415 - slow to load
    from recollect.ingest.front_matter import SHORTEN  # noqa: PLC0415
    from recollect.text.merge_conflicts import RESOLVE  # noqa: PLC0415

    lines = NoteLines.of(document)
    failures = [
        Failure(f"{document.path}:{each.start}", each.reason, RESOLVE, is_entry=True)
        for each in lines.conflicts
    ]
    if left_out := lines.described.left_out:
        failures.append(Failure(f"{document.path}:1", left_out, SHORTEN, is_entry=True))
    if failures:  # a note with a flaw is read, and reported, until it is corrected
        document = replace(document, is_settled=False)
    return Taken(document, lambda: chunk(document, options=options, lines=lines), tuple(failures))
