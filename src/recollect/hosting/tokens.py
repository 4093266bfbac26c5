"""Tokens: made once and shown once, stored as a digest, compared in constant time.

The id of `rct_ID_SECRET` finds its row and may be shown; the secret has 256 random bits, so that
one round of SHA-256 is enough to store it by.

Threats. Whoever reads the table must not be able to use what is in it. Whoever guesses must not
learn from the time of an answer whether an id exists.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.config.paths import agent_of
from recollect.errors import NotFoundError, UsageError
from recollect.facts.scope import parse_scope
from recollect.stores.pushed import Token

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from recollect.stores.postgres.host import PostgresHost


__all__ = ["Token", "create_token", "find_token", "named_agent", "revoke_token"]

_FORM = re.compile(r"rct_(?P<id>[0-9a-f]{12})_(?P<secret>[0-9a-f]{64})")
_MOST_LABEL_CHARS = 100
_NO_DIGEST = bytes(32)


def create_token(  # noqa: PLR0913 - the rights of a token
    database: PostgresHost,
    agent: str,
    *,
    now: datetime,
    label: str = "",
    scopes: Iterable[str] | None = None,
    is_read_only: bool = False,
    expires: datetime | None = None,
) -> tuple[Token, str]:
    """Store a new token of a memory, which may be empty; return it with the text clients send.

    Besides global facts it sees those of `scopes`, None for all, until `expires`, None for ever.
    """
    if expires is not None and expires <= now:
        raise UsageError("The token would be expired already.", action="Name a later day.")
    if len(label) > _MOST_LABEL_CHARS or not label.isprintable():
        raise UsageError(
            "The label cannot be used.", action=f"Use up to {_MOST_LABEL_CHARS} plain characters."
        )
    token = Token(
        id=secrets.token_hex(6),
        agent=named_agent(agent),
        label=label,
        scopes=None if scopes is None else frozenset(map(parse_scope, scopes)),
        is_read_only=is_read_only,
        created=now,
        expires=expires,
    )
    secret = secrets.token_hex(32)
    database.add_token(token, digest=_digest(secret))
    return token, f"rct_{token.id}_{secret}"


def find_token(database: PostgresHost, text: str, *, now: datetime) -> Token | None:
    """Return the token that a client has sent; None if it is wrong, revoked or expired."""
    parts = _FORM.fullmatch(text)
    if parts is None:
        return None
    token, digest = database.find_token(parts["id"]) or (None, _NO_DIGEST)
    is_right = hmac.compare_digest(_digest(parts["secret"]), digest)
    if token is None or not is_right:
        return None
    return token if token.expires is None or now < token.expires else None


def revoke_token(database: PostgresHost, token_id: str) -> None:
    """Delete a token, given by its id."""
    if not database.revoke_token(token_id):
        raise NotFoundError(
            f"There is no token {token_id!r}.",
            action="`recollect server tokens list` shows their ids.",
        )


def named_agent(agent: str) -> str:
    """Return the id of a memory, or raise ConfigError if it cannot be one."""
    return agent_of(Path(), named=agent)


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
