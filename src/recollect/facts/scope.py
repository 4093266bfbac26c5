"""FactScope: who a fact applies to, and who may see it.

Threat: an agent's tool call names a scope it was not given, by mistake or because a text told it
to. A request can therefore only narrow the scopes that the server was started with.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from recollect.errors import UsageError
from recollect.records import dataclass
from recollect.shape import AS_TEXT

if TYPE_CHECKING:
    from collections.abc import Iterable

_MAX_NAME_CHARS = 200
"""Session keys of agents have about a hundred."""


class ScopeKind(StrEnum):
    """The kind of owner of a fact."""

    GLOBAL = "global"
    USER = "user"
    AGENT = "agent"
    SESSION = "session"


@dataclass(frozen=True, slots=True)
class FactScope:
    """Who a fact applies to: everyone, or one user, agent or session."""

    shape = AS_TEXT
    kind: ScopeKind = ScopeKind.GLOBAL
    name: str = ""
    """Compared as written; empty only for `global`."""

    def __post_init__(self) -> None:
        """Reject a name that is missing, superfluous or not a single word."""
        has_wrong_name = (self.kind is ScopeKind.GLOBAL) != (not self.name)
        is_word = self.name.isprintable() and not any(map(str.isspace, self.name))
        if has_wrong_name or not is_word or "," in self.name or len(self.name) > _MAX_NAME_CHARS:
            raise _wrong(f"{self.kind}:{self.name}")

    def __str__(self) -> str:
        """Return the written form: `global`, `user:ada`."""
        return f"{self.kind}:{self.name}" if self.name else str(self.kind)

    @classmethod
    def parse(cls, text: str) -> FactScope:
        """Return the scope of its written form.

        Raises:
            UsageError: it is not a scope.

        """
        kind, colon, name = text.strip().partition(":")
        try:
            found = ScopeKind(kind.lower())
        except ValueError:
            raise _wrong(text) from None
        if colon and not name:
            raise _wrong(text)
        return cls(found, name)


GLOBAL = FactScope()
"""Visible to everyone."""


def is_visible(scope: FactScope, *, scopes: frozenset[FactScope] | None) -> bool:
    """Return whether a fact of this scope is visible to a reader.

    Args:
        scope: of the fact.
        scopes: the reader's. None is the owner, who sees everything; an empty set sees only what
            is global.

    """
    return scopes is None or scope == GLOBAL or scope in scopes


def audience_of(requested: Iterable[str], *, allowed: frozenset[str] | None) -> frozenset[str]:
    """Return the scopes a search sees: the global one, and requested ones that are allowed.

    Args:
        requested: written forms of scopes.
        allowed: the scopes the server was started with; None is all.

    Raises:
        UsageError: one of them is not a scope.

    """
    known = None if allowed is None else frozenset(map(FactScope.parse, allowed))
    visible = (each for each in map(FactScope.parse, requested) if is_visible(each, scopes=known))
    return frozenset({str(GLOBAL), *map(str, visible)})


def denied(
    allowed: frozenset[FactScope] | None, requested: Iterable[FactScope]
) -> tuple[FactScope, ...]:
    """Return the requested scopes that are not allowed."""
    return tuple(scope for scope in requested if not is_visible(scope, scopes=allowed))


def _wrong(text: str) -> UsageError:
    return UsageError(
        f"{text!r} is not a scope.",
        action="Write global, user:NAME, agent:NAME or session:NAME, the name without spaces.",
    )
