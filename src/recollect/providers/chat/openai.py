"""OpenAI's chat completions, and every server that speaks the same format.

Format: developers.openai.com/api/reference/resources/chat. Models and prices:
developers.openai.com/api/docs/models/gpt-6-luna, …/models/gpt-5.6-luna, …/docs/pricing. What
developers.openai.com/api/docs/deprecations says of gpt-4o-mini: switched off on 14 January 2027,
replaced by gpt-6-luna. Models that reason take `max_completion_tokens` and no temperature, and
count their thoughts into the limit; where they can be told not to reason, they are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from recollect.providers.chat.base import Completion, Price
from recollect.providers.chat.remote import RemoteChat, is_own_address
from recollect.providers.chat.wire import ChatVendor, DeclinedError, count_of, section_of
from recollect.providers.openai import OPENAI
from recollect.providers.remote.wire import Call, bearer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from recollect.providers.chat.base import ChatOptions
    from recollect.providers.chat.wire import Ask

OPENAI_CHAT = ChatVendor(
    name=OPENAI.name,
    base_url=OPENAI.base_url,
    default_model="gpt-6-luna",
    prices={
        "gpt-6-luna": Price(0.10, 0.50),
        "gpt-6-sol": Price(2.0, 10.0),
        "gpt-5.6-luna": Price(0.20, 1.20),
        "gpt-5.4-nano": Price(0.20, 1.25),
        "gpt-4o-mini": Price(0.15, 0.60),
    },
    key_variable=OPENAI.key_variable,
    url_variable=OPENAI.url_variable,
)

_REASONS = re.compile(r"^(o[0-9]|gpt-[5-9](?!.*-chat))")
_EFFORTS = (
    (re.compile(r"^gpt-(5\.[1-9]|[6-9])"), "none"),
    (re.compile(r"^gpt-5(-|$)"), "minimal"),
    (re.compile(r"^o[0-9]"), "low"),
)
"""The least each family can be told to reason."""


class OpenAiChatWire:
    """`POST /chat/completions`."""

    def __init__(self, model: str, *, is_own: bool) -> None:
        self._model = model
        name = model.removeprefix("openai/")  # as gateways call it
        self._reasons = bool(_REASONS.match(name))
        # Compatible servers know the older field, and not all of them the newer one.
        self._limit = "max_completion_tokens" if is_own or self._reasons else "max_tokens"
        self._effort = next((word for rule, word in _EFFORTS if rule.match(name)), None)

    @property
    def optional(self) -> Mapping[str, str]:
        """Return what one or the other model or compatible server does not know."""
        return {
            "max_tokens": r"use '?max_completion_tokens",
            "temperature": r"temperature",
            "reasoning_effort": r"reasoning[_.]effort",
        }

    def headers(self, key: str | None) -> Mapping[str, str]:
        """Return the bearer token."""
        return bearer(key)

    def ask(self, ask: Ask, *, without: AbstractSet[str]) -> Call:
        """Return the request."""
        system = [{"role": "system", "content": ask.system}] if ask.system else []
        body: dict[str, object] = {
            "model": self._model,
            "messages": [*system, {"role": "user", "content": ask.prompt}],
        }
        limit = "max_completion_tokens" if "max_tokens" in without else self._limit
        body[limit] = ask.max_tokens
        if not self._reasons and "temperature" not in without:
            body["temperature"] = ask.temperature
        if self._reasons and self._effort and "reasoning_effort" not in without:
            body["reasoning_effort"] = self._effort
        return Call("chat/completions", body)

    def read(self, answer: object) -> Completion:
        """Return the first choice."""
        choice = answer["choices"][0]  # type: ignore[index]  # a wrong shape raises, as agreed
        message, reason = choice["message"], choice.get("finish_reason")
        if refusal := message.get("refusal"):
            raise DeclinedError(str(refusal))
        if reason == "content_filter":
            raise DeclinedError("finish_reason content_filter")
        usage = section_of(answer, "usage")
        return Completion(
            _text(message.get("content")),
            count_of(usage, "prompt_tokens"),
            count_of(usage, "completion_tokens"),
            is_cut=reason == "length",
        )


def _text(content: object) -> str:
    """Return the text; some compatible servers write it in parts."""
    if isinstance(content, list):
        return "".join(str(part["text"]) for part in content if part.get("type") == "text")
    if content is None or isinstance(content, str):
        return content or ""
    raise TypeError("the content is no text")


def open_openai_chat(options: ChatOptions) -> RemoteChat:
    """Return the chat; nothing is asked yet."""
    model = options.model or OPENAI_CHAT.default_model
    wire = OpenAiChatWire(model, is_own=is_own_address(OPENAI_CHAT, options))
    return RemoteChat(OPENAI_CHAT, wire, model=model, options=options)
