"""Choosing a provider: the first of the chain that can work, and why the others were not taken.

A chain never changes the vector space by itself: once an index is complete in a provider's space,
`auto` means that provider, and its failures are reported instead of covered by another one.
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
    """The provider taken, if any, and why each of the others was not."""

    provider: Provider | None
    skipped: Mapping[str, Degradation]
    is_auto: bool = False
    """Nobody named it: the chain was walked."""

    @property
    def degradation(self) -> Degradation | None:
        """Return why there is no vector leg; None when there is one, or none was wanted."""
        if self.provider is not None or not self.skipped:
            return None
        first, *others = self.skipped.values()
        none_else = " No other provider of the chain can be used either." if others else ""
        return Degradation(first.reason + none_else, first.action)

    @property
    def notice(self) -> str | None:
        """Return what to say when a server is taken because what comes before it did not work."""
        if self.provider is None:
            return None
        name = self.provider.fingerprint.provider
        failed = list(self.skipped.values())[: AUTO_CHAIN.index(name)] if self.is_auto else []
        return f"Texts are embedded by {name}: {failed[0].reason}" if failed else None


class Chain:
    """The providers of one memory: the one wanted, and the one whose vectors still serve."""

    def __init__(self, options: ProviderOptions, *, cache: Path) -> None:
        self._options = options
        self._cache = cache
        self._choice: Choice | None = None
        self._former: dict[Fingerprint, Provider | Degradation] = {}

    @property
    def choice(self) -> Choice | None:
        """What was chosen, if anything was yet."""
        return self._choice

    def expected(self, published: Fingerprint | None) -> Fingerprint | None:
        """Return the space that texts are to be embedded in, without preparing anything."""
        if self._choice is not None and self._choice.provider is not None:
            return self._choice.provider.fingerprint
        names = self._names(published)
        if not names:
            return None
        try:
            return open_provider(names[0], self._options, cache=self._cache).fingerprint
        except ProviderError:
            return None  # why is what choosing tells; here only a name was asked for

    def choose(self, published: Fingerprint | None, *, progress: Progress, retry: bool) -> Choice:
        """Return the first provider that can embed now; a failed choice is made again on retry."""
        if self._choice is None or (retry and self._choice.provider is None):
            self._choice = self._chosen(published, progress=progress, retry=retry)
        return self._choice

    def probe(self, published: Fingerprint | None) -> Probe:
        """Embed one text, to see that the provider really works."""
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
        """Return the provider of an earlier space as today's settings reach it, or why not."""
        if fingerprint not in self._former:
            self._former[fingerprint] = self._find_former(fingerprint)
        return self._former[fingerprint]

    def close(self) -> None:
        """Release all providers."""
        if self._choice is not None and self._choice.provider is not None:
            self._choice.provider.close()
        for provider in self._former.values():
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

    def _chosen(self, published: Fingerprint | None, *, progress: Progress, retry: bool) -> Choice:
        names = self._names(published)
        skipped: dict[str, Degradation] = {}
        taken: Provider | None = None
        for name in names:
            try:
                provider = open_provider(name, self._options, cache=self._cache)
                provider.prepare(progress=progress, retry=retry)
            except ProviderError as error:
                skipped[name] = Degradation(error.message, error.action)
            else:
                taken = provider
                break
        is_auto = names == AUTO_CHAIN
        if self._options.provider == AUTO and taken is not None:
            skipped.update(_not_reached(taken.fingerprint.provider, skipped))
        return Choice(taken, skipped, is_auto=is_auto)

    def _find_former(self, fingerprint: Fingerprint) -> Provider | Degradation:
        why = Degradation(
            f"The settings no longer lead to {fingerprint}, which embedded this index.",
            action="Run `recollect index` to embed with the provider that is set now.",
        )
        for options in _variants(self._options, fingerprint):
            try:
                provider = open_provider(fingerprint.provider, options, cache=self._cache)
                if provider.fingerprint == fingerprint:
                    provider.prepare(progress=silent, retry=False)
                    return provider
            except ProviderError as error:  # today's model may be one that this provider has not
                why = Degradation(error.message, error.action)
        return why


def _variants(options: ProviderOptions, fingerprint: Fingerprint) -> Iterator[ProviderOptions]:
    """Yield settings that may have led to a space: as they are, by the model's name, by its size.

    What a fingerprint cannot tell, an address or a key, is never taken from the index.
    """
    named = replace(options, provider=fingerprint.provider)
    if options.provider == fingerprint.provider:
        yield named
    plain = replace(named, remote=replace(named.remote, base_url=None, api_key=None))
    for own in (named, plain):
        yield replace(own, model=None, dimensions=None)
        yield replace(own, model=fingerprint.model, dimensions=None)
        yield replace(own, model=fingerprint.model, dimensions=fingerprint.dimensions)


def _not_reached(taken: str, skipped: Mapping[str, Degradation]) -> dict[str, Degradation]:
    return {
        name: Degradation(
            f"{taken} was taken before it.", action=f'Set provider = "{name}" to use it.'
        )
        for name in AUTO_CHAIN
        if name != taken and name not in skipped
    }
