"""A language model on a server: knows no vendor, and hands on only what can be used."""

from __future__ import annotations

import re
import threading
import time
from typing import TYPE_CHECKING

from recollect.errors import ProviderError, ProviderSetupError, RequestRefusedError
from recollect.providers.chat.base import Completion
from recollect.providers.chat.wire import Ask, DeclinedError
from recollect.providers.chat.words import reworded
from recollect.providers.keys import is_reference, redact, variable_of
from recollect.providers.remote.pace import Pace
from recollect.providers.remote.retry import Patience
from recollect.text.size import estimate_tokens

if TYPE_CHECKING:
    from recollect.providers.chat.base import ChatOptions, Price
    from recollect.providers.chat.wire import ChatVendor, ChatWire
    from recollect.providers.remote.sender import Sender

_MOST_CHARS = 1_000_000
"""Of one answer: many times what any limit of tokens allows."""
_SAID_CHARS = 300  # of others' words in a message
_LONG_SECONDS = 60.0  # who allows as much waits for work to be done, not for an answer to read
_LEAST_SECONDS = 0.1
_SNAPSHOT = re.compile(r"-[0-9]{4}-?[0-9]{2}-?[0-9]{2}$")  # a dated model costs what its name does
_THOUGHTS = re.compile(r"\s*<think>.*?(</think>\s*|\Z)", re.DOTALL)


def patience_within(seconds: float) -> Patience:
    """Return how often to try within the time given."""
    return Patience(
        attempts=8 if seconds >= _LONG_SECONDS else 3,
        first_seconds=0.5,
        longest_seconds=min(seconds, 60.0),
        total_seconds=seconds,
        turn_seconds=seconds,
    )


class RemoteChat:
    """Asks a server."""

    def __init__(
        self, vendor: ChatVendor, wire: ChatWire, *, model: str, options: ChatOptions
    ) -> None:
        self._vendor = vendor
        self._wire = wire
        self._model = model
        self._options = options
        self._refused_fields: frozenset[str] = frozenset()
        self._sender: Sender | None = None
        self._pace = Pace()
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """Return the provider's name."""
        return self._vendor.name

    @property
    def model(self) -> str:
        """Return the model's name."""
        return self._model

    @property
    def price(self) -> Price | None:
        """Return the price at the vendor's own address."""
        if not is_own_address(self._vendor, self._options):
            return None
        prices = self._vendor.prices
        return prices.get(self._model) or prices.get(_SNAPSHOT.sub("", self._model))

    def prepare(self) -> None:
        """See that there is a key; the server is asked when there is something to ask."""
        self._key()

    def complete(
        self, prompt: str, *, system: str = "", max_tokens: int, temperature: float, seconds: float
    ) -> Completion:
        """Return what the model writes."""
        ask = Ask(prompt, system, max_tokens, temperature)
        try:
            answer = self._answered(ask, ends_at=time.monotonic() + seconds)
            return self._completion(answer)
        except ProviderError as error:
            raise reworded(error, section=self._options.section) from None

    def close(self) -> None:
        """Close the connections; whoever waits stops waiting."""
        self._pace.stop()
        with self._lock:
            sender = self._sender
        if sender is not None:
            sender.close()

    def _answered(self, ask: Ask, *, ends_at: float) -> object:
        """Ask, once more for each field that this model turns out not to know."""
        sender = self._connected()
        tokens = estimate_tokens(ask.prompt) + estimate_tokens(ask.system) + ask.max_tokens
        while True:
            call = self._wire.ask(ask, without=self._refused_fields)
            patience = patience_within(max(ends_at - time.monotonic(), _LEAST_SECONDS))
            try:
                return sender.post(call.path, call.body, patience=patience, tokens=tokens)
            except RequestRefusedError as error:
                field = self._field_refused(error.message)
                if field is None:
                    raise
                self._refused_fields |= {field}

    def _field_refused(self, message: str) -> str | None:
        for field, words in self._wire.optional.items():
            if field not in self._refused_fields and re.search(words, message, re.IGNORECASE):
                return field
        return None

    def _completion(self, answer: object) -> Completion:
        if isinstance(answer, dict) and answer.get("error"):  # some gateways say so with 200
            raise self._declined(f"answered with an error ({self._safe(str(answer['error']))})")
        try:
            read = self._wire.read(answer)
            thoughts = _THOUGHTS.match(read.text)
            text = read.text[thoughts.end() :] if thoughts else read.text
        except DeclinedError as declined:
            said = self._safe(str(declined))
            raise self._declined(f"would not answer ({said})") from None
        except (LookupError, TypeError, ValueError, AttributeError):
            # Python's own errors quote what the server sent, and that may be the key.
            raise ProviderError(
                f"{self._vendor.name} answered with something of another shape.",
                action=f"Check {self._options.section}.base_url and {self._options.section}.model.",
            ) from None
        is_cut = read.is_cut or len(text) > _MOST_CHARS
        return Completion(text[:_MOST_CHARS], read.input_tokens, read.output_tokens, is_cut)

    def _declined(self, what: str) -> RequestRefusedError:
        return RequestRefusedError(f"{self._vendor.name} {what}.", action="Ask for something else.")

    def _safe(self, text: str) -> str:
        key_name = self._key_name
        key = self._options.variables.get(key_name) if key_name else None
        plain = "".join(char if char.isprintable() else " " for char in redact(text, key=key))
        return plain[:_SAID_CHARS]

    def _connected(self) -> Sender:
        from recollect.providers.remote.sender import Sender  # noqa: PLC0415 - httpx: 60 ms

        with self._lock:
            if self._sender is None:
                key = self._key()
                self._sender = Sender(
                    vendor=self._vendor.name,
                    base_url=address_of(self._vendor, self._options),
                    headers=self._wire.headers(key),
                    key=key,
                    key_name=self._key_name or "remote.api_key",
                    timeout_seconds=self._options.timeout_seconds,
                    pace=self._pace,
                    model_action=self._vendor.model_action.format(model=self._model),
                )
            return self._sender

    @property
    def _key_name(self) -> str | None:
        """The variable that holds the key, if one is to be sent."""
        if self._options.api_key is not None:
            return variable_of(self._options.api_key)
        # A key belongs to the vendor: an address from the settings gets it only when told so.
        return None if self._options.base_url else self._vendor.key_variable

    def _key(self) -> str | None:
        told, section = self._options.api_key, self._options.section
        if told is not None and not is_reference(told):
            raise ProviderSetupError(
                f"{section}.api_key is not the name of a variable.",
                action=f"Put the key into an environment variable and set {section}.api_key to "
                "env:NAME.",
            )
        name = self._key_name
        key = self._options.variables.get(name) if name else None
        is_wanted = self._vendor.needs_key and is_own_address(self._vendor, self._options)
        if name and key is None and (told or is_wanted):
            raise ProviderSetupError(
                f"{self._vendor.name} needs a key and the variable {name} is not set.",
                action=f"Set {name}, or set {section}.provider to another one.",
            )
        if key is not None and not (key.isascii() and key.isprintable()):
            # No header could carry it, and the library's complaint would quote it.
            raise ProviderSetupError(
                f"The key in {name} has characters that no key has.",
                action=f"Set {name} again: quotes or a line break may have come along.",
            )
        return key


def address_of(vendor: ChatVendor, options: ChatOptions) -> str:
    """Return the address in force: the setting's, else the vendor's variable's, else its own."""
    named = vendor.url_variable
    told = options.base_url or (options.variables.get(named) if named else None)
    return (vendor.url_of(told) if told else vendor.base_url).rstrip("/")


def is_own_address(vendor: ChatVendor, options: ChatOptions) -> bool:
    """Tell whether the vendor itself is asked."""
    return address_of(vendor, options) == vendor.base_url.rstrip("/")
