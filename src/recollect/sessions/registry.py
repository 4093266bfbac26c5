"""Which of OpenClaw's sessions nobody held: scheduled runs, dreams, heartbeats.

It knows session keys and the index `sessions.json` that maps them to files. A session counts as
what the session it was spawned by is.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING

from recollect.sessions.names import session_id_of
from recollect.sessions.rows import mapping, string

if TYPE_CHECKING:
    from recollect.sessions.rows import Row

CRON = "is a scheduled run"
DREAM = "is a dream the agent wrote for itself"
HEARTBEAT = "is a heartbeat"

_DREAM_PREFIX = "dreaming-narrative-"
_CRON_RUN = re.compile(r"agent:[^:]+:cron:[^:]+:run:([^:]+)")
_PARENTS = ("spawnedBy", "parentSessionKey")
_MAX_GENERATIONS = 32
"""Deeper than any agent spawns another; a circle ends here."""


def reason_of_key(*keys: object, with_scheduled: bool = True) -> str:
    """Return why the sessions of these keys are left out; empty when they are not.

    Args:
        keys: session keys or run ids; anything that is not text says nothing.
        with_scheduled: whether the key of a scheduled run or a heartbeat counts.

    """
    for key in keys:
        if isinstance(key, str):
            name = key.strip()
            segment = name.split(":", 2)[-1] if name.count(":") > 1 else name
            if segment.startswith(_DREAM_PREFIX):
                return DREAM
            if with_scheduled and _CRON_RUN.fullmatch(name.lower()):
                return CRON
            if with_scheduled and segment.endswith(":heartbeat"):
                return HEARTBEAT
    return ""


def excluded_sessions(index: Row) -> dict[str, str]:
    """Return the ids of the sessions to leave out, each with the reason.

    Args:
        index: the content of `sessions.json`: session key → entry.

    """
    found: dict[str, str] = {}
    for key in index:
        entry = mapping(index, key)
        if reason := _reason(key, index):
            file = PurePath(string(entry, "sessionFile")).name
            run = _CRON_RUN.fullmatch(key.strip().lower())
            # A scheduled run may also keep a copy under the id of the run.
            ids = (string(entry, "sessionId"), session_id_of(file), run[1] if run else "")
            found.update(dict.fromkeys(filter(None, ids), reason))
    return found


def _reason(key: str, index: Row) -> str:
    waiting = [key]
    visited: set[str] = set()
    while waiting and len(visited) < _MAX_GENERATIONS:
        current = waiting.pop()
        if current in visited:
            continue
        visited.add(current)
        if reason := reason_of_key(current):
            return reason
        entry = mapping(index, current)
        waiting += [parent for name in _PARENTS if (parent := string(entry, name))]
    return ""
