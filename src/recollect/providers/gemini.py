"""Google's Gemini embeddings.

Format: ai.google.dev/api/embeddings, ai.google.dev/gemini-api/docs/embeddings. Prices:
ai.google.dev/gemini-api/docs/pricing. Media files travel in the request, which may hold 20 MB
(firebase.google.com/docs/ai-logic/input-file-requirements; 100 MB by now, says
blog.google/innovation-and-ai/technology/developers-tools/gemini-api-new-file-limits); the parts of
one content become one vector. An image counts 258 tokens (ai.google.dev/gemini-api/docs/tokens);
what a recording counts depends on its length.
"""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import quote

from recollect.providers.base import Charge
from recollect.providers.media import MEDIA_MODELS
from recollect.providers.prompts import Prompts, prompts_of
from recollect.providers.remote.provider import RemoteProvider
from recollect.providers.remote.retry import FOR_INDEXING
from recollect.providers.remote.wire import Call, Model, Vendor
from recollect.text.size import estimate_tokens
from recollect.types import Role

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from recollect.providers.base import Limits, Media, ProviderOptions
    from recollect.types import Vectors

GEMINI = Vendor(
    name="gemini",
    base_url="https://generativelanguage.googleapis.com/v1beta",
    default_model="gemini-embedding-001",
    models={
        "gemini-embedding-001": Model(3072, 0.15),
        "gemini-embedding-2": Model(3072, 0.20),
        "gemini-embedding-2-preview": Model(3072, 0.20),
    },
    most_texts=100,
    key_variable="GEMINI_API_KEY",
)

_REQUEST_BYTES = 10_000_000
"""Media files in a request, as base64: half of what is documented, and a lost one costs little."""
_IMAGE_TOKENS = 258
_IMAGE_PRICE = 0.45  # US dollars a million tokens of images, for both models that take them

_TASKS = {Role.QUERY: "RETRIEVAL_QUERY", Role.DOCUMENT: "RETRIEVAL_DOCUMENT"}
_TOLD_IN_THE_TEXT = Prompts("task: search result | query: ", "title: none | text: ")
"""How the models from the second on are told the task: they do not know the field `taskType`."""


class GeminiWire:
    """`POST /models/{model}:batchEmbedContents` with one request a text."""

    def __init__(self, model: str, *, prompts: Prompts, dimensions: int | None) -> None:
        self._model = model
        self._prompts = prompts
        self._tasks = _TASKS if _knows_tasks(model) else {}
        self._dimensions = dimensions

    @property
    def identity(self) -> str:
        """Return the prompts and whether tasks are told."""
        return f"{self._prompts.identity}-{'tasks' if self._tasks else 'text'}"

    def headers(self, key: str | None) -> Mapping[str, str]:
        """Return the key in Google's own header: in the URL it would end up in logs."""
        return {"x-goog-api-key": key} if key else {}

    def ask(self, texts: Sequence[str], *, role: Role) -> Call:
        """Return the request for these texts."""
        # One content a text: several parts of one content would be embedded as one.
        contents = [[{"text": self._prompts.apply(text, role=role)}] for text in texts]
        return self._call(contents, role=role)

    def ask_media(self, media: Sequence[Media]) -> Call:
        """Return the request for these files, each one content of its label and its bytes."""
        return self._call(
            [
                [
                    {"text": self._prompts.apply(each.label, role=Role.DOCUMENT)},
                    {"inlineData": {"mimeType": each.mime, "data": _base64(each.content)}},
                ]
                for each in media
            ],
            role=Role.DOCUMENT,
        )

    def _call(self, contents: Sequence[Sequence[object]], *, role: Role) -> Call:
        settings: dict[str, object] = {"model": f"models/{self._model}"}
        if self._tasks:
            settings["taskType"] = self._tasks[role]
        if self._dimensions is not None:
            settings["outputDimensionality"] = self._dimensions
        requests = [{**settings, "content": {"parts": parts}} for parts in contents]
        path = f"models/{quote(self._model, safe='')}:batchEmbedContents"
        return Call(path, {"requests": requests})

    def read(self, answer: object) -> Sequence[Sequence[float]]:
        """Return the vectors in the order of the texts."""
        rows = answer["embeddings"]  # type: ignore[index]  # a wrong shape raises, as agreed
        return [row["values"] for row in rows]


class GeminiMediaProvider(RemoteProvider):
    """A model that embeds images and recordings as well as texts."""

    def __init__(self, wire: GeminiWire, *, model: str, options: ProviderOptions) -> None:
        super().__init__(GEMINI, wire, model=model, options=options)
        self._media_wire = wire

    @property
    def limits(self) -> Limits:
        """Return how much may be asked at once."""
        return replace(super().limits, media_bytes=_REQUEST_BYTES)

    def embed_media(self, media: Sequence[Media]) -> Vectors:
        """Return one unit vector a file, of its label and its bytes together."""
        call = self._media_wire.ask_media(media)
        tokens = sum(self.charge(each).tokens for each in media)
        return self._embedded(call, count=len(media), patience=FOR_INDEXING, tokens=tokens)

    def charge(self, media: Media) -> Charge:
        """Return what the vendor publishes to count for a file, as far as it is known."""
        tokens = estimate_tokens(media.label)
        if not media.mime.startswith("image/"):
            return Charge(tokens, None)
        dollars = None
        if self.price is not None:
            dollars = (tokens * self.price + _IMAGE_TOKENS * _IMAGE_PRICE) / 1e6
        return Charge(tokens + _IMAGE_TOKENS, dollars)


def open_gemini(options: ProviderOptions, *, cache: Path) -> RemoteProvider:
    """Return the provider; nothing is asked yet."""
    del cache
    model = (options.model or GEMINI.default_model).removeprefix("models/")
    wire = GeminiWire(model, prompts=_prompts(model, options), dimensions=options.dimensions)
    if model in MEDIA_MODELS[GEMINI.name]:
        return GeminiMediaProvider(wire, model=model, options=options)
    return RemoteProvider(GEMINI, wire, model=model, options=options)


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


def _knows_tasks(model: str) -> bool:
    return not model.startswith("gemini-embedding-2")


def _prompts(model: str, options: ProviderOptions) -> Prompts:
    if _knows_tasks(model):
        return prompts_of(model, options)
    own, query, document = _TOLD_IN_THE_TEXT, options.query_prefix, options.document_prefix
    return Prompts(
        own.query if query is None else query, own.document if document is None else document
    )
