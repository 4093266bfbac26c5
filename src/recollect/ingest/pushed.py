"""Pushed documents as a source, and the book to write them in: they are read and chunked as files.

Threat: a path comes from a client. It names a row, never a file; still it is shown, matched by
globs and written to disks by others, so only plain relative paths of Markdown files are accepted.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import DocumentSizeError, NotFoundError, UsageError
from recollect.ingest.folders import Found
from recollect.ingest.read import UnreadableError, decoded, document_of, shown_text, unreadable
from recollect.ingest.source import Source, taken_note
from recollect.text.confined import shown_instead
from recollect.text.safe import on_one_line
from recollect.text.terminal import INVISIBLE
from recollect.types import SourceKind, Stat

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from recollect.ingest.options import IngestOptions
    from recollect.ingest.source import Taken
    from recollect.reports import Failure
    from recollect.stores.postgres.pushed import PostgresPushed
    from recollect.stores.pushed import PushedChange, PushedDocument
    from recollect.types import Document

MOST_PATH_CHARS = 400
MOST_DOCUMENT_BYTES = 2 * 1024 * 1024
"""A hundred times a long note."""
_NOWHERE = Path()
# Neither control characters, nor what Windows and shells read as something else.
_PART = re.compile(r"[^\x00-\x1f\x7f-\x9f/\\:*?\"<>|\u2028\u2029\ufeff]+")
_INVISIBLE = re.compile(f"[{INVISIBLE}]")
_HIDDEN = "."
_SUFFIX = ".md"


def parse_path(path: str) -> str:
    """Return the path of a pushed document as it is stored; a UsageError if none may have it."""
    parts = path.split("/")
    is_plain = all(
        _PART.fullmatch(part) and part[0] != _HIDDEN and part == part.strip() and part[-1] != "."
        for part in parts
    )
    is_short = len(path) <= MOST_PATH_CHARS
    if not (is_plain and is_short and shown_instead(path) is None and path.endswith(_SUFFIX)):
        raise UsageError(
            f"{on_one_line(ascii(path[:MOST_PATH_CHARS]))} cannot be the path of a document.",
            action="Use a relative path such as memory/2026-02-01.md, without hidden folders.",
        )
    if hidden := _INVISIBLE.search(path):
        raise UsageError(
            f"The path {path!a} contains an invisible character, U+{ord(hidden[0]):04X}.",
            action="Rename the document without it.",
        )
    return path


class PushedSource(Source):
    """The pushed notes of a memory; its facts are a separate source."""

    kind = SourceKind.MEMORY

    def __init__(
        self,
        pushed: PostgresPushed,
        *,
        options: IngestOptions,
        left_out: str,
        only: Collection[str] | None = None,
    ) -> None:
        """Store the arguments; a folder of another source is left out, `only` limits paths."""
        self._pushed = pushed
        self._options = options
        self._left_out = f"{left_out}/"
        self._only = only
        self._read: dict[str, tuple[PushedDocument, bytes]] = {}

    @property
    def recipe(self) -> str:
        """Return the identity of the chunking and term rules."""
        return self._options.recipe

    def find(self) -> tuple[list[Found], list[Failure]]:
        """List the documents; an ElsewhereError if they are made from files of another machine."""
        if self._only is None:
            self._pushed.require_here()
            listed = self._pushed.listed()
        else:  # just written, which required it
            self._read = self._pushed.contents(sorted(self._only))
            listed = [document for document, _ in self._read.values()]
        return [_found(each) for each in listed if not each.path.startswith(self._left_out)], []

    def take(self, found: Found) -> Taken:
        """Read a document; one of few was read when it was found."""
        if found.path in self._read:
            document, content = self._read.pop(found.path)
            note = document_of(found, content, _stat(document), is_settled=True)
        else:
            note = read_pushed(self._pushed, found)
        return taken_note(note, options=self._options.chunk)


def read_pushed(pushed: PostgresPushed, found: Found) -> Document:
    """Return a pushed document as files are read."""
    try:
        stored, content = pushed.content(found.path)
    except NotFoundError as error:
        reason = "was deleted while it was being indexed"
        raise unreadable(found.path, reason, "Nothing to do: the next sync removes it.") from error
    # Every write has a time of its own, so an equal one means an equal text.
    return document_of(found, content, _stat(stored), is_settled=True)


def _found(document: PushedDocument) -> Found:
    return Found(document.path, document.path, _NOWHERE, _stat(document), SourceKind.MEMORY)


def _stat(document: PushedDocument) -> Stat:
    return Stat(size_bytes=document.size_bytes, mtime_ns=document.changed_ns)


class PushedBook:
    """Writes and reads the pushed documents of a memory; what is written is found at once."""

    def __init__(
        self,
        pushed: PostgresPushed,
        *,
        on_change: Callable[[Sequence[str]], object],
    ) -> None:
        """Store the arguments; `on_change` is told the paths that were written or deleted."""
        self._pushed = pushed
        self._on_change = on_change

    def listed(self) -> list[PushedDocument]:
        """Return all documents, in the order of their paths."""
        self._pushed.require_here()
        return [each for each in self._pushed.listed() if f"/{_HIDDEN}" not in each.path]

    def read(self, path: str, *, version: int | None = None) -> tuple[PushedDocument, str]:
        """Return a document, or an earlier version of it, with its text."""
        self._pushed.require_here()
        document, content = self._pushed.content(parse_path(path), version=version)
        return document, content.decode("utf-8", "replace")

    def shown(self, path: str) -> str:
        """Return the text of a document without its private parts."""
        document, _ = self.read(path)
        return shown_text(read_pushed(self._pushed, _found(document)))

    def versions(self, path: str) -> list[PushedDocument]:
        """Return the versions of a document that are kept, the newest first."""
        found = self._pushed.versions(parse_path(path))
        if not found:
            raise _no_document(path)
        return found

    def deleted(self) -> list[PushedDocument]:
        """Return the deleted documents that have versions left, by the last one of each."""
        self._pushed.require_here()
        return self._pushed.deleted()

    def purge(self, path: str, *, keep_current: bool = False) -> int:
        """Delete a document with all its versions, or only the earlier ones; return how many."""
        if self._pushed.require_here() is None:
            raise NotFoundError(
                "This memory does not exist: nothing has been pushed to it.",
                action="Check its name; `recollect server tokens list` names memories.",
            )
        purged = self._pushed.purge(parse_path(path), keep_current=keep_current)
        if not purged:
            raise _no_document(path)
        self._on_change([path])
        return purged

    def write(self, changes: Sequence[PushedChange]) -> list[PushedDocument]:
        """Write and delete documents: all of them, or none. Return those written."""
        paths = [parse_path(each.path) for each in changes]
        if len(set(paths)) < len(paths):
            raise UsageError("A path is named twice.", action="Name each path once.")
        for each in changes:
            if each.content is not None and len(each.content) > MOST_DOCUMENT_BYTES:
                raise DocumentSizeError(
                    f"{each.path} has {len(each.content):,} bytes; a document may have "
                    f"{MOST_DOCUMENT_BYTES:,}.",
                    action="Divide it into several notes.",
                )
            _require_text(each)
        gone = {each.path for each in changes if each.content is None}
        with self._pushed.changing():
            if gone:
                missing = gone - {each.path for each in self._pushed.named(sorted(gone))}
                if missing:
                    raise _no_document(min(missing))
            written = self._pushed.change(changes)
        self._on_change(paths)
        return written


def _no_document(path: str) -> NotFoundError:
    return NotFoundError(
        f"There is no document {path}.", action="List the documents to see their paths."
    )


def _require_text(change: PushedChange) -> None:
    """Refuse what could not be read from a file of the same content."""
    try:
        decoded(change.content or b"", change.path)
    except UnreadableError as error:
        failure = error.failure
        raise UsageError(f"{failure.path} {failure.reason}.", action="Send it as text.") from error
