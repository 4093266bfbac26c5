"""The table of all operations: what is in it is served and described, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.shells.http import facts, pages, searching, state, vector_stores, views

if TYPE_CHECKING:
    from recollect.shells.http.operation import Operation

OPERATIONS: tuple[Operation, ...] = (
    *state.OPERATIONS,
    *searching.OPERATIONS,
    *facts.OPERATIONS,
    *views.OPERATIONS,
    *vector_stores.OPERATIONS,
    *pages.OPERATIONS,
)
