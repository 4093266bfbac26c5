"""Reads one file into a Document: its text, its front matter, the day it speaks of, its digest.

A file that cannot be read as text is an UnreadableError with a next step, never half a text.
"""

from __future__ import annotations

import codecs
import os
import re
from datetime import date
from itertools import accumulate
from typing import TYPE_CHECKING

from recollect.errors import NotFoundError
from recollect.reports import Excerpt, Failure
from recollect.text.confined import RefusedError, TooLargeError, open_inside, read_bounded
from recollect.types import CURATED, Document, Stat, digest_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from recollect.ingest.folders import Found

MAX_FILE_BYTES = 16 * 1024 * 1024
"""A thousand times a long note: what is larger is a log or a dump, and would take minutes."""

_SETTLING_NS = 2_000_000_000
"""Coarsest time stamp of a common file system (FAT): within it two writes look like one."""

COMMAND_SECONDS = 30
"""Time a command has to turn a file into text: a long PDF takes one, and a search waits for it."""
_CHECK = "Run the command of preprocess.command by hand: it gets the path, and the file on stdin."


class UnreadableError(Exception):
    """A file that cannot be indexed, with what to tell the user."""

    def __init__(self, failure: Failure) -> None:
        """Keep what to report."""
        super().__init__(f"{failure.path}: {failure.reason}")
        self.failure = failure


def read(found: Found, *, now_ns: int) -> Document:
    """Return the file as a Document."""
    if found.media:
        reason = f"is an {found.media} file of {found.stat.size_bytes:,} bytes, not text"
        raise unreadable(found.path, reason, f"Open the file itself: {found.file}")
    content, stat = content_of(
        found, max_bytes=MAX_FILE_BYTES, action="Split it into several files, or exclude it."
    )
    if found.command:
        content = _preprocessed(found, content)
    return document_of(found, content, stat, is_settled=is_settled(stat, now_ns=now_ns))


def _preprocessed(found: Found, content: bytes) -> bytes:
    """Return what the command makes of a file; raise UnreadableError if it fails.

    Threat: only the user's own settings name the command. The file comes on its standard input,
    opened as every file is; something else may be at its path by then.
    """
    import shlex  # noqa: PLC0415 - rarely used, as those below
    import subprocess  # noqa: PLC0415
    from tempfile import TemporaryFile  # noqa: PLC0415

    try:
        # Files, not pipes: a process that the command started could keep those open for ever.
        with TemporaryFile() as given, TemporaryFile() as made, TemporaryFile() as said:
            given.write(content)
            given.seek(0)
            command = [*shlex.split(found.command), str(found.file)]
            done = subprocess.run(  # noqa: S603 - the user's own command, without a shell
                command, stdin=given, stdout=made, stderr=said, timeout=COMMAND_SECONDS, check=False
            )
            for stream in (made, said):
                stream.seek(0)
            text, errors = made.read(MAX_FILE_BYTES + 1), said.read(400).decode("utf-8", "replace")
    except subprocess.TimeoutExpired as error:
        reason = f"was not turned into text within {COMMAND_SECONDS} seconds"
        raise unreadable(found.path, reason, _CHECK) from error
    except (OSError, ValueError) as error:  # no such program; a quote without its partner
        raise unreadable(found.path, f"cannot be turned into text: {error}", _CHECK) from error
    if done.returncode:
        why = " ".join(errors.split()) or f"the command ended with {done.returncode}"
        raise unreadable(found.path, f"cannot be turned into text: {why}", _CHECK)
    if len(text) > MAX_FILE_BYTES:
        raise unreadable(found.path, "is too large as text", "Exclude it.")
    return text


def document_of(found: Found, content: bytes, stat: Stat, *, is_settled: bool) -> Document:
    """Return bytes that were read, whatever from, as a Document without private parts."""
    # Only to read a file.
    from recollect.ingest.front_matter import front_matter  # noqa: PLC0415
    from recollect.text.private import is_private, without_private  # noqa: PLC0415

    text = decoded(content, found.path).replace("\r\n", "\n").replace("\r", "\n")
    hidden = is_private(text)
    text = without_private(text)
    top = front_matter(text)
    return Document(
        path=found.path,
        source=found.source,
        text="" if hidden else text,
        digest=digest_of(content),
        stat=stat,
        when=when_of(found.path, front_matter=top.fields),
        body_line=1 if hidden else top.body_line,
        is_settled=is_settled,
        is_private=hidden,
    )


def shown_text(document: Document) -> str:
    """Return the text of a document; raise NotFoundError if its front matter makes it private."""
    if document.is_private:
        message = f"{document.path} is private: its front matter says so."
        raise NotFoundError(message, action="Open the file itself.")
    return document.text


def is_settled(stat: Stat, *, now_ns: int) -> bool:
    """Return whether a file is old enough that any later write would change its stat."""
    return now_ns - stat.mtime_ns > _SETTLING_NS


def content_of(found: Found, *, max_bytes: int, action: str) -> tuple[bytes, Stat]:
    """Return the bytes of a file and the stat that belongs to them."""
    try:
        with open_inside(found.file, found.boundary) as stream:
            # Before reading: if the file grows meanwhile, the next sync sees another stat.
            status = os.fstat(stream.fileno())
            content = read_bounded(stream, max_bytes=max_bytes)
    except FileNotFoundError as error:
        reason = "was deleted while it was being indexed"
        raise unreadable(found.path, reason, "Nothing to do: the next sync removes it.") from error
    except RefusedError as error:
        is_large = isinstance(error, TooLargeError)
        action = action if is_large else "Rename or remove it."
        raise unreadable(found.path, str(error), action) from error
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
        raise unreadable(found.path, reason, "Make it readable, or exclude it.") from error
    return content, Stat(size_bytes=status.st_size, mtime_ns=status.st_mtime_ns)


def decoded(content: bytes, path: str) -> str:
    """Return the text of a file's bytes."""
    is_utf16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = content.decode("utf-16" if is_utf16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        reason = f"is not valid {'UTF-16' if is_utf16 else 'UTF-8'} (at byte {error.start})"
        raise unreadable(path, reason, "Save it as UTF-8.") from error
    if "\0" in text:
        raise unreadable(path, "contains NUL characters: it is not text", "Rename or exclude it.")
    return text


def unreadable(path: str, reason: str, action: str) -> UnreadableError:
    """Return the error to raise for a file that cannot be indexed."""
    return UnreadableError(Failure(path, reason, action))


_DAY = r"([12][0-9]{3})([-_])([0-9]{2})\2([0-9]{2})(?![0-9])"
_DAY_IN_NAME = re.compile(rf"(?<![0-9]){_DAY}")
_DATED_FOLDER = re.compile(_DAY)
_NESTED_DAY = re.compile(r"(?:^|/)([12][0-9]{3})([-_/])([0-9]{2})/([0-9]{2})(?![0-9])[^/]*$")
_STATED_DAY = re.compile(r"([0-9]{4})(-)([0-9]{2})-([0-9]{2})(?![0-9-])")


def when_of(path: str, *, front_matter: Mapping[str, str]) -> date | None:
    """Return the day a text is about, or None for an evergreen one.

    Its name counts first, then its front matter, then the nearest dated folder. A file's age on
    disk never counts: copying a folder must not change what its notes are about.
    """
    if path in CURATED:
        return None
    *folders, name = path.split("/")
    return (
        _first_day(_DAY_IN_NAME.finditer(name))
        or _first_day(_NESTED_DAY.finditer(path))
        or _first_day(_stated(front_matter))
        or _first_day(found for part in reversed(folders) if (found := _DATED_FOLDER.match(part)))
        or _first_day(_NESTED_DAY.finditer("/".join(folders)))
    )


def _stated(front_matter: Mapping[str, str]) -> Iterable[re.Match[str]]:
    from recollect.ingest.front_matter import DATE_KEYS  # noqa: PLC0415 - only to read a file

    values = (front_matter.get(key, "").strip().strip("\"'") for key in DATE_KEYS)
    return (found for value in values if (found := _STATED_DAY.match(value)))


def _first_day(candidates: Iterable[re.Match[str]]) -> date | None:
    for found in candidates:
        try:
            return date(int(found[1]), int(found[3]), int(found[4]))
        except ValueError:  # 2026-02-30 only looks like a date
            continue
    return None


def excerpt(
    text: str,
    *,
    path: str,
    start_line: int = 1,
    lines: int = 120,
    max_chars: int = 12_000,
) -> Excerpt:
    """Return up to `lines` whole lines from `start_line` on, at most `max_chars` long.

    A first line longer than that is cut, and the next excerpt starts after it: otherwise a reader
    could never get past it.
    """
    start = max(1, start_line)
    every = text.removesuffix("\n").split("\n") if text else []
    asked = every[start - 1 : start - 1 + max(1, lines)]
    ends = accumulate(len(line) + 1 for line in asked)
    # The last line's newline is not shown, so it does not count.
    kept = asked[: sum(end - 1 <= max_chars for end in ends)]
    if asked and not kept:
        from recollect.text.graphemes import boundary_before  # noqa: PLC0415 - slow to load

        kept = [asked[0][: boundary_before(asked[0], max_chars)]]
    following = start + len(kept)
    return Excerpt(
        path=path,
        start_line=start,
        lines=len(kept),
        text="\n".join(kept),
        next_line=following if kept and following <= len(every) else None,
    )
