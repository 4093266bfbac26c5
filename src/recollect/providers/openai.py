"""OpenAI's embeddings, and every server that speaks the same format.

Format: platform.openai.com/docs/api-reference/embeddings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.providers.prompts import Prompts, prompts_of
from recollect.providers.remote.provider import RemoteProvider
from recollect.providers.remote.wire import Call, Model, Vendor, listed_by_index
from recollect.types import Role

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
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


class OpenAiWire:
    """`POST /embeddings` with a list of inputs."""

    def __init__(self, model: str, *, prompts: Prompts, options: ProviderOptions) -> None:
        self._model = model
        self._prompts = prompts
        self._dimensions = options.dimensions
        self._input_types = {
            Role.QUERY: options.remote.query_input_type,
            Role.DOCUMENT: options.remote.document_input_type,
        }

    @property
    def identity(self) -> str:
        """Return the prompts and the input types, where a server is told them."""
        types = [f"{role}={own}" for role, own in self._input_types.items() if own]
        return "-".join([self._prompts.identity, *types])

    def headers(self, key: str | None) -> Mapping[str, str]:
        """Return the bearer token."""
        return {"authorization": f"Bearer {key}"} if key else {}

    def ask(self, texts: Sequence[str], *, role: Role) -> Call:
        """Return the request for these texts."""
        body: dict[str, object] = {
            "model": self._model,
            "input": [self._prompts.apply(text, role=role) for text in texts],
        }
        if self._dimensions is not None:
            body["dimensions"] = self._dimensions
        if input_type := self._input_types[role]:
            body["input_type"] = input_type
        return Call("embeddings", body)

    def read(self, answer: object) -> Sequence[Sequence[float]]:
        """Return the vectors in the order of the texts."""
        return listed_by_index(answer)


def open_openai(options: ProviderOptions, *, cache: Path) -> RemoteProvider:
    """Return the provider; nothing is asked yet."""
    del cache
    model = options.model or OPENAI.default_model
    wire = OpenAiWire(model, prompts=prompts_of(model, options), options=options)
    return RemoteProvider(OPENAI, wire, model=model, options=options)
