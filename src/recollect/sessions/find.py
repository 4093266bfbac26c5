"""Finds the transcripts of agents in their folders, and imported ones; tells whose they are.

Threat: a link inside a folder of transcripts leads to another file of the user. Links below a given
place are therefore not followed.
"""

from __future__ import annotations

import json
import os
import re
import stat as modes
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from recollect.records import dataclass
from recollect.reports import Failure
from recollect.sessions.clean import flatten
from recollect.sessions.names import (
    COMPRESSED,
    agent_of,
    is_claude_code_name,
    is_codex_name,
    is_transcript_name,
    session_id_of,
    slug_of,
)
from recollect.sessions.openclaw import excluded_sessions
from recollect.sessions.openclaw_database import is_database_name, list_sessions
from recollect.sessions.rows import mapping, open_transcript, row_of, string
from recollect.sessions.transcript import TranscriptFormat
from recollect.text.confined import NOT_TEXT, read_inside, shown_instead
from recollect.types import Stat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from recollect.sessions.rows import Row

_TOP = "sessions"
"""First part of every stored path."""
_INDEX = "sessions.json"
_MAX_INDEX_BYTES = 64 * 1024 * 1024
_MAX_DEPTH = 16
"""Nested folders; Codex has three levels, for year, month and day."""
_UNSAFE = re.compile(r"[\x00-\x1f\x7f/\\]")

_HEADER_BYTES = 1024 * 1024
_HEADER_ROWS = 64
"""A transcript says what it is within both limits, if at all."""

_MAX_SLUG_CHARS = 200
"""Claude Code cuts longer names of project folders and adds a hash."""

_OPENCLAW_TYPES = frozenset({
    "session", "session-meta", "session_info", "custom", "custom_message", "compaction", "reset",
    "branch_summary", "model_change", "thinking_level_change", "label",
})  # fmt: skip
_EXPORTED = (TranscriptFormat.CHATGPT, TranscriptFormat.CLAUDE_AI, TranscriptFormat.CLAUDE_MEM)
"""Formats of `export`, whose first row names them."""
_CODEX_TYPES = ("session_meta", "turn_context", "event_msg", "response_item", "compacted")


@dataclass(frozen=True, slots=True)
class Root:
    """A place to look for transcripts."""

    place: Path
    format: TranscriptFormat | None = None
    """Format of all files there; None detects it from the first lines of each."""
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class FoundTranscript:
    """A transcript: a file, or a session in a database."""

    path: str
    """Stored path: `sessions/…`, with forward slashes."""
    file: Path
    stat: Stat
    format: TranscriptFormat
    agent: str | None = None
    """OpenClaw agent that owns it."""
    excluded: str = ""
    """Why it is excluded, by the index beside it; empty if it is not."""
    session: str = ""
    """Id of the session if `file` is a database of many; empty if it is the transcript."""
    cwd: str | None = None
    """Working folder of a session in a database."""

    @property
    def name(self) -> str:
        """File name of the transcript, or the one that a session of a database would have."""
        return f"{self.session}.jsonl" if self.session else self.file.name


def default_roots(home: Path, *, environ: Mapping[str, str]) -> list[Root]:
    """Return the folders where the agents keep their transcripts."""
    openclaw = Path(environ.get("OPENCLAW_STATE_DIR") or home / ".openclaw")
    claude = Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    codex = Path(environ.get("CODEX_HOME") or home / ".codex")
    return [
        Root(openclaw / "agents", TranscriptFormat.OPENCLAW, is_optional=True),
        Root(claude / "projects", TranscriptFormat.CLAUDE_CODE, is_optional=True),
        Root(codex / "sessions", TranscriptFormat.CODEX, is_optional=True),
        Root(codex / "archived_sessions", TranscriptFormat.CODEX, is_optional=True),
    ]


def find_transcripts(roots: Sequence[Root]) -> tuple[list[FoundTranscript], list[Failure]]:
    """Return the transcripts at some places, each once, and what could not be read."""
    finder = _Finder()
    for root in roots:
        finder.look_at(root)
    return sorted(finder.found.values(), key=lambda found: found.path), finder.failures


class _Finder:
    """Collects transcripts and failures from several places."""

    def __init__(self) -> None:
        self.found: dict[str, FoundTranscript] = {}
        self.failures: list[Failure] = []
        self._seen: set[tuple[int, int]] = set()
        self._excluded: dict[Path, dict[str, str]] = {}

    def look_at(self, root: Root) -> None:
        try:
            place = root.place.expanduser().resolve(strict=True)
        except (OSError, RuntimeError) as error:  # RuntimeError: a cycle of links, before 3.13
            if not (root.is_optional and isinstance(error, FileNotFoundError)):
                reason = f"cannot be reached: {getattr(error, 'strerror', None) or error}"
                self._fail(str(root.place), reason, "Correct the path, or make it readable.")
            return
        if place.is_file():
            self._take(place, root.format)
            return
        for file in self._candidates(place, root.format):
            self._take(file, root.format)

    def _candidates(self, place: Path, form: TranscriptFormat | None) -> Iterator[Path]:
        match form:
            case TranscriptFormat.OPENCLAW:
                for agent in self._folders(place):
                    yield from self._files(place / agent / "agent", is_database_name, depth=0)
                    yield from self._files(place / agent / _TOP, session_id_of, depth=0)
            case TranscriptFormat.CLAUDE_CODE:
                for project in self._folders(place):
                    yield from self._files(place / project, is_claude_code_name, depth=0)
            case TranscriptFormat.CODEX:
                yield from self._files(place, is_codex_name)
            case _:
                yield from self._files(
                    place, lambda name: is_transcript_name(name) or is_database_name(name)
                )

    def _folders(self, place: Path) -> list[str]:
        return [
            entry.name
            for entry in self._entries(place)
            if not entry.is_symlink() and entry.is_dir()
        ]

    def _files(
        self, place: Path, is_wanted: Callable[[str], object], *, depth: int = _MAX_DEPTH
    ) -> Iterator[Path]:
        for entry in self._entries(place):
            if entry.is_symlink():
                if is_wanted(entry.name):
                    reason = "is a symbolic link"
                    self._fail(entry.path, reason, "Configure the file it points to instead.")
            elif entry.is_dir():
                if depth > 0:
                    yield from self._files(Path(entry.path), is_wanted, depth=depth - 1)
            elif is_wanted(entry.name):
                yield Path(entry.path)

    def _entries(self, place: Path) -> Iterable[os.DirEntry[str]]:
        try:
            with os.scandir(place) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except FileNotFoundError:
            return ()
        except OSError as error:
            self._fail(str(place), f"cannot be listed: {error.strerror}", "Make it readable.")
            return ()

    def _take(self, file: Path, form: TranscriptFormat | None) -> None:
        if is_database_name(file.name):
            self._take_database(file)
            return
        try:
            status = file.stat()
            form = form or read_header(file)[0]
        except OSError as error:
            self._fail(str(file), f"cannot be read: {error.strerror}", "Make it readable.")
            return
        if form is None:
            reason = "is not a transcript in a known format"
            self._fail(str(file), reason, "Name a transcript, or a folder of transcripts.")
        elif form is TranscriptFormat.OPENCLAW and not session_id_of(file.name):
            self._fail(str(file), "is a copy of another transcript", "Name the original.")
        elif not modes.S_ISREG(status.st_mode):
            self._fail(str(file), "is not a regular file", "Rename or remove it.")
        elif (status.st_dev, status.st_ino) not in self._seen:
            self._seen.add((status.st_dev, status.st_ino))
            self._add(file, form, Stat(status.st_size, status.st_mtime_ns))

    def _take_database(self, file: Path) -> None:
        sessions = list_sessions(file)
        if isinstance(sessions, Failure):
            self.failures.append(sessions)
            return
        agent = agent_of(file)
        form = TranscriptFormat.OPENCLAW
        for each in sessions:
            path = _stored(f"{each.id}.jsonl", file, form, agent)
            self.found[path] = FoundTranscript(
                path, file, each.stat, form, agent, each.excluded, each.id, each.cwd
            )

    def _add(self, file: Path, form: TranscriptFormat, stat: Stat) -> None:
        agent = agent_of(file) if form is TranscriptFormat.OPENCLAW else None
        excluded = ""
        if form is TranscriptFormat.OPENCLAW:
            if file.parent not in self._excluded:
                self._excluded[file.parent] = self._read_index(file.parent / _INDEX)
            excluded = self._excluded[file.parent].get(session_id_of(file.name), "")
        path = _stored(file.name, file, form, agent)
        earlier = self.found.get(path)
        if earlier is not None and earlier.session:
            # From before OpenClaw moved the session into its database, which has all of it.
            return
        if earlier is not None:
            reason = f"would be stored as {path}, like {earlier.file}"
            self._fail(str(file), reason, "Rename one of them.")
        elif shown_instead(path) is None:
            self.found[path] = FoundTranscript(path, file, stat, form, agent, excluded)
        else:
            self._fail(shown_instead(str(file)) or path, *NOT_TEXT)

    def _read_index(self, file: Path) -> dict[str, str]:
        try:
            index = json.loads(read_inside(file, file.parent, max_bytes=_MAX_INDEX_BYTES))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            reason = f"cannot be read: {getattr(error, 'strerror', None) or error}"
            action = (
                "Nothing to do unless it persists: scheduled runs are indexed until it is readable."
            )
            self._fail(str(file), reason, action)
            return {}
        return excluded_sessions(index) if isinstance(index, dict) else {}

    def _fail(self, path: str, reason: str, action: str) -> None:
        self.failures.append(Failure(path, reason, action))


def _stored(name: str, file: Path, form: TranscriptFormat, agent: str | None) -> str:
    match form:
        case TranscriptFormat.OPENCLAW:
            parts = [agent] if agent else []
        case TranscriptFormat.CLAUDE_CODE:
            parts = [form.value, file.parent.name]
        case _:
            return stored_path(form, name)
    return "/".join([_TOP, *(_UNSAFE.sub("_", part) for part in (*parts, name))])


def stored_path(form: TranscriptFormat, name: str) -> str:
    """Return the stored path of a transcript whose folder tells nothing about it."""
    return "/".join([_TOP, form.value, _UNSAFE.sub("_", name)])


def format_of(row: Row) -> TranscriptFormat | None:
    """Return the format of a row; None if it could be of any."""
    if (exported := string(row, "export")) in _EXPORTED:
        return TranscriptFormat(exported)
    kind = string(row, "type")
    if kind in _CODEX_TYPES and mapping(row, "payload"):
        return TranscriptFormat.CODEX
    if kind == "message":
        return TranscriptFormat.OPENCLAW if mapping(row, "message") else TranscriptFormat.CODEX
    is_message = kind in ("user", "assistant") and bool(mapping(row, "message"))
    if "leafUuid" in row or "sessionId" in row or is_message:
        return TranscriptFormat.CLAUDE_CODE
    if kind in _OPENCLAW_TYPES:
        return TranscriptFormat.OPENCLAW
    is_old_codex = not kind and string(row, "id") and "instructions" in row
    return TranscriptFormat.CODEX if is_old_codex else None


def folder_of(row: Row, form: TranscriptFormat) -> str:
    """Return the working folder of the conversation, if this is the row that says it."""
    match form:
        case TranscriptFormat.OPENCLAW if row.get("type") == "session":
            return string(row, "cwd")
        case TranscriptFormat.CLAUDE_CODE:
            return string(row, "cwd")
        case TranscriptFormat.CODEX if row.get("type") == "session_meta":
            return string(mapping(row, "payload"), "cwd")
    return ""


def read_header(
    file: Path, *, form: TranscriptFormat | None = None
) -> tuple[TranscriptFormat | None, str]:
    """Return the format of a file, if it is a known one, and its conversation's working folder."""
    if file.name.endswith(COMPRESSED):
        return TranscriptFormat.OPENCLAW, ""  # no other agent compresses
    room = _HEADER_BYTES
    with open_transcript(file) as stream:
        for _ in range(_HEADER_ROWS):
            line = stream.readline(room)
            room -= len(line)
            row = row_of(line) or {}
            form = form or format_of(row)
            if form is not None and (folder := folder_of(row, form)):
                return form, folder
    return form, ""


def title_of(found: FoundTranscript) -> str:
    """Return the title of an exported conversation; empty for other transcripts."""
    if found.format not in _EXPORTED:
        return ""
    with open_transcript(found.file) as stream:
        row = row_of(stream.readline(_HEADER_BYTES)) or {}
    return flatten(string(row, "title") or string(row, "name") or string(row, "project"))


def is_of_workspace(
    found: FoundTranscript, workspaces: Sequence[Path], *, agent: str | None
) -> bool:
    """Return whether a transcript is part of the memory of these workspaces.

    An OpenClaw transcript is if its agent is the given one. Without an agent, and in other
    formats, its conversation must have taken place in the workspace or below it.
    """
    if found.agent is not None and agent is not None:
        return found.agent.casefold() == agent.casefold()
    places = [place for each in workspaces for place in (each.absolute(), each.resolve())]
    slugs = [slug_of(place) for place in places]
    is_claude = found.format is TranscriptFormat.CLAUDE_CODE
    project = found.file.parent.name
    # Not a proof: the folder `app/two` has the same slug as a sibling of `app` named `app-two`.
    if is_claude and not any(project.startswith(slug[:_MAX_SLUG_CHARS]) for slug in slugs):
        return False
    cwd = found.cwd if found.session else read_header(found.file, form=found.format)[1]
    if not cwd:
        return is_claude and project in slugs
    cwds = (PurePath(cwd), PurePath(os.path.realpath(cwd)))
    return any(cwd.is_relative_to(place) for cwd in cwds for place in places)
