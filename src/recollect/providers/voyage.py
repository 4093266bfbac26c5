"""Voyage AI: embeddings (docs.voyageai.com/reference/embeddings-api)."""

from __future__ import annotations

from functools import partial

from recollect.providers.remote.provider import EmbeddingService, open_listed
from recollect.providers.remote.server import Vendor
from recollect.types import Role

_MODELS = (
    "voyage-4-large",
    "voyage-4",
    "voyage-4-lite",
    "voyage-3-large",
    "voyage-3.5",
    "voyage-3.5-lite",
    "voyage-code-3",
    "voyage-finance-2",
    "voyage-law-2",
)

EMBEDDINGS = EmbeddingService(
    Vendor("voyage", "https://api.voyageai.com/v1", key_variable="VOYAGE_API_KEY"),
    default_model="voyage-4-large",
    models=dict.fromkeys(_MODELS, 1024),
    most_texts=1000,
    # Voyage adds its own prompts according to the type.
    input_types={Role.QUERY: "query", Role.DOCUMENT: "document"},
    constants={"truncation": False},  # refuse texts that are too long instead of cutting them
)
open_voyage = partial(open_listed, EMBEDDINGS)
