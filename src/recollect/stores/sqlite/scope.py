"""A Scope as SQL: which chunks a query may see, decided before any limit is counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.stores.sqlite.facts import hidden_sql

if TYPE_CHECKING:
    from recollect.types import Scope


def scope_sql(scope: Scope) -> tuple[str, list[str]]:
    """Return a condition on chunks aliased `c` and their documents aliased `d`, with bindings."""
    hidden, bindings = hidden_sql(scope)
    conditions = [f"c.id NOT IN ({hidden})"]
    if scope.source is not None:
        conditions.append("d.source = ?")
        bindings.append(scope.source.value)
    if scope.since is not None:
        conditions.append("c.day >= ?")
        bindings.append(scope.since.isoformat())
    if scope.before is not None:
        conditions.append("c.day < ?")
        bindings.append(scope.before.isoformat())
    if scope.path is not None:
        conditions.append("path_matches(d.path, ?)")
        bindings.append(scope.path)
    return " AND ".join(conditions), bindings
