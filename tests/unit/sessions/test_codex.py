from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from recollect.sessions.codex import CodexReader
from recollect.sessions.source import read_lines
from recollect.sessions.transcript import SIDE_AGENT, Speaker, Transcript

META = {
    "timestamp": "2026-02-01T10:00:00.000Z",
    "type": "session_meta",
    "payload": {"id": "t-1", "timestamp": "2026-02-01T09:59:59.000Z", "cwd": "/home/ada/garden"},
}


def event(kind: str, message: str) -> dict[str, Any]:
    payload = {"type": kind, "message": message}
    return {"timestamp": "2026-02-01T10:00:01Z", "type": "event_msg", "payload": payload}


def response(role: str, *words: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": each} for each in words]
    payload = {"type": "message", "role": role, "content": content}
    return {"timestamp": "2026-02-01T10:00:01Z", "type": "response_item", "payload": payload}


def read(*rows: object) -> Transcript:
    lines = [each if isinstance(each, str) else json.dumps(each) for each in rows]
    return read_lines(enumerate(lines, 1), CodexReader())


def said(*rows: object) -> list[tuple[int, str]]:
    return [(turn.line, turn.text) for turn in read(*rows).turns]


def test_the_first_row_tells_of_the_session() -> None:
    transcript = read(
        META, {**META, "payload": {"id": "parent", "timestamp": "2025-01-01T00:00:00Z"}}
    )

    assert datetime(2026, 2, 1, 9, 59, 59, tzinfo=UTC) == transcript.started


def test_a_message_written_twice_is_kept_once_where_it_first_stands() -> None:
    assert [(2, "List the beds"), (4, "Three beds")] == said(
        META,
        event("user_message", "List the beds"),
        response("user", "List the beds"),
        response("assistant", "Three beds"),
        event("agent_message", "Three beds"),
    )


def test_a_message_said_twice_is_kept_twice() -> None:
    assert [(1, "go on"), (3, "Done"), (5, "go on"), (7, "Done")] == said(
        event("user_message", "go on"),
        response("user", "go on"),
        event("agent_message", "Done"),
        response("assistant", "Done"),
        event("user_message", "go on"),
        response("user", "go on"),
        response("assistant", "Done"),
        event("agent_message", "Done"),
    )


def test_a_message_written_only_once_is_kept() -> None:
    assert [(1, "only an event"), (2, "only an item")] == said(
        event("user_message", "only an event"), response("assistant", "only an item")
    )


def test_user_and_assistant_may_say_the_same() -> None:
    transcript = read(event("user_message", "Hello"), response("assistant", "Hello"))

    assert [Speaker.USER, Speaker.ASSISTANT] == [turn.speaker for turn in transcript.turns]


@pytest.mark.parametrize(
    "dropped",
    [
        response("user", "<environment_context>\n<cwd>/x</cwd>\n</environment_context>"),
        response("user", "<user_instructions>Be brief.</user_instructions>"),
        response("user", "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nx\n</INSTRUCTIONS>"),
        response("user", "# AGENTS.md instructions for /x\n\nno end"),
        response("user", "<turn_aborted>x</turn_aborted>"),
        response("developer", "<permissions instructions>x</permissions instructions>"),
        response("system", "You are Codex."),
        event("agent_reasoning", "**Thinking**"),
        event("token_count", "12"),
        {"type": "response_item", "payload": {"type": "reasoning", "summary": []}},
        {"type": "response_item", "payload": {"type": "function_call", "name": "x"}},
        {"type": "response_item", "payload": {"type": "function_call_output", "output": "x"}},
        {"type": "compacted", "payload": {"message": "A summary"}},
        {"type": "turn_context", "payload": {"cwd": "/x"}},
        {"type": "event_msg", "payload": {"type": "user_message", "message": 7}},
        {"type": "response_item"},
    ],
)
def test_what_nobody_said_is_dropped(dropped: dict[str, Any]) -> None:
    assert [(1, "before")] == said(event("user_message", "before"), dropped)


def test_the_prompt_is_cut_out_of_what_the_editor_adds() -> None:
    prompt = "# Context from my IDE setup:\n\n- a.py\n\n## My request for Codex:\nFix it"

    assert [(1, "Fix it")] == said(event("user_message", prompt), response("user", prompt))


def test_injected_blocks_beside_the_prompt_are_dropped() -> None:
    rules = "# AGENTS.md instructions for /x\n<INSTRUCTIONS>y</INSTRUCTIONS>\nand my words"
    context = "<environment_context>x</environment_context>"

    assert [(1, "and my words more words")] == said(response("user", rules, context, "more words"))


def test_instructions_the_user_writes_are_the_users() -> None:
    words = "<INSTRUCTIONS>Write a poem</INSTRUCTIONS>"

    assert [(1, words)] == said(event("user_message", words))


def test_a_rollout_without_envelopes_is_read() -> None:
    rows = (
        {"id": "t-0", "timestamp": "2025-06-01T10:00:00Z", "instructions": None},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
    )

    assert [(3, "Hi")] == said(*rows)
    assert datetime(2025, 6, 1, 10, tzinfo=UTC) == read(*rows).started


def test_a_side_agents_own_conversation_is_excluded() -> None:
    meta = {**META, "payload": {"id": "t-2", "source": {"subagent": "review"}}}

    assert SIDE_AGENT == read(meta, event("user_message", "Review it")).excluded
    assert "" == read({**META, "payload": {"id": "t-3", "source": "cli"}}).excluded


def test_unreadable_lines_are_skipped_but_counted_as_lines() -> None:
    transcript = read("{", "", event("user_message", "Still here"))

    assert [3] == [turn.line for turn in transcript.turns]


def test_secrets_are_out_of_what_is_said_once_or_twice() -> None:
    key = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"

    assert [(1, "use ghp_ab…6789")] == said(
        event("user_message", f"use {key}"), response("user", f"use {key}")
    )
