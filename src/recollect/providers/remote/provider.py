"""A provider on a server, whatever the vendor. It checks everything the server sends."""

from __future__ import annotations

import re
from dataclasses import field, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from recollect.errors import VectorsRejectedError
from recollect.providers.base import Limits
from recollect.providers.prompts import prompts_of
from recollect.providers.remote.pace import FOR_INDEXING, FOR_QUESTIONS
from recollect.providers.remote.server import ApiCall, ModelServer
from recollect.records import dataclass
from recollect.text.scripts import latin_share
from recollect.types import Fingerprint, Role, digest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from recollect.providers.options import ProviderOptions
    from recollect.providers.prompts import Prompts
    from recollect.providers.remote.pace import Patience
    from recollect.providers.remote.server import Vendor
    from recollect.types import Vectors

REQUEST_TOKENS = 8000
"""Tokens in one request: every vendor accepts it, and losing one request costs little."""
_LATIN_ONLY = re.compile(
    r"minilm|nomic-embed-text(?!-v2)|mxbai|arctic-embed(?!2|-l-v2)|bge-.{0,60}-en"
)


def vectors_by_index(response: object) -> Sequence[Sequence[float]]:
    """Return the vectors of a `data` list whose rows carry their `index`."""
    rows = response["data"]  # type: ignore[index]  # another format raises, as documented
    ordered = sorted(rows, key=lambda row: int(row["index"]))
    if [int(row["index"]) for row in ordered] != list(range(len(ordered))):
        raise ValueError("the indexes are not those of the texts")
    return [row["embedding"] for row in ordered]


@dataclass(frozen=True, slots=True)
class EmbeddingService:
    """What a vendor offers for embedding, and the names of fields in its requests."""

    vendor: Vendor
    default_model: str
    models: Mapping[str, int]
    """Dimensions of known models."""
    most_texts: int
    """Texts in one request."""
    in_flight: int = 4
    """Requests at the same time."""
    path: str = "embeddings"
    dimensions_field: str = "output_dimension"
    input_types: Mapping[Role, str | None] = field(default_factory=dict)
    """The field `input_type`, for servers that distinguish queries from documents."""
    constants: Mapping[str, object] = field(default_factory=dict)
    """Sent with every request."""
    vectors_of: Callable[[object], Sequence[Sequence[float]]] = vectors_by_index


class EmbeddingApi(Protocol):
    """The request and response format of a vendor's embedding API, for one model."""

    @property
    def identity(self) -> str:
        """Return everything in the request that changes vectors: prompts, task types."""

    def request(self, texts: Sequence[str], *, role: Role) -> ApiCall:
        """Return the request for these texts."""

    def read(self, response: object) -> Sequence[Sequence[float]]:
        """Return the vectors in the order of the texts; any error means another format."""


@dataclass(frozen=True, slots=True)
class ListEmbeddingApi:
    """All inputs as one list in a JSON body, which most vendors use with different field names."""

    service: EmbeddingService
    model: str
    dimensions: int | None

    @property
    def _prompts(self) -> Prompts:
        return prompts_of(self.model)

    @property
    def identity(self) -> str:
        types = [f"{role}={own}" for role, own in self.service.input_types.items() if own]
        return "-".join([self._prompts.identity, *types])

    def request(self, texts: Sequence[str], *, role: Role) -> ApiCall:
        service, prompts = self.service, self._prompts
        body: dict[str, object] = {
            "model": self.model,
            "input": [prompts.apply(text, role=role) for text in texts],
            **service.constants,
        }
        if self.dimensions is not None:
            body[service.dimensions_field] = self.dimensions
        if input_type := service.input_types.get(role):
            body["input_type"] = input_type
        return ApiCall(service.path, body)

    def read(self, response: object) -> Sequence[Sequence[float]]:
        return self.service.vectors_of(response)


def open_listed(service: EmbeddingService, options: ProviderOptions) -> RemoteProvider:
    """Return the provider of a vendor that takes lists of texts; nothing is sent yet."""
    model = options.model or service.default_model
    api = ListEmbeddingApi(service, model, options.dimensions)
    return RemoteProvider(service, api, model=model, options=options)


class RemoteProvider:
    """Embeds on a server."""

    background = None  # measured with the first vectors

    def __init__(
        self,
        service: EmbeddingService,
        api: EmbeddingApi,
        *,
        model: str,
        options: ProviderOptions,
    ) -> None:
        self._service = service
        self.api = api
        self.model = model
        self._options = options
        self.limits = Limits(service.most_texts, REQUEST_TOKENS, service.in_flight)
        self.server = ModelServer(
            service.vendor, options.remote, variables=options.variables, model=model
        )

    @property
    def fingerprint(self) -> Fingerprint:
        server = self.server
        return Fingerprint(
            self._service.vendor.name,
            self.model,
            self._options.dimensions or self._service.models.get(self.model),
            self.api.identity,
            "" if server.is_vendors_own else digest_of(server.base_url.encode())[:8],
        )

    @property
    def address(self) -> str:
        """Return where texts are sent."""
        return self.server.base_url

    def reads(self, text: str) -> float:
        return latin_share(text) if _LATIN_ONLY.search(self.model.lower()) else 1.0

    def prepare(self) -> None:
        self.server.key()  # raises if there is none; nothing is sent

    def embed(self, texts: Sequence[str], *, role: Role) -> Vectors:
        if role is not Role.QUERY:
            return self.embed_patiently(texts, role=role)
        call = self.api.request(texts, role=role)
        return self._post(call, count=len(texts), patience=FOR_QUESTIONS)

    def embed_patiently(self, texts: Sequence[str], *, role: Role) -> Vectors:
        # A server that loads its model for an hour may be given that hour.
        seconds = max(FOR_INDEXING.total_seconds, self._options.remote.timeout_seconds)
        patience = replace(FOR_INDEXING, total_seconds=seconds)
        return self._post(self.api.request(texts, role=role), count=len(texts), patience=patience)

    def _post(self, call: ApiCall, *, count: int, patience: Patience) -> Vectors:
        response = self.server.post(call.path, call.body, patience=patience)
        try:
            rows = self.api.read(response)
        except (LookupError, TypeError, ValueError, ArithmeticError):
            # Python's own errors quote what the server sent, which may contain the key.
            raise self._rejected("a response in an unexpected format") from None
        return self.check(rows, count=count)

    def check(self, rows: Sequence[Sequence[float]], *, count: int) -> Vectors:
        """Return the rows as unit vectors."""
        if len(rows) != count:
            raise self._rejected(f"{len(rows)} vectors for {count} texts")
        try:
            vectors = np.array(rows, dtype=np.float64)
        except (TypeError, ValueError, ArithmeticError):
            raise self._rejected("vectors of unequal length or without numbers") from None
        wanted = self.fingerprint.dimensions
        if vectors.ndim != 2 or (wanted is not None and vectors.shape[1] != wanted):  # noqa: PLR2004
            found = vectors.shape[-1] if vectors.ndim else 0
            raise self._rejected(f"{found} dimensions where {wanted or 'some'} were expected")
        largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
        if not np.isfinite(largest).all():
            raise self._rejected("values that are not finite")
        if not (largest > 0).all():
            raise self._rejected("vectors of zeros")
        vectors /= largest  # else the squares of very large or small values overflow
        unit: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(
            np.float32
        )
        return unit

    def close(self) -> None:
        self.server.close()

    def _rejected(self, problem: str) -> VectorsRejectedError:
        return VectorsRejectedError(
            f"{self._service.vendor.name} answered with {problem}.",
            action="Check the settings `model` and `dimensions`; nothing was stored.",
        )
