"""The archive of one memory: imported transcripts, and the list of forgotten ones.

Both live in the user's home, so neither an agent's clean-up nor a rebuilt index loses them.
"""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING

from recollect.sessions.openclaw_database import read_session
from recollect.sessions.transcript import TranscriptFormat
from recollect.text.files import delete_file, make_private_folder, replace_file, replacing

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from recollect.sessions.export import Conversation
    from recollect.sessions.find import FoundTranscript

_FORGOTTEN = "forgotten.json"
_NS_PER_SECOND = 1_000_000_000


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
        # Transcripts only grow, so the size tells whether the copy is complete.
        is_complete = copy.is_file() and copy.stat().st_size >= _size_bytes(found)
        if found.file == copy or is_complete:
            return False
        make_private_folder(copy.parent)
        with replacing(copy, private=True) as staged:  # a transcript may contain secrets
            if found.session:
                rows = read_session(found.file, found.session)
                staged.write_bytes("".join(f"{row}\n" for row in rows).encode())
                mtime_ns = found.stat.mtime_ns
            else:
                shutil.copyfile(found.file, staged)
                mtime_ns = found.file.stat().st_mtime_ns
            os.utime(staged, ns=(mtime_ns, mtime_ns))
        return True

    def add_conversation(self, conversation: Conversation) -> bool:
        """Store a conversation of an export; return False if this or a newer state is here."""
        copy = self.folder / conversation.format.value / conversation.name
        mtime_ns = int(conversation.updated.timestamp()) * _NS_PER_SECOND
        # The time of the copy is when the conversation last changed.
        is_older = copy.is_file() and mtime_ns < copy.stat().st_mtime_ns
        if is_older or (copy.is_file() and copy.read_bytes() == conversation.content):
            return False
        make_private_folder(copy.parent)
        with replacing(copy, private=True) as staged:  # a transcript may contain secrets
            staged.write_bytes(conversation.content)
            os.utime(staged, ns=(mtime_ns, mtime_ns))
        return True

    def remove(self, found: FoundTranscript) -> None:
        """Delete the imported copy of a transcript, if there is one."""
        # A transcript that grew after its import is found as the original: delete the copy too.
        delete_file(self._copy_of(found))
        if self.contains(found):
            delete_file(found.file)

    def forgotten(self) -> frozenset[str]:
        """Return the stored paths of transcripts that must not be indexed again."""
        try:
            listed = json.loads((self.folder / _FORGOTTEN).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return frozenset()
        return frozenset(map(str, listed))

    def write_forgotten(self, paths: Iterable[str]) -> None:
        """Replace the list of forgotten transcripts."""
        make_private_folder(self.folder)
        listed = json.dumps(sorted(paths), ensure_ascii=False, indent=1)
        replace_file(self.folder / _FORGOTTEN, listed.encode(), private=True)

    def _copy_of(self, found: FoundTranscript) -> Path:
        return self.folder.joinpath(*_folders_of(found), found.name)


def _size_bytes(found: FoundTranscript) -> int:
    return found.stat.size_bytes if found.session else found.file.stat().st_size


def _folders_of(found: FoundTranscript) -> tuple[str, ...]:
    """Return the subfolders of a copy: they carry what the original's folders say about it."""
    match found.format:
        case TranscriptFormat.OPENCLAW:
            return ("agents", found.agent or "main", "sessions")
        case TranscriptFormat.CLAUDE_CODE:
            return (found.format.value, found.file.parent.name)
        case _:
            return (found.format.value,)
