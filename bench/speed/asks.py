"""What is asked of every engine: the legs, and filters of several selectivities."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum

from bench.speed.corpus import DAYS, FIRST_DAY


class Legs(StrEnum):
    """Which legs answer."""

    KEYWORD = "keyword"
    VECTOR = "vector"
    HYBRID = "hybrid"


class UnsupportedError(Exception):
    """The engine cannot do this; the text says why."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One way to ask."""

    name: str
    legs: Legs = Legs.HYBRID
    folder: str | None = None
    """Only files below this folder."""
    since: date | None = None
    before: date | None = None
    source: str | None = None
    as_of: datetime | None = None
    scopes: tuple[str, ...] = ()
    phrase: bool = False
    """Only chunks with the question's phrase."""

    @property
    def is_filtered(self) -> bool:
        """Whether it narrows what is searched."""
        return self != Ask(self.name, self.legs)

    @property
    def is_peculiar(self) -> bool:
        """Whether only Recollect has such a filter."""
        return bool(self.source or self.as_of or self.scopes)


def _days(share: float) -> tuple[date, date]:
    first = FIRST_DAY + timedelta(days=int(DAYS * 0.3))
    return first, first + timedelta(days=max(1, round(DAYS * share)))


_HALF, _TENTH, _HUNDREDTH = (_days(share) for share in (0.5, 0.1, 0.01))
_THEN = datetime(2023, 6, 1, tzinfo=UTC)

ASKS = (
    Ask("keyword", Legs.KEYWORD),
    Ask("vector", Legs.VECTOR),
    Ask("hybrid"),
    Ask("folder, 50 %", folder="memory/work"),
    Ask("folder, 10 %", folder="memory/travel"),
    Ask("folder, 1 %", folder="memory/garden"),
    Ask("folder, 0.1 %", folder="memory/attic"),
    Ask("days, 35 %", since=_HALF[0], before=_HALF[1]),
    Ask("days, 7 %", since=_TENTH[0], before=_TENTH[1]),
    Ask("days, 0.7 %", since=_HUNDREDTH[0], before=_HUNDREDTH[1]),
    Ask("notes only, 99 %", source="memory"),
    Ask("facts only, 1 %", source="facts"),
    Ask("as of a day", as_of=_THEN),
    Ask("scopes", scopes=("user:ann", "agent:scout")),
    Ask("phrase", phrase=True),
    Ask("folder 10 %, days 7 %", folder="memory/travel", since=_TENTH[0], before=_TENTH[1]),
    Ask(
        "folder 50 %, days 35 %, scopes, as of",
        folder="memory/work",
        since=_HALF[0],
        before=_HALF[1],
        scopes=("user:ann",),
        as_of=_THEN,
    ),
    Ask("days 35 %, phrase", since=_HALF[0], before=_HALF[1], phrase=True),
)
