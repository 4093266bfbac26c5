"""Compares the contents of two indexes, whatever their row numbers and history."""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    Rows = list[tuple[object, ...]]

_QUERIES = {
    "documents": """
        SELECT source, path, digest, size_bytes, mtime_ns, recipe, day FROM documents
    """,
    "chunks": """
        SELECT d.path, c.start_line, c.end_line, t.digest, c.length, c.heading, c.prefix, c.bag,
               c.text, c.day, c.speaker, c.moment, c.importance, c.triggers
        FROM chunks c LEFT JOIN documents d ON d.id = c.document
        LEFT JOIN texts t ON t.id = c.text_id
    """,
    "terms": """
        SELECT d.path, c.start_line, c.end_line, i.col, i.term, i.offset
        FROM temp.instances i
        LEFT JOIN chunks c ON c.id = i.doc LEFT JOIN documents d ON d.id = c.document
    """,
    "totals": "SELECT chunks, length FROM totals",
    "vectors": """
        SELECT DISTINCT s.fingerprint, s.dimensions, s.mean, s.deviation, t.digest, v.vector
        FROM spaces s JOIN chunks c
        LEFT JOIN texts t ON t.id = c.text_id
        LEFT JOIN vectors v ON v.id = (s.id << 40) + c.text_id
        WHERE s.is_published
    """,
}
_NAMED = 3  # rows shown of each kind
_SHOWN_CHARS = 160


def index_file(home: Path) -> Path:
    """Return the one index of a home."""
    return next((home / "memory").glob("*.sqlite"))


def contents(file: Path) -> dict[str, Rows]:
    """Return the sorted rows of each kind."""
    connection = apsw.Connection(str(file))
    try:
        connection.execute(
            "CREATE VIRTUAL TABLE temp.instances USING fts5vocab(main, terms, instance)"
        )
        return {kind: sorted(connection.execute(sql), key=repr) for kind, sql in _QUERIES.items()}
    finally:
        connection.close()


def differences(expected: Mapping[str, Rows], actual: Mapping[str, Rows]) -> list[str]:
    """Return lines that name the rows only one of the two has, a few of each kind."""
    found: list[str] = []
    for kind, rows in expected.items():
        for sign, missing in (
            ("lacks", set(rows) - set(actual[kind])),
            ("has also", set(actual[kind]) - set(rows)),
        ):
            found += [
                f"{kind}: {sign} {str(row)[:_SHOWN_CHARS]}"
                for row in sorted(missing, key=repr)[:_NAMED]
            ]
        if not found and len(rows) != len(actual[kind]):
            found.append(f"{kind}: {len(actual[kind])} rows where {len(rows)} were expected")
    return found
