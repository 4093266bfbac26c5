"""Divides a data export of ChatGPT or claude.ai into transcripts, one per conversation.

An export is a zip file, the folder it unpacks to, or its `conversations.json`; large ones have
several numbered files. A transcript is JSON Lines: a header, then the messages without secrets.

Threat: a zip file from elsewhere unpacks to any size, or names files outside of it. Nothing is
unpacked to disk, only the files of conversations are read, and never more than the limits.
"""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from recollect.errors import UsageError
from recollect.records import dataclass
from recollect.sessions import chatgpt, claude_ai
from recollect.sessions.read import open_transcript
from recollect.sessions.rows import moment_of, string
from recollect.sessions.transcript import TranscriptFormat
from recollect.sessions.unpack import MAX_BYTES
from recollect.text.redact import redact_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from recollect.sessions.rows import Row

_CONVERSATIONS = re.compile(r"conversations(?:-[0-9]{1,6})?\.json")
_MAX_MEMBERS = 100_000
"""Files in a zip file; an export with many images has some thousands."""
_MAX_RATIO = 200
"""Times that conversations shrink when packed; ten is usual."""
_FREE_BYTES = 16 * 1024 * 1024
"""Unpacked size below which any ratio is harmless."""
_ENCRYPTED = 1
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
"""Ids become file names, so nothing else will do."""
_SPACE = re.compile(r"[ \t\r\n]*")
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError)
"""What reading a zip file raises if it is damaged, cut off, or packed in a rare way."""
_AGAIN = "Download the export again."


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation of an export, as a transcript."""

    format: TranscriptFormat
    id: str
    updated: datetime
    """When it last changed; the epoch if the export does not say."""
    content: bytes

    @property
    def name(self) -> str:
        """File name of the transcript."""
        return f"{self.id}.jsonl"


def is_export(place: Path) -> bool:
    """Return whether a file or folder looks like a data export."""
    if place.is_dir():
        return bool(_files_in(place))
    return place.suffix.lower() == ".zip" or bool(_CONVERSATIONS.fullmatch(place.name))


def conversations_of(place: Path) -> Iterator[Conversation | str]:
    """Yield the conversations of an export, or for one that cannot be used, why.

    Raises:
        UsageError: it is damaged, too large, or no export of ChatGPT or claude.ai.

    """
    known = 0
    for text in _texts(place):
        for entry in _entries(text, place):
            found = _conversation(entry)
            known += isinstance(found, Conversation)
            yield found
    if not known:
        raise UsageError(
            f"{place} has no conversations of ChatGPT or claude.ai.",
            action="Name the zip file of a data export, or the folder with its conversations.json.",
        )


def _texts(place: Path) -> Iterator[str]:
    try:
        if place.is_dir():
            yield from (_read(file) for file in _files_in(place))
        elif place.suffix.lower() == ".zip":
            yield from _unzipped(place)
        else:
            yield _read(place)
    except _DAMAGED as error:
        raise UsageError(f"{place} is not a readable zip file ({error}).", action=_AGAIN) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{place} is not valid UTF-8.", action=_AGAIN) from error
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(f"{place} cannot be read ({reason}).", action=_AGAIN) from error


def _files_in(folder: Path) -> list[Path]:
    return sorted(
        file for file in folder.iterdir() if _CONVERSATIONS.fullmatch(file.name) and file.is_file()
    )


def _read(file: Path) -> str:
    with open_transcript(file) as stream:
        content = stream.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise _too_large(file)
    return content.decode("utf-8-sig")


def _unzipped(file: Path) -> Iterator[str]:
    with open_transcript(file) as stream, zipfile.ZipFile(stream) as packed:
        members = packed.infolist()
        if len(members) > _MAX_MEMBERS:
            raise UsageError(f"{file} contains {len(members):,} files.", action=_AGAIN)
        outside = next((each.filename for each in members if _is_outside(each.filename)), None)
        if outside is not None:
            raise UsageError(
                f"{file} contains a path that leads out of it ({outside!r}).",
                action="Do not trust it; download the export again.",
            )
        wanted = [each for each in members if _is_conversations(each.filename)]
        _check_sizes(file, wanted)
        room = MAX_BYTES
        for member in sorted(wanted, key=lambda each: each.filename):
            with packed.open(member) as unpacked:
                content = unpacked.read(room + 1)  # a header may lie about the size
            room -= len(content)
            if room < 0:
                raise _too_large(file)
            yield content.decode("utf-8-sig")


def _check_sizes(file: Path, members: list[zipfile.ZipInfo]) -> None:
    """Refuse what would be too much to read, before anything is read."""
    size = sum(each.file_size for each in members)
    packed = sum(each.compress_size for each in members)
    if size > MAX_BYTES or size > max(_FREE_BYTES, packed * _MAX_RATIO):
        raise _too_large(file)
    if any(each.flag_bits & _ENCRYPTED for each in members):
        raise UsageError(f"{file} has a password.", action="Unpack it and name the folder.")


def _too_large(file: Path) -> UsageError:
    return UsageError(
        f"{file} unpacks to more than an export of conversations can be (the limit is"
        f" {MAX_BYTES // 1024**2} MiB, and {_MAX_RATIO} times the packed size).",
        action="Do not trust it; download the export again.",
    )


def _is_outside(name: str) -> bool:
    path = PurePosixPath(name.replace("\\", "/"))
    return path.is_absolute() or ".." in path.parts or ":" in name.partition("/")[0]


def _is_conversations(name: str) -> bool:
    path = PurePosixPath(name)
    is_own = not path.parts[0].startswith(("__MACOSX", "."))
    return is_own and bool(_CONVERSATIONS.fullmatch(path.name))


def _entries(text: str, place: Path) -> Iterator[object]:
    """Yield the elements of a JSON list one by one: all of them at once would take gigabytes."""
    decoder = json.JSONDecoder()
    at = _after_space(text, 0)
    if text[at : at + 1] != "[":
        raise UsageError(
            f"{place} is not a list of conversations.", action="Name a data export as downloaded."
        )
    at = _after_space(text, at + 1)
    while text[at : at + 1] != "]":
        try:
            entry, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            raise UsageError(
                f"{place} is damaged after {at:,} characters; everything before that was imported.",
                action=_AGAIN,
            ) from None
        yield entry
        at = _after_space(text, at)
        if text[at : at + 1] == ",":
            at = _after_space(text, at + 1)


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _conversation(entry: object) -> Conversation | str:
    row: Row = entry if isinstance(entry, dict) else {}
    if isinstance(row.get("mapping"), dict):
        form, messages = TranscriptFormat.CHATGPT, chatgpt.messages_of(row)
        names = ("title", "create_time", "update_time")
        own_id = string(row, "conversation_id") or string(row, "id")
    elif isinstance(row.get("chat_messages"), list):
        form, messages = TranscriptFormat.CLAUDE_AI, claude_ai.messages_of(row)
        names = ("name", "created_at", "updated_at")
        own_id = string(row, "uuid")
    else:
        return "an entry is not a conversation of ChatGPT or claude.ai"
    if not _ID.fullmatch(own_id):
        return f"a conversation has the id {own_id[:80]!r}, which is not one"
    header = {"export": form.value, "id": own_id, **{name: row.get(name) for name in names}}
    rows = (redact_json(each) for each in (header, *messages))
    lines = (json.dumps(each, ensure_ascii=False) for each in rows)
    content = "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass")
    moments = (*(each.get(names[1]) for each in messages), row.get(names[2]), row.get(names[1]))
    updated = max((found for each in moments if (found := moment_of(each))), default=_NEVER)
    return Conversation(form, own_id, updated, content)
