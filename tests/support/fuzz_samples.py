"""Valid inputs of every JSON format that is fuzzed, to be changed in places."""

from __future__ import annotations

import json
from pathlib import Path

from recollect.sessions.transcript import TranscriptFormat

_EXPORTS = Path(__file__).parent.parent / "fixtures" / "exports"
CONVERSATIONS = [
    entry
    for name in ("chatgpt", "claude")
    for entry in json.loads((_EXPORTS / name / "conversations.json").read_text(encoding="utf-8"))
]
_MOMENT = "2026-02-01T09:30:00.000Z"
ROWS: dict[TranscriptFormat, list[dict[str, object]]] = {
    TranscriptFormat.OPENCLAW: [
        {"type": "session", "id": "s1", "cwd": "/home/ada/notes", "timestamp": _MOMENT},
        {"type": "session_info", "name": "Boats"},
        {"type": "message", "id": "m1", "parentId": None, "timestamp": _MOMENT, "message": {
            "role": "user", "timestamp": 1769938200000, "provenance": {"kind": "external_user"},
            "content": [{"type": "text", "text": "[Telegram Ada id:1 2026-02-01] Which boat?"}]}},
        {"type": "message", "message": {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "[[reply]] Green."}]}},
        {"type": "custom", "customType": "x", "data": {"sessionKey": "agent:main", "runId": "r"}},
        {"type": "reset", "timestamp": _MOMENT},
    ],
    TranscriptFormat.CLAUDE_CODE: [
        {"type": "summary", "summary": "Boats", "leafUuid": "u2"},
        {"type": "user", "uuid": "u1", "parentUuid": None, "sessionId": "s", "cwd": "/home/ada",
         "timestamp": _MOMENT, "isSidechain": False, "isMeta": False, "origin": {"kind": "human"},
         "message": {"role": "user", "content": "<command-name>/x</command-name>Which boat?"}},
        {"type": "assistant", "uuid": "u2", "sessionId": "s", "timestamp": _MOMENT, "message": {
            "role": "assistant", "model": "claude",
            "content": [{"type": "text", "text": "Green."}]}},
        {"type": "attachment", "attachment": {"type": "queued_command", "prompt": "and tea?"}},
        {"type": "custom-title", "customTitle": "Tea"}, {"type": "ai-title", "aiTitle": "Tea"},
    ],
    TranscriptFormat.CODEX: [
        {"type": "session_meta", "timestamp": _MOMENT, "payload": {
            "id": "s", "cwd": "/home/ada", "source": "cli", "timestamp": _MOMENT}},
        {"type": "event_msg", "timestamp": _MOMENT, "payload": {
            "type": "user_message", "message": "Which boat?"}},
        {"type": "response_item", "payload": {"type": "message", "role": "assistant",
            "content": [{"type": "output_text", "text": "Green."}]}},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Tea?"}]},
        {"id": "s", "instructions": None, "timestamp": _MOMENT},
    ],
    TranscriptFormat.CHATGPT: [
        {"export": "chatgpt", "id": "c", "title": "Boats", "create_time": 1769938200.5},
        {"id": "m", "author": {"role": "user"}, "create_time": 1769938200.5, "recipient": "all",
         "metadata": {"is_visually_hidden_from_conversation": False},
         "content": {"content_type": "text", "parts": ["Which boat?", {"asset_pointer": "x"}]}},
        {"id": "n", "author": {"role": "assistant"}, "recipient": "all", "metadata": {},
         "content": {"content_type": "multimodal_text",
                     "parts": ["Green. \ue200cite\ue202x\ue201"]}},
    ],
    TranscriptFormat.CLAUDE_AI: [
        {"export": "claude.ai", "uuid": "c", "name": "Boats", "created_at": _MOMENT},
        {"uuid": "m", "sender": "human", "created_at": _MOMENT, "text": "Which boat?",
         "content": [{"type": "text", "text": "Which boat?"}]},
        {"uuid": "n", "sender": "assistant", "text": "Green.", "created_at": _MOMENT},
    ],
}  # fmt: skip
INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18", "capabilities": {"roots": {"listChanged": True}},
        "clientInfo": {"name": "agent", "version": "1"}, "_meta": {},
    },
}  # fmt: skip
DISCOVER = {
    "jsonrpc": "2.0", "id": "a", "method": "server/discover",
    "params": {"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-06-18",
        "io.modelcontextprotocol/clientInfo": {"name": "agent", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }},
}  # fmt: skip
CALL = {
    "jsonrpc": "2.0", "id": 2, "method": "tools/call",
    "params": {"name": "memory_search", "arguments": {"query": "boat", "maxResults": 3}},
}  # fmt: skip
OPENCLAW = {
    "agents": {
        "defaults": {"workspace": "~/notes", "memorySearch": {
            "provider": "gemini", "model": "gemini-embedding-001", "outputDimensionality": 768,
            "remote": {"apiKey": "${KEY}", "baseUrl": "https://x", "batch": {"enabled": True}},
            "extraPaths": ["../team", {"path": "/srv/notes/", "pattern": "**/*.md"}],
            "sources": ["memory", "sessions"], "experimental": {"sessionMemory": True},
            "query": {"maxResults": 8, "minScore": 0.4, "hybrid": {
                "enabled": True, "vectorWeight": 0.6, "textWeight": 0.4, "candidateMultiplier": 6,
                "mmr": {"enabled": True, "lambda": 0.8},
                "temporalDecay": {"enabled": True, "halfLifeDays": 14}}},
            "chunking": {"tokens": 300, "overlap": 60}, "cache": {"enabled": False},
            "sync": {"onSearch": False, "watchDebounceMs": 2000, "intervalMinutes": 5},
        }},
        "list": [{"id": "main", "default": True, "memorySearch": {"provider": "openai"}}],
        "entries": {"other": {"workspace": "/srv", "memory": {"search": {}}}},
    },
    "memory": {"backend": "qmd", "citations": "auto", "search": {"provider": "local"},
               "qmd": {"paths": [{"path": "docs", "pattern": "*.md"}],
                       "sessions": {"enabled": True}}},
    "models": {"providers": {"openai": {"apiKey": "x"}}}, "session": {"scope": "per-sender"},
}  # fmt: skip
FACT = {
    "id": "f-0123456789abc", "text": "The boat is green.", "category": "other", "entity": "boat",
    "key": "colour", "value": "green", "tags": ["boats"], "scope": "user:ada",
    "decayClass": "stable", "confidence": 0.9, "validFrom": _MOMENT, "validUntil": None,
    "expires": None, "supersedes": [], "supersededBy": None, "provenance": "user",
    "source": None, "created": _MOMENT,
}  # fmt: skip
CASE = {
    "query": "Which boat?", "expected": ["memory/a.md:1-2", {"path": "b.md", "lines": [1, 2]}],
    "kind": "fact", "since": "2026-01-01", "before": "2026-02-01", "path": "memory/", "date": None,
}  # fmt: skip
EXTRACTED = {
    "text": "The boat is green.", "category": "other", "entity": "boat", "key": "colour",
    "value": "green", "quote": "green boat", "confidence": 0.9, "lines": [1, 2], "tags": ["boats"],
}  # fmt: skip
AGENT_SETTINGS = {
    "theme": "dark", "mcp_servers": {"other": {"command": "x", "args": []}}, "hooks": {"Stop": []},
}  # fmt: skip
