"""Voyage AI: embeddings.

Embeddings: docs.voyageai.com/reference/embeddings-api. Prices: docs.voyageai.com/docs/pricing.
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
from recollect.types import Role

if TYPE_CHECKING:
    from pathlib import Path

    from recollect.providers.options import ProviderOptions

EMBEDDINGS = EmbeddingService(
    Vendor(name="voyage", base_url="https://api.voyageai.com/v1", key_variable="VOYAGE_API_KEY"),
    default_model="voyage-4-large",
    models={
        "voyage-4-large": EmbeddingModel(1024),
        "voyage-4": EmbeddingModel(1024),
        "voyage-4-lite": EmbeddingModel(1024),
        "voyage-3-large": EmbeddingModel(1024),
        "voyage-3.5": EmbeddingModel(1024),
        "voyage-3.5-lite": EmbeddingModel(1024),
        "voyage-code-3": EmbeddingModel(1024),
        "voyage-finance-2": EmbeddingModel(1024),
        "voyage-law-2": EmbeddingModel(1024),
    },
    most_texts=1000,
)


def open_voyage(options: ProviderOptions, *, cache: Path) -> RemoteProvider:
    """Return the provider; nothing is sent yet."""
    del cache
    model = options.model or EMBEDDINGS.default_model
    api = ListEmbeddingApi(
        model,
        prompts=prompts_of(model, options),
        dimensions=options.dimensions,
        # Voyage adds its own prompts according to the type.
        input_types={Role.QUERY: "query", Role.DOCUMENT: "document"},
        constants={"truncation": False},  # refuse texts that are too long instead of cutting them
    )
    return RemoteProvider(EMBEDDINGS, api, model=model, options=options)
