"""OpenAI: embeddings, their Batch API, and chat; and every server that uses the same format.

Embeddings: platform.openai.com/docs/api-reference/embeddings.

Batches: platform.openai.com/docs/guides/batch, …/docs/api-reference/batch and …/files. Within 24
hours, at half the price. A file holds at most 50,000 lines and 200 MB; files are kept for 30 days.
A batch that expires keeps the results it has; its other lines are in the error file as
`batch_expired`.

Chat: developers.openai.com/api/reference/resources/chat. Models:
developers.openai.com/api/docs/models/gpt-6-luna, …/models/gpt-5.6-luna, …/docs/pricing. gpt-6-luna
replaces gpt-4o-mini, which ends on 14 January 2027 (…/docs/deprecations). Reasoning models take
`max_completion_tokens` and no temperature, and count their thoughts into the limit; reasoning is
switched off where that is possible.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import struct
from typing import TYPE_CHECKING

from recollect.providers.base import Completion
from recollect.providers.prompts import prompts_of
from recollect.providers.remote.batch import (
    FileBatches,
    VendorBatch,
    as_form,
    pick,
    pick_count,
    pick_list,
    pick_text,
)
from recollect.providers.remote.chat import (
    ChatService,
    DeclinedError,
    RemoteChat,
    count_in,
    object_in,
)
from recollect.providers.remote.pace import FOR_INDEXING
from recollect.providers.remote.provider import (
    EmbeddingModel,
    EmbeddingService,
    ListEmbeddingApi,
    RemoteProvider,
)
from recollect.providers.remote.server import ApiCall, Vendor, bearer
from recollect.types import Role

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from recollect.providers.options import ChatOptions, ProviderOptions
    from recollect.providers.remote.chat import Prompt

OPENAI = Vendor(
    name="openai",
    base_url="https://api.openai.com/v1",
    key_variable="OPENAI_API_KEY",
    url_variable="OPENAI_BASE_URL",
)

_OVER = frozenset({"completed", "failed", "expired", "cancelled"})
_MARK = "recollect"
_SUCCESS = range(200, 300)
_FLOAT_BYTES = 4
_MOST_REASONS = 3  # of a failure; a bad file has one per line


class OpenAiBatches(FileBatches):
    """`/files` and `/batches`."""

    vendor = "openai"
    most_texts = 2000
    """Fewer than OpenAI allows: the results of one batch, 8 to 70 KB each, are fetched at once, and
    some accounts may queue few tokens."""
    window = "24h"

    def _line(self, digest: str, text: str) -> Mapping[str, object]:
        body = {
            **self._api.request([text], role=Role.DOCUMENT).body,
            "encoding_format": "base64",  # a quarter of the bytes to fetch
        }
        return {"custom_id": digest, "method": "POST", "url": "/v1/embeddings", "body": body}

    def _upload(self, content: bytes, *, mark: str) -> str:
        del mark
        body, kind = as_form(content)
        raw = self._sender().send(
            "POST", "files", content=body, headers={"content-type": kind}, patience=FOR_INDEXING
        )
        file = pick_text(json.loads(raw), "id")
        if not file:
            raise self._unexpected("no file name")
        return file

    def _submission(self, *, file: str, mark: str) -> ApiCall:
        return ApiCall(
            "batches",
            {
                "input_file_id": file,
                "endpoint": "/v1/embeddings",
                "completion_window": self.window,
                "metadata": {_MARK: mark},
            },
        )

    def _described(self, description: object) -> VendorBatch:
        name, status = pick_text(description, "id"), pick_text(description, "status")
        if not name or not status:
            raise self._unexpected("something else")
        vectors = pick_text(description, "output_file_id")
        errors = pick_text(description, "error_file_id")
        is_over = status in _OVER
        failure = None
        if is_over and not vectors and not errors:
            listed = pick_list(description, "errors", "data")
            reasons = [pick_text(error, "message") for error in listed]
            failure = "; ".join(reasons[:_MOST_REASONS]) or f"it is {status}"
        return VendorBatch(
            name,
            mark=pick_text(description, "metadata", _MARK),
            is_over=is_over,
            done=pick_count(description, "request_counts", "completed"),
            vectors=vectors,
            errors=errors,
            failure=failure,
        )

    def _read(self, line: object) -> tuple[str, Mapping[str, object] | str]:
        digest = pick_text(line, "custom_id")
        body = pick(line, "response", "body")
        if isinstance(body, dict) and pick(line, "response", "status_code") in _SUCCESS:
            return digest, {**body, "data": [_decoded(row) for row in pick_list(body, "data")]}
        for names in (
            ("error",),
            ("response", "body", "error"),
            ("response", "body"),
            ("response",),
        ):
            if reason := pick_text(line, *names, "message"):
                return digest, reason
        return digest, f"{self.vendor} gave no reason"

    def _page(self, page: object) -> tuple[Sequence[object], str]:
        has_more = pick(page, "has_more") is True
        return pick_list(page, "data"), pick_text(page, "last_id") if has_more else ""

    def _list_path(self, after: str) -> str:
        return f"batches?limit=100&after={after}" if after else "batches?limit=100"

    def _batch_path(self, batch: str) -> str:
        return f"batches/{batch}"

    def _content_path(self, file: str) -> str:
        return f"files/{file}/content"


def _decoded(row: object) -> object:
    """Return a row with its vector as numbers: base64 holds them as little-endian float32."""
    packed = pick(row, "embedding")
    if not isinstance(row, dict) or not isinstance(packed, str):
        return row
    try:
        raw = base64.b64decode(packed, validate=True)
        return {**row, "embedding": struct.unpack(f"<{len(raw) // _FLOAT_BYTES}f", raw)}
    except (binascii.Error, struct.error):
        return row


EMBEDDINGS = EmbeddingService(
    OPENAI,
    default_model="text-embedding-3-small",
    models={
        "text-embedding-3-small": EmbeddingModel(1536),
        "text-embedding-3-large": EmbeddingModel(3072),
        "text-embedding-ada-002": EmbeddingModel(1536),
    },
    most_texts=2048,
    batches=OpenAiBatches,
)


def open_openai(options: ProviderOptions, *, cache: Path) -> RemoteProvider:
    """Return the provider; nothing is sent yet."""
    del cache
    model = options.model or EMBEDDINGS.default_model
    api = ListEmbeddingApi(
        model,
        prompts=prompts_of(model, options),
        dimensions=options.dimensions,
        dimensions_field="dimensions",
        input_types={
            Role.QUERY: options.remote.query_input_type,
            Role.DOCUMENT: options.remote.document_input_type,
        },
    )
    return RemoteProvider(EMBEDDINGS, api, model=model, options=options)


CHAT = ChatService(
    OPENAI,
    default_model="gpt-6-luna",
)
_REASONS = re.compile(r"^(o[0-9]|gpt-[5-9](?!.*-chat))")
_EFFORTS = (
    (re.compile(r"^gpt-(5\.[1-9]|[6-9])"), "none"),
    (re.compile(r"^gpt-5(-|$)"), "minimal"),
    (re.compile(r"^o[0-9]"), "low"),
)
"""The lowest reasoning effort of each family."""


class OpenAiChatApi:
    """`POST /chat/completions`."""

    def __init__(self, model: str, *, is_openai: bool) -> None:
        self._model = model
        name = model.removeprefix("openai/")  # as gateways call it
        self._reasons = bool(_REASONS.match(name))
        # Compatible servers know the older field, and not all of them the newer one.
        self._limit = "max_completion_tokens" if is_openai or self._reasons else "max_tokens"
        self._effort = next((word for rule, word in _EFFORTS if rule.match(name)), None)

    @property
    def optional(self) -> Mapping[str, str]:
        return {
            "max_tokens": r"use '?max_completion_tokens",
            "temperature": r"temperature",
            "reasoning_effort": r"reasoning[_.]effort",
        }

    def headers(self, key: str | None) -> Mapping[str, str]:
        return bearer(key)

    def request(self, prompt: Prompt, *, without: AbstractSet[str]) -> ApiCall:
        system = [{"role": "system", "content": prompt.system}] if prompt.system else []
        body: dict[str, object] = {
            "model": self._model,
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


def open_openai_chat(options: ChatOptions) -> RemoteChat:
    """Return the chat; nothing is sent yet."""
    model = options.model or CHAT.default_model
    is_openai = OPENAI.address(options.base_url, options.variables) == OPENAI.base_url
    api = OpenAiChatApi(model, is_openai=is_openai)
    return RemoteChat(CHAT, api, model=model, options=options)
