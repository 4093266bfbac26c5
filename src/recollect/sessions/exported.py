"""Conversations of data exports of ChatGPT and claude.ai, and what claude-mem noted of sessions.

Each conversation becomes a transcript of JSON Lines: a header, then the messages without secrets on
the branch that the product shows. Thoughts, tool calls, their output, custom instructions and
attached files are not part of what was said. claude-mem's database is never written.

Threat: a zip file from elsewhere unpacks to any size, or names files outside of it. Nothing is
unpacked to disk, only the files of conversations are read, and never more than the limits. A view
or a generated column in a database never ends, so only plain tables are read.
"""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from datetime import UTC, datetime
from itertools import chain
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from recollect.errors import UsageError
from recollect.records import dataclass
from recollect.sessions.clean import flatten, said
from recollect.sessions.openclaw_database import read_database, readable
from recollect.sessions.rows import (
    MAX_BYTES,
    blocks,
    mapping,
    moment_of,
    open_transcript,
    string,
    texts_of,
)
from recollect.sessions.transcript import Speaker, TranscriptFormat, TranscriptReader
from recollect.text.redact import redact_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    import apsw

    from recollect.sessions.rows import Row

_CONVERSATIONS = re.compile(r"conversations(?:-[0-9]{1,6})?\.json")
_DATABASE = "claude-mem.db"
_TABLES = """
    SELECT count(*) FROM sqlite_schema AS s WHERE rootpage > 0 AND type = 'table' AND name IN (?, ?)
    AND NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(s.name) WHERE hidden)
"""
_NOTED = """
    SELECT memory_session_id, CAST(project AS TEXT), CAST(created_at_epoch AS INTEGER),
           title, subtitle, narrative, facts, text, NULL FROM observations
    UNION ALL
    SELECT memory_session_id, CAST(project AS TEXT), CAST(created_at_epoch AS INTEGER),
           request, investigated, learned, 'Completed: ' || completed,
           'Next steps: ' || next_steps, notes FROM session_summaries
"""
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
        return bool(_files_in(place)) or (place / _DATABASE).is_file()
    is_packed = place.suffix.lower() == ".zip" or place.name == _DATABASE
    return is_packed or bool(_CONVERSATIONS.fullmatch(place.name))


def conversations_of(place: Path) -> Iterator[Conversation | str]:
    """Yield the conversations of an export, or for one that cannot be used, why."""
    known = 0
    database = place / _DATABASE if place.is_dir() else place
    if database.name == _DATABASE and database.exists():
        entries: Iterator[object] = iter(_noted(database))
    else:
        entries = chain.from_iterable(_entries(text, place) for text in _texts(place))
    for entry in entries:
        found = _conversation(entry)
        known += isinstance(found, Conversation)
        yield found
    if not known:
        raise UsageError(
            f"{place} has no conversations of ChatGPT or claude.ai, and no notes of claude-mem.",
            action="Name the zip file of a data export, or the folder with its conversations.json.",
        )


def _noted(file: Path) -> list[Row]:
    """Return the sessions that claude-mem noted something of, in the form of an export."""

    def read(connection: apsw.Connection) -> list[Row]:
        tables = ("observations", "session_summaries")
        if connection.execute(_TABLES, tables).get != len(tables):
            return []
        sessions: dict[object, list[Row]] = {}
        for session, project, moment, *told in readable(connection.execute(_NOTED)):
            texts = [text for each in told if (text := _listed(each))]
            row = {"created_at": moment, "project": project, "text": "\n\n".join(texts)}
            sessions.setdefault(session, []).append(row)
        for rows in sessions.values():  # sorting in the database could fill memory or disk
            rows.sort(key=lambda row: moment_of(row["created_at"]) or _NEVER)
        return [
            {"id": each, "project": rows[0]["project"], "observations": rows}
            for each, rows in sessions.items()
        ]

    try:
        return read_database(file.parent.resolve() / file.name, read)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{file} cannot be read ({error}).", action="Name an intact one."
        ) from error


def _listed(value: object) -> str:
    """Return a text that claude-mem keeps, which may be a list as JSON."""
    if not isinstance(value, str):
        return ""
    try:
        items = json.loads(value) if value.startswith("[") else value
    except (ValueError, RecursionError):
        return value
    return "\n".join(f"- {each}" for each in items) if isinstance(items, list) else value


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
        wanted = [each for each in packed.infolist() if _is_conversations(each.filename)]
        if any(each.flag_bits & _ENCRYPTED for each in wanted):
            raise UsageError(f"{file} has a password.", action="Unpack it and name the folder.")
        room = MAX_BYTES
        for member in sorted(wanted, key=lambda each: each.filename):
            with packed.open(member) as unpacked:
                content = unpacked.read(room + 1)  # a header may lie about the size
            room -= len(content)
            if room < 0:
                raise _too_large(file)
            yield content.decode("utf-8-sig")


def _too_large(file: Path) -> UsageError:
    return UsageError(
        f"{file} unpacks to more than an export of conversations can be (the limit is"
        f" {MAX_BYTES // 1024**2} MiB).",
        action="Do not trust it; download the export again.",
    )


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
        form = TranscriptFormat.CHATGPT
    elif isinstance(row.get("chat_messages"), list):
        form = TranscriptFormat.CLAUDE_AI
    elif isinstance(row.get("observations"), list):
        form = TranscriptFormat.CLAUDE_MEM
    else:
        return "an entry is not a conversation of ChatGPT or claude.ai"
    product = _PRODUCTS[form]
    own_id = next(filter(None, (string(row, name) for name in product.ids)), "")
    if not _ID.fullmatch(own_id):
        return f"a conversation has the id {own_id[:80]!r}, which is not one"
    messages = product.branch(row)
    names = (product.title, product.created, product.updated)
    header = {"export": form.value, "id": own_id, **{name: row.get(name) for name in names}}
    rows = (redact_json(each) for each in (header, *messages))
    lines = (json.dumps(each, ensure_ascii=False) for each in rows)
    content = "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass")
    own = (row.get(product.updated), row.get(product.created))
    moments = map(moment_of, (*(each.get(product.created) for each in messages), *own))
    return Conversation(form, own_id, max(filter(None, moments), default=_NEVER), content)


class ExportReader(TranscriptReader):
    """Takes in a conversation of an export: its header, then its messages."""

    def __init__(self, form: TranscriptFormat) -> None:
        super().__init__()
        self._product = _PRODUCTS[form]

    def take(self, number: int, row: Row) -> None:
        moment = moment_of(row.get(self._product.created))
        if "export" in row:
            self.title, self.started = flatten(string(row, self._product.title)), moment
            return
        speaker, text = self._product.said(row)
        if speaker is not None:
            self.add(number, speaker, said(text), moment)


@dataclass(frozen=True, slots=True)
class _Product:
    """How the exports of one product look."""

    title: str
    created: str
    updated: str
    ids: tuple[str, ...]
    branch: Callable[[Row], list[Row]]
    """Returns the messages of the branch that is shown, first to last."""
    said: Callable[[Row], tuple[Speaker | None, str]]
    """Returns who speaks in a message, None for a program, and what is said."""


def _branch(nodes: Mapping[str, Row], at: str, *, parent: str) -> list[Row]:
    """Return the nodes from the first to a given one."""
    found: dict[str, Row] = {}
    while at in nodes and at not in found:  # a node that is its own ancestor would never end
        found[at] = nodes[at]
        at = string(nodes[at], parent)
    return list(found.values())[::-1]


def _chatgpt_branch(conversation: Row) -> list[Row]:
    nodes = mapping(conversation, "mapping")
    branch = _branch(
        {each: mapping(nodes, each) for each in nodes},
        string(conversation, "current_node"),
        parent="parent",
    )
    return [message for node in branch if (message := mapping(node, "message"))]


def _claude_branch(conversation: Row) -> list[Row]:
    messages = blocks(conversation.get("chat_messages"))
    by_id = {string(each, "uuid"): each for each in messages}
    parent = "parent_message_uuid"
    if not any(string(each, parent) in by_id for each in messages):
        return messages  # older exports do not name the message that each one answers
    at = string(conversation, "current_leaf_message_uuid")
    return _branch(by_id, at if at in by_id else string(messages[-1], "uuid"), parent=parent)


def _chatgpt_said(row: Row) -> tuple[Speaker | None, str]:
    role, content = string(mapping(row, "author"), "role"), mapping(row, "content")
    metadata = mapping(row, "metadata")
    is_hidden = any(metadata.get(mark) is True for mark in _NOT_SAID)
    # A message to anybody else is a call of a tool.
    is_said = role in _SPEAKERS and not is_hidden and row.get("recipient", "all") == "all"
    if not is_said or string(content, "content_type") not in _SPOKEN:
        return None, ""
    parts = content.get("parts")
    given = parts if isinstance(parts, list) else []
    heard = [each for each in blocks(given) if string(each, "content_type") == _HEARD]
    texts = (
        *(each for each in given if isinstance(each, str)),
        *(string(each, "text") for each in heard),
    )
    return Speaker(role), _CITATION.sub(" ", "\n".join(texts))


def _claude_said(row: Row) -> tuple[Speaker | None, str]:
    content = row.get("content")
    # Older exports have only the text; in newer ones it also contains remains of tools.
    texts = texts_of(content) if blocks(content) else [string(row, "text")]
    return _SENDERS.get(string(row, "sender")), "\n".join(texts)


_SPEAKERS = frozenset(Speaker)
_SENDERS = {"human": Speaker.USER, "assistant": Speaker.ASSISTANT}
_SPOKEN = frozenset({"text", "multimodal_text"})
"""Types of content that are messages; others are code, output, thoughts and context."""
_HEARD = "audio_transcription"
_NOT_SAID = ("is_visually_hidden_from_conversation", "is_user_system_message")
_CITATION = re.compile("\ue200[^\ue201]{0,500}\ue201|【[^【】]{0,80}†[^【】]{0,80}】")
"""Marks of cited sources, which ChatGPT shows as links."""
_PRODUCTS = {
    TranscriptFormat.CHATGPT: _Product(
        title="title",
        created="create_time",
        updated="update_time",
        ids=("conversation_id", "id"),
        branch=_chatgpt_branch,
        said=_chatgpt_said,
    ),
    TranscriptFormat.CLAUDE_AI: _Product(
        title="name",
        created="created_at",
        updated="updated_at",
        ids=("uuid",),
        branch=_claude_branch,
        said=_claude_said,
    ),
    TranscriptFormat.CLAUDE_MEM: _Product(
        title="project",
        created="created_at",
        updated="updated_at",
        ids=("id",),
        branch=lambda entry: blocks(entry.get("observations")),
        said=lambda row: (Speaker.ASSISTANT, string(row, "text")),
    ),
}
