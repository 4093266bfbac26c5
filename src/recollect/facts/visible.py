"""A file of the ledger as one may read it who may not see everyone's facts.

Threat: an agent that is shown the facts of one user reads the file they stand in, where those of
other users stand as well. Therefore only lines are kept that belong to a fact which may be seen;
whatever else a person wrote between them may be a fact of someone, struck out or misspelt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.facts.draft import Naming
from recollect.facts.page import parse_page
from recollect.facts.scope import FactScope, is_visible

if TYPE_CHECKING:
    from collections.abc import Iterable


def visible_text(name: str, text: str, *, scopes: Iterable[str]) -> str:
    """Return the text with every line left empty that is not to be seen; no line moves.

    Args:
        name: of the file.
        text: of the file.
        scopes: that may be seen besides the global one.

    """
    held = frozenset(map(FactScope.parse, scopes))
    page = parse_page(name, text, derive=Naming())
    kept = {
        line
        for placed in page.entries
        if is_visible(placed.entry.fact.scope, scopes=held)
        for line in range(placed.first, placed.end)
    }
    return "".join(
        line if number in kept else line[len(line.rstrip("\r\n")) :]
        for number, line in enumerate(page.lines)
    )
