"""Mistral's embeddings, which make no difference between questions and passages.

Format: docs.mistral.ai/api/endpoint/embeddings. Prices: docs.mistral.ai/models/mistral-embed-23-12.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.providers.prompts import Prompts, prompts_of
from recollect.providers.remote.provider import RemoteProvider
from recollect.providers.remote.wire import Call, Model, Vendor, bearer, listed_by_index

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from recollect.providers.base import ProviderOptions
    from recollect.types import Role

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


class MistralWire:
    """`POST /embeddings` with a list of inputs."""

    def __init__(self, model: str, *, prompts: Prompts, dimensions: int | None) -> None:
        self._model = model
        self._prompts = prompts
        self._dimensions = dimensions

    @property
    def identity(self) -> str:
        """Return the prompts."""
        return self._prompts.identity

    def headers(self, key: str | None) -> Mapping[str, str]:
        """Return the bearer token."""
        return bearer(key)

    def ask(self, texts: Sequence[str], *, role: Role) -> Call:
        """Return the request for these texts."""
        body: dict[str, object] = {
            "model": self._model,
            "input": [self._prompts.apply(text, role=role) for text in texts],
        }
        if self._dimensions is not None:
            body["output_dimension"] = self._dimensions
        return Call("embeddings", body)

    def read(self, answer: object) -> Sequence[Sequence[float]]:
        """Return the vectors in the order of the texts."""
        return listed_by_index(answer)


def open_mistral(options: ProviderOptions, *, cache: Path) -> RemoteProvider:
    """Return the provider; nothing is asked yet."""
    del cache
    model = options.model or MISTRAL.default_model
    wire = MistralWire(model, prompts=prompts_of(model, options), dimensions=options.dimensions)
    return RemoteProvider(MISTRAL, wire, model=model, options=options)
