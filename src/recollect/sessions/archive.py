"""The archive of one memory: imported transcripts, and the list of forgotten ones.

Both live in the user's home, so neither an agent's clean-up nor a rebuilt index loses them. Secrets
are hidden before a copy is written.
"""

from __future__ import annotations

import json
import os
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import StoreError
from recollect.reports import Failure
from recollect.sessions.mask import masked, masked_row
from recollect.sessions.names import COMPRESSED, is_transcript_name
from recollect.sessions.openclaw_database import read_session
from recollect.sessions.read import open_transcript
from recollect.sessions.transcript import TranscriptFormat
from recollect.sessions.unpack import pack, unpack
from recollect.text.files import (
    delete_file,
    make_private_folder,
    remove_leftovers,
    replace_file,
    replacing,
)
from recollect.text.redact import RULES_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable

    from recollect.sessions.export import Conversation
    from recollect.sessions.find import FoundTranscript

_FORGOTTEN = "forgotten.json"
_RULES = "redacted-by.txt"
"""Names the version of the rules by which all copies were redacted."""
_RULES_TEXT = f"{RULES_VERSION}\n".encode()
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
        if found.file == copy or (copy.is_file() and _has_all(copy, found)):
            return False
        make_private_folder(copy.parent)
        if found.session:
            rows = read_session(found.file, found.session)
            _write(copy, (masked_row(f"{row}\n".encode()) for row in rows), found.stat.mtime_ns)
        else:
            _write_masked(copy, found.file)
        return True

    def clean(self) -> list[Failure]:
        """Remove what killed imports left, and redact copies from before the present rules.

        Returns the copies that cannot be read or written.
        """
        is_redacted = self.is_redacted()
        failures: list[Failure] = []
        for folder, _, names in os.walk(self.folder):
            remove_leftovers(Path(folder))
            for name in () if is_redacted else filter(is_transcript_name, names):
                copy = Path(folder, name)
                try:
                    _write_masked(copy, copy)
                except OSError as error:
                    reason = f"may contain secrets ({error.strerror or error})"
                    failures.append(Failure(str(copy), reason, "Delete it, or make it writable."))
        return failures

    def mark_redacted(self) -> None:
        """Note that all copies were redacted by the present rules."""
        if self.folder.is_dir() and not self.is_redacted():
            replace_file(self.folder / _RULES, _RULES_TEXT, private=True)

    def is_redacted(self) -> bool:
        """Return whether all copies were redacted by the present rules."""
        try:
            return (self.folder / _RULES).read_bytes() == _RULES_TEXT
        except OSError:
            return not self.folder.exists()

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
        """Return the stored paths of transcripts that must not be indexed again.

        Raises:
            StoreError: the list is damaged.

        """
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
        if not original.name.endswith(COMPRESSED):
            _write(copy, masked(stream), mtime_ns)
            return
        content = unpack(stream)
        hidden = b"".join(masked(BytesIO(content)))
        if hidden != content or copy != original:
            _write(copy, [pack(hidden)], mtime_ns)


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
