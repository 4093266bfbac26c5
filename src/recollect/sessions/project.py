"""A conversation as a document: one line a message, chunks that know when and by whom it was said.

Lines are as OpenClaw writes them (`User: …`, `Assistant: …`, long messages over several). The
digest covers all that is stored, so that a file that only gained metadata is not taken in again.
It knows conversations and chunks, nothing of files or of how they are found.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo
from hashlib import sha256
from typing import TYPE_CHECKING

from recollect.sessions.names import day_of
from recollect.sessions.pack import LABELS, Line, Passage, pack
from recollect.sessions.turn import Speaker
from recollect.sessions.wrap import wrapped
from recollect.text.size import CHARS_PER_TOKEN
from recollect.types import Chunk, Document, SourceKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from recollect.sessions.turn import Transcript
    from recollect.types import Stat

PROJECTION_VERSION = 1
"""Part of every digest: to be raised when equal transcripts give other chunks than before."""

_WRAP_WIDTH = 800
"""Weight of a line, as in OpenClaw: for text without CJK, its characters."""
_LABEL_ROOM = 2 * (len(LABELS[Speaker.ASSISTANT]) + 1)
"""Beyond the target, so that two full lines of one message fit in a chunk in spite of labels:
15 % fewer chunks, and nDCG@10 of the vectors on LongMemEval 69.0 → 70.0."""
_MIN_LIMIT = 32
"""Weight below which chunks would be shreds of words; as in OpenClaw."""

_TITLE_WIDTH = 120
"""Weight of a title: the summaries that some agents write in its place are longer."""
_TOPIC_WIDTH = 80
"""Weight of the first words that stand for what a conversation is about."""

_SETTLING_NS = 2_000_000_000
"""Coarsest time stamp of a common file system (FAT): within it two writes look like one."""


@dataclass(frozen=True, slots=True)
class ProjectOptions:
    """How conversations are divided and dated."""

    tokens: int = 400
    overlap: int = 80
    """Tokens repeated from the chunk before, in whole lines."""
    zone: tzinfo | None = UTC
    """Whose calendar tells the day of a message; None is the machine's."""


@dataclass(frozen=True, slots=True)
class Projection:
    """What is searched of a conversation."""

    lines: tuple[Line, ...]
    resets: tuple[int, ...]
    title: str

    @property
    def text(self) -> str:
        """All lines: what OpenClaw calls the content."""
        return "\n".join(line.text for line in self.lines)

    @property
    def line_map(self) -> tuple[int, ...]:
        """Per line of the text the line of the transcript."""
        return tuple(line.number for line in self.lines)

    @property
    def digest(self) -> str:
        """Digest of text, line map, times, trust, resets and title."""
        hashed = sha256(f"{PROJECTION_VERSION}\n{self.title}\n{self.resets}\n".encode())
        for line in self.lines:
            moment = line.moment.isoformat() if line.moment else ""
            hashed.update(f"{line.number} {moment} {line.origin} {line.text}\n".encode())
        return hashed.hexdigest()


def project(transcript: Transcript, *, options: ProjectOptions) -> Projection:
    """Return the lines of a conversation; none when the whole of it is excluded."""
    lines = () if transcript.is_excluded else tuple(_lines(transcript, options))
    title = next(wrapped(transcript.title or "", width=_TITLE_WIDTH), "")
    return Projection(lines, transcript.resets, title)


def passages(projection: Projection, *, options: ProjectOptions) -> list[Passage]:
    """Return the lines as they are retrieved together."""
    return pack(
        projection.lines,
        limit=_limit(options) + _LABEL_ROOM,
        overlap=min(max(0, options.overlap) * CHARS_PER_TOKEN, _limit(options) // 2),
    )


def document_of(
    transcript: Transcript,
    *,
    path: str,
    stat: Stat,
    now_ns: int,
    options: ProjectOptions,
) -> tuple[Document, list[Chunk]]:
    """Return a conversation as a document and its chunks; empty ones when there is nothing to find.

    Args:
        transcript: the conversation.
        path: under which it is stored.
        stat: of its file, from before it was read.
        now_ns: the present, to tell whether the file may still be changing unnoticed.
        options: how to divide and date it.

    """
    projection = project(transcript, options=options)
    document = Document(
        path=path,
        source=SourceKind.SESSIONS,
        text=projection.text,
        digest=projection.digest,
        stat=stat,
        when=_day(transcript.started, options.zone) or day_of(path.rpartition("/")[2]),
        is_settled=now_ns - stat.mtime_ns > _SETTLING_NS,
    )
    return document, _chunks(projection, document, options)


def _lines(transcript: Transcript, options: ProjectOptions) -> Iterator[Line]:
    width = min(_WRAP_WIDTH, _limit(options))
    resets = iter((*transcript.resets, None))
    reset, generation = next(resets), 0
    for turn in transcript.turns:
        while reset is not None and reset <= turn.line:
            reset, generation = next(resets), generation + 1
        for piece in wrapped(turn.text, width=width):
            text = f"{LABELS[turn.speaker]}{piece}"
            yield Line(text, turn.line, turn.speaker, turn.moment, turn.origin, generation)


def _limit(options: ProjectOptions) -> int:
    return max(_MIN_LIMIT, options.tokens * CHARS_PER_TOKEN)


def _chunks(projection: Projection, document: Document, options: ProjectOptions) -> list[Chunk]:
    openings = _openings(projection.lines)
    chunks: list[Chunk] = []
    # No prefix: first words in front of what is embedded gain nothing (nDCG@10 on LongMemEval 80.7
    # with, 81.5 without), and a title may come late and would have all of it embedded again.
    for passage in passages(projection, options=options):
        first, last = passage.lines[0], passage.lines[-1]
        opening = openings.get(first.generation)
        # What comes later must not change what came before, so words head what follows them only.
        topic = _topic(opening) if opening and opening.number <= last.number else ""
        title = projection.title or topic
        chunks.append(
            Chunk(
                path=document.path,
                source=document.source,
                start_line=first.number,
                end_line=last.number,
                text=passage.text,
                heading=(title,) if title else (),
                when=_day(passage.moment, options.zone) or document.when,
                speaker=",".join(passage.speakers),
                moment=_written(passage.moment),
            )
        )
    return chunks


def _openings(lines: Sequence[Line]) -> dict[int, Line]:
    """Return the first line of the user in each generation."""
    found: dict[int, Line] = {}
    for line in lines:
        if line.speaker is Speaker.USER:
            found.setdefault(line.generation, line)
    return found


def _topic(line: Line) -> str:
    words = line.text.removeprefix(LABELS[line.speaker])
    return next(wrapped(words, width=_TOPIC_WIDTH))


def _day(moment: datetime | None, zone: tzinfo | None) -> date | None:
    return moment.astimezone(zone).date() if moment is not None else None


def _written(moment: datetime | None) -> str:
    if moment is None:
        return ""
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
