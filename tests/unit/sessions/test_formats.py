from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from recollect.sessions.find import format_of
from recollect.sessions.transcript import TranscriptFormat

if TYPE_CHECKING:
    from recollect.sessions.rows import Row


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"type": "session", "version": 3, "id": "s"}, TranscriptFormat.OPENCLAW),
        ({"type": "message", "message": {"role": "user"}}, TranscriptFormat.OPENCLAW),
        ({"type": "custom", "customType": "x"}, TranscriptFormat.OPENCLAW),
        ({"type": "user", "message": {"role": "user"}}, TranscriptFormat.CLAUDE_CODE),
        ({"type": "summary", "summary": "x", "leafUuid": "u"}, TranscriptFormat.CLAUDE_CODE),
        ({"type": "mode", "sessionId": "s"}, TranscriptFormat.CLAUDE_CODE),
        ({"type": "session_meta", "payload": {"id": "t"}}, TranscriptFormat.CODEX),
        ({"type": "response_item", "payload": {"type": "message"}}, TranscriptFormat.CODEX),
        ({"type": "message", "role": "user", "content": []}, TranscriptFormat.CODEX),
        ({"id": "t", "instructions": None}, TranscriptFormat.CODEX),
        ({"type": "file-history-snapshot"}, None),
        ({"type": ["user"]}, None),
        ({}, None),
    ],
)
def test_a_row_tells_the_format_if_it_can(row: Row, expected: TranscriptFormat | None) -> None:
    assert expected == format_of(row)
