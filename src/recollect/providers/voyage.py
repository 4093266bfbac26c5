"""Voyage AI: embeddings and their Batch API.

Embeddings: docs.voyageai.com/reference/embeddings-api. Prices: docs.voyageai.com/docs/pricing.

Batches: docs.voyageai.com/docs/batch-inference, …/reference/batch. Within 12 hours, at two thirds
of the price. Files and batches are like OpenAI's, but what applies to all lines is sent once, in
`request_params`. At most 100,000 texts per batch and 100 batches at a time. A batch that runs out
of time is `completed`; the lines that were not embedded are in its error file. Files are kept for
30 days.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.providers.openai import OpenAiBatches
from recollect.providers.prompts import prompts_of
from recollect.providers.remote.provider import (
    EmbeddingModel,
    EmbeddingService,
    ListEmbeddingApi,
    RemoteProvider,
)
from recollect.providers.remote.server import ApiCall, Vendor
from recollect.types import Role

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from recollect.providers.options import ProviderOptions

_INPUT = "input"  # the only field of a batch line


class VoyageBatches(OpenAiBatches):
    """`/files` and `/batches`, with the model and the role outside the file."""

    vendor = "voyage"
    most_texts = 2000
    """Fewer than Voyage allows: the results of one batch, 20 to 40 KB each, are fetched at once."""
    window = "12h"

    def _line(self, digest: str, text: str) -> Mapping[str, object]:
        body = self._api.request([text], role=Role.DOCUMENT).body
        return {"custom_id": digest, "body": {_INPUT: body[_INPUT]}}

    def _submission(self, *, file: str, mark: str) -> ApiCall:
        body = self._api.request([""], role=Role.DOCUMENT).body
        params = {name: value for name, value in body.items() if name != _INPUT}
        call = super()._submission(file=file, mark=mark)
        return ApiCall(call.path, {**call.body, "request_params": params})


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
    batches=VoyageBatches,
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
