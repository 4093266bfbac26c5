"""The archive of one memory: imported transcripts, and the list of forgotten ones.

It is in the user's home, so neither an agent's clean-up nor a rebuilt index loses it. Secrets are
hidden before a copy is written, and such a row is filled up with spaces, which JSON ignores: the
size of a copy still tells whether its original has grown.
"""

from __future__ import annotations

import json
import os
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from recollect.errors import StoreError
from recollect.sessions.names import COMPRESSED
from recollect.sessions.openclaw_database import read_session
from recollect.sessions.rows import MAX_LINE_BYTES, open_transcript, pack, unpack
from recollect.sessions.transcript import TranscriptFormat
from recollect.text.files import (
    delete_file,
    make_private_folder,
    remove_leftovers,
    replace_file,
    replacing,
)
from recollect.text.redact import redact, redact_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from recollect.sessions.exported import Conversation
    from recollect.sessions.find import FoundTranscript

_FORGOTTEN = "forgotten.json"
_NS_PER_SECOND = 1_000_000_000
_BLANK_BYTES = 1 << 20


class Archive:
    """A folder of imported transcripts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def contains(self, found: FoundTranscript) -> bool:
        """Return whether this transcript is an imported copy, not its agent's own file."""
        return found.file.is_relative_to(self.folder)

    def add(self, found: FoundTranscript) -> bool:
        """Copy a transcript here; return False if the archive already has all of it."""
        copy = self._copy_of(found)
        if found.file == copy or (copy.is_file() and _has_all(copy, found)):
            return False
        make_private_folder(copy.parent)
        if found.session:
            rows = read_session(found.file, found.session)
            _write(copy, (masked_row(f"{row}\n".encode()) for row in rows), found.stat.mtime_ns)
        else:
            _write_masked(copy, found.file)
        return True

    def clean(self) -> None:
        """Remove what killed imports left."""
        for folder, _, _ in os.walk(self.folder):
            remove_leftovers(Path(folder))

    def add_conversation(self, conversation: Conversation) -> bool:
        """Store a conversation of an export; return False if this or a newer state is here."""
        copy = self.folder / conversation.format.value / conversation.name
        mtime_ns = int(conversation.updated.timestamp()) * _NS_PER_SECOND
        # The time of the copy is when the conversation last changed.
        is_older = copy.is_file() and mtime_ns < copy.stat().st_mtime_ns
        if is_older or (copy.is_file() and copy.read_bytes() == conversation.content):
            return False
        make_private_folder(copy.parent)
        _write(copy, [conversation.content], mtime_ns)
        return True

    def remove(self, found: FoundTranscript) -> None:
        """Delete the imported copy of a transcript, if there is one."""
        # A transcript that grew after its import is found as the original: delete the copy too.
        delete_file(self._copy_of(found))
        if self.contains(found):
            delete_file(found.file)

    def forgotten(self) -> frozenset[str]:
        """Return the stored paths of transcripts that must not be indexed again."""
        file = self.folder / _FORGOTTEN
        try:
            listed = json.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return frozenset()
        except ValueError:
            listed = None
        if not isinstance(listed, list):
            raise StoreError(
                f"{file}, the list of forgotten transcripts, is damaged.",
                action="Restore it from a backup. If you delete it, nothing stays forgotten.",
            )
        return frozenset(map(str, listed))

    def write_forgotten(self, paths: Iterable[str]) -> None:
        """Replace the list of forgotten transcripts."""
        make_private_folder(self.folder)
        listed = json.dumps(sorted(paths), ensure_ascii=False, indent=1)
        replace_file(self.folder / _FORGOTTEN, listed.encode(), private=True)

    def _copy_of(self, found: FoundTranscript) -> Path:
        return self.folder.joinpath(*_folders_of(found), found.name)


def _has_all(copy: Path, found: FoundTranscript) -> bool:
    """Return whether a copy is complete: transcripts only grow, and compressed ones do not."""
    size = found.stat.size_bytes if found.session else found.file.stat().st_size
    return copy.name.endswith(COMPRESSED) or copy.stat().st_size >= size


def _write_masked(copy: Path, original: Path) -> None:
    with open_transcript(original) as stream:
        mtime_ns = os.fstat(stream.fileno()).st_mtime_ns
        if original.name.endswith(COMPRESSED):
            _write(copy, [pack(b"".join(masked(BytesIO(unpack(stream)))))], mtime_ns)
        else:
            _write(copy, masked(stream), mtime_ns)


def _write(copy: Path, content: Iterable[bytes], mtime_ns: int) -> None:
    with replacing(copy, private=True) as staged:
        with staged.open("wb") as stream:
            stream.writelines(content)
        os.utime(staged, ns=(mtime_ns, mtime_ns))


def _folders_of(found: FoundTranscript) -> tuple[str, ...]:
    """Return the subfolders of a copy: they carry what the original's folders say about it."""
    match found.format:
        case TranscriptFormat.OPENCLAW:
            return ("agents", found.agent or "main", "sessions")
        case TranscriptFormat.CLAUDE_CODE:
            return (found.format.value, found.file.parent.name)
        case _:
            return (found.format.value,)


def masked(stream: BinaryIO) -> Iterator[bytes]:
    """Yield rows without secrets; rows too long for every reader keep only their length."""
    while row := stream.readline(MAX_LINE_BYTES):
        if len(row) == MAX_LINE_BYTES and not row.endswith(b"\n"):
            yield from _blank(row, stream)
        else:
            yield masked_row(row)


def masked_row(row: bytes) -> bytes:
    """Return a row without its secrets, of the same length."""
    text = row.decode("utf-8", "surrogateescape")
    ending = text[len(text.rstrip("\r\n")) :]
    try:
        given = json.loads(text)
        hidden = redact_json(given)
        if hidden == given:
            return row
        text = json.dumps(hidden, ensure_ascii=False, separators=(",", ":"))
    except (ValueError, RecursionError):  # not JSON, or only the start of a row
        text = redact(text.removesuffix(ending))
        if text + ending == row.decode("utf-8", "surrogateescape"):
            return row
    # A lone surrogate is escaped as JSON does; bytes that were not UTF-8 stay as they were.
    content = "".join(map(_escaped, text)).encode("utf-8", "surrogateescape")
    return content + b" " * (len(row) - len(content) - len(ending)) + ending.encode()


def _escaped(char: str) -> str:
    is_byte = "\udc80" <= char <= "\udcff"
    return f"\\u{ord(char):04x}" if "\ud800" <= char <= "\udfff" and not is_byte else char


def _blank(row: bytes, stream: BinaryIO) -> Iterator[bytes]:
    while row:
        is_end = row.endswith(b"\n")
        yield b" " * (len(row) - is_end) + b"\n" * is_end
        if is_end:
            return
        row = stream.readline(_BLANK_BYTES)
