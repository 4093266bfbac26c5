"""What a transcript says of itself in its first rows, without reading the rest, and whose it is.

It opens files; which there are is known to `find`.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from recollect.sessions.formats import Header, format_of, header_of
from recollect.sessions.names import COMPRESSED, agent_of, slug_of
from recollect.sessions.rows import row_of
from recollect.sessions.turn import Format

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

    from recollect.sessions.find import FoundTranscript

_HEADER_BYTES = 1024 * 1024
_HEADER_ROWS = 64
"""Within both a transcript says what it is, if it does."""

_MAX_SLUG_CHARS = 200
"""Beyond it Claude Code cuts the name of a project folder and adds a hash."""

_OPEN_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a pipe that took the file's place would be waited for for ever
    | getattr(os, "O_NOFOLLOW", 0)  # nor is a link that took it followed
)


def opened(file: Path) -> BinaryIO:
    """Return a file opened for reading.

    Raises:
        OSError: it is not there, or may not be read.

    """
    return open(file, "rb", opener=lambda path, _flags: os.open(path, _OPEN_FLAGS))


def read_header(file: Path, *, form: Format | None = None) -> Header | None:
    """Return what the first rows of a file tell; None when they are of no known format.

    Args:
        file: the transcript; of a compressed one only the name tells something.
        form: its format, where it is known.

    Raises:
        OSError: it cannot be read.

    """
    if file.name.endswith(COMPRESSED):
        return _placed(Header(Format.OPENCLAW), file)  # nobody else compresses
    room = _HEADER_BYTES
    with opened(file) as stream:
        for _ in range(_HEADER_ROWS):
            line = stream.readline(room)
            room -= len(line)
            row = row_of(line)
            if row is None:
                continue
            form = form or format_of(row)
            if form is not None and (header := header_of(row, form)) is not None:
                return _placed(header, file)
    return _placed(Header(form), file) if form is not None else None


def belongs_to(header: Header, *, workspace: Path, agent: str | None) -> bool:
    """Tell whether a transcript is part of a workspace's memory.

    OpenClaw's is when its agent is the one asked for. Without an agent, and for the others, it is
    when the conversation was held in the workspace or below it.

    Args:
        header: what the transcript says of itself.
        workspace: the folder.
        agent: OpenClaw's agent of that workspace, if it has one.

    """
    if header.agent is not None and agent is not None:
        return header.agent.casefold() == agent.casefold()
    places = (workspace.absolute(), workspace.resolve())
    if header.cwd is None:
        return header.project is not None and header.project in map(slug_of, places)
    return any(PurePath(header.cwd).is_relative_to(place) for place in places)


def is_of_workspace(found: FoundTranscript, *, workspace: Path, agent: str | None) -> bool:
    """Tell whether a transcript that was found is part of a workspace's memory.

    Its first rows are read only when the place it was found in does not decide.

    Raises:
        OSError: they had to be read and could not be.

    """
    placed = _placed(Header(found.format), found.file)
    if placed.agent is not None and agent is not None:
        return belongs_to(placed, workspace=workspace, agent=agent)
    if placed.project is not None and not _could_hold(placed.project, workspace):
        return False
    header = read_header(found.file, form=found.format)
    return header is not None and belongs_to(header, workspace=workspace, agent=agent)


def _placed(header: Header, file: Path) -> Header:
    match header.format:
        case Format.OPENCLAW:
            return replace(header, agent=agent_of(file))
        case Format.CLAUDE_CODE:
            return replace(header, project=file.parent.name)
        case Format.CODEX:
            return header


def _could_hold(project: str, workspace: Path) -> bool:
    # Not proof: `app` and a folder `two` in it have the slug of a folder `app-two` beside it.
    slugs = map(slug_of, (workspace.absolute(), workspace.resolve()))
    return any(project.startswith(slug[:_MAX_SLUG_CHARS]) for slug in slugs)
