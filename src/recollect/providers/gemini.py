"""Google Gemini: embeddings, also of images and recordings, and chat.

ai.google.dev/api/embeddings, ai.google.dev/gemini-api/docs/embeddings, …/docs/pricing. A request
may have 20 MB (firebase.google.com/docs/ai-logic/input-file-requirements). An image counts as 258
tokens (ai.google.dev/gemini-api/docs/tokens), a recording by its length. GOOGLE_GEMINI_BASE_URL is
the variable of Google's own clients, which add the version to it:
github.com/googleapis/python-genai.

Chat: ai.google.dev/api/generate-content. Thinking counts into the token limit:
ai.google.dev/gemini-api/docs/thinking. The default model thinks as little as it can by itself and
ignores the temperature:
docs.cloud.google.com/gemini-enterprise-agent-platform/models/gemini/3-5-flash-lite.
"""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import quote

from recollect.providers.base import Completion
from recollect.providers.options import MEDIA_MODELS
from recollect.providers.prompts import Prompts, prompts_of
from recollect.providers.remote.chat import ChatApi, DeclinedError, count_in, object_in
from recollect.providers.remote.pace import FOR_INDEXING
from recollect.providers.remote.provider import EmbeddingService, RemoteProvider
from recollect.providers.remote.server import ApiCall, Vendor
from recollect.text.size import estimate_tokens
from recollect.types import Role

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from recollect.providers.base import Media
    from recollect.providers.options import ChatOptions, ProviderOptions
    from recollect.providers.remote.chat import Prompt
    from recollect.types import Vectors


def _headers(key: str | None) -> Mapping[str, str]:
    """Return Google's own header for the key: in the URL it would end up in logs."""
    return {"x-goog-api-key": key} if key else {}


GEMINI = Vendor(
    "gemini",
    "https://generativelanguage.googleapis.com/v1beta",
    key_variable="GEMINI_API_KEY",
    headers=_headers,
    url_variable="GOOGLE_GEMINI_BASE_URL",
    url_of=lambda url: f"{url.rstrip('/')}/v1beta",
)

_REQUEST_BYTES = 10_000_000
"""Bytes of media files in a request, as base64: half of the documented limit."""
_IMAGE_TOKENS = 258

_TASKS = {Role.QUERY: "RETRIEVAL_QUERY", Role.DOCUMENT: "RETRIEVAL_DOCUMENT"}
_TASKS_AS_TEXT = Prompts("task: search result | query: ", "title: none | text: ")
"""Prompts for models from the second generation on, which have no field `taskType`."""


class GeminiEmbeddingApi:
    """`POST /models/{model}:batchEmbedContents` with one request per text."""

    def __init__(self, model: str, *, prompts: Prompts, dimensions: int | None) -> None:
        self._model = model
        self._prompts = prompts
        self._tasks = _TASKS if _knows_tasks(model) else {}
        self._dimensions = dimensions

    @property
    def identity(self) -> str:
        return f"{self._prompts.identity}-{'tasks' if self._tasks else 'text'}"

    def request(self, texts: Sequence[str], *, role: Role) -> ApiCall:
        # One content per text: several parts of one content would become one vector.
        contents = [[{"text": self._prompts.apply(text, role=role)}] for text in texts]
        return self._call(contents, role=role)

    def media_request(self, media: Sequence[Media]) -> ApiCall:
        """Return the request for these files, each as one content of label and bytes."""
        labels = [self._prompts.apply(each.label, role=Role.DOCUMENT) for each in media]
        files = [
            {"mimeType": each.mime, "data": b64encode(each.content).decode()} for each in media
        ]
        pairs = zip(labels, files, strict=True)
        contents = [[{"text": label}, {"inlineData": file}] for label, file in pairs]
        return self._call(contents, role=Role.DOCUMENT)

    def _call(self, contents: Sequence[Sequence[object]], *, role: Role) -> ApiCall:
        settings: dict[str, object] = {"model": f"models/{self._model}"}
        if self._tasks:
            settings["taskType"] = self._tasks[role]
        if self._dimensions is not None:
            settings["outputDimensionality"] = self._dimensions
        requests = [{**settings, "content": {"parts": parts}} for parts in contents]
        path = f"models/{quote(self._model, safe='')}:batchEmbedContents"
        return ApiCall(path, {"requests": requests})

    def read(self, response: object) -> Sequence[Sequence[float]]:
        rows = response["embeddings"]  # type: ignore[index]  # another format raises
        return [row["values"] for row in rows]


EMBEDDINGS = EmbeddingService(
    GEMINI,
    default_model="gemini-embedding-001",
    models=dict.fromkeys(("gemini-embedding-001", *MEDIA_MODELS["gemini"]), 3072),
    most_texts=100,
)


class GeminiMediaProvider(RemoteProvider):
    """A model that embeds images and recordings as well as texts."""

    def __init__(self, api: GeminiEmbeddingApi, *, model: str, options: ProviderOptions) -> None:
        super().__init__(EMBEDDINGS, api, model=model, options=options)
        self.limits = replace(self.limits, media_bytes=_REQUEST_BYTES)
        self._media_api = api

    def embed_media(self, media: Sequence[Media]) -> Vectors:
        call = self._media_api.media_request(media)
        return self._post(call, count=len(media), patience=FOR_INDEXING)

    def media_tokens(self, media: Media) -> int:
        image = _IMAGE_TOKENS if media.mime.startswith("image/") else 0
        return estimate_tokens(media.label) + image


def open_gemini(options: ProviderOptions) -> RemoteProvider:
    """Return the provider; nothing is sent yet."""
    model = (options.model or EMBEDDINGS.default_model).removeprefix("models/")
    prompts = prompts_of(model)
    if not _knows_tasks(model):
        prompts = _TASKS_AS_TEXT
    api = GeminiEmbeddingApi(model, prompts=prompts, dimensions=options.dimensions)
    if model in MEDIA_MODELS[GEMINI.name]:
        return GeminiMediaProvider(api, model=model, options=options)
    return RemoteProvider(EMBEDDINGS, api, model=model, options=options)


def _knows_tasks(model: str) -> bool:
    return not model.startswith("gemini-embedding-2")


_ANSWERED = ("STOP", "MAX_TOKENS", "FINISH_REASON_UNSPECIFIED", None)
"""Every other finish reason is a filter or a failure of the model."""
_LEAST_THINKING: tuple[tuple[re.Pattern[str], Mapping[str, object]], ...] = (
    (re.compile(r"^gemini-2\.5-flash"), {"thinkingBudget": 0}),
    (re.compile(r"^gemini-[3-9].*-lite"), {}),
    (re.compile(r"^gemini-[3-9]"), {"thinkingLevel": "low"}),
)


class GeminiChatApi(ChatApi):
    """`POST /models/{model}:generateContent`."""

    vendor = GEMINI
    default_model = "gemini-3.5-flash-lite"
    optional: ClassVar = {"temperature": r"temperature", "thinkingConfig": r"think"}

    def __init__(self, options: ChatOptions) -> None:
        super().__init__(options)
        self.model = self.model.removeprefix("models/")
        fitting = (how for rule, how in _LEAST_THINKING if rule.match(self.model))
        self._thinking = next(fitting, {})

    def request(self, prompt: Prompt, *, without: AbstractSet[str]) -> ApiCall:
        settings: dict[str, object] = {"maxOutputTokens": prompt.max_tokens}
        if "temperature" not in without:
            settings["temperature"] = prompt.temperature
        if self._thinking and "thinkingConfig" not in without:
            settings["thinkingConfig"] = self._thinking
        body: dict[str, object] = {
            "contents": [{"role": "user", "parts": [{"text": prompt.text}]}],
            "generationConfig": settings,
        }
        if prompt.system:
            body["systemInstruction"] = {"parts": [{"text": prompt.system}]}
        return ApiCall(f"models/{quote(self.model, safe='')}:generateContent", body)

    def read(self, response: object) -> Completion:
        if blocked := object_in(response, "promptFeedback").get("blockReason"):
            raise DeclinedError(f"blockReason {blocked}")
        candidate = response["candidates"][0]  # type: ignore[index]  # another format raises
        reason = candidate.get("finishReason")
        if reason not in _ANSWERED:
            raise DeclinedError(f"finishReason {reason}")
        # If all tokens went into thoughts, there are no parts, or no content at all.
        parts = object_in(candidate, "content").get("parts", [])
        usage = object_in(response, "usageMetadata")
        return Completion(
            "".join(str(part.get("text", "")) for part in parts if not part.get("thought")),  # type: ignore[attr-defined]
            count_in(usage, "promptTokenCount"),
            count_in(usage, "candidatesTokenCount", "thoughtsTokenCount"),
            is_cut=reason == "MAX_TOKENS",
        )
