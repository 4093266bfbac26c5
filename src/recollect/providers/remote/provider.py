"""A provider on a server: packs nothing and knows no vendor, but checks everything it is sent."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING

import numpy as np

from recollect.errors import ProviderSetupError, VectorsRejectedError
from recollect.providers.base import Limits
from recollect.providers.keys import variable_of
from recollect.providers.remote.pace import Pace
from recollect.providers.remote.retry import FOR_INDEXING, FOR_QUESTIONS
from recollect.providers.remote.wire import Model
from recollect.text.scripts import latin_share
from recollect.text.size import estimate_tokens
from recollect.types import Fingerprint, Role, digest_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.providers.base import BatchApi, ProviderOptions
    from recollect.providers.remote.retry import Patience
    from recollect.providers.remote.sender import Sender
    from recollect.providers.remote.wire import Call, Vendor, Wire
    from recollect.types import Progress, Vectors

REQUEST_TOKENS = 8000
"""Packed into a request: every vendor takes it, and one that is lost costs little."""
_LATIN_ONLY = re.compile(r"minilm|nomic-embed-text(?!-v2)|mxbai|arctic-embed(?!2|-l-v2)|bge-.*-en")
_UNKNOWN = Model(dimensions=None)


class RemoteProvider:
    """Embeds by asking a server."""

    def __init__(self, vendor: Vendor, wire: Wire, *, model: str, options: ProviderOptions) -> None:
        self._vendor = vendor
        self._wire = wire
        self._model = model
        self._options = options
        self._known = vendor.models.get(model, _UNKNOWN)
        self._sender: Sender | None = None
        self._lock = threading.Lock()
        remote = options.remote
        self._pace = Pace(
            requests_per_minute=remote.requests_per_minute,
            tokens_per_minute=remote.tokens_per_minute,
        )

    @property
    def fingerprint(self) -> Fingerprint:
        """Return the identity of the space."""
        return Fingerprint(
            self._vendor.name,
            self._model,
            self._options.dimensions or self._known.dimensions,
            self._wire.identity,
            self._endpoint,
        )

    @property
    def background(self) -> None:
        """Return nothing: it is measured with the first vectors."""

    @property
    def limits(self) -> Limits:
        """Return how much may be asked at once."""
        return Limits(
            texts=self._vendor.most_texts, tokens=REQUEST_TOKENS, in_flight=self._vendor.in_flight
        )

    @property
    def price(self) -> float | None:
        """Return US dollars a million tokens, where the vendor publishes them."""
        return self._known.price if not self._endpoint else None

    def reads(self, text: str) -> float:
        """Return how much of a text is in scripts the model was trained on."""
        return latin_share(text) if _LATIN_ONLY.search(self._model.lower()) else 1.0

    def prepare(self, *, progress: Progress, retry: bool) -> None:
        """See that there is a key; the server is asked when there is something to ask."""
        del progress, retry
        self._key()

    def embed(self, texts: Sequence[str], *, role: Role) -> Vectors:
        """Return one unit vector a text."""
        patience = FOR_QUESTIONS if role is Role.QUERY else FOR_INDEXING
        tokens = sum(estimate_tokens(text) for text in texts)
        call = self._wire.ask(texts, role=role)
        return self._embedded(call, count=len(texts), patience=patience, tokens=tokens)

    def _embedded(self, call: Call, *, count: int, patience: Patience, tokens: int) -> Vectors:
        """Ask, and check what is answered."""
        answer = self._connected().post(call.path, call.body, patience=patience, tokens=tokens)
        try:
            rows = self._wire.read(answer)
        except (LookupError, TypeError, ValueError, ArithmeticError):
            # Python's own errors quote what the server sent, and that may be the key.
            raise self._rejected("an answer of another shape") from None
        return self.check(rows, count=count)

    def check(self, rows: Sequence[Sequence[float]], *, count: int) -> Vectors:
        """Return the rows as unit vectors.

        Raises:
            VectorsRejectedError: not as many as texts, of unequal or wrong length, or no numbers.

        """
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
        vectors /= largest  # else the squares of very large or small values leave the range
        unit: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(
            np.float32
        )
        return unit

    def batches(self) -> BatchApi | None:
        """Return the vendor's Batch API; None where it has none."""
        from recollect.providers.batch.table import open_batches  # noqa: PLC0415 - rarely wanted

        return open_batches(
            self._vendor.name,
            sender=self._connected,
            wire=self._wire,
            model=self._model,
            check=lambda rows, count: self.check(rows, count=count),
        )

    def close(self) -> None:
        """Close the connections; whoever waits stops waiting."""
        self._pace.stop()
        with self._lock:
            sender = self._sender
        if sender is not None:
            sender.close()

    @property
    def base_url(self) -> str:
        """The address in force: the setting's, else the vendor's variable's, else the vendor's."""
        named = self._vendor.url_variable
        told = self._options.variables.get(named) if named else None
        return (
            self._options.remote.base_url
            or (self._vendor.url_of(told) if told else None)
            or self._vendor.base_url
        ).rstrip("/")

    @property
    def _endpoint(self) -> str:
        own = self._vendor.base_url.rstrip("/")
        return "" if self.base_url == own else digest_of(self.base_url.encode())[:8]

    def _connected(self) -> Sender:
        from recollect.providers.remote.sender import Sender  # noqa: PLC0415 - httpx: 60 ms

        with self._lock:
            if self._sender is None:
                key = self._key()
                self._sender = Sender(
                    vendor=self._vendor.name,
                    base_url=self.base_url,
                    headers=self._wire.headers(key),
                    key=key,
                    key_name=self._key_name or "remote.api_key",
                    timeout_seconds=self._options.remote.timeout_seconds,
                    pace=self._pace,
                    model_action=self._vendor.model_action.format(model=self._model),
                    start_action=self._vendor.start_action,
                )
            return self._sender

    @property
    def _key_name(self) -> str | None:
        """The variable that holds the key, if one is to be sent."""
        if self._options.remote.api_key is not None:
            return variable_of(self._options.remote.api_key)
        # A key belongs to the vendor: an address from the settings gets it only when told so.
        return None if self._options.remote.base_url else self._vendor.key_variable

    def _key(self) -> str | None:
        name = self._key_name
        if name is None:
            return None
        key = self._options.variables.get(name)
        is_wanted = self._vendor.needs_key and not self._endpoint
        if key is None and (self._options.remote.api_key or is_wanted):
            raise ProviderSetupError(
                f"{self._vendor.name} needs a key and the variable {name} is not set.",
                action=f"Set {name}, or choose another provider.",
            )
        if key is not None and not (key.isascii() and key.isprintable()):
            # No header could carry it, and the library's complaint would quote it.
            raise ProviderSetupError(
                f"The key in {name} has characters that no key has.",
                action=f"Set {name} again: quotes or a line break may have come along.",
            )
        return key

    def _rejected(self, problem: str) -> VectorsRejectedError:
        return VectorsRejectedError(
            f"{self._vendor.name} answered with {problem}.",
            action="Check the settings `model` and `dimensions`; nothing of it was stored.",
        )
