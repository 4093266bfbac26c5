"""Mistral: embeddings, the same for queries and documents.

Format: docs.mistral.ai/api/endpoint/embeddings.
"""

from __future__ import annotations

from functools import partial

from recollect.providers.remote.provider import EmbeddingService, open_listed
from recollect.providers.remote.server import Vendor

EMBEDDINGS = EmbeddingService(
    Vendor("mistral", "https://api.mistral.ai/v1", key_variable="MISTRAL_API_KEY"),
    default_model="mistral-embed",
    models={"mistral-embed": 1024, "codestral-embed": 1536},
    # Not documented; more is answered with 400, "Too many inputs in request".
    most_texts=512,
)
open_mistral = partial(open_listed, EMBEDDINGS)
