"""Looking facts over: which are wanted, which of them contradict each other, what cannot be read.

It knows nothing of files and nothing of how a list is shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.facts.history import active
from recollect.facts.record import CATEGORIES, category_of, tags_of
from recollect.facts.rules import contradicting
from recollect.facts.scope import FactScope
from recollect.reports import Failure
from recollect.text.scripts import normalised

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from recollect.facts.page import Problem
    from recollect.facts.record import Fact


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which facts to show; what is left empty leaves none out."""

    scopes: tuple[str, ...] = ()
    category: str = ""
    entity: str = ""
    tags: tuple[str, ...] = ()
    """A fact has to have all of them."""
    text: str = ""
    """Words as they stand in the text, whatever their case."""

    @property
    def is_everything(self) -> bool:
        """True when nothing is left out."""
        return self == Wanted()


@dataclass(frozen=True, slots=True)
class Listing:
    """Facts, and what is to be known of them."""

    facts: tuple[Fact, ...]
    contradicting: Mapping[str, tuple[Fact, ...]]
    """By the id of a fact, those that say otherwise: one of them is to be superseded."""
    problems: tuple[Failure, ...]
    """Entries that cannot be read, whatever was wanted."""
    superseded: int = 0
    """How many are wanted and left out because others took their place."""


def unreadable(problems: Iterable[Problem], *, folder: str) -> list[Failure]:
    """Return what cannot be read of the ledger in a folder, by file and line."""
    return [
        Failure(
            f"{folder}/{each.file}" + (f":{each.line}" if each.line else ""),
            each.reason.rstrip("."),
            each.action,
            is_entry=each.line > 0,
        )
        for each in problems
    ]


def listed(  # noqa: PLR0913 - the moments to look at
    facts: Mapping[str, Fact],
    wanted: Wanted,
    *,
    now: datetime,
    as_of: datetime | None = None,
    include_superseded: bool = False,
    problems: Iterable[Failure] = (),
) -> Listing:
    """Return the facts that are wanted, of those that hold.

    Raises:
        UsageError: there is no such category, or what is given for a scope is none.

    """
    scopes = frozenset(map(FactScope.parse, wanted.scopes))
    known = (*CATEGORIES, *sorted({fact.category for fact in facts.values()} - {*CATEGORIES}))
    category = category_of(wanted.category, known=known) if wanted.category else ""
    tags = frozenset(tags_of(wanted.tags))
    entity, words = normalised(wanted.entity), normalised(wanted.text)

    def chosen(*, superseded: bool) -> tuple[Fact, ...]:
        return tuple(
            fact
            for fact in active(facts, now=now, as_of=as_of, include_superseded=superseded)
            if (not scopes or fact.scope in scopes)
            and category in {"", fact.category}
            and entity in {"", normalised(fact.entity)}
            and tags <= {*fact.tags}
            and words in normalised(fact.text)
        )

    shown = chosen(superseded=include_superseded)
    return Listing(
        shown,
        contradicting(facts, now=as_of or now),
        tuple(problems),
        superseded=len(chosen(superseded=True)) - len(shown),
    )
