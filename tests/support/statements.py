"""Counts the SQL statements that connections run, and the steps that SQLite takes for them."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import apsw

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def counted_statements() -> Iterator[Counter[str]]:
    """Yield how often each statement has run, by its text in one line.

    Only connections that are opened inside count.
    """
    counts: Counter[str] = Counter()

    def trace(_cursor: apsw.Cursor, sql: str, _bindings: object) -> bool:
        counts[" ".join(sql.split())] += 1
        return True

    def observe(connection: apsw.Connection) -> None:
        connection.exec_trace = trace

    apsw.connection_hooks.append(observe)
    try:
        yield counts
    finally:
        apsw.connection_hooks.remove(observe)


@contextmanager
def counted_steps(connection: apsw.Connection) -> Iterator[list[int]]:
    """Yield how many steps of its virtual machine SQLite has taken for each statement.

    Without those that FTS5 runs for itself: it keeps them, so their count is that of all runs.
    """
    steps: list[int] = []

    def add(event: dict[str, Any]) -> None:
        if not any(each in event["sql"] for each in ("'memory_fts_", "data_version")):
            steps.append(event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"])

    connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, add)
    try:
        yield steps
    finally:
        connection.trace_v2(0, None)
