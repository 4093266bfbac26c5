"""A language model on loopback that does one thing: it searches memory and repeats what it is told.

It speaks the three formats that agents ask models in. An agent that gets its answer has started
Recollect, listed its tools, called one and handed the result back: the whole way there is.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

TOOL = "memory_search"
REPEATED = "Memory says: "
NO_TOOL = "There is no tool to search memory with."
SUMMARY = "They talked, and nobody wrote down about what."
"""What it says when Claude Code has it sum a conversation up."""
_SUMMING_UP = "CRITICAL: Respond with TEXT ONLY"


@dataclass(eq=False)
class Model:
    """A real HTTP server; `query` is what it searches for when it is asked anything."""

    query: str
    requests: list[dict[str, Any]] = field(default_factory=list)
    """The bodies of what it was asked, in order."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def tools(self) -> set[str]:
        """The names of all tools that it was offered."""
        return {name for body in self.requests for name in _tools(body)}

    def __enter__(self) -> Self:
        owner = self

        class Stream(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                del format, args

            def do_GET(self) -> None:
                self._send(json.dumps({"data": [], "models": [], "object": "list"}), "json")

            def do_POST(self) -> None:
                length = int(self.headers.get("content-length", 0))
                body = json.loads(self.rfile.read(length) or b"{}")
                kind = self.path.partition("?")[0].rsplit("/", 1)[-1]
                if kind not in _FORMATS:
                    self._send(json.dumps({"input_tokens": 1}), "json")
                    return
                owner.requests.append(body)
                events = "".join(_FORMATS[kind](body, owner.query))
                self._send(events, "event-stream" if body.get("stream") else "json")

            def _send(self, text: str, kind: str) -> None:
                raw = text.encode()
                self.send_response(200)
                major = "text" if kind == "event-stream" else "application"
                self.send_header("content-type", f"{major}/{kind}")
                self.send_header("content-length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

        class Server(ThreadingHTTPServer):
            daemon_threads = True

        self._server = Server(("127.0.0.1", 0), Stream)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True
        )
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5)


def _tools(body: dict[str, Any]) -> list[str]:
    names: list[str] = []
    for tool in body.get("tools") or []:
        name = tool.get("name") or (tool.get("function") or {}).get("name") or ""
        inner = [each.get("name", "") for each in tool.get("tools") or []]  # Codex groups them
        names += [f"{name}{each}" for each in inner] if inner else [name]
    return names


def _text(content: object) -> str:
    """Return the text of a message or tool result in any of the formats."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_text(each) for each in content)
    if isinstance(content, dict):
        return _text(content.get("text") or content.get("content") or "")
    return ""


def _event(shape: dict[str, Any], *, named: bool) -> str:
    head = f"event: {shape['type']}\n" if named else ""
    return f"{head}data: {json.dumps(shape)}\n\n"


def _messages(body: dict[str, Any], query: str) -> Iterator[str]:
    """Answer in the format of Anthropic's Messages."""
    last = body["messages"][-1]
    results = [
        block
        for block in (last["content"] if isinstance(last["content"], list) else [])
        if block.get("type") == "tool_result"
    ]
    tool = next((name for name in _tools(body) if name.endswith(TOOL)), None)
    block: dict[str, Any]
    delta: dict[str, Any]
    if _SUMMING_UP in _text(last["content"]):
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": SUMMARY}
    elif not results and tool:
        block = {"type": "tool_use", "id": "toolu_1", "name": tool, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps({"query": query})}
    else:
        told = REPEATED + _text(results) if results else NO_TOOL
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": told}
    reason = "tool_use" if block["type"] == "tool_use" else "end_turn"
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model", "m"),
        "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    if not body.get("stream"):
        done = {**block, "text": delta.get("text")} if reason == "end_turn" else block
        yield json.dumps({**message, "content": [done], "stop_reason": reason})
        return
    for shape in (
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage},
        {"type": "message_stop"},
    ):
        yield _event(shape, named=True)


def _completions(body: dict[str, Any], query: str) -> Iterator[str]:
    """Answer in the format of OpenAI's Chat Completions."""
    results = [each["content"] for each in body["messages"] if each["role"] == "tool"]
    tool = next((name for name in _tools(body) if name.endswith(TOOL)), None)
    message: dict[str, Any] = {"role": "assistant"}
    reason = "stop"
    if results:
        message["content"] = REPEATED + _text(results[-1])
    elif tool:
        call = {"name": tool, "arguments": json.dumps({"query": query})}
        message["tool_calls"] = [{"index": 0, "id": "call_1", "type": "function", "function": call}]
        reason = "tool_calls"
    else:
        message["content"] = NO_TOOL
    head = {"id": "c1", "created": 1, "model": body.get("model", "m")}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    if not body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": reason}
        yield json.dumps({**head, "object": "chat.completion", "choices": [choice], "usage": usage})
        return
    chunk = {**head, "object": "chat.completion.chunk"}
    first = {"index": 0, "delta": message, "finish_reason": None}
    final = {"index": 0, "delta": {}, "finish_reason": reason}
    for shape in ({**chunk, "choices": [first]}, {**chunk, "choices": [final], "usage": usage}):
        yield _event(shape, named=False)
    yield "data: [DONE]\n\n"


def _responses(body: dict[str, Any], query: str) -> Iterator[str]:
    """Answer in the format of OpenAI's Responses."""
    last = body["input"][-1] if isinstance(body["input"], list) else {}
    space, tool = _grouped(body)
    produced: dict[str, Any]
    if last.get("type") == "function_call_output":
        told = {"type": "output_text", "text": REPEATED + _text(last["output"]), "annotations": []}
        produced = {"type": "message", "id": "m1", "role": "assistant", "content": [told]}
    elif tool:
        produced = {
            "type": "function_call", "id": "f1", "call_id": "call_1", "name": tool,
            "arguments": json.dumps({"query": query}), **({"namespace": space} if space else {}),
        }  # fmt: skip
    else:
        told = {"type": "output_text", "text": NO_TOOL, "annotations": []}
        produced = {"type": "message", "id": "m1", "role": "assistant", "content": [told]}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    response = {"id": "r1", "object": "response", "status": "completed", "usage": usage}
    for shape in (
        {"type": "response.created", "response": {**response, "status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0, "item": produced},
        {"type": "response.output_item.done", "output_index": 0, "item": produced},
        {"type": "response.completed", "response": {**response, "output": [produced]}},
    ):
        yield _event(shape, named=True)


def _grouped(body: dict[str, Any]) -> tuple[str | None, str | None]:
    """Return the tool to search with, and the group it is in."""
    for tool in body.get("tools") or []:
        for each in tool.get("tools") or []:
            if str(each.get("name", "")).endswith(TOOL):
                return tool.get("name"), each["name"]
        if str(tool.get("name", "")).endswith(TOOL):
            return None, tool["name"]
    return None, None


_FORMATS = {"messages": _messages, "completions": _completions, "responses": _responses}
