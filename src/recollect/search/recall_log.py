"""A log of what was recalled for which prompt: its owner can see why an agent knew something.

It is private and small: the prompts are cut and without secrets, of the notes only the places are
kept, and old entries make room for new ones.
"""

from __future__ import annotations

import json
import os
from datetime import datetime
from typing import TYPE_CHECKING, cast

from recollect.reports import LoggedHit, LoggedRecall
from recollect.text.files import make_private_file, make_private_folder, replace_file
from recollect.text.redact import redact

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from recollect.reports import Recalled

MAX_BYTES = 256_000
"""About 300 recalls; then the older half goes."""
_MAX_PROMPT_CHARS = 300
_DIGITS = 3


class RecallLog:
    """The log of one memory: a file with one JSON object per line."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def add(self, recalled: Recalled, *, at: datetime) -> None:
        """Log a recall.

        Raises:
            OSError: the file cannot be written.

        """
        line = json.dumps(_fields(recalled, at=at), ensure_ascii=False) + "\n"
        make_private_folder(self._file.parent)
        make_private_file(self._file)
        # In one write at the end of the file: other processes log as well.
        with self._file.open("ab", buffering=0) as log:
            log.write(line.encode("utf-8", "replace"))
            size = os.fstat(log.fileno()).st_size
        if size > MAX_BYTES:
            lines = self._file.read_bytes().splitlines(keepends=True)
            replace_file(self._file, b"".join(lines[len(lines) // 2 :]), private=True)

    def newest(self, limit: int) -> tuple[LoggedRecall, ...]:
        """Return the last recalls, newest first.

        Raises:
            OSError: the file cannot be read.

        """
        try:
            lines = self._file.read_bytes().splitlines()
        except FileNotFoundError:
            return ()
        return tuple(_entries(lines[::-1][:limit]))

    def clear(self) -> None:
        """Delete the log.

        Raises:
            OSError: the file cannot be deleted.

        """
        self._file.unlink(missing_ok=True)


def _fields(recalled: Recalled, *, at: datetime) -> Mapping[str, object]:
    # Cut before and after: redacting a long text takes long, and may make it longer.
    prompt = redact(recalled.results.query[: 4 * _MAX_PROMPT_CHARS])[:_MAX_PROMPT_CHARS]
    return {
        "at": at.isoformat(timespec="seconds"),
        "prompt": prompt,
        "tokens": recalled.tokens,
        "confident": recalled.results.confident,
        "hits": [
            {
                "path": hit.path,
                "lines": [hit.start_line, hit.end_line],
                "score": round(hit.score, _DIGITS),
                "legs": {
                    str(leg): round(own.contribution, _DIGITS)
                    for leg, own in (hit.trace.legs if hit.trace else {}).items()
                },
            }
            for hit in recalled.hits
        ],
    }


def _entries(lines: list[bytes]) -> Iterator[LoggedRecall]:
    for line in lines:
        try:
            entry = _entry(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError):
            continue  # cut by a crash, or edited
        yield entry


def _entry(fields: Mapping[str, object]) -> LoggedRecall:
    hits = cast("list[dict[str, object]]", fields["hits"])
    return LoggedRecall(
        at=datetime.fromisoformat(str(fields["at"])),
        prompt=str(fields["prompt"]),
        tokens=int(str(fields["tokens"])),
        is_confident=fields["confident"] is True,
        hits=tuple(map(_hit, hits)),
    )


def _hit(fields: Mapping[str, object]) -> LoggedHit:
    start, end = cast("list[int]", fields["lines"])
    legs = cast("dict[str, float]", fields["legs"])
    return LoggedHit(
        path=str(fields["path"]),
        start_line=int(start),
        end_line=int(end),
        score=float(str(fields["score"])),
        legs={str(leg): float(share) for leg, share in legs.items()},
    )
