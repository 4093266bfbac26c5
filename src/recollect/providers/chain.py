"""Chooses the first provider that works, and reports why the others were not chosen.

Only providers that the settings name are asked: a key in the environment names none. Before the
first texts of an index go to a server, `may_send` is asked. An index with vectors of a provider in
the chain keeps it, because vectors of two models cannot be compared.
"""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.errors import ProviderBusyError, ProviderError, ProviderSetupError
from recollect.providers.base import EmbedsPatiently
from recollect.providers.options import AUTO, LOCAL, NONE
from recollect.providers.registry import open_provider
from recollect.records import dataclass
from recollect.reports import Probe
from recollect.types import Degradation, Role, Sending

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from recollect.providers.base import Provider
    from recollect.providers.options import ProviderOptions
    from recollect.types import Fingerprint


_TRIAL = "ping"


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen provider, if any, and why the others were not chosen."""

    provider: Provider | None
    skipped: Mapping[str, Degradation]
    notice: str | None = None
    """What to tell the user if an earlier provider failed and another one embeds."""
    switch: str = ""
    """How to change to another provider, if the index keeps this one and the chain has others."""

    @property
    def degradation(self) -> Degradation | None:
        """Return why there is no vector leg; None if there is one, or if it is switched off."""
        if self.provider is not None or not self.skipped:
            return None
        first, *others = self.skipped.values()
        reason = _reasons(self.skipped) if others else first.reason
        return self.with_switch(Degradation(reason, first.action))

    def with_switch(self, why: Degradation) -> Degradation:
        """Return the same with how to change to another provider."""
        return replace(why, action=f"{why.action} {self.switch}") if self.switch else why


class Chain:
    """The providers of one memory: the current one, and previous ones whose vectors still serve."""

    def __init__(
        self,
        options: ProviderOptions,
        *,
        may_send: Callable[[Sending], bool] = lambda _: True,
    ) -> None:
        """Store the arguments.

        `may_send` is asked once per provider before texts of an index that has no vectors of its
        server are sent there.
        """
        self._options = options
        self._may_send = may_send
        self._answers: dict[str, bool] = {}
        self._choosing = threading.RLock()  # one thread opens and tries a provider, others wait
        self.choice: Choice | None = None  # once it was made
        self._previous: dict[Fingerprint, Provider | Degradation] = {}

    def spaces(self) -> Iterator[Fingerprint]:
        """Yield the space of each provider in the chain, without preparing anything."""
        for name in self._order():
            with contextlib.suppress(ProviderError):  # `choose` reports the reason
                yield self._open(name).fingerprint

    def servers(self) -> Iterator[tuple[str, str | None]]:
        """Yield each provider that may get texts, in order, with its address as far as known."""
        for name in self._order():
            if name != LOCAL:
                with contextlib.suppress(ProviderError):  # it cannot be used, so nothing is sent
                    yield name, _address(self._open(name))

    def first(self, held: Fingerprint | None) -> Provider | None:
        """Return the provider to embed texts with, without preparing anything.

        Here and below, `held` is the space that the index has vectors in.
        """
        if self.choice is not None and self.choice.provider is not None:
            return self.choice.provider
        for name in self._names(held)[:1]:
            with contextlib.suppress(ProviderError):  # `choose` reports the reason
                return self._open(name)
        return None

    def expected(self, held: Fingerprint | None) -> Fingerprint | None:
        """Return the space to embed texts in."""
        first = self.first(held)
        return first.fingerprint if first else None

    def choose(self, held: Fingerprint | None, *, retry: bool, texts: int = 0) -> Choice:
        """Return the first provider that can embed now; `retry` repeats a failed choice."""
        choice = self.choice
        if choice is not None and not (retry and choice.provider is None):
            return choice
        with self._choosing:
            if self.choice is choice:
                self.choice = self._choose(held, texts=texts)
            assert self.choice is not None  # noqa: S101 - nothing takes a choice back
            return self.choice

    def probe(self, held: Fingerprint | None) -> Probe:
        """Embed one text, to see that the provider works."""
        started = time.perf_counter()
        choice = self.choose(held, retry=False)
        degradation = choice.degradation
        if choice.provider is not None:
            try:
                choice.provider.embed([_TRIAL], role=Role.QUERY)
            except ProviderError as error:
                degradation = choice.with_switch(Degradation(error.message, error.action))
        return Probe(
            works=choice.provider is not None and degradation is None,
            took_ms=(time.perf_counter() - started) * 1000,
            degradation=degradation,
        )

    def previous(self, fingerprint: Fingerprint) -> Provider | Degradation:
        """Return the provider of an earlier space, as today's settings reach it, or why not."""
        with self._choosing:
            if fingerprint not in self._previous:
                self._previous[fingerprint] = self._find_previous(fingerprint)
            return self._previous[fingerprint]

    def close(self) -> None:
        """Release all providers."""
        if self.choice is not None and self.choice.provider is not None:
            self.choice.provider.close()
        for provider in self._previous.values():
            if not isinstance(provider, Degradation):
                provider.close()

    def _order(self) -> tuple[str, ...]:
        """Return the providers of the settings, in the order in which they are tried."""
        wanted = self._options.provider
        if wanted == NONE:
            return ()
        first = LOCAL if wanted == AUTO else wanted
        return tuple(dict.fromkeys((first, *self._options.fallback)))

    def _names(self, held: Fingerprint | None) -> tuple[str, ...]:
        """Return the providers to try, in order."""
        order = self._order()
        if held is None:
            return order
        return (held.provider,) if held.provider in order else order[:1]

    def _open(self, name: str) -> Provider:
        """Open a provider; one that is not `provider` itself has its own model and address."""
        options = self._options
        if name != self._order()[0]:
            options = replace(_plain(options), provider=name)
        return open_provider(name, options)

    def _choose(self, held: Fingerprint | None, *, texts: int) -> Choice:
        names = self._names(held)
        skipped: dict[str, Degradation] = {}
        chosen: Provider | None = None
        busy: list[Provider] = []
        for name in names:
            provider = None
            try:
                provider = self._open(name)
                provider.prepare()
                self._ask_first(provider, held, texts=texts)
                if held is None and len(names) > 1 and isinstance(provider, EmbedsPatiently):
                    provider.embed([_TRIAL], role=Role.QUERY)  # within the time of a question
            except ProviderError as error:
                skipped[name] = Degradation(error.message, error.action)
                if provider is not None and isinstance(error, ProviderBusyError):
                    busy.append(provider)
                elif provider is not None:
                    provider.close()
            else:
                chosen = provider
                break
        if chosen is None and busy:  # nobody else: an index run may outlast it
            chosen = busy.pop(0)
            del skipped[chosen.fingerprint.provider]
        for each in busy:
            each.close()
        if chosen is None:
            return Choice(None, skipped, switch=self._switch(held))
        name = chosen.fingerprint.provider
        return Choice(
            chosen,
            {**skipped, **self._not_used(name, skipped, held)},
            notice=f"{name} embeds your texts. {_reasons(skipped)}" if skipped else None,
            switch=self._switch(held),
        )

    def _ask_first(self, provider: Provider, held: Fingerprint | None, *, texts: int) -> None:
        """Ask whether the first texts may go to a server."""
        space = provider.fingerprint
        name = space.provider
        is_first = held is None or (held.provider, held.endpoint) != (name, space.endpoint)
        if name == LOCAL or not is_first:
            return
        if name not in self._answers:
            sending = Sending(name, space.model, _address(provider), texts)
            self._answers[name] = self._may_send(sending)
        if not self._answers[name]:
            raise ProviderSetupError(
                f"Nothing was sent to {name}: this memory has no permission for it yet.",
                action="`recollect index` asks for it on a terminal.",
            )

    def _not_used(
        self, chosen: str, skipped: Mapping[str, Degradation], held: Fingerprint | None
    ) -> dict[str, Degradation]:
        """Return why the other providers of the chain are passed over."""
        is_new = held is None or held.provider != chosen
        why = (
            f"Not needed: {chosen} comes first and works."
            if is_new
            else f"Not used: the index has vectors of {chosen}."
        )
        others = [name for name in self._order() if name != chosen and name not in skipped]
        return {name: Degradation(why, action=self._change(chosen, name)) for name in others}

    def _switch(self, held: Fingerprint | None) -> str:
        """Return how to change to another provider of the chain."""
        order = self._order()
        if held is None or held.provider not in order:
            return ""
        others = (name for name in order if name != held.provider)
        return next((self._change(held.provider, name) for name in others), "")

    def _change(self, chosen: str, to: str) -> str:
        if chosen in self._options.fallback:
            step = f"take {chosen} out of `fallback` and run"
        else:
            step = f"run `recollect config set provider {to}` and"
        return f"To change to {to}, {step} `recollect index`."

    def _find_previous(self, fingerprint: Fingerprint) -> Provider | Degradation:
        why = Degradation(
            f"The settings no longer select {fingerprint}, which embedded this index.",
            action="Run `recollect index` to embed with the current provider.",
        )
        if fingerprint.provider not in (LOCAL, *self._order()):
            return why  # questions go only to servers that the settings still name
        for options in _variants(self._options, fingerprint):
            try:
                provider = open_provider(fingerprint.provider, options)
                if provider.fingerprint == fingerprint:
                    provider.prepare()
                    return provider
            except ProviderError as error:  # e.g. this provider does not have today's model
                why = Degradation(error.message, error.action)
        return why


def _variants(options: ProviderOptions, fingerprint: Fingerprint) -> Iterator[ProviderOptions]:
    """Yield settings that may lead to a space; address and key are never taken from the index."""
    named = replace(options, provider=fingerprint.provider)
    if options.provider == fingerprint.provider:
        yield named
    for own in (named, _plain(named)):
        yield replace(own, model=None, dimensions=None)
        yield replace(own, model=fingerprint.model, dimensions=None)
        yield replace(own, model=fingerprint.model, dimensions=fingerprint.dimensions)


def _plain(options: ProviderOptions) -> ProviderOptions:
    """Return the settings without what would be wrong for another provider or server."""
    remote = replace(
        options.remote,
        base_url=None,
        api_key=None,
        query_input_type=None,
        document_input_type=None,
    )
    return replace(options, model=None, dimensions=None, remote=remote)


def _reasons(skipped: Mapping[str, Degradation]) -> str:
    """Return why each provider cannot be used."""
    return " ".join(f"{name}: {why.reason}" for name, why in skipped.items())


def _address(provider: Provider) -> str | None:
    address: str | None = getattr(provider, "address", None)
    return address
