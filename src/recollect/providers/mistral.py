"""Mistral: embeddings, the same for queries and documents.

Format: docs.mistral.ai/api/endpoint/embeddings. Prices: docs.mistral.ai/models/mistral-embed-23-12.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.providers.prompts import prompts_of
from recollect.providers.remote.provider import (
    EmbeddingModel,
    EmbeddingService,
    ListEmbeddingApi,
    RemoteProvider,
)
from recollect.providers.remote.server import Vendor

if TYPE_CHECKING:
    from pathlib import Path

    from recollect.providers.options import ProviderOptions

EMBEDDINGS = EmbeddingService(
    Vendor(name="mistral", base_url="https://api.mistral.ai/v1", key_variable="MISTRAL_API_KEY"),
    default_model="mistral-embed",
    models={
        "mistral-embed": EmbeddingModel(1024),
        "codestral-embed": EmbeddingModel(1536),
    },
    # Not documented; more is answered with 400, "Too many inputs in request".
    most_texts=512,
)


def open_mistral(options: ProviderOptions, *, cache: Path) -> RemoteProvider:
    """Return the provider; nothing is sent yet."""
    del cache
    model = options.model or EMBEDDINGS.default_model
    prompts = prompts_of(model, options)
    api = ListEmbeddingApi(model, prompts=prompts, dimensions=options.dimensions)
    return RemoteProvider(EMBEDDINGS, api, model=model, options=options)
