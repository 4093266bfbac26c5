"""Mistral's embeddings, which make no difference between questions and passages.

Format: docs.mistral.ai/api/endpoint/embeddings. Prices: docs.mistral.ai/models/mistral-embed-23-12.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.providers.prompts import prompts_of
from recollect.providers.remote.provider import RemoteProvider
from recollect.providers.remote.wire import ListWire, Model, Vendor

if TYPE_CHECKING:
    from pathlib import Path

    from recollect.providers.base import ProviderOptions

MISTRAL = Vendor(
    name="mistral",
    base_url="https://api.mistral.ai/v1",
    default_model="mistral-embed",
    models={
        "mistral-embed": Model(1024, 0.10),
        "codestral-embed": Model(1536, 0.15),
    },
    # Not published; more is answered with 400, "Too many inputs in request".
    most_texts=512,
    key_variable="MISTRAL_API_KEY",
)


def open_mistral(options: ProviderOptions, *, cache: Path) -> RemoteProvider:
    """Return the provider; nothing is asked yet."""
    del cache
    model = options.model or MISTRAL.default_model
    prompts = prompts_of(model, options)
    wire = ListWire(model, prompts=prompts, dimensions=options.dimensions)
    return RemoteProvider(MISTRAL, wire, model=model, options=options)
