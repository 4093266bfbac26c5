"""Voyage AI's embeddings.

Format: docs.voyageai.com/reference/embeddings-api. Prices: docs.voyageai.com/docs/pricing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.providers.prompts import Prompts, prompts_of
from recollect.providers.remote.provider import RemoteProvider
from recollect.providers.remote.wire import Call, Model, Vendor, bearer, listed_by_index
from recollect.types import Role

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
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

_INPUT_TYPES = {Role.QUERY: "query", Role.DOCUMENT: "document"}


class VoyageWire:
    """`POST /embeddings` with a list of inputs, which Voyage puts its own prompts in front of."""

    def __init__(self, model: str, *, prompts: Prompts, dimensions: int | None) -> None:
        self._model = model
        self._prompts = prompts
        self._dimensions = dimensions

    @property
    def identity(self) -> str:
        """Return the prompts, and that input types are told."""
        return f"{self._prompts.identity}-types"

    def headers(self, key: str | None) -> Mapping[str, str]:
        """Return the bearer token."""
        return bearer(key)

    def ask(self, texts: Sequence[str], *, role: Role) -> Call:
        """Return the request for these texts; one that is too long is refused, not cut."""
        body: dict[str, object] = {
            "model": self._model,
            "input": [self._prompts.apply(text, role=role) for text in texts],
            "input_type": _INPUT_TYPES[role],
            "truncation": False,
        }
        if self._dimensions is not None:
            body["output_dimension"] = self._dimensions
        return Call("embeddings", body)

    def read(self, answer: object) -> Sequence[Sequence[float]]:
        """Return the vectors in the order of the texts."""
        return listed_by_index(answer)


def open_voyage(options: ProviderOptions, *, cache: Path) -> RemoteProvider:
    """Return the provider; nothing is asked yet."""
    del cache
    model = options.model or VOYAGE.default_model
    wire = VoyageWire(model, prompts=prompts_of(model, options), dimensions=options.dimensions)
    return RemoteProvider(VOYAGE, wire, model=model, options=options)
