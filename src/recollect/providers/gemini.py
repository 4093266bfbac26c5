"""Google's Gemini embeddings.

Format: ai.google.dev/api/embeddings, ai.google.dev/gemini-api/docs/embeddings. Prices:
ai.google.dev/gemini-api/docs/pricing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from recollect.providers.prompts import Prompts, prompts_of
from recollect.providers.remote.provider import RemoteProvider
from recollect.providers.remote.wire import Call, Model, Vendor
from recollect.types import Role

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from recollect.providers.base import ProviderOptions

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
        settings: dict[str, object] = {"model": f"models/{self._model}"}
        if self._tasks:
            settings["taskType"] = self._tasks[role]
        if self._dimensions is not None:
            settings["outputDimensionality"] = self._dimensions
        # One content a text: several parts of one content would be embedded as one.
        requests = [
            {**settings, "content": {"parts": [{"text": self._prompts.apply(text, role=role)}]}}
            for text in texts
        ]
        path = f"models/{quote(self._model, safe='')}:batchEmbedContents"
        return Call(path, {"requests": requests})

    def read(self, answer: object) -> Sequence[Sequence[float]]:
        """Return the vectors in the order of the texts."""
        rows = answer["embeddings"]  # type: ignore[index]  # a wrong shape raises, as agreed
        return [row["values"] for row in rows]


def open_gemini(options: ProviderOptions, *, cache: Path) -> RemoteProvider:
    """Return the provider; nothing is asked yet."""
    del cache
    model = (options.model or GEMINI.default_model).removeprefix("models/")
    wire = GeminiWire(model, prompts=_prompts(model, options), dimensions=options.dimensions)
    return RemoteProvider(GEMINI, wire, model=model, options=options)


def _knows_tasks(model: str) -> bool:
    return not model.startswith("gemini-embedding-2")


def _prompts(model: str, options: ProviderOptions) -> Prompts:
    if _knows_tasks(model):
        return prompts_of(model, options)
    own, query, document = _TOLD_IN_THE_TEXT, options.query_prefix, options.document_prefix
    return Prompts(
        own.query if query is None else query, own.document if document is None else document
    )
