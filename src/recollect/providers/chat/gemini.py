"""Google's Gemini: generating content.

Format: ai.google.dev/api/generate-content. Thinking: ai.google.dev/gemini-api/docs/thinking; its
tokens count into the limit. Prices: ai.google.dev/gemini-api/docs/pricing. The default model thinks
as little as it can by itself and ignores a temperature:
docs.cloud.google.com/gemini-enterprise-agent-platform/models/gemini/3-5-flash-lite.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from recollect.providers.chat.base import Completion, Price
from recollect.providers.chat.remote import RemoteChat
from recollect.providers.chat.wire import ChatVendor, DeclinedError, count_of, section_of
from recollect.providers.gemini import GEMINI
from recollect.providers.remote.wire import Call

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from recollect.providers.chat.base import ChatOptions
    from recollect.providers.chat.wire import Ask

GEMINI_CHAT = ChatVendor(
    name=GEMINI.name,
    base_url=GEMINI.base_url,
    default_model="gemini-3.5-flash-lite",
    prices={
        "gemini-3.5-flash-lite": Price(0.30, 2.50),
        "gemini-3.1-flash-lite": Price(0.25, 1.50),
        "gemini-2.5-flash-lite": Price(0.10, 0.40),
    },
    key_variable=GEMINI.key_variable,
)

_ANSWERED = ("STOP", "MAX_TOKENS", "FINISH_REASON_UNSPECIFIED", None)
"""Every other reason to finish is a filter's or a failure of the model."""
_LEAST_THINKING: tuple[tuple[re.Pattern[str], Mapping[str, object]], ...] = (
    (re.compile(r"^gemini-2\.5-flash"), {"thinkingBudget": 0}),
    (re.compile(r"^gemini-[3-9].*-lite"), {}),
    (re.compile(r"^gemini-[3-9]"), {"thinkingLevel": "low"}),
)


class GeminiChatWire:
    """`POST /models/{model}:generateContent`."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._thinking = next((how for rule, how in _LEAST_THINKING if rule.match(model)), {})

    @property
    def optional(self) -> Mapping[str, str]:
        """Return what one or the other model does not know."""
        return {"temperature": r"temperature", "thinkingConfig": r"think"}

    def headers(self, key: str | None) -> Mapping[str, str]:
        """Return the key in Google's own header: in the URL it would end up in logs."""
        return {"x-goog-api-key": key} if key else {}

    def ask(self, ask: Ask, *, without: AbstractSet[str]) -> Call:
        """Return the request."""
        settings: dict[str, object] = {"maxOutputTokens": ask.max_tokens}
        if "temperature" not in without:
            settings["temperature"] = ask.temperature
        if self._thinking and "thinkingConfig" not in without:
            settings["thinkingConfig"] = self._thinking
        body: dict[str, object] = {
            "contents": [{"role": "user", "parts": [{"text": ask.prompt}]}],
            "generationConfig": settings,
        }
        if ask.system:
            body["systemInstruction"] = {"parts": [{"text": ask.system}]}
        return Call(f"models/{quote(self._model, safe='')}:generateContent", body)

    def read(self, answer: object) -> Completion:
        """Return the first candidate's text, without its thoughts."""
        if blocked := section_of(answer, "promptFeedback").get("blockReason"):
            raise DeclinedError(f"blockReason {blocked}")
        candidate = answer["candidates"][0]  # type: ignore[index]  # a wrong shape raises
        reason = candidate.get("finishReason")
        if reason not in _ANSWERED:
            raise DeclinedError(f"finishReason {reason}")
        # One that spent its tokens on thoughts has no parts, or no content at all.
        parts = section_of(candidate, "content").get("parts", [])
        usage = section_of(answer, "usageMetadata")
        return Completion(
            "".join(str(part.get("text", "")) for part in parts if not part.get("thought")),  # type: ignore[attr-defined]
            count_of(usage, "promptTokenCount"),
            count_of(usage, "candidatesTokenCount", "thoughtsTokenCount"),
            is_cut=reason == "MAX_TOKENS",
        )


def open_gemini_chat(options: ChatOptions) -> RemoteChat:
    """Return the chat; nothing is asked yet."""
    model = (options.model or GEMINI_CHAT.default_model).removeprefix("models/")
    return RemoteChat(GEMINI_CHAT, GeminiChatWire(model), model=model, options=options)
