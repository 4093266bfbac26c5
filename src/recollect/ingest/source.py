"""The Source protocol: a place texts come from, whatever kind of files they are in there.

Everything that syncs, looks or verifies works on sources; the notes of a workspace are one.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from recollect.ingest.chunk import chunk
from recollect.ingest.media import read_media
from recollect.ingest.read import read
from recollect.ingest.walk import walk
from recollect.types import SourceKind

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from recollect.ingest.sync import IngestOptions
    from recollect.ingest.walk import Found
    from recollect.reports import Failure
    from recollect.types import Chunk, Document


@dataclass(frozen=True, slots=True)
class Taken:
    """A file as it was read."""

    document: Document
    chunks: Callable[[], list[Chunk]]
    """Divides it; asked for only when the document is to be stored."""


class Source(Protocol):
    """Finds files and reads them as documents."""

    @property
    def kind(self) -> SourceKind:
        """Return which kind of texts these are."""

    @property
    def recipe(self) -> str:
        """Return the identity of the rules: documents stored under another one are redone."""

    def find(self) -> tuple[list[Found], list[Failure]]:
        """Return every file there is now, and what could not be looked into.

        What is stored of a failure's path, or below it, is kept.
        """

    def take(self, found: Found) -> Taken:
        """Read one file.

        Raises:
            UnreadableError: it is gone, not to be opened, or not what it seems.

        """


class NotesSource:
    """The Markdown of a workspace and of its extra paths, and media files where wanted."""

    kind = SourceKind.MEMORY

    def __init__(self, workspace: Path, *, options: IngestOptions) -> None:
        self._workspace = workspace
        self._options = options

    @property
    def recipe(self) -> str:
        """Return the identity of the chunking and term rules."""
        return self._options.recipe

    def find(self) -> tuple[list[Found], list[Failure]]:
        """Walk the workspace."""
        return walk(self._workspace, options=self._options.walk)

    def take(self, found: Found) -> Taken:
        """Read a note, or a media file's place-holder."""
        now_ns = time.time_ns()
        if found.media is not None:
            document = read_media(found, options=self._options.walk.media, now_ns=now_ns)
        else:
            document = read(found, now_ns=now_ns)
        return Taken(document, lambda: chunk(document, options=self._options.chunk))
