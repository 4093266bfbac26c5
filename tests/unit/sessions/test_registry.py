from __future__ import annotations

import pytest

from recollect.sessions.openclaw import (
    CRON,
    DREAM,
    HEARTBEAT,
    excluded_sessions,
    exclusion_of,
)

CRON_KEY = "agent:main:cron:nightly:run:r-1"


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (CRON_KEY, CRON),
        ("Agent:Main:Cron:Nightly:Run:R-1", CRON),
        ("agent:main:cron:nightly", ""),
        ("agent:main:dreaming-narrative-7", DREAM),
        ("dreaming-narrative-7", DREAM),
        ("agent:main:main:heartbeat", HEARTBEAT),
        ("agent:main:telegram:direct:1", ""),
        ("agent:main:main", ""),
        (None, ""),
        (7, ""),
    ],
)
def test_a_key_tells_whether_anybody_held_the_session(key: object, expected: str) -> None:
    assert expected == exclusion_of(key)


def test_a_session_is_found_by_its_id_its_file_and_its_run() -> None:
    index = {
        CRON_KEY: {"sessionId": "s-1", "sessionFile": "/x/sessions/f-1.jsonl"},
        "agent:main:main": {"sessionId": "s-2"},
    }

    assert {"s-1": CRON, "f-1": CRON, "r-1": CRON} == excluded_sessions(index)


def test_a_session_is_what_the_one_that_spawned_it_is() -> None:
    index = {
        CRON_KEY: {"sessionId": "s-1"},
        "agent:main:subagent:a": {"sessionId": "s-2", "spawnedBy": CRON_KEY},
        "agent:main:subagent:b": {"sessionId": "s-3", "parentSessionKey": "agent:main:subagent:a"},
        "agent:main:subagent:c": {"sessionId": "s-4", "spawnedBy": "agent:main:main"},
        "agent:main:main": {"sessionId": "s-5"},
    }

    assert {"s-1", "s-2", "s-3", "r-1"} == excluded_sessions(index).keys()


def test_sessions_that_spawn_each_other_end_somewhere() -> None:
    index = {
        "agent:main:a": {"sessionId": "s-1", "spawnedBy": "agent:main:b"},
        "agent:main:b": {"sessionId": "s-2", "spawnedBy": "agent:main:a"},
        "agent:main:c": "not an entry",
    }

    assert {} == excluded_sessions(index)
