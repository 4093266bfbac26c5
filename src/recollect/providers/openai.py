"""OpenAI: embeddings and chat; and every server that uses the same format.

platform.openai.com/docs/api-reference/embeddings,
developers.openai.com/api/reference/resources/chat, …/docs/models/gpt-6-luna, …/docs/pricing.
Reasoning models take `max_completion_tokens` and no temperature, and count their thoughts into the
limit; where possible, reasoning is switched off.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from recollect.providers.base import Completion
from recollect.providers.remote.chat import ChatApi, DeclinedError, count_in, object_in
from recollect.providers.remote.provider import EmbeddingService, open_listed
from recollect.providers.remote.server import ApiCall, Vendor
from recollect.types import Role

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from recollect.providers.options import ChatOptions, ProviderOptions
    from recollect.providers.remote.chat import Prompt
    from recollect.providers.remote.provider import RemoteProvider

OPENAI = Vendor(
    name="openai",
    base_url="https://api.openai.com/v1",
    key_variable="OPENAI_API_KEY",
    url_variable="OPENAI_BASE_URL",
)

EMBEDDINGS = EmbeddingService(
    OPENAI,
    default_model="text-embedding-3-small",
    models={
        "text-embedding-3-small": 1536,
        "text-embedding-3-large": 3072,
        "text-embedding-ada-002": 1536,
    },
    most_texts=2048,
    dimensions_field="dimensions",
)


def open_openai(options: ProviderOptions) -> RemoteProvider:
    """Return the provider; nothing is sent yet."""
    types = {
        Role.QUERY: options.remote.query_input_type,
        Role.DOCUMENT: options.remote.document_input_type,
    }
    return open_listed(replace(EMBEDDINGS, input_types=types), options)


_REASONS = re.compile(r"^(o[0-9]|gpt-[5-9](?!.*-chat))")
_EFFORTS = (
    (re.compile(r"^gpt-(5\.[1-9]|[6-9])"), "none"),
    (re.compile(r"^gpt-5(-|$)"), "minimal"),
    (re.compile(r"^o[0-9]"), "low"),
)
"""The lowest reasoning effort of each family."""


class OpenAiChatApi(ChatApi):
    """`POST /chat/completions`."""

    vendor = OPENAI
    default_model = "gpt-6-luna"
    optional: ClassVar = {
        "max_tokens": r"use '?max_completion_tokens",
        "temperature": r"temperature",
        "reasoning_effort": r"reasoning[_.]effort",
    }

    def __init__(self, options: ChatOptions) -> None:
        super().__init__(options)
        is_openai = OPENAI.address(options.base_url, options.variables) == OPENAI.base_url
        name = self.model.removeprefix("openai/")  # as gateways call it
        self._reasons = bool(_REASONS.match(name))
        # Compatible servers know the older field, and not all of them the newer one.
        self._limit = "max_completion_tokens" if is_openai or self._reasons else "max_tokens"
        self._effort = next((word for rule, word in _EFFORTS if rule.match(name)), None)

    def request(self, prompt: Prompt, *, without: AbstractSet[str]) -> ApiCall:
        system = [{"role": "system", "content": prompt.system}] if prompt.system else []
        body: dict[str, object] = {
            "model": self.model,
            "messages": [*system, {"role": "user", "content": prompt.text}],
        }
        limit = "max_completion_tokens" if "max_tokens" in without else self._limit
        body[limit] = prompt.max_tokens
        if not self._reasons and "temperature" not in without:
            body["temperature"] = prompt.temperature
        if self._reasons and self._effort and "reasoning_effort" not in without:
            body["reasoning_effort"] = self._effort
        return ApiCall("chat/completions", body)

    def read(self, response: object) -> Completion:
        choice = response["choices"][0]  # type: ignore[index]  # another format raises
        message, reason = choice["message"], choice.get("finish_reason")
        if refusal := message.get("refusal"):
            raise DeclinedError(str(refusal))
        if reason == "content_filter":
            raise DeclinedError("finish_reason content_filter")
        usage = object_in(response, "usage")
        return Completion(
            _text(message.get("content")),
            count_in(usage, "prompt_tokens"),
            count_in(usage, "completion_tokens"),
            is_cut=reason == "length",
        )


def _text(content: object) -> str:
    """Return the text; some compatible servers write it in parts."""
    if isinstance(content, list):
        return "".join(str(part["text"]) for part in content if part.get("type") == "text")
    if content is None or isinstance(content, str):
        return content or ""
    raise TypeError("the content is not text")
