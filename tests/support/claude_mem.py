"""A database as claude-mem keeps it: one session, with an observation and a summary."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING

import apsw

if TYPE_CHECKING:
    from pathlib import Path

# Its tables in version 13.15, without what only it uses.
SCHEMA = """
CREATE TABLE sdk_sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, content_session_id TEXT NOT NULL,
    memory_session_id TEXT UNIQUE, project TEXT NOT NULL, user_prompt TEXT,
    started_at TEXT NOT NULL, started_at_epoch INTEGER NOT NULL
);
CREATE TABLE observations (
    id INTEGER PRIMARY KEY AUTOINCREMENT, memory_session_id TEXT NOT NULL, project TEXT NOT NULL,
    text TEXT, type TEXT NOT NULL, title TEXT, subtitle TEXT, facts TEXT, narrative TEXT,
    concepts TEXT, files_read TEXT, files_modified TEXT, prompt_number INTEGER,
    discovery_tokens INTEGER DEFAULT 0, created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL,
    content_hash TEXT, metadata TEXT,
    FOREIGN KEY (memory_session_id) REFERENCES sdk_sessions (memory_session_id)
);
CREATE TABLE session_summaries (
    id INTEGER PRIMARY KEY AUTOINCREMENT, memory_session_id TEXT NOT NULL, project TEXT NOT NULL,
    request TEXT, investigated TEXT, learned TEXT, completed TEXT, next_steps TEXT,
    files_read TEXT, files_edited TEXT, notes TEXT, prompt_number INTEGER,
    discovery_tokens INTEGER DEFAULT 0, created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL,
    FOREIGN KEY (memory_session_id) REFERENCES sdk_sessions (memory_session_id)
);
"""
SESSION = "8d3f6f1e-0000-4000-8000-00000000000a"
MORNING = 1_767_261_600_000  # 2026-01-01 10:00 UTC, in milliseconds
OBSERVED = """
    INSERT INTO observations (memory_session_id, project, type, title, facts, narrative,
        created_at, created_at_epoch) VALUES (?, 'lighthouse', 'discovery', ?, ?, ?, '', ?)
"""
SUMMED_UP = """
    INSERT INTO session_summaries (memory_session_id, project, request, learned, next_steps,
        created_at, created_at_epoch) VALUES (?, 'lighthouse', ?, ?, ?, '', ?)
"""


def make_database(folder: Path) -> Path:
    """Return the database in a folder of claude-mem."""
    folder.mkdir(parents=True)
    facts = json.dumps(["The tank holds forty litres.", "The key is sk-ant-api03-" + "a1B2" * 23])
    with closing(apsw.Connection(str(folder / "claude-mem.db"))) as connection:
        connection.pragma("journal_mode", "wal")
        connection.execute(SCHEMA)
        connection.execute(OBSERVED, (SESSION, "The lamp", facts, "It burns colza oil.", MORNING))
        connection.execute(
            SUMMED_UP, (SESSION, "Which oil?", "Colza is best.", "Trim the wick.", MORNING + 60_000)
        )
    return folder / "claude-mem.db"
