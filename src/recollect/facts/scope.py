"""Scopes: who a fact applies to, and who may see it.

A scope is `global`, or one user, agent or session: `user:ada`. Names are compared as written.

Threat: an agent's tool call names a scope it was not given, by mistake or because a text told it
to. A request can therefore only narrow the scopes that the server was started with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.errors import UsageError
from recollect.types import GLOBAL

if TYPE_CHECKING:
    from collections.abc import Iterable

_KINDS = frozenset({"user", "agent", "session"})
_MAX_NAME_CHARS = 200
"""Session keys of agents have about a hundred."""


def parse_scope(text: str) -> str:
    """Return a scope as it is stored: its kind may be in any case."""
    kind, colon, name = text.strip().partition(":")
    kind = kind.lower()
    if kind == GLOBAL and not colon:
        return GLOBAL
    is_word = name.isprintable() and not any(map(str.isspace, name)) and "," not in name
    if kind not in _KINDS or not name or not is_word or len(name) > _MAX_NAME_CHARS:
        raise UsageError(
            f"{text!r} is not a scope.",
            action="Write global, user:NAME, agent:NAME or session:NAME, the name without spaces.",
        )
    return f"{kind}:{name}"


def is_visible(scope: str, *, scopes: frozenset[str] | None) -> bool:
    """Return whether a reader of these scopes, or the owner (None), sees facts of this one."""
    return scopes is None or scope == GLOBAL or scope in scopes


def audience_of(requested: Iterable[str], *, allowed: frozenset[str] | None) -> frozenset[str]:
    """Return the scopes a search sees: the global one, and requested ones that are allowed."""
    known = None if allowed is None else frozenset(map(parse_scope, allowed))
    named = map(parse_scope, requested)
    return frozenset({GLOBAL, *(each for each in named if is_visible(each, scopes=known))})
