"""Reads one transcript, in a file or a database, as a conversation."""

from __future__ import annotations

import os
from dataclasses import replace
from io import BytesIO
from typing import TYPE_CHECKING, Protocol

from recollect.ingest.read import unreadable
from recollect.sessions.claude_code import ClaudeCodeReader
from recollect.sessions.codex import CodexReader
from recollect.sessions.exported import ExportReader
from recollect.sessions.names import COMPRESSED, is_archive_name
from recollect.sessions.openclaw import OpenClawReader
from recollect.sessions.openclaw_database import read_session
from recollect.sessions.rows import open_transcript, row_of, unpack, whole_lines
from recollect.sessions.transcript import TranscriptFormat
from recollect.text.confined import RefusedError
from recollect.types import Stat

if TYPE_CHECKING:
    from collections.abc import Iterable

    from recollect.sessions.find import FoundTranscript
    from recollect.sessions.rows import Row
    from recollect.sessions.transcript import Transcript


class TranscriptReader(Protocol):
    """Takes in a transcript of one format row by row."""

    def take(self, number: int, row: Row) -> None:
        """Take in the row on a line."""

    def transcript(self) -> Transcript:
        """Return the conversation read so far."""


def reader_of(form: TranscriptFormat, *, is_archive: bool) -> TranscriptReader:
    """Return a new reader for a format."""
    match form:
        case TranscriptFormat.OPENCLAW:
            return OpenClawReader(is_archive=is_archive)
        case TranscriptFormat.CLAUDE_CODE:
            return ClaudeCodeReader()
        case TranscriptFormat.CODEX:
            return CodexReader()
        case TranscriptFormat.CHATGPT | TranscriptFormat.CLAUDE_AI:
            return ExportReader(form)


def read_transcript(found: FoundTranscript) -> tuple[Transcript, Stat]:
    """Return a conversation, and the stat from before it was read.

    Raises:
        UnreadableError: it is gone, or cannot be read.

    """
    reader = reader_of(found.format, is_archive=is_archive_name(found.name))
    try:
        if found.session:
            rows = read_session(found.file, found.session)
            transcript, stat = read_lines(enumerate(rows, 1), reader), found.stat
        else:
            with open_transcript(found.file) as stream:
                status = os.fstat(stream.fileno())
                stat = Stat(status.st_size, status.st_mtime_ns)
                is_compressed = found.file.name.endswith(COMPRESSED)
                content = BytesIO(unpack(stream)) if is_compressed else stream
                transcript = read_lines(whole_lines(content), reader)
    except FileNotFoundError as error:
        reason = "was deleted while it was being read"
        raise unreadable(found.path, reason, "Nothing to do: the next sync removes it.") from error
    except RefusedError as error:
        raise unreadable(found.path, str(error), "Rename or remove it.") from error
    except (OSError, EOFError) as error:
        reason = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        raise unreadable(found.path, reason, "Make it readable, or exclude it.") from error
    return replace(transcript, excluded=found.excluded or transcript.excluded), stat


def read_lines(lines: Iterable[tuple[int, str]], reader: TranscriptReader) -> Transcript:
    """Return the conversation on numbered lines; lines without a JSON object are skipped."""
    for number, line in lines:
        row = row_of(line)
        if row is not None:
            reader.take(number, row)
    return reader.transcript()
