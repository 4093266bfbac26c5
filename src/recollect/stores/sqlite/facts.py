"""Chunks that are facts: whom they concern and when they hold, where queries can see it.

They are few beside the other chunks, so those that a query may not see are named and left out; all
else is found as if there were no facts.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from recollect.types import FactMark, SupersededFact

if TYPE_CHECKING:
    import apsw

    from recollect.types import Chunk, Scope

_NEVER = "9999-12-31"  # the end of what has none; the beginning of what has none is empty
_PUT = "INSERT INTO facts (chunk, id, scope, since, until, superseded_by) VALUES (?, ?, ?, ?, ?, ?)"
_FOREIGN = "scope NOT IN (SELECT value FROM json_each(?))"
_UNSEEN = f"SELECT chunk FROM facts WHERE {_FOREIGN}"  # noqa: S608 - our own words
_INVALID = f"{_UNSEEN} OR since > ? OR until <= ?"
_STILL = "9999-12-30"  # a time at which only what has no end holds
_SUPERSEDED = """
    SELECT f.id, c.text, c.prefix, f.superseded_by,
           coalesce((SELECT n.text FROM facts g JOIN chunks n ON n.id = g.chunk
                     WHERE g.id = f.superseded_by), '')
    FROM facts f JOIN chunks c ON c.id = f.chunk
    WHERE f.superseded_by != '' AND f.until <= ?
      AND f.scope IN (SELECT value FROM json_each(?))
"""


def put(connection: apsw.Connection, key: int, chunk: Chunk) -> None:
    """Remember of a chunk just stored whether it is a fact; runs in the caller's transaction."""
    fact = chunk.fact
    if fact is not None:
        since = _written(fact.since) if fact.since else ""
        until = _written(fact.until) if fact.until else _NEVER
        connection.execute(_PUT, (key, fact.id, fact.scope, since, until, fact.superseded_by))


def mark_of(row: str) -> FactMark:
    """Return the mark of a fact from its row as a JSON list."""
    fact, scope, since, until, superseded_by = json.loads(row)
    return FactMark(
        id=fact,
        scope=scope,
        since=datetime.fromisoformat(since) if since else None,
        until=None if until == _NEVER else datetime.fromisoformat(until),
        superseded_by=superseded_by,
    )


def superseded(connection: apsw.Connection, scope: Scope) -> list[SupersededFact]:
    """Return what the scope may know of that no longer holds, with what took its place."""
    moment = _written(scope.as_of) if scope.as_of else _STILL
    rows = connection.execute(_SUPERSEDED, (moment, json.dumps(sorted(scope.audience))))
    return [SupersededFact(*map(str, row)) for row in rows]


def hidden_sql(scope: Scope) -> tuple[str, list[str]]:
    """Return a query for the chunks of facts that may not be seen, and its bindings."""
    audience = json.dumps(sorted(scope.audience))
    if scope.with_superseded:
        return _UNSEEN, [audience]
    moment = _written(scope.as_of) if scope.as_of else _STILL
    return _INVALID, [audience, moment, moment]


def _written(moment: datetime) -> str:
    """Return a moment so that the order of the texts is the order of the moments."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")
