"""The tokens of memories as text."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from recollect.hosting.tokens import Token


def created_text(token: Token, *, text: str) -> Iterator[tuple[str, str]]:
    """Yield a new token; its secret part is shown this once."""
    yield text, "bold"
    yield f"{_rights(token)}. It is not shown again.", ""


def tokens_text(tokens: Sequence[Token]) -> Iterator[tuple[str, str]]:
    """Yield one line per token."""
    if not tokens:
        yield "No tokens. `recollect server tokens create MEMORY` makes one.", ""
    for each in tokens:
        label = f"  {each.label}" if each.label else ""
        yield f"{each.id}  {_rights(each)}{label}", ""


def _rights(token: Token) -> str:
    may = "reads" if token.is_read_only else "reads and writes"
    if token.scopes is not None:
        may += f", facts of {', '.join(['global', *sorted(token.scopes)])}"
    if token.expires is not None:
        may += f", until {token.expires.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    return f"{token.agent}: {may}"
