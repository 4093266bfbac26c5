"""Anthropic: chat.

platform.claude.com/docs/en/api/messages, …/api/errors, …/about-claude/pricing. Sampling parameters
are refused from Claude 4.7 on, and thinking, which counts into the token limit, is on unless
disabled: …/models/haiku-5-5/migration-guide.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from recollect.providers.base import Completion
from recollect.providers.remote.chat import ChatApi, DeclinedError, count_in, object_in
from recollect.providers.remote.server import ApiCall, Vendor

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from recollect.providers.remote.chat import Prompt

_VERSION = "2023-06-01"
_CUT = ("max_tokens", "model_context_window_exceeded")
_TAKES_TEMPERATURE = re.compile(r"^claude-(3|[a-z]+-4(-[0-6])?(-20[0-9]{6})?$)")
_THINKS_BY_DEFAULT = re.compile(r"^claude-(haiku-5|opus-5(?!-5))")


def _url_with_version(url: str) -> str:
    """Return the address with the version: ANTHROPIC_BASE_URL leaves that to the client."""
    url = url.rstrip("/")
    return url if url.endswith("/v1") else f"{url}/v1"


def _headers(key: str | None) -> Mapping[str, str]:
    version = {"anthropic-version": _VERSION}
    return {**version, "x-api-key": key} if key else version


ANTHROPIC = Vendor(
    "anthropic",
    "https://api.anthropic.com/v1",
    key_variable="ANTHROPIC_API_KEY",
    headers=_headers,
    url_variable="ANTHROPIC_BASE_URL",
    url_of=_url_with_version,
)


class AnthropicChatApi(ChatApi):
    """`POST /messages`."""

    vendor = ANTHROPIC
    default_model = "claude-haiku-5-5"
    optional: ClassVar = {"temperature": r"temperature", "thinking": r"thinking"}

    def request(self, prompt: Prompt, *, without: AbstractSet[str]) -> ApiCall:
        body: dict[str, object] = {
            "model": self.model,
            "max_tokens": prompt.max_tokens,
            "messages": [{"role": "user", "content": prompt.text}],
        }
        if prompt.system:
            body["system"] = prompt.system
        if _TAKES_TEMPERATURE.match(self.model) and "temperature" not in without:
            body["temperature"] = min(prompt.temperature, 1.0)
        if _THINKS_BY_DEFAULT.match(self.model) and "thinking" not in without:
            body["thinking"] = {"type": "disabled"}
        return ApiCall("messages", body)

    def read(self, response: object) -> Completion:
        blocks = response["content"]  # type: ignore[index]  # another format raises
        reason = response.get("stop_reason")  # type: ignore[attr-defined]
        if reason == "refusal":
            raise DeclinedError("stop_reason refusal")
        usage = object_in(response, "usage")
        return Completion(
            "".join(str(block["text"]) for block in blocks if block["type"] == "text"),
            count_in(
                usage, "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"
            ),
            count_in(usage, "output_tokens"),
            is_cut=reason in _CUT,
        )
