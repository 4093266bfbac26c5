"""Hides secrets from providers of other packages, which may send what they get to a server.

Providers of our own hide them in the one place where they send (`remote/server.py`), and do so only
if they send.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from recollect.providers.base import (
    EmbedsMedia,
    EmbedsPatiently,
    Provider,
)
from recollect.text.redact import redact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.providers.base import Limits, Media
    from recollect.types import Background, Fingerprint, Progress, Role, Vectors


def redacting(provider: Provider) -> Provider:
    """Return a provider that can do the same, and gets every text without its secrets."""
    parts = [part for protocol, part in _PARTS.items() if isinstance(provider, protocol)]
    kind = type("RedactingProvider", (*parts, _Redacting), {})
    made: Provider = kind(provider)
    return made


class _Redacting(Provider):
    def __init__(self, provider: Any) -> None:  # noqa: ANN401 - a Provider, and what a part needs
        self._provider = provider

    @property
    def fingerprint(self) -> Fingerprint:
        found: Fingerprint = self._provider.fingerprint
        return found

    @property
    def background(self) -> Background | None:
        found: Background | None = self._provider.background
        return found

    @property
    def limits(self) -> Limits:
        found: Limits = self._provider.limits
        return found

    def reads(self, text: str) -> float:
        return float(self._provider.reads(redact(text)))

    def prepare(self, *, progress: Progress, retry: bool) -> None:
        self._provider.prepare(progress=progress, retry=retry)

    def embed(self, texts: Sequence[str], *, role: Role) -> Vectors:
        embedded: Vectors = self._provider.embed([redact(text) for text in texts], role=role)
        return embedded

    def close(self) -> None:
        self._provider.close()


class _Patiently(_Redacting):
    def embed_patiently(self, texts: Sequence[str], *, role: Role) -> Vectors:
        hidden = [redact(text) for text in texts]
        embedded: Vectors = self._provider.embed_patiently(hidden, role=role)
        return embedded


class _WithMedia(_Redacting):
    def embed_media(self, media: Sequence[Media]) -> Vectors:
        hidden = [replace(each, label=redact(each.label)) for each in media]
        embedded: Vectors = self._provider.embed_media(hidden)
        return embedded

    def media_tokens(self, media: Media) -> int:
        return int(self._provider.media_tokens(media))


_PARTS: dict[Any, type[_Redacting]] = {
    EmbedsPatiently: _Patiently,
    EmbedsMedia: _WithMedia,
}
