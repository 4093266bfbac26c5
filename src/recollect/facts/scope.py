"""For whom a fact holds, and who may see it.

Threat: an agent's tool call names a scope it was not given, by mistake or because a text told it
to. Therefore asking can only ever narrow what the server was started with.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from recollect.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

_MAX_NAME_CHARS = 200
"""Session keys of agents run to about a hundred."""


class ScopeKind(StrEnum):
    """Whom a fact belongs to."""

    GLOBAL = "global"
    USER = "user"
    AGENT = "agent"
    SESSION = "session"


@dataclass(frozen=True, slots=True)
class FactScope:
    """For whom a fact holds: everyone, or one user, agent or session."""

    kind: ScopeKind = ScopeKind.GLOBAL
    name: str = ""
    """Compared as written; empty for `global` only."""

    def __post_init__(self) -> None:
        """Refuse a name that is missing, not wanted or cannot be written in one word."""
        if (self.kind is ScopeKind.GLOBAL) != (not self.name):
            raise _wrong(f"{self.kind}:{self.name}")
        is_word = self.name.isprintable() and not any(map(str.isspace, self.name))
        if not is_word or "," in self.name or len(self.name) > _MAX_NAME_CHARS:
            raise _wrong(f"{self.kind}:{self.name}")

    def __str__(self) -> str:
        """Return the form in which a scope is written: `global`, `user:ada`."""
        return f"{self.kind}:{self.name}" if self.name else str(self.kind)

    @classmethod
    def parse(cls, text: str) -> FactScope:
        """Return the scope of its written form.

        Raises:
            UsageError: it is no scope.

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
"""What everyone sees."""


def is_visible(scope: FactScope, *, scopes: frozenset[FactScope] | None) -> bool:
    """Tell whether what has this scope is seen by one who holds these.

    Args:
        scope: of the fact.
        scopes: None is the owner, who sees everything; an empty set sees what is global.

    """
    return scopes is None or scope == GLOBAL or scope in scopes


def narrowed(
    server: frozenset[FactScope] | None, asked: Iterable[FactScope] | None
) -> frozenset[FactScope] | None:
    """Return the scopes a question is answered in: never one that the server does not hold.

    Args:
        server: what the server was started with; None is everything.
        asked: what the question names; None names nothing and leaves the server's.

    """
    if asked is None:
        return server
    return frozenset(asked) if server is None else server & frozenset(asked)


def denied(
    server: frozenset[FactScope] | None, asked: Iterable[FactScope]
) -> tuple[FactScope, ...]:
    """Return the scopes that were asked for in vain, to be told to whoever asked."""
    return tuple(scope for scope in asked if not is_visible(scope, scopes=server))


def _wrong(text: str) -> UsageError:
    return UsageError(
        f"{text!r} is not a scope.",
        action="Write global, user:NAME, agent:NAME or session:NAME, the name without spaces.",
    )
