"""Anthropic's messages.

Format: platform.claude.com/docs/en/api/messages, …/api/errors. Models and prices:
platform.claude.com/docs/en/models/haiku-5-5/overview, …/about-claude/pricing. Sampling parameters
are refused from Claude 4.7 on, and thinking, which counts into the limit of tokens, is on unless
disabled: …/models/haiku-5-5/migration-guide.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from recollect.providers.chat.base import Completion, Price
from recollect.providers.chat.remote import RemoteChat
from recollect.providers.chat.wire import ChatVendor, DeclinedError, count_of, section_of
from recollect.providers.remote.wire import Call

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from recollect.providers.chat.base import ChatOptions
    from recollect.providers.chat.wire import Ask

_VERSION = "2023-06-01"
_CUT = ("max_tokens", "model_context_window_exceeded")
_TAKES_TEMPERATURE = re.compile(r"^claude-(3|[a-z]+-4(-[0-6])?(-20[0-9]{6})?$)")
_THINKS_UNLESS_TOLD = re.compile(r"^claude-(haiku-5|opus-5(?!-5))")


def url_with_version(told: str) -> str:
    """Return an address that ends in the version: ANTHROPIC_BASE_URL leaves it to the client."""
    told = told.rstrip("/")
    return told if told.endswith("/v1") else f"{told}/v1"


ANTHROPIC_CHAT = ChatVendor(
    name="anthropic",
    base_url="https://api.anthropic.com/v1",
    default_model="claude-haiku-5-5",
    prices={
        # For prompts of up to 100,000 tokens, which ours are.
        "claude-haiku-5-5": Price(0.10, 0.50),
        "claude-haiku-4-5": Price(1.0, 5.0),
        "claude-sonnet-5-5": Price(2.0, 10.0),
        "claude-opus-5-5": Price(4.0, 20.0),
    },
    key_variable="ANTHROPIC_API_KEY",
    url_variable="ANTHROPIC_BASE_URL",
    url_of=url_with_version,
)


class AnthropicWire:
    """`POST /messages`."""

    def __init__(self, model: str) -> None:
        self._model = model

    @property
    def optional(self) -> Mapping[str, str]:
        """Return what one or the other model does not know."""
        return {"temperature": r"temperature", "thinking": r"thinking"}

    def headers(self, key: str | None) -> Mapping[str, str]:
        """Return the key in Anthropic's own header, and the version of the API."""
        version = {"anthropic-version": _VERSION}
        return {**version, "x-api-key": key} if key else version

    def ask(self, ask: Ask, *, without: AbstractSet[str]) -> Call:
        """Return the request."""
        body: dict[str, object] = {
            "model": self._model,
            "max_tokens": ask.max_tokens,
            "messages": [{"role": "user", "content": ask.prompt}],
        }
        if ask.system:
            body["system"] = ask.system
        if _TAKES_TEMPERATURE.match(self._model) and "temperature" not in without:
            body["temperature"] = min(ask.temperature, 1.0)
        if _THINKS_UNLESS_TOLD.match(self._model) and "thinking" not in without:
            body["thinking"] = {"type": "disabled"}
        return Call("messages", body)

    def read(self, answer: object) -> Completion:
        """Return the text among the blocks; a thought may stand in front of it."""
        blocks = answer["content"]  # type: ignore[index]  # a wrong shape raises, as agreed
        reason = answer.get("stop_reason")  # type: ignore[attr-defined]
        if reason == "refusal":
            raise DeclinedError("stop_reason refusal")
        usage = section_of(answer, "usage")
        return Completion(
            "".join(str(block["text"]) for block in blocks if block["type"] == "text"),
            count_of(
                usage, "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"
            ),
            count_of(usage, "output_tokens"),
            is_cut=reason in _CUT,
        )


def open_anthropic_chat(options: ChatOptions) -> RemoteChat:
    """Return the chat; nothing is asked yet."""
    model = options.model or ANTHROPIC_CHAT.default_model
    return RemoteChat(ANTHROPIC_CHAT, AnthropicWire(model), model=model, options=options)
