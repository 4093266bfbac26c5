"""Reads one transcript file as a conversation.

A file that cannot be read becomes a Failure that names the next step, never a crash.
"""

from __future__ import annotations

import os
from dataclasses import replace
from io import BytesIO
from typing import TYPE_CHECKING, Protocol

from recollect.records import dataclass
from recollect.reports import Failure
from recollect.sessions.chatgpt import ChatGptReader
from recollect.sessions.claude_ai import ClaudeAiReader
from recollect.sessions.claude_code import ClaudeCodeReader
from recollect.sessions.codex import CodexReader
from recollect.sessions.names import COMPRESSED, is_archive_name
from recollect.sessions.openclaw import OpenClawReader
from recollect.sessions.openclaw_database import read_session
from recollect.sessions.rows import row_of
from recollect.sessions.transcript import TranscriptFormat
from recollect.sessions.unpack import unpack
from recollect.text.confined import RefusedError, open_inside
from recollect.types import Stat

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from typing import BinaryIO

    from recollect.sessions.find import FoundTranscript
    from recollect.sessions.rows import Row
    from recollect.sessions.transcript import Transcript

MAX_LINE_BYTES = 32 * 1024 * 1024
"""Enough for a message with several large images; longer lines are skipped."""

_TOO_LONG = "…"
"""Replaces a skipped line: not valid in any format."""
_BOM = b"\xef\xbb\xbf"


class TranscriptReader(Protocol):
    """Takes in a transcript of one format row by row."""

    def take(self, number: int, row: Row) -> None:
        """Take in the row on a line."""

    def transcript(self) -> Transcript:
        """Return the conversation read so far."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A conversation as it was in its file."""

    transcript: Transcript
    stat: Stat
    """Stat of the file, from before it was read."""


def reader_of(form: TranscriptFormat, *, is_archive: bool) -> TranscriptReader:
    """Return a new reader for a format."""
    match form:
        case TranscriptFormat.OPENCLAW:
            return OpenClawReader(is_archive=is_archive)
        case TranscriptFormat.CLAUDE_CODE:
            return ClaudeCodeReader()
        case TranscriptFormat.CODEX:
            return CodexReader()
        case TranscriptFormat.CHATGPT:
            return ChatGptReader()
        case TranscriptFormat.CLAUDE_AI:
            return ClaudeAiReader()


def read_transcript(found: FoundTranscript) -> Reading | Failure:
    """Return the conversation in a file, or in a database."""
    try:
        if found.session:
            rows = read_session(found.file, found.session)
            reader = reader_of(found.format, is_archive=False)
            transcript = read_lines(enumerate(rows, 1), reader)
            return Reading(_with_exclusion(transcript, found), found.stat)
        with open_transcript(found.file) as stream:
            status = os.fstat(stream.fileno())
            is_compressed = found.file.name.endswith(COMPRESSED)
            reader = reader_of(found.format, is_archive=is_archive_name(found.file.name))
            content = BytesIO(unpack(stream)) if is_compressed else stream
            transcript = read_lines(whole_lines(content), reader)
    except FileNotFoundError:
        reason = "was deleted while it was being read"
        return Failure(found.path, reason, "Nothing to do: the next sync removes it.")
    except RefusedError as error:
        return Failure(found.path, str(error), "Rename or remove it.")
    except (OSError, EOFError) as error:
        reason = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        return Failure(found.path, reason, "Make it readable, or exclude it.")
    stat = Stat(status.st_size, status.st_mtime_ns)
    return Reading(_with_exclusion(transcript, found), stat)


def _with_exclusion(transcript: Transcript, found: FoundTranscript) -> Transcript:
    return replace(transcript, excluded=found.excluded or transcript.excluded)


def read_lines(lines: Iterable[tuple[int, str]], reader: TranscriptReader) -> Transcript:
    """Return the conversation on numbered lines; lines without a JSON object are skipped."""
    for number, line in lines:
        row = row_of(line)
        if row is not None:
            reader.take(number, row)
    return reader.transcript()


def open_transcript(file: Path) -> BinaryIO:
    """Open a file for reading, but not through a link.

    Raises:
        OSError: it does not exist, or must not be read.

    """
    if file.is_symlink():
        raise RefusedError("is a symbolic link")
    return open_inside(file, file.parent)


def whole_lines(stream: BinaryIO) -> Iterator[tuple[int, str]]:
    """Yield the complete lines of a file that may still be growing, numbered from 1.

    A last line without a line end counts if it is a whole JSON object, because some writers end a
    finished file that way; otherwise it is still being written and left for later.
    """
    number = 0
    while raw := stream.readline(MAX_LINE_BYTES):
        is_whole = raw.endswith(b"\n")
        is_too_long = len(raw) == MAX_LINE_BYTES and not is_whole
        if is_too_long:
            is_whole = _skip_line(stream)
        number += 1
        text = _TOO_LONG if is_too_long else _decoded(raw, number)
        if not is_whole and row_of(text) is None:
            return
        yield number, text


def _skip_line(stream: BinaryIO) -> bool:
    """Skip the rest of a line; return whether it ended."""
    while raw := stream.readline(MAX_LINE_BYTES):
        if raw.endswith(b"\n"):
            return True
    return False


def _decoded(raw: bytes, number: int) -> str:
    raw = raw.removeprefix(_BOM) if number == 1 else raw
    # One broken character must not lose the line.
    return raw.decode("utf-8", "replace")
