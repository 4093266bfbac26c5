"""What a server shows of facts: those of the scopes it was started with, whatever it is asked.

To whoever asks, a fact of another scope is like one that does not exist, word for word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.errors import NotFoundError, UsageError
from recollect.facts.record import parse_id
from recollect.facts.scope import FactScope, denied, is_visible
from recollect.types import GLOBAL

if TYPE_CHECKING:
    from collections.abc import Iterable

    from recollect.facts.record import Fact
    from recollect.memory import Memory


class ScopeError(UsageError):
    """A scope was named that the server does not have."""

    kind = "scope"


@dataclass(frozen=True, slots=True)
class Held:
    """The scopes of one server, besides the global one."""

    names: frozenset[str] | None
    """None is all of them, for their owner."""

    @property
    def scopes(self) -> frozenset[FactScope] | None:
        """The same, parsed."""
        return None if self.names is None else frozenset(map(FactScope.parse, self.names))

    def seen(self, asked: Iterable[str]) -> tuple[str, ...]:
        """Return the scopes that a question is answered in: those it names, else all it may.

        Raises:
            ScopeError: it names one that is not held here.
            UsageError: it names what is no scope.

        """
        named = tuple(asked)
        refused = denied(self.scopes, map(FactScope.parse, named))
        if refused:
            known = ", ".join([GLOBAL, *sorted((self.names or frozenset()) - {GLOBAL})])
            raise ScopeError(
                f"This server has no access to the scope {refused[0]}.",
                action=f"Use one of: {known}.",
            )
        return named or tuple(sorted(self.names or ()))

    def shows(self, fact: Fact) -> bool:
        """Tell whether a fact may be seen here."""
        return is_visible(fact.scope, scopes=self.scopes)

    def history(self, memory: Memory, fact_id: str) -> tuple[Fact, ...]:
        """Return the history of a fact that may be seen here, without what may not.

        Raises:
            NotFoundError: there is none that may.

        """
        wanted = parse_id(fact_id)
        try:
            shown = tuple(filter(self.shows, memory.facts.history(wanted)))
        except NotFoundError:
            shown = ()
        if not any(fact.id == wanted for fact in shown):
            raise NotFoundError(
                f"There is no fact {fact_id}.", action="A search for facts shows their ids."
            )
        return shown
