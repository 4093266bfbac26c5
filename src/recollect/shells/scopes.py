"""Which facts a server shows. One of another scope looks like one that does not exist."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.errors import NotFoundError, UsageError
from recollect.facts.record import parse_id
from recollect.facts.scope import is_visible, parse_scope
from recollect.records import dataclass
from recollect.types import GLOBAL

if TYPE_CHECKING:
    from collections.abc import Iterable

    from recollect.facts.record import Fact
    from recollect.parts import MemoryParts


class ScopeError(UsageError):
    """A request named a scope that the server may not show."""


@dataclass(frozen=True, slots=True)
class VisibleScopes:
    """The scopes that one server shows, besides the global one."""

    names: frozenset[str] | None
    """Names of scopes; None for all of them, as for their owner."""

    @property
    def all(self) -> frozenset[str] | None:
        """Every visible scope, the global one included; None for all there are."""
        return None if self.names is None else self.names | {GLOBAL}

    def resolve(self, requested: Iterable[str]) -> tuple[str, ...]:
        """Return the scopes to answer a request in: those it names, or else all visible ones."""
        named = tuple(requested)
        scopes = map(parse_scope, named)
        refused = [each for each in scopes if not is_visible(each, scopes=self.names)]
        if refused:
            known = ", ".join([GLOBAL, *sorted((self.names or frozenset()) - {GLOBAL})])
            raise ScopeError(
                f"This server has no access to the scope {refused[0]}.",
                action=f"Use one of: {known}.",
            )
        return named or tuple(sorted(self.names or ()))

    def history(self, memory: MemoryParts, fact_id: str) -> tuple[Fact, ...]:
        """Return the visible part of the history of a visible fact."""
        wanted = parse_id(fact_id)
        try:
            history = memory.facts.history(wanted)
        except NotFoundError:
            history = ()
        visible = tuple(fact for fact in history if is_visible(fact.scope, scopes=self.names))
        if not any(fact.id == wanted for fact in visible):
            raise NotFoundError(
                f"There is no fact {fact_id}.", action="Search for facts to see their ids."
            )
        return visible
