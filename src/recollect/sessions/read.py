"""One transcript file as a conversation, and as it goes on.

It opens files and feeds the reader of their format. A file that cannot be read is a Failure that
names the next step, never a crash.
"""

from __future__ import annotations

import importlib
import os
import stat as modes
from dataclasses import dataclass, replace
from io import BytesIO
from typing import TYPE_CHECKING

from recollect.reports import Failure
from recollect.sessions.formats import reader_of
from recollect.sessions.header import opened
from recollect.sessions.names import COMPRESSED, is_archive_name, session_id_of
from recollect.sessions.tail import Mark, fits, lines_after, mark_at
from recollect.types import Stat

if TYPE_CHECKING:
    from typing import BinaryIO

    from recollect.sessions.find import Found
    from recollect.sessions.formats import Reader
    from recollect.sessions.turn import Transcript

_MAX_UNPACKED_BYTES = 512 * 1024 * 1024
"""Ten times a long conversation; a small file can unpack to anything."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A conversation as it stood in its file."""

    transcript: Transcript
    stat: Stat
    """Of the file, from before it was read."""
    mark: Mark
    """How far it was read."""


def read_transcript(found: Found) -> Reading | Failure:
    """Return the conversation in a file."""
    return Following(found).read_on()


class Following:
    """A conversation that is read on while its file grows."""

    def __init__(self, found: Found) -> None:
        self._found = found
        self._reader: Reader | None = None
        self._mark = Mark()

    def read_on(self) -> Reading | Failure:
        """Return the conversation as far as it is now; what was read before is not read again."""
        found = self._found
        try:
            with opened(found.file) as stream:
                status = os.fstat(stream.fileno())
                if not modes.S_ISREG(status.st_mode):
                    return Failure(found.path, "is not a regular file", "Rename or remove it.")
                if found.file.name.endswith(COMPRESSED):
                    return self._reading(_decompressed(stream), status, is_compressed=True)
                return self._reading(stream, status)
        except FileNotFoundError:
            reason = "was deleted while it was being taken in"
            return Failure(found.path, reason, "Nothing: the next sync sees it gone.")
        except ModuleNotFoundError:
            reason = "is compressed, which this Python cannot read"
            return Failure(found.path, reason, "Use Python 3.14, or decompress it with `zstd -d`.")
        except (OSError, EOFError) as error:
            reason = f"cannot be read: {getattr(error, 'strerror', None) or error}"
            return Failure(found.path, reason, "Make it readable, or exclude it.")

    def _reading(
        self, stream: BinaryIO, status: os.stat_result, *, is_compressed: bool = False
    ) -> Reading:
        found = self._found
        reader, mark = self._reader, self._mark
        self._reader = None  # should reading break off, it has to begin anew
        if reader is None or is_compressed or not fits(stream, mark):
            is_archive = is_archive_name(found.file.name)
            reader, mark = reader_of(found.format, is_archive=is_archive), Mark()
        offset, lines = mark.offset, mark.lines
        for line in lines_after(stream, mark):
            reader.take(line.number, line.text)
            offset, lines = line.end, line.number
        self._mark = Mark() if is_compressed else mark_at(stream, offset=offset, lines=lines)
        self._reader = reader
        read = reader.transcript()
        transcript = replace(
            read,
            agent=found.agent,
            session_id=read.session_id or session_id_of(found.file.name),
            excluded=found.excluded or read.excluded,
        )
        return Reading(transcript, Stat(status.st_size, status.st_mtime_ns), self._mark)


def _decompressed(stream: BinaryIO) -> BinaryIO:
    # In the standard library from Python 3.14 on, and not worth a dependency before it.
    zstd = importlib.import_module("compression.zstd")
    try:
        content = zstd.open(stream, "rb").read(_MAX_UNPACKED_BYTES + 1)
    except zstd.ZstdError as error:
        raise OSError(str(error)) from error
    if len(content) > _MAX_UNPACKED_BYTES:
        raise OSError(f"it unpacks to more than {_MAX_UNPACKED_BYTES // 1024**2} MiB")
    return BytesIO(content)
