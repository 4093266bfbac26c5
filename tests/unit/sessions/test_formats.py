from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from recollect.sessions.formats import format_of
from recollect.sessions.turn import Format

if TYPE_CHECKING:
    from recollect.sessions.rows import Row


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"type": "session", "version": 3, "id": "s"}, Format.OPENCLAW),
        ({"type": "message", "message": {"role": "user"}}, Format.OPENCLAW),
        ({"type": "custom", "customType": "x"}, Format.OPENCLAW),
        ({"type": "user", "message": {"role": "user"}}, Format.CLAUDE_CODE),
        ({"type": "summary", "summary": "x", "leafUuid": "u"}, Format.CLAUDE_CODE),
        ({"type": "mode", "sessionId": "s"}, Format.CLAUDE_CODE),
        ({"type": "session_meta", "payload": {"id": "t"}}, Format.CODEX),
        ({"type": "response_item", "payload": {"type": "message"}}, Format.CODEX),
        ({"type": "message", "role": "user", "content": []}, Format.CODEX),
        ({"id": "t", "instructions": None}, Format.CODEX),
        ({"type": "file-history-snapshot"}, None),
        ({"type": ["user"]}, None),
        ({}, None),
    ],
)
def test_a_row_tells_the_format_if_it_can(row: Row, expected: Format | None) -> None:
    assert expected == format_of(row)
