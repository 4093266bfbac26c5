"""Compares the contents of two indexes, whatever their row numbers and history."""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw
import numpy as np

from recollect.stores.sqlite import pages

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
    "totals": "SELECT chunks, length FROM totals",
    "vectors": """
        SELECT DISTINCT s.fingerprint, s.dimensions, s.mean, s.deviation, t.digest, v.vector
        FROM spaces s JOIN chunks c
        LEFT JOIN texts t ON t.id = c.text_id
        LEFT JOIN vectors v ON v.id = (s.id << 40) + c.text_id
        WHERE s.is_published
    """,
}
_PLACES = """
    SELECT c.id, d.path, c.start_line, c.end_line, c.bag
    FROM chunks c LEFT JOIN documents d ON d.id = c.document
"""
_FIELD_WEIGHTS = (1, 2, 2)
_NAMED = 3  # rows shown of each kind
_SHOWN_CHARS = 160


def index_file(home: Path) -> Path:
    """Return the one index of a home."""
    return next((home / "memory").glob("*.sqlite"))


def contents(file: Path) -> dict[str, Rows]:
    """Return the sorted rows of each kind."""
    pages.are_available()  # a connection that knows no checksums would move a log without them
    connection = apsw.Connection(str(file))
    try:
        found = {kind: sorted(connection.execute(sql), key=repr) for kind, sql in _QUERIES.items()}
        return found | {"terms": _terms(connection)}
    finally:
        connection.close()


def _terms(connection: apsw.Connection) -> Rows:
    """Return where the keyword index says that each term occurs, and how often."""
    sealed = segment_terms(connection)
    last = connection.execute("SELECT ifnull(max(last), 0) FROM segments").get
    rows: Rows = []
    for key, path, start, end, bag in connection.execute(_PLACES):
        terms = sealed.pop(key, []) if key <= last else _bag_terms(bag)
        rows += [(path, start, end, *each) for each in terms]
    rows += [(None, None, None, *each) for terms in sealed.values() for each in terms]
    return sorted(rows, key=repr)


def _bag_terms(bag: bytes) -> list[tuple[int, int]]:
    entries = np.frombuffer(bag, dtype=[("term", "<u4"), ("counts", "u1", (3,))])
    weighted = entries["counts"].astype(int) @ np.array(_FIELD_WEIGHTS)
    return list(zip(entries["term"].tolist(), np.minimum(weighted, 255).tolist(), strict=True))


def segment_terms(connection: apsw.Connection) -> dict[int, list[tuple[int, int]]]:
    """Return the terms of each chunk in a segment, with their frequencies, by chunk id."""
    found: dict[int, list[tuple[int, int]]] = {}
    rows = "SELECT id, first, chunks, removed FROM segments"
    for segment, first, chunks, removed in list(connection.execute(rows)):
        columns = dict(
            connection.execute("SELECT name, data FROM columns WHERE segment = ?", (segment,))
        )
        gone = np.unpackbits(np.frombuffer(columns.get("removed", b""), dtype=np.uint8))[:chunks]
        assert removed == gone.sum()
        ids = np.frombuffer(columns["ids"], dtype="<u4").astype(int) + first
        own: dict[int, list[tuple[int, int]]] = {key: [] for key in ids.tolist()}
        blocks = "SELECT terms, sizes, places, frequencies FROM postings WHERE id >> 32 = ?"
        for terms, sizes, places, frequencies in connection.execute(blocks, (segment,)):
            hashes = np.frombuffer(terms, dtype="<u4")
            counted = np.frombuffer(frequencies, dtype=np.uint8)
            if places:
                held = np.repeat(hashes, np.frombuffer(sizes, dtype="<u4"))
                where = np.frombuffer(places, dtype="<u2")
            else:
                where = np.flatnonzero(counted)
                counted, held = counted[where], np.repeat(hashes, len(where))
            for place, term, count in zip(
                where.tolist(), held.tolist(), counted.tolist(), strict=True
            ):
                own[int(ids[place])].append((term, count))
        for place in np.flatnonzero(gone).tolist():
            del own[int(ids[place])]
        found |= own
    return found


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
