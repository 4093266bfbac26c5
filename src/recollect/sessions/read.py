"""One transcript file as a conversation.

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
from recollect.sessions.lines import whole_lines
from recollect.sessions.names import COMPRESSED, is_archive_name, session_id_of
from recollect.types import Stat

if TYPE_CHECKING:
    from typing import BinaryIO

    from recollect.sessions.find import FoundTranscript
    from recollect.sessions.turn import Transcript

_MAX_UNPACKED_BYTES = 512 * 1024 * 1024
"""Ten times a long conversation; a small file can unpack to anything."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A conversation as it stood in its file."""

    transcript: Transcript
    stat: Stat
    """Of the file, from before it was read."""


def read_transcript(found: FoundTranscript) -> Reading | Failure:
    """Return the conversation in a file."""
    try:
        with opened(found.file) as stream:
            status = os.fstat(stream.fileno())
            if not modes.S_ISREG(status.st_mode):
                return Failure(found.path, "is not a regular file", "Rename or remove it.")
            is_compressed = found.file.name.endswith(COMPRESSED)
            transcript = _read(_decompressed(stream) if is_compressed else stream, found)
    except FileNotFoundError:
        reason = "was deleted while it was being taken in"
        return Failure(found.path, reason, "Nothing: the next sync sees it gone.")
    except ModuleNotFoundError:
        reason = "is compressed, which this Python cannot read"
        return Failure(found.path, reason, "Use Python 3.14, or decompress it with `zstd -d`.")
    except (OSError, EOFError) as error:
        reason = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        return Failure(found.path, reason, "Make it readable, or exclude it.")
    return Reading(transcript, Stat(status.st_size, status.st_mtime_ns))


def _read(stream: BinaryIO, found: FoundTranscript) -> Transcript:
    reader = reader_of(found.format, is_archive=is_archive_name(found.file.name))
    for number, text in whole_lines(stream):
        reader.take(number, text)
    read = reader.transcript()
    return replace(
        read,
        agent=found.agent,
        session_id=read.session_id or session_id_of(found.file.name),
        excluded=found.excluded or read.excluded,
    )


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
