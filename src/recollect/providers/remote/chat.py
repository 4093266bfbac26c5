"""A language model on a server, whatever the vendor."""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from recollect.errors import ProviderError, RequestRefusedError
from recollect.providers.base import Completion
from recollect.providers.remote.pace import Patience
from recollect.providers.remote.server import ModelServer, quota_error
from recollect.records import dataclass
from recollect.text.size import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from recollect.providers.options import ChatOptions
    from recollect.providers.remote.server import ApiCall, Vendor

_MOST_CHARS = 1_000_000
"""Characters of one reply: many times what any token limit allows."""
_LONG_SECONDS = 60.0  # with this much time, nobody is waiting at a prompt
_LEAST_SECONDS = 0.1
_THOUGHTS = re.compile(r"\s*<think>.*?(</think>\s*|\Z)", re.DOTALL)
# Anthropic sends these with status 400: platform.claude.com/docs/en/api/errors.
_SPENT = re.compile(r"credit balance is too low|specified API usage limits", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Prompt:
    """What to send to a model."""

    text: str
    system: str
    max_tokens: int
    temperature: float

    @property
    def tokens(self) -> int:
        """Return roughly how many tokens the model reads."""
        return estimate_tokens(self.text) + estimate_tokens(self.system)


class DeclinedError(Exception):
    """The model or the vendor's filter declines to answer; contains its words."""


class ChatApi(ABC):
    """The request and response format of a vendor's chat API, for one model."""

    optional: ClassVar[Mapping[str, str]] = {}
    """Fields that may be left out, each with a pattern of the words that refuse it."""

    vendor: ClassVar[Vendor]
    default_model: ClassVar[str]

    def __init__(self, options: ChatOptions) -> None:
        self.model = options.model or self.default_model

    @abstractmethod
    def request(self, prompt: Prompt, *, without: AbstractSet[str]) -> ApiCall:
        """Return the request, without the fields that the server refused before."""

    @abstractmethod
    def read(self, response: object) -> Completion:
        """Return the completion; raise DeclinedError, or what Python raises for another format."""


def object_in(response: object, name: str) -> Mapping[str, object]:
    """Return an object inside the response; empty if it is missing."""
    inner = response.get(name) if isinstance(response, dict) else None
    return inner if isinstance(inner, dict) else {}


def count_in(usage: Mapping[str, object], *names: str) -> int | None:
    """Return the sum of the counts with these names; None if there are none."""
    counts = [value for name in names if isinstance(value := usage.get(name), int)]
    return sum(counts) if counts else None


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
    """Asks a language model on a server."""

    def __init__(self, api: ChatApi, *, options: ChatOptions) -> None:
        self._api, vendor = api, api.vendor
        self._refused_fields: frozenset[str] = frozenset()
        self.name = vendor.name
        self.model = api.model
        base_url = vendor.url_of(options.base_url) if options.base_url else None
        self._server = ModelServer(
            vendor,
            replace(options, base_url=base_url),
            variables=options.variables,
            model=api.model,
        )

    def prepare(self) -> None:
        self._server.key()  # raises if there is none; nothing is sent

    def complete(
        self, prompt: str, *, system: str = "", max_tokens: int, temperature: float, seconds: float
    ) -> Completion:
        sent = Prompt(prompt, system, max_tokens, temperature)
        try:
            return self._completion(self._post(sent, ends_at=time.monotonic() + seconds))
        except ProviderError as error:
            if _SPENT.search(error.message):
                raise quota_error(error.message) from None
            raise

    def close(self) -> None:
        self._server.close()

    def _post(self, prompt: Prompt, *, ends_at: float) -> object:
        """Send the prompt, once more for each field that the model turns out not to know."""
        while True:
            call = self._api.request(prompt, without=self._refused_fields)
            patience = patience_within(max(ends_at - time.monotonic(), _LEAST_SECONDS))
            try:
                return self._server.post(call.path, call.body, patience=patience)
            except RequestRefusedError as error:
                refused = self._refused_field(error.message)
                if refused is None:
                    raise
                self._refused_fields |= {refused}

    def _refused_field(self, message: str) -> str | None:
        for name, words in self._api.optional.items():
            if name not in self._refused_fields and re.search(words, message, re.IGNORECASE):
                return name
        return None

    def _completion(self, response: object) -> Completion:
        if isinstance(response, dict) and response.get("error"):  # some gateways send 200
            raise self._declined(f"answered with an error ({self._safe(str(response['error']))})")
        try:
            read = self._api.read(response)
            thoughts = _THOUGHTS.match(read.text)
            text = read.text[thoughts.end() :] if thoughts else read.text
        except DeclinedError as declined:
            raise self._declined(f"declined to answer ({self._safe(str(declined))})") from None
        except (LookupError, TypeError, ValueError, AttributeError):
            # Python's own errors quote what the server sent, which may contain the key.
            raise ProviderError(
                f"{self.name} answered in an unexpected format.",
                action="Check llm.base_url and llm.model.",
            ) from None
        is_cut = read.is_cut or len(text) > _MOST_CHARS
        return Completion(text[:_MOST_CHARS], read.input_tokens, read.output_tokens, is_cut)

    def _declined(self, what: str) -> RequestRefusedError:
        return RequestRefusedError(f"{self.name} {what}.", action="Ask for something else.")

    def _safe(self, text: str) -> str:
        plain = "".join(char if char.isprintable() else " " for char in text)
        return self._server.quotable(plain)
