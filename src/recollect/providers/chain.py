"""Choosing a provider: the first of the chain that can work, and why the others were not taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.errors import ProviderError
from recollect.providers.registry import AUTO, AUTO_CHAIN, NONE, open_provider
from recollect.types import Degradation

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from recollect.providers.base import Provider, ProviderOptions
    from recollect.types import Fingerprint, Progress


@dataclass(frozen=True, slots=True)
class Choice:
    """The provider taken, if any, and why each one before it was not."""

    provider: Provider | None
    skipped: Mapping[str, Degradation]

    @property
    def degradation(self) -> Degradation | None:
        """Return why there is no vector leg; None when there is one, or none was wanted."""
        if self.provider is not None or not self.skipped:
            return None
        return Degradation(
            reason=" ".join(why.reason for why in self.skipped.values()),
            action=next(iter(self.skipped.values())).action,
        )


def expected(options: ProviderOptions, *, cache: Path) -> Fingerprint | None:
    """Return the space that searches would use, without preparing anything."""
    if options.provider == NONE:
        return None
    name = AUTO_CHAIN[0] if options.provider == AUTO else options.provider
    return open_provider(name, options, cache=cache).fingerprint


def choose(options: ProviderOptions, *, cache: Path, progress: Progress, retry: bool) -> Choice:
    """Return the first provider that can embed now."""
    if options.provider == NONE:
        return Choice(None, {})
    skipped: dict[str, Degradation] = {}
    for name in AUTO_CHAIN if options.provider == AUTO else (options.provider,):
        provider = open_provider(name, options, cache=cache)
        try:
            provider.prepare(progress=progress, retry=retry)
        except ProviderError as error:
            skipped[name] = Degradation(error.message, error.action)
        else:
            return Choice(provider, skipped)
    return Choice(None, skipped)
