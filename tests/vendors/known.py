"""The remote vendors side by side: what one contract needs to know of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.vendors.gemini import GeminiFormat, requests_in
from tests.vendors.mistral import MistralFormat
from tests.vendors.ollama import OllamaFormat
from tests.vendors.openai import OpenAiFormat
from tests.vendors.voyage import VoyageFormat

from recollect.providers.gemini import open_gemini
from recollect.providers.keys import Variables
from recollect.providers.mistral import open_mistral
from recollect.providers.ollama import open_ollama
from recollect.providers.openai import open_openai
from recollect.providers.options import ProviderOptions, RemoteOptions
from recollect.providers.voyage import open_voyage
from recollect.types import Role

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.vendors.server import Request, VendorFormat

    from recollect.providers.remote.provider import RemoteProvider

KEY = "sk-test/with+signs=and-1234567890"
"""With characters that a URL would write in another way."""


@dataclass(frozen=True)
class KnownVendor:
    """One vendor, its loopback format, and what its documentation promises."""

    name: str
    opener: Callable[..., RemoteProvider]
    format: Callable[[], VendorFormat]
    path: str
    """Of the base URL."""
    variable: str
    header: tuple[str, str]
    """The header that carries the key, and what stands in front of it."""
    dimensions: int
    """Of the default model."""
    roles: Mapping[Role, tuple[str, object]]
    """How the text `one` is worded, and the field that tells its role."""
    role_field: Callable[[Request], object]
    size_field: Callable[[Request], object]
    sizeable: str
    """A model whose vectors may be had shorter."""
    spent: tuple[int, object]
    """How it says that the account has nothing left."""
    unknown_model: tuple[int, str]
    model_action: str = "Check the setting `model`."

    def open(
        self,
        url: str | None,
        *,
        key: str | None = KEY,
        timeout_seconds: float = 10.0,
        **changes: object,
    ) -> RemoteProvider:
        """Return the provider of a server at this address, with the key in its variable."""
        remote = RemoteOptions(
            base_url=None if url is None else url + self.path,
            api_key=None if url is None else f"env:{self.variable}",
            timeout_seconds=timeout_seconds,
        )
        options = ProviderOptions(
            self.name,
            remote=changes.pop("remote", remote),  # type: ignore[arg-type]
            variables=Variables({self.variable: key} if key else {}),
            **changes,  # type: ignore[arg-type]
        )
        return self.opener(options)


def _plain(request: Request) -> object:
    return request.body.get("input_type")


SAME = {Role.QUERY: ("one", None), Role.DOCUMENT: ("one", None)}
BEARER = ("authorization", "Bearer ")

KNOWN = (
    KnownVendor(
        name="openai",
        opener=open_openai,
        format=OpenAiFormat,
        path="/v1",
        variable="OPENAI_API_KEY",
        header=BEARER,
        dimensions=1536,
        roles=SAME,
        role_field=_plain,
        size_field=lambda request: request.body.get("dimensions"),
        sizeable="text-embedding-3-small",
        spent=(
            429,
            {
                "error": {
                    "message": "You exceeded your current quota, please check your plan.",
                    "type": "insufficient_quota",
                    "param": None,
                    "code": "insufficient_quota",
                }
            },
        ),
        unknown_model=(404, "The model `nope` does not exist or you do not have access to it."),
    ),
    KnownVendor(
        name="gemini",
        opener=open_gemini,
        format=GeminiFormat,
        path="/v1beta",
        variable="GEMINI_API_KEY",
        header=("x-goog-api-key", ""),
        dimensions=3072,
        roles={
            Role.QUERY: ("one", "RETRIEVAL_QUERY"),
            Role.DOCUMENT: ("one", "RETRIEVAL_DOCUMENT"),
        },
        role_field=lambda request: requests_in(request)[0].get("taskType"),
        size_field=lambda request: requests_in(request)[0].get("outputDimensionality"),
        sizeable="gemini-embedding-001",
        spent=GeminiFormat().spent(),
        unknown_model=(404, "models/nope is not found for API version v1beta."),
    ),
    KnownVendor(
        name="voyage",
        opener=open_voyage,
        format=VoyageFormat,
        path="/v1",
        variable="VOYAGE_API_KEY",
        header=BEARER,
        dimensions=1024,
        roles={Role.QUERY: ("one", "query"), Role.DOCUMENT: ("one", "document")},
        role_field=_plain,
        size_field=lambda request: request.body.get("output_dimension"),
        sizeable="voyage-4-large",
        spent=VoyageFormat().spent(),
        unknown_model=(400, "Model nope is not supported. Supported models are ['voyage-4']."),
    ),
    KnownVendor(
        name="mistral",
        opener=open_mistral,
        format=MistralFormat,
        path="/v1",
        variable="MISTRAL_API_KEY",
        header=BEARER,
        dimensions=1024,
        roles=SAME,
        role_field=_plain,
        size_field=lambda request: request.body.get("output_dimension"),
        sizeable="codestral-embed",
        spent=MistralFormat().spent(),
        unknown_model=(400, "Invalid model: nope"),
    ),
    KnownVendor(
        name="ollama",
        opener=open_ollama,
        format=OllamaFormat,
        path="",
        variable="OLLAMA_API_KEY",
        header=BEARER,
        dimensions=768,
        roles={
            Role.QUERY: ("search_query: one", None),
            Role.DOCUMENT: ("search_document: one", None),
        },
        role_field=_plain,
        size_field=lambda request: request.body.get("dimensions"),
        sizeable="nomic-embed-text",
        spent=OllamaFormat().spent(),
        unknown_model=(404, "model 'nope' not found"),
        model_action="Run `ollama pull nope`, or set `model` to a model from `ollama list`.",
    ),
)
