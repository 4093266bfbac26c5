"""Ollama: language models on this machine or on one of one's own, behind its native API.

Format: docs.ollama.com/api/chat. It cuts the beginning of a prompt that is longer than the context,
without a word, and the context is 4,096 tokens on most machines: docs.ollama.com/context-length. So
each request names the context it needs. Thinking is on by default where a model can:
docs.ollama.com/capabilities/thinking.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.providers.chat.base import Completion
from recollect.providers.chat.remote import RemoteChat
from recollect.providers.chat.wire import ChatVendor, count_of
from recollect.providers.ollama import OLLAMA
from recollect.providers.remote.wire import Call, bearer
from recollect.text.size import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from recollect.providers.chat.base import ChatOptions
    from recollect.providers.chat.wire import Ask

OLLAMA_CHAT = ChatVendor(
    name=OLLAMA.name,
    base_url=OLLAMA.base_url,
    default_model="gemma3:4b",
    key_variable=OLLAMA.key_variable,
    needs_key=OLLAMA.needs_key,
    url_variable=OLLAMA.url_variable,
    url_of=OLLAMA.url_of,
    model_action=OLLAMA.model_action,
)

_LEAST_CONTEXT = 4096
_MARGIN = 1.3  # our estimate of tokens is one, and the model's template adds some


class OllamaChatWire:
    """`POST /api/chat`."""

    def __init__(self, model: str) -> None:
        self._model = model

    @property
    def optional(self) -> Mapping[str, str]:
        """Return what older servers do not know."""
        return {"think": r"think"}

    def headers(self, key: str | None) -> Mapping[str, str]:
        """Return the bearer token, which ollama.com wants."""
        return bearer(key)

    def ask(self, ask: Ask, *, without: AbstractSet[str]) -> Call:
        """Return the request."""
        system = [{"role": "system", "content": ask.system}] if ask.system else []
        body: dict[str, object] = {
            "model": self._model,
            "messages": [*system, {"role": "user", "content": ask.prompt}],
            "stream": False,
            "options": {
                "temperature": ask.temperature,
                "num_predict": ask.max_tokens,
                "num_ctx": context_for(ask),
            },
        }
        if "think" not in without:
            body["think"] = False
        return Call("api/chat", body)

    def read(self, answer: object) -> Completion:
        """Return the message."""
        content = answer["message"]["content"]  # type: ignore[index]  # a wrong shape raises
        if not isinstance(content, str) or not isinstance(answer, dict):
            raise TypeError("the content is no text")
        return Completion(
            content,
            count_of(answer, "prompt_eval_count"),
            count_of(answer, "eval_count"),
            is_cut=answer.get("done_reason") == "length",
        )


def context_for(ask: Ask) -> int:
    """Return a context that holds all of it, as a power of two: each other size reloads a model."""
    tokens = estimate_tokens(ask.prompt) + estimate_tokens(ask.system)
    needed = int(tokens * _MARGIN) + ask.max_tokens
    return max(_LEAST_CONTEXT, 1 << (needed - 1).bit_length())


def open_ollama_chat(options: ChatOptions) -> RemoteChat:
    """Return the chat; nothing is asked yet."""
    model = options.model or OLLAMA_CHAT.default_model
    return RemoteChat(OLLAMA_CHAT, OllamaChatWire(model), model=model, options=options)
