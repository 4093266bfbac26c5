"""Filling chunks with the lines of a conversation.

What fits stays together; a chunk that is full leads over to the next by its last whole lines. No
chunk reaches across a reset. Decisions look only backwards, so a conversation that goes on leaves
every chunk but the last as it was. It knows weights and lines, not documents.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.sessions.turn import Origin, Speaker, worst
from recollect.text.size import weigh

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

LABELS = {Speaker.USER: "User: ", Speaker.ASSISTANT: "Assistant: "}


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the projection: a message, or a piece of a long one."""

    text: str
    number: int
    """Line of the transcript it is from."""
    speaker: Speaker
    moment: datetime | None
    origin: Origin
    generation: int
    """How many resets came before it."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Lines that are retrieved as one."""

    lines: tuple[Line, ...]

    @property
    def text(self) -> str:
        """What is read, embedded and found."""
        return "\n".join(line.text for line in self.lines)

    @property
    def origin(self) -> Origin:
        """How far it is trusted: as far as the worst of its lines."""
        return worst(tuple(line.origin for line in self.lines))

    @property
    def speakers(self) -> tuple[Speaker, ...]:
        """Who speaks in it, the user first."""
        heard = {line.speaker for line in self.lines}
        return tuple(speaker for speaker in Speaker if speaker in heard)

    @property
    def moment(self) -> datetime | None:
        """When the first of it was said."""
        return next((line.moment for line in self.lines if line.moment is not None), None)


def pack(lines: Iterable[Line], *, limit: int, overlap: int) -> list[Passage]:
    """Return the passages of a conversation.

    Args:
        lines: in order.
        limit: what a passage may weigh; a single heavier line is a passage of its own.
        overlap: what it may repeat of the one before.

    """
    packed: list[Passage] = []
    held: list[Line] = []
    taken = 0
    for line in lines:
        weight = _weight(line)
        if held and line.generation != held[-1].generation:
            packed.append(Passage(tuple(held)))
            held, taken = [], 0
        elif held and taken + weight > limit:
            packed.append(Passage(tuple(held)))
            held = _carried(held, room=min(overlap, limit - weight))
            taken = sum(map(_weight, held))
        held.append(line)
        taken += weight
    return [*packed, Passage(tuple(held))] if held else packed


def _weight(line: Line) -> int:
    return weigh(line.text) + 1


def _carried(held: list[Line], *, room: int) -> list[Line]:
    first = len(held)
    # Never all of them: then the next passage would repeat this one as a whole.
    while first > 1 and _weight(held[first - 1]) <= room:
        first -= 1
        room -= _weight(held[first])
    return held[first:]
