"""Voyage AI's embeddings.

Format: docs.voyageai.com/reference/embeddings-api. Prices: docs.voyageai.com/docs/pricing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.providers.prompts import prompts_of
from recollect.providers.remote.provider import RemoteProvider
from recollect.providers.remote.wire import ListWire, Model, Vendor
from recollect.types import Role

if TYPE_CHECKING:
    from pathlib import Path

    from recollect.providers.base import ProviderOptions

VOYAGE = Vendor(
    name="voyage",
    base_url="https://api.voyageai.com/v1",
    default_model="voyage-4-large",
    models={
        "voyage-4-large": Model(1024, 0.12),
        "voyage-4": Model(1024, 0.06),
        "voyage-4-lite": Model(1024, 0.02),
        "voyage-3-large": Model(1024, 0.18),
        "voyage-3.5": Model(1024, 0.06),
        "voyage-3.5-lite": Model(1024, 0.02),
        "voyage-code-3": Model(1024, 0.18),
        "voyage-finance-2": Model(1024, 0.12),
        "voyage-law-2": Model(1024, 0.12),
    },
    most_texts=1000,
    key_variable="VOYAGE_API_KEY",
)


def open_voyage(options: ProviderOptions, *, cache: Path) -> RemoteProvider:
    """Return the provider; nothing is asked yet."""
    del cache
    model = options.model or VOYAGE.default_model
    wire = ListWire(
        model,
        prompts=prompts_of(model, options),
        dimensions=options.dimensions,
        # Voyage puts its own prompts in front of what it is told the type of.
        input_types={Role.QUERY: "query", Role.DOCUMENT: "document"},
        constants={"truncation": False},  # a text that is too long is refused, not cut
    )
    return RemoteProvider(VOYAGE, wire, model=model, options=options)
