"""What a model is: the protocols of Provider, Reranker and Chat, and their records.

What asks a model, or prepares to, raises a ProviderError if there is no answer. RequestRefusedError
means these texts, or so many of them: fewer may work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from recollect.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.types import Background, Fingerprint, Role, Vector, Vectors


READS_ENOUGH = 0.5
"""Share of letters a model must read; below it, most of a text is noise to it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may be sent to a provider at once."""

    texts: int
    """Most texts in one request."""
    tokens: int = 1_000_000
    """Most tokens in one request, by our own estimate."""
    in_flight: int = 1
    """Requests at the same time."""
    media_bytes: int = 0
    """Media files per request, as sent; 0 if none are accepted."""


class Provider(Protocol):
    """Turns texts into unit-length vectors of one space."""

    @property
    def fingerprint(self) -> Fingerprint:
        """Return the identity of the space; known before anything is loaded."""

    @property
    def background(self) -> Background | None:
        """Return how cosines of unrelated texts are distributed; None if never measured."""

    @property
    def limits(self) -> Limits:
        """Return how much may be sent at once."""

    def reads(self, text: str) -> float:
        """Return how much of a text the model understands, from 0 to 1."""

    def prepare(self) -> None:
        """Make sure that texts can be embedded."""

    def embed(self, texts: Sequence[str], *, role: Role) -> Vectors:
        """Return one vector per text. Several threads may call it, within the limits."""

    def close(self) -> None:
        """Release all resources; threads waiting in `embed` return."""


@runtime_checkable
class EmbedsPatiently(Protocol):
    """A provider on a server, which may be busy or still loading its model."""

    def embed_patiently(self, texts: Sequence[str], *, role: Role) -> Vectors:
        """Do the same as `embed`, with the patience of an index run whatever the role."""


@dataclass(frozen=True, slots=True)
class QuestionWords:
    """A question as the model reads it, word by word."""

    words: tuple[str, ...]
    """The word that each state belongs to: the model reads long words in pieces."""
    states: Vectors
    """States of the words, of unit length."""


@dataclass(frozen=True, slots=True)
class EmbeddedQuestion:
    """A question as a provider reads it that has states of words."""

    vector: Vector
    words: QuestionWords | None
    """None if the model that reads questions in its language has no states of words."""
    background: Background | None = None
    """How cosines of unrelated texts with such questions are distributed; None is the space's."""


@runtime_checkable
class ReadsWords(Protocol):
    """A provider whose model has a state for every word of a text, beside the text's vector."""

    @property
    def word_background(self) -> Background | None:
        """Return how well the words of unrelated texts match; None if it has no word states."""

    def embed_worded(self, texts: Sequence[str]) -> tuple[Vectors, list[bytes]]:
        """Return the vectors of documents, as `embed` does, and the codes of their words.

        A code has one bit per dimension, the sign of a word's state. Equal words share one, and
        function words and punctuation are left out, unless a text has nothing else. A text has
        none if the model that reads its language has no states of words.
        """

    def embed_question(self, text: str) -> EmbeddedQuestion:
        """Return the vector of a question, as `embed` does, and its words."""


def word_reader(provider: Provider) -> ReadsWords | None:
    """Return the provider if it has word states."""
    if isinstance(provider, ReadsWords) and provider.word_background is not None:
        return provider
    return None


@dataclass(frozen=True, slots=True)
class Media:
    """A media file to embed together with its label."""

    label: str
    mime: str
    content: bytes


@runtime_checkable
class EmbedsMedia(Protocol):
    """A provider that embeds images and recordings into the same space as texts."""

    def embed_media(self, media: Sequence[Media]) -> Vectors:
        """Return one vector per file. Several threads may call it, within the limits."""

    def media_tokens(self, media: Media) -> int:
        """Return how many tokens a file counts, as far as that is known."""


class Reranker(Protocol):
    """Reads a question and a text together and judges how well the text answers it."""

    def reads(self, text: str) -> float:
        """Return how much of a text the model understands, from 0 to 1."""

    def prepare(self) -> None:
        """Make sure that texts can be judged."""

    def score(
        self, question: str, passages: Sequence[str], *, deadline: float | None
    ) -> list[float]:
        """Return the probability that each passage answers the question.

        The most important passages come first: those not begun at the `deadline`, a time of the
        monotonic clock, are left out.
        """

    def close(self) -> None:
        """Release all resources."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What a language model wrote."""

    text: str
    """May be empty: some models spend all their tokens on thinking."""
    input_tokens: int | None
    output_tokens: int | None
    """Tokens as the vendor counts them, including thoughts; None if it does not say."""
    is_cut: bool
    """True if the token limit ended the reply."""


class Chat(Protocol):
    """A language model. Safe to use from several threads."""

    @property
    def name(self) -> str:
        """Return the provider's name."""

    @property
    def model(self) -> str:
        """Return the model's name."""

    def prepare(self) -> None:
        """Check that the model can be asked; nothing is sent."""

    def complete(
        self, prompt: str, *, system: str = "", max_tokens: int, temperature: float, seconds: float
    ) -> Completion:
        """Return what the model writes, within `seconds` for all attempts together.

        Resolving a host name may take longer. Models that take no temperature get none.
        """

    def close(self) -> None:
        """Release all resources; threads waiting in `complete` return."""
