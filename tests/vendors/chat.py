"""The vendors' chat endpoints on loopback: scripted answers in each one's own format.

OpenAI: developers.openai.com/api/reference/resources/chat. Anthropic:
platform.claude.com/docs/en/api/messages, …/api/errors. Gemini: ai.google.dev/api/generate-content.
Ollama: docs.ollama.com/api/chat. Each refuses what the documentation says is refused, if it is
served with `route=strict`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.vendors.gemini import GeminiFormat
from tests.vendors.ollama import OllamaFormat
from tests.vendors.openai import OpenAiFormat
from tests.vendors.server import VendorServer
from tests.vendors.strict import strict

from recollect.providers.keys import Variables
from recollect.providers.options import ChatOptions
from recollect.providers.registry import open_chat

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.vendors.server import Fault, Request
    from tests.vendors.strict import Refused

    from recollect.providers.base import Chat

KEY = "sk-chat/with+signs=and-1234567890"
"""With characters that a URL would write in another way."""


@dataclass(frozen=True)
class Reply:
    """What a model says, in no vendor's words."""

    text: str = ""
    is_cut: bool = False
    is_refusal: bool = False
    thought: str = ""
    """What it thinks before, where the format shows it."""
    input_tokens: int | None = 120
    output_tokens: int | None = 30


@dataclass
class ChatFormat:
    """What the formats share: the script says for each prompt what the model answers."""

    script: Callable[[str], Reply | str] = lambda _prompt: "a likely answer to the question"

    def reply(self, request: Request) -> Reply:
        said = self.script(self.prompt(request))
        return Reply(said) if isinstance(said, str) else said

    def prompt(self, request: Request) -> str:
        raise NotImplementedError

    def system(self, request: Request) -> str | None:
        raise NotImplementedError

    def texts(self, request: Request) -> list[str]:
        return [self.prompt(request)]

    def dimensions(self, request: Request) -> int:
        del request
        return 1

    def answer(self, request: Request, vectors: list[list[float]]) -> object:
        del vectors
        return self.shape(request, self.reply(request))

    def shape(self, request: Request, reply: Reply) -> object:
        raise NotImplementedError

    def error(self, status: int, message: str) -> object:
        raise NotImplementedError

    def is_authorised(self, request: Request, key: str | None) -> bool:
        raise NotImplementedError


def _user_message(request: Request, role: str) -> str | None:
    messages: Any = request.body["messages"]
    return next((message["content"] for message in messages if message["role"] == role), None)


class OpenAiChatFormat(ChatFormat):
    def prompt(self, request: Request) -> str:
        return _user_message(request, "user") or ""

    def system(self, request: Request) -> str | None:
        return _user_message(request, "system")

    def shape(self, request: Request, reply: Reply) -> object:
        shape: dict[str, object] = {
            "id": "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
            "object": "chat.completion",
            "created": 1790000000,
            "model": request.body["model"],
            "choices": [
                {
                    "index": 0,
                    "message": {
                        "role": "assistant",
                        "content": None if reply.is_refusal else reply.text,
                        "refusal": "I can't help with that." if reply.is_refusal else None,
                        "annotations": [],
                    },
                    "logprobs": None,
                    "finish_reason": "length" if reply.is_cut else "stop",
                }
            ],
        }
        if reply.input_tokens is not None and reply.output_tokens is not None:
            shape["usage"] = {
                "prompt_tokens": reply.input_tokens,
                "completion_tokens": reply.output_tokens,
                "total_tokens": reply.input_tokens + reply.output_tokens,
            }
        return shape

    def error(self, status: int, message: str) -> object:
        return OpenAiFormat().error(status, message)

    def is_authorised(self, request: Request, key: str | None) -> bool:
        return key is None or request.headers.get("authorization") == f"Bearer {key}"

    def refusal(self, request: Request) -> Refused | None:
        body = request.body
        if not request.path.endswith("/chat/completions"):
            return 404, f"Invalid URL (POST {request.path})"
        if "messages" not in body or "model" not in body:
            return 400, "Missing required parameter: 'messages'."
        if re.match(r"gpt-[56]|thinker", str(body["model"])):
            if "max_tokens" in body:
                return 400, (
                    "Unsupported parameter: 'max_tokens' is not supported with this model. "
                    "Use 'max_completion_tokens' instead."
                )
            if body.get("temperature", 1) != 1:
                return 400, (
                    f"Unsupported value: 'temperature' does not support {body['temperature']} with "
                    "this model. Only the default (1) value is supported."
                )
        return None


class AnthropicFormat(ChatFormat):
    def prompt(self, request: Request) -> str:
        return _user_message(request, "user") or ""

    def system(self, request: Request) -> str | None:
        system = request.body.get("system")
        return None if system is None else str(system)

    def shape(self, request: Request, reply: Reply) -> object:
        thought = {"type": "thinking", "thinking": reply.thought, "signature": "EqQBCgIYAhIM"}
        reason = "refusal" if reply.is_refusal else "max_tokens" if reply.is_cut else "end_turn"
        shape: dict[str, object] = {
            "id": "msg_013Zva2CMHLNnXjNJJKqJ2EF",
            "type": "message",
            "role": "assistant",
            "model": request.body["model"],
            "content": [
                *([thought] if reply.thought else []),
                *([{"type": "text", "text": reply.text}] if reply.text else []),
            ],
            "stop_reason": reason,
            "stop_sequence": None,
        }
        if reply.input_tokens is not None:
            shape["usage"] = {
                "input_tokens": reply.input_tokens - 20,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 20,
                "output_tokens": reply.output_tokens,
            }
        return shape

    def error(self, status: int, message: str) -> object:
        kinds = {
            400: "invalid_request_error",
            401: "authentication_error",
            402: "billing_error",
            403: "permission_error",
            404: "not_found_error",
            413: "request_too_large",
            429: "rate_limit_error",
            529: "overloaded_error",
        }
        kind = kinds.get(status, "api_error")
        return {
            "type": "error",
            "error": {"type": kind, "message": message},
            "request_id": "req_011CSHoEeqs5C35K2UUqR7Fy",
        }

    def is_authorised(self, request: Request, key: str | None) -> bool:
        return key is None or request.headers.get("x-api-key") == key

    def refusal(self, request: Request) -> Refused | None:
        body = request.body
        if not request.path.endswith("/v1/messages"):
            return 404, "Not found"
        if request.headers.get("anthropic-version") != "2023-06-01":
            return 400, "anthropic-version: header is required"
        if missing := [name for name in ("model", "max_tokens", "messages") if name not in body]:
            return 400, f"{missing[0]}: Field required"
        is_late = re.match(r"claude-[a-z]+-(5|4-[7-9])", str(body["model"]))
        if "temperature" in body and is_late:
            return 400, "`temperature` is deprecated for this model."
        return None


class GeminiChatFormat(ChatFormat):
    def prompt(self, request: Request) -> str:
        contents: Any = request.body["contents"]
        text: str = contents[-1]["parts"][0]["text"]
        return text

    def system(self, request: Request) -> str | None:
        system: Any = request.body.get("systemInstruction")
        return system["parts"][0]["text"] if system else None

    def shape(self, request: Request, reply: Reply) -> object:
        shape: dict[str, object] = {
            "modelVersion": request.path.rpartition("/")[2].partition(":")[0],
            "responseId": "fI2aaMzTN5K1jMcPq7ad0A8",
        }
        if reply.input_tokens is not None and reply.output_tokens is not None:
            shape["usageMetadata"] = {
                "promptTokenCount": reply.input_tokens,
                "candidatesTokenCount": reply.output_tokens - 10,
                "thoughtsTokenCount": 10,
                "totalTokenCount": reply.input_tokens + reply.output_tokens,
            }
        if reply.is_refusal:
            return {**shape, "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}
        parts = [{"text": reply.thought, "thought": True}] if reply.thought else []
        parts += [{"text": reply.text}] if reply.text else []
        candidate = {
            "content": {"role": "model", **({"parts": parts} if parts else {})},
            "finishReason": "MAX_TOKENS" if reply.is_cut else "STOP",
            "index": 0,
        }
        return {**shape, "candidates": [candidate]}

    def error(self, status: int, message: str) -> object:
        return GeminiFormat().error(status, message)

    def is_authorised(self, request: Request, key: str | None) -> bool:
        return key is None or request.headers.get("x-goog-api-key") == key

    def refusal(self, request: Request) -> Refused | None:
        if not re.search(r"/models/[^/:]+:generateContent$", request.path):
            return 404, f"no method at {request.path}"
        unknown = set(request.body) - {"contents", "generationConfig", "systemInstruction"}
        return (400, f"Unknown name {unknown.pop()!r}: Cannot find field.") if unknown else None


class OllamaChatFormat(ChatFormat):
    def prompt(self, request: Request) -> str:
        return _user_message(request, "user") or ""

    def system(self, request: Request) -> str | None:
        return _user_message(request, "system")

    def shape(self, request: Request, reply: Reply) -> object:
        message = {"role": "assistant", "content": reply.text}
        if reply.thought:
            message["thinking"] = reply.thought
        shape: dict[str, object] = {
            "model": request.body["model"],
            "created_at": "2026-11-15T10:00:00.000000Z",
            "message": message,
            "done_reason": "length" if reply.is_cut else "stop",
            "done": True,
            "total_duration": 5191566416,
        }
        if reply.input_tokens is not None:
            shape |= {"prompt_eval_count": reply.input_tokens, "eval_count": reply.output_tokens}
        return shape

    def error(self, status: int, message: str) -> object:
        return OllamaFormat().error(status, message)

    def is_authorised(self, request: Request, key: str | None) -> bool:
        return key is None or request.headers.get("authorization") == f"Bearer {key}"

    def refusal(self, request: Request) -> Refused | None:
        if not request.path.endswith("/api/chat"):
            return 404, "404 page not found"
        if request.body.get("stream") is not False:
            return 400, "this stand-in does not stream"
        return None


@dataclass(frozen=True)
class KnownChat:
    """One vendor, its loopback format, and what its documentation promises."""

    name: str
    format: Callable[..., ChatFormat]
    path: str
    """Of the base URL."""
    variable: str
    header: tuple[str, str]
    limit_of: Callable[[Mapping[str, Any]], object]
    """Where the most tokens stand in a request."""
    spent: tuple[int, str]
    """How it says that the account has nothing left."""
    unknown_model: tuple[int, str]
    can_refuse: bool = True
    can_think: bool = True
    options: Mapping[str, object] = field(default_factory=dict)

    def open(self, url: str | None, *, key: str | None = KEY, **changes: object) -> Chat:
        """Open the chat for a server, with the key in the vendor's own variable."""
        environ = {} if key is None else {self.variable: key}
        base: dict[str, Any] = {
            "provider": self.name,
            "base_url": None if url is None else url + self.path,
            "api_key": None if url is None else f"env:{self.variable}",
            "variables": Variables(environ),
        }
        return open_chat(ChatOptions(**{**base, **changes}))


KNOWN_CHATS = (
    KnownChat(
        "openai",
        OpenAiChatFormat,
        "/v1",
        "OPENAI_API_KEY",
        ("authorization", "Bearer "),
        lambda body: body.get("max_completion_tokens", body.get("max_tokens")),
        (429, "You exceeded your current quota: monthly spend limit reached."),
        (404, "The model `nope` does not exist or you do not have access to it."),
        can_think=False,
    ),
    KnownChat(
        "anthropic",
        AnthropicFormat,
        "/v1",
        "ANTHROPIC_API_KEY",
        ("x-api-key", ""),
        lambda body: body["max_tokens"],
        (400, "Your credit balance is too low to access the Anthropic API."),
        (404, "model: nope not found"),
    ),
    KnownChat(
        "gemini",
        GeminiChatFormat,
        "/v1beta",
        "GEMINI_API_KEY",
        ("x-goog-api-key", ""),
        lambda body: body["generationConfig"]["maxOutputTokens"],
        (402, "Your prepayment credits are depleted."),
        (404, "models/nope is not found for API version v1beta."),
    ),
    KnownChat(
        "ollama",
        OllamaChatFormat,
        "",
        "OLLAMA_API_KEY",
        ("authorization", "Bearer "),
        lambda body: body["options"]["num_predict"],
        (402, "your account has no usage left"),
        (404, "model 'nope' not found"),
        can_refuse=False,
    ),
)


def chat_server(
    known: KnownChat,
    script: Callable[[str], Reply | str],
    *faults: Fault,
    always: Fault | None = None,
) -> VendorServer:
    """Return a server, not yet started; faults stand in for its first answers, or for all."""

    def fault_of(number: int, _request: Request) -> Fault | None:
        return faults[number - 1] if number <= len(faults) else always

    return VendorServer(known.format(script), key=KEY, script=fault_of, route=strict)
