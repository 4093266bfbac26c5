"""The source of conversations: which transcripts belong to a memory, each read as a document."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import NotFoundError, StoreError
from recollect.ingest.folders import Found
from recollect.ingest.read import UnreadableError, unreadable
from recollect.ingest.source import Source, Taken
from recollect.records import dataclass
from recollect.reports import Excerpt, Failure
from recollect.sessions.archive import Archive
from recollect.sessions.claude_code import ClaudeCodeReader
from recollect.sessions.codex import CodexReader
from recollect.sessions.exported import ExportReader
from recollect.sessions.find import Root, default_roots, find_transcripts, is_of_workspace
from recollect.sessions.names import COMPRESSED, is_archive_name
from recollect.sessions.openclaw import OpenClawReader
from recollect.sessions.openclaw_database import read_session
from recollect.sessions.project import PROJECTION_VERSION, ProjectOptions, document_of, project
from recollect.sessions.rows import open_transcript, row_of, unpack, whole_lines
from recollect.sessions.transcript import TranscriptFormat
from recollect.text.confined import RefusedError
from recollect.text.terms import TERMS_VERSION
from recollect.types import SourceKind, Stat

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from recollect.sessions.find import FoundTranscript
    from recollect.sessions.transcript import Transcript, TranscriptReader


def reader_of(form: TranscriptFormat, *, is_archive: bool) -> TranscriptReader:
    """Return a new reader for a format."""
    match form:
        case TranscriptFormat.OPENCLAW:
            return OpenClawReader(is_archive=is_archive)
        case TranscriptFormat.CLAUDE_CODE:
            return ClaudeCodeReader()
        case TranscriptFormat.CODEX:
            return CodexReader()
        case TranscriptFormat.CHATGPT | TranscriptFormat.CLAUDE_AI | TranscriptFormat.CLAUDE_MEM:
            return ExportReader(form)


def read_transcript(found: FoundTranscript) -> tuple[Transcript, Stat]:
    """Return a conversation, and the stat from before it was read."""
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
        if (row := row_of(line)) is not None:
            reader.take(number, row)
    return reader.transcript()


_TOP = "sessions"


@dataclass(frozen=True, slots=True)
class SessionPlaces:
    """The memory whose conversations are looked for, and the places to look."""

    workspace: Path
    elsewhere: Sequence[Path]
    """Other folders whose conversations are of the same project."""
    agent: str | None
    """OpenClaw agent, if one was named; otherwise the folder of a conversation decides."""
    user_home: Path
    environ: Mapping[str, str]
    extra: tuple[str, ...]
    """Configured files, folders and globs: every transcript there belongs to this memory."""
    archive: Path
    """Folder of the imported transcripts of this memory."""


class SessionSource(Source):
    """The transcripts of OpenClaw, Claude Code and Codex that belong to a memory."""

    kind = SourceKind.SESSIONS

    def __init__(self, places: SessionPlaces, *, options: ProjectOptions) -> None:
        self.archive = Archive(places.archive)
        self.workspace = places.workspace
        self._places = places
        self._options = options
        self._transcripts: dict[str, FoundTranscript] = {}

    @property
    def recipe(self) -> str:
        """Identify the rules by which transcripts become chunks and terms."""
        options = self._options
        return f"s{PROJECTION_VERSION}.{options.tokens}.{options.overlap}-t{TERMS_VERSION}"

    def find(self) -> tuple[list[Found], list[Failure]]:
        """Return the transcripts of this memory that were not forgotten."""
        found, failures = self.all()
        try:
            forgotten = self.archive.forgotten()
        except StoreError as error:
            # What is indexed stays; nothing is read, for it may be what was forgotten.
            reason = f"is not read: {error.message.rstrip('.')}"
            return [], [*failures, Failure(_TOP, reason, error.action)]
        self._transcripts = {each.path: each for each in found if each.path not in forgotten}
        if failures:
            # A folder that cannot be listed now must not empty the index of its conversations.
            action = failures[0].action
            failures = [*failures, Failure(_TOP, "may be incomplete", action, is_stored=True)]
        return [
            Found(each.path, each.file, each.file.parent, each.stat, self.kind)
            for each in self._transcripts.values()
        ], failures

    def all(self) -> tuple[list[FoundTranscript], list[Failure]]:
        """Return every transcript of this memory, forgotten or not."""
        configured, failures = find_transcripts(
            [Root(self.archive.folder, is_optional=True), *self._extra_roots()]
        )
        others, more_failures = find_transcripts(self._agent_roots())
        failures += more_failures
        chosen = {each.path: each for each in configured}
        for each in others:
            # Of an imported copy and its original, the larger one has more of the conversation.
            copy = chosen.get(each.path)
            if copy is not None and copy.stat.size_bytes >= each.stat.size_bytes:
                continue
            try:
                places = (self._places.workspace, *self._places.elsewhere)
                belongs_here = is_of_workspace(each, places, agent=self._places.agent)
            except OSError as error:
                reason = f"cannot be read: {error.strerror}"
                failures.append(Failure(str(each.file), reason, "Make it readable."))
            else:
                if belongs_here:
                    chosen[each.path] = each
        return sorted(chosen.values(), key=lambda each: each.path), failures

    def original_sizes(self) -> dict[str, int]:
        """Return the size in bytes of every transcript outside the archive, by stored path."""
        originals, _ = find_transcripts([*self._extra_roots(), *self._agent_roots()])
        return {each.path: each.stat.size_bytes for each in originals}

    def take(self, found: Found) -> Taken:
        """Read a transcript as a document."""
        transcript, stat = read_transcript(self._transcripts[found.path])
        document, chunks = document_of(
            transcript, path=found.path, stat=stat, now_ns=time.time_ns(), options=self._options
        )
        return Taken(document, lambda: chunks)

    @staticmethod
    def has(path: str) -> bool:
        """Return whether a stored path is that of a transcript."""
        return path.startswith(f"{_TOP}/")

    def excerpt(self, path: str, *, start_line: int, lines: int) -> Excerpt:
        """Return what was said in some lines of a transcript."""
        self.find()
        found = self._transcripts.get(path)
        if found is None:
            action = "`recollect sessions list` shows all transcripts."
            raise NotFoundError(f"{path} does not exist.", action=action)
        try:
            transcript, _ = read_transcript(found)
        except UnreadableError as error:
            failure = error.failure
            raise NotFoundError(f"{path} {failure.reason}.", action=failure.action) from error
        every = project(transcript, options=self._options).lines
        start = max(1, start_line)
        end = start + max(1, lines)
        shown = [line for line in every if start <= line.number < end]
        return Excerpt(
            path=path,
            start_line=start,
            lines=len(shown),
            text="\n".join(line.text for line in shown),
            next_line=next((line.number for line in every if line.number >= end), None),
        )

    def places(self) -> list[Path]:
        """Return the existing files and folders in which transcripts appear and grow."""
        roots = [Root(self.archive.folder), *self._extra_roots(), *self._agent_roots()]
        return [root.place for root in roots if root.place.exists()]

    def _agent_roots(self) -> list[Root]:
        return default_roots(self._places.user_home, environ=self._places.environ)

    def _extra_roots(self) -> list[Root]:
        roots: list[Root] = []
        for given in self._places.extra:
            path = Path(given).expanduser()
            whole = path if path.is_absolute() else self._places.workspace / path
            if any(mark in given for mark in "*?["):
                base = Path(whole.anchor)
                roots += [Root(each) for each in base.glob(str(whole.relative_to(base)))]
            else:
                roots.append(Root(whole))
        return roots
