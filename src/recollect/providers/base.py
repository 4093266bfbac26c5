"""The protocols of models: the Provider, the Reranker, and the options of choosing one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from recollect.providers.keys import Variables, key_reference
from recollect.providers.registry import AUTO, NAMES, names
from recollect.text.setting import number, optional, path, plain, switch, url, user_setting, whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from recollect.types import Background, Fingerprint, Progress, Role, Vector, Vectors


def _known(value: object) -> str:
    # Entry points of other packages are looked up only if the name is not one of ours.
    if not isinstance(value, str) or (value not in NAMES and value not in names()):
        raise ValueError(f"one of {', '.join(names())}")
    return value


@dataclass(frozen=True, slots=True)
class RemoteOptions:
    """How servers that embed are reached."""

    base_url: str | None = user_setting(
        "remote.base_url",
        None,
        optional(url),
        "address of a server that speaks the provider's format",
    )
    """None is the vendor's own, or what its environment variable names."""
    api_key: str | None = user_setting(
        "remote.api_key",
        None,
        optional(key_reference),
        "variable that holds the key, as env:NAME; unset: the vendor's own variable",
        secret=True,
    )
    query_input_type: str | None = user_setting(
        "remote.query_input_type",
        None,
        optional(plain),
        "input_type of questions, for compatible servers that want one",
    )
    document_input_type: str | None = user_setting(
        "remote.document_input_type",
        None,
        optional(plain),
        "input_type of notes, for compatible servers that want one",
    )
    timeout_seconds: float = user_setting(
        "remote.timeout_seconds", 60.0, number(0.1, 3600), "how long one request may take"
    )
    requests_per_minute: int = user_setting(
        "remote.requests_per_minute",
        0,
        whole(0, 1_000_000),
        "at most this many; 0: the server's own limit",
    )
    tokens_per_minute: int = user_setting(
        "remote.tokens_per_minute",
        0,
        whole(0, 1_000_000_000),
        "at most this many; 0: the server's own limit",
    )
    batch: bool = user_setting(
        "remote.batch",
        False,
        switch,
        "use the vendor's batch API for big runs: about half the price, done within a day",
    )


@dataclass(frozen=True, slots=True)
class ProviderOptions:
    """Which provider to use, and how."""

    provider: str = user_setting("provider", AUTO, _known, "what embeds texts")
    model: str | None = user_setting(
        "model", None, optional(plain), "unset: the provider's default"
    )
    dimensions: int | None = user_setting(
        "dimensions",
        None,
        optional(whole(1, 100_000)),
        "length of vectors, if the model offers a choice; unset: its own",
    )
    query_prefix: str | None = user_setting(
        "query_prefix",
        None,
        optional(plain),
        "put in front of questions; unset: what the model is known to expect",
    )
    document_prefix: str | None = user_setting(
        "document_prefix",
        None,
        optional(plain),
        "put in front of notes; unset: what the model is known to expect",
    )
    model_path: Path | None = user_setting(
        "local.model_path",
        None,
        optional(path),
        "folder with the files of an ONNX model, or a GGUF file",
    )
    model_cache: Path | None = user_setting(
        "local.model_cache",
        None,
        optional(path),
        "folder for downloaded models; unset: the platform's cache folder",
    )
    remote: RemoteOptions = field(default_factory=RemoteOptions)
    variables: Variables = field(default_factory=Variables)


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may be asked of a provider at once."""

    texts: int
    """A request."""
    tokens: int
    """A request, by our own estimate."""
    in_flight: int
    """Requests at the same time."""
    media_bytes: int = 0
    """A request, as media files travel in it; 0 where none are taken."""


class Provider(Protocol):
    """Turns texts into unit-length vectors of one space."""

    @property
    def fingerprint(self) -> Fingerprint:
        """Return the identity of the space; known before anything is loaded."""

    @property
    def background(self) -> Background | None:
        """Return how cosines of unrelated texts are spread; None where it was never measured."""

    @property
    def limits(self) -> Limits:
        """Return how much may be asked at once."""

    @property
    def price(self) -> float | None:
        """Return US dollars a million tokens; None where nothing is paid or no price is known."""

    def reads(self, text: str) -> float:
        """Return how much of a text the model understands: 1 all of it, 0 nothing."""

    def prepare(self, *, progress: Progress, retry: bool) -> None:
        """Make sure that texts can be embedded, fetching what is needed.

        Args:
            progress: is told how far a download has come.
            retry: try again even if the last attempt failed a moment ago.

        Raises:
            ProviderError: texts cannot be embedded now.

        """

    def embed(self, texts: Sequence[str], *, role: Role) -> Vectors:
        """Return one vector a text. May be called from several threads, up to the limits.

        Raises:
            RequestRefusedError: not these texts, or not so many; fewer may be asked for.
            ProviderError: the texts could not be embedded.

        """

    def close(self) -> None:
        """Release what embedding holds; whoever waits in `embed` stops waiting."""


@dataclass(frozen=True, slots=True)
class Media:
    """A media file to embed with its label, as one."""

    label: str
    mime: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Charge:
    """What embedding something counts as."""

    tokens: int
    dollars: float | None
    """None where nothing is paid or no price is known."""


@runtime_checkable
class EmbedsMedia(Protocol):
    """A provider whose space holds images and recordings as well as texts."""

    def embed_media(self, media: Sequence[Media]) -> Vectors:
        """Return one vector a file. May be called from several threads, up to the limits.

        Raises:
            RequestRefusedError: not these files, or not so many; fewer may be asked for.
            ProviderError: the files could not be embedded.

        """

    def charge(self, media: Media) -> Charge:
        """Return what the vendor publishes to count for a file, as far as it is known."""


class Reranker(Protocol):
    """Reads a question and a text together and tells how well the text answers it."""

    def reads(self, text: str) -> float:
        """Return how much of a text the model understands: 1 all of it, 0 nothing."""

    def prepare(self, *, progress: Progress, retry: bool) -> None:
        """Make sure that texts can be judged, fetching what is needed.

        Raises:
            ProviderError: texts cannot be judged now.

        """

    def score(
        self, question: str, passages: Sequence[str], *, deadline: float | None
    ) -> list[float]:
        """Return how likely each passage answers the question, 0 to 1.

        Args:
            question: what is asked.
            passages: what may answer it, the most important first.
            deadline: a time of the monotonic clock; passages not begun by then are left out at
                the end, so the list is shorter.

        Raises:
            ProviderError: the passages could not be judged.

        """

    def close(self) -> None:
        """Release what judging holds."""


@dataclass(frozen=True, slots=True)
class BatchState:
    """How far a vendor has come with a batch handed in."""

    is_over: bool
    done: int
    """Texts, as far as the vendor says."""
    failure: str | None = None
    """Why the batch as a whole ended without vectors."""


@runtime_checkable
class OffersBatches(Protocol):
    """A provider whose vendor takes batches, if not for every model."""

    def batches(self) -> BatchApi | None:
        """Return the vendor's Batch API; None where there is none."""


class BatchApi(Protocol):
    """Embedding by handing in many texts at once and fetching the vectors later, cheaper."""

    @property
    def most_texts(self) -> int:
        """Return how many texts one batch may hold."""

    def submit(self, texts: Mapping[str, str]) -> str:
        """Hand in documents by the digest of each; return the batch's name.

        Raises:
            ProviderError: the vendor did not take it.

        """

    def look(self, batch: str) -> BatchState:
        """Ask how far it is; a batch the vendor no longer knows is over, and failed.

        Raises:
            ProviderError: the vendor could not be asked.

        """

    def collect(self, batch: str) -> Iterator[tuple[str, Vector | str]]:
        """Return for each digest its vector, or the reason why there is none.

        Raises:
            ProviderError: the vectors cannot be fetched.

        """
