"""Do the cases speak of this workspace? Expected places that no search could ever find."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from recollect.evaluate.case import Case
    from recollect.memory import Memory


def unfindable(
    cases: Sequence[Case], *, memory: Memory, file: Path | None = None
) -> tuple[str, ...]:
    """Return a sentence for every expected place that is not indexed or past its file's end.

    Each begins with the case's place in the file, if there is one.
    """
    return tuple(_problems(cases, memory=memory, file=file))


def _problems(cases: Sequence[Case], *, memory: Memory, file: Path | None) -> Iterator[str]:
    indexed = memory.paths()

    @cache
    def lines_in(path: str) -> int | None:
        try:
            text = (memory.workspace / path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None
        return len(text.removesuffix("\n").split("\n"))

    for case in cases:
        for place in case.expected:
            where = "" if file is None else f"{file}:{case.line}: "
            if place.path not in indexed:
                yield f"{where}{place.path} is not an indexed file of {memory.workspace}."
            elif place.last_line is not None:
                lines = lines_in(place.path)
                if lines is not None and place.last_line > lines:
                    yield f"{where}{place.citation} ends after the file's last line, {lines}."
