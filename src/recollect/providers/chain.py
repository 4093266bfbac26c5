"""Chooses the first provider that works, and reports why the others were not chosen.

The chain never changes the vector space by itself: once an index is complete in one provider's
space, `auto` means that provider. Its failures are reported; no other provider takes over.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from recollect.errors import ProviderError
from recollect.providers.registry import AUTO, AUTO_CHAIN, NONE, open_provider
from recollect.reports import Probe
from recollect.types import Degradation, Role, silent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from recollect.providers.base import Provider, ProviderOptions
    from recollect.types import Fingerprint, Progress


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen provider, if any, and why the others were not chosen."""

    provider: Provider | None
    skipped: Mapping[str, Degradation]
    is_auto: bool = False
    """True if the settings name no provider."""

    @property
    def degradation(self) -> Degradation | None:
        """Return why there is no vector leg; None if there is one, or if it is switched off."""
        if self.provider is not None or not self.skipped:
            return None
        first, *others = self.skipped.values()
        none_else = " No other provider can be used either." if others else ""
        return Degradation(first.reason + none_else, first.action)

    @property
    def notice(self) -> str | None:
        """Return what to tell the user if an earlier provider failed and a server is used."""
        if self.provider is None:
            return None
        name = self.provider.fingerprint.provider
        failed = list(self.skipped.values())[: AUTO_CHAIN.index(name)] if self.is_auto else []
        return f"{name} embeds your texts: {failed[0].reason}" if failed else None


class Chain:
    """The providers of one memory: the current one, and previous ones whose vectors still serve."""

    def __init__(self, options: ProviderOptions, *, cache: Path) -> None:
        self._options = options
        self._cache = cache
        self._choice: Choice | None = None
        self._previous: dict[Fingerprint, Provider | Degradation] = {}

    @property
    def choice(self) -> Choice | None:
        """Return the choice, if it was made."""
        return self._choice

    def expected(self, published: Fingerprint | None) -> Fingerprint | None:
        """Return the space to embed texts in, without preparing anything."""
        if self._choice is not None and self._choice.provider is not None:
            return self._choice.provider.fingerprint
        names = self._names(published)
        if not names:
            return None
        try:
            return open_provider(names[0], self._options, cache=self._cache).fingerprint
        except ProviderError:
            return None  # `choose` reports the reason

    def choose(self, published: Fingerprint | None, *, progress: Progress, retry: bool) -> Choice:
        """Return the first provider that can embed now; `retry` repeats a failed choice."""
        if self._choice is None or (retry and self._choice.provider is None):
            self._choice = self._choose(published, progress=progress, retry=retry)
        return self._choice

    def probe(self, published: Fingerprint | None) -> Probe:
        """Embed one text to check that the provider works."""
        started = time.perf_counter()
        choice = self.choose(published, progress=silent, retry=False)
        degradation = choice.degradation
        if choice.provider is not None:
            try:
                choice.provider.embed(["ping"], role=Role.QUERY)
            except ProviderError as error:
                degradation = Degradation(error.message, error.action)
        return Probe(
            works=choice.provider is not None and degradation is None,
            took_ms=(time.perf_counter() - started) * 1000,
            degradation=degradation,
        )

    def previous(self, fingerprint: Fingerprint) -> Provider | Degradation:
        """Return the provider of an earlier space, as today's settings reach it, or why not."""
        if fingerprint not in self._previous:
            self._previous[fingerprint] = self._find_previous(fingerprint)
        return self._previous[fingerprint]

    def close(self) -> None:
        """Release all providers."""
        if self._choice is not None and self._choice.provider is not None:
            self._choice.provider.close()
        for provider in self._previous.values():
            if not isinstance(provider, Degradation):
                provider.close()

    def _names(self, published: Fingerprint | None) -> tuple[str, ...]:
        """Return the providers to try, in order."""
        if self._options.provider == NONE:
            return ()
        if self._options.provider != AUTO:
            return (self._options.provider,)
        if published is not None and published.provider in AUTO_CHAIN:
            return (published.provider,)
        return AUTO_CHAIN

    def _choose(self, published: Fingerprint | None, *, progress: Progress, retry: bool) -> Choice:
        names = self._names(published)
        skipped: dict[str, Degradation] = {}
        chosen: Provider | None = None
        for name in names:
            try:
                provider = open_provider(name, self._options, cache=self._cache)
                provider.prepare(progress=progress, retry=retry)
            except ProviderError as error:
                skipped[name] = Degradation(error.message, error.action)
            else:
                chosen = provider
                break
        is_auto = names == AUTO_CHAIN
        if self._options.provider == AUTO and chosen is not None:
            skipped.update(_not_tried(chosen.fingerprint.provider, skipped))
        return Choice(chosen, skipped, is_auto=is_auto)

    def _find_previous(self, fingerprint: Fingerprint) -> Provider | Degradation:
        why = Degradation(
            f"The settings no longer lead to {fingerprint}, which embedded this index.",
            action="Run `recollect index` to embed with the current provider.",
        )
        for options in _variants(self._options, fingerprint):
            try:
                provider = open_provider(fingerprint.provider, options, cache=self._cache)
                if provider.fingerprint == fingerprint:
                    provider.prepare(progress=silent, retry=False)
                    return provider
            except ProviderError as error:  # e.g. this provider does not have today's model
                why = Degradation(error.message, error.action)
        return why


def _variants(options: ProviderOptions, fingerprint: Fingerprint) -> Iterator[ProviderOptions]:
    """Yield settings that may lead to a space: unchanged, with its model, with its dimensions.

    Address and key are never taken from the index.
    """
    named = replace(options, provider=fingerprint.provider)
    if options.provider == fingerprint.provider:
        yield named
    plain = replace(named, remote=replace(named.remote, base_url=None, api_key=None))
    for own in (named, plain):
        yield replace(own, model=None, dimensions=None)
        yield replace(own, model=fingerprint.model, dimensions=None)
        yield replace(own, model=fingerprint.model, dimensions=fingerprint.dimensions)


def _not_tried(chosen: str, skipped: Mapping[str, Degradation]) -> dict[str, Degradation]:
    return {
        name: Degradation(
            f"{chosen} comes first and works.", action=f'Set provider = "{name}" to use it.'
        )
        for name in AUTO_CHAIN
        if name != chosen and name not in skipped
    }
