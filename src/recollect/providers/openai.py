"""OpenAI's embeddings, and every server that speaks the same format.

Format: platform.openai.com/docs/api-reference/embeddings.
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

OPENAI = Vendor(
    name="openai",
    base_url="https://api.openai.com/v1",
    default_model="text-embedding-3-small",
    models={
        "text-embedding-3-small": Model(1536, 0.02),
        "text-embedding-3-large": Model(3072, 0.13),
        "text-embedding-ada-002": Model(1536, 0.10),
    },
    most_texts=2048,
    key_variable="OPENAI_API_KEY",
    url_variable="OPENAI_BASE_URL",
)


def open_openai(options: ProviderOptions, *, cache: Path) -> RemoteProvider:
    """Return the provider; nothing is asked yet."""
    del cache
    model = options.model or OPENAI.default_model
    wire = ListWire(
        model,
        prompts=prompts_of(model, options),
        dimensions=options.dimensions,
        dimensions_field="dimensions",
        input_types={
            Role.QUERY: options.remote.query_input_type,
            Role.DOCUMENT: options.remote.document_input_type,
        },
    )
    return RemoteProvider(OPENAI, wire, model=model, options=options)
