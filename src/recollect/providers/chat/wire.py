"""What differs between vendors of language models: where they are, and how they are asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from collections.abc import Set as AbstractSet

    from recollect.providers.chat.base import Completion, Price
    from recollect.providers.remote.wire import Call


@dataclass(frozen=True, slots=True)
class ChatVendor:
    """Where a vendor's servers are and what its models cost."""

    name: str
    base_url: str
    default_model: str
    prices: Mapping[str, Price] = field(default_factory=dict)
    key_variable: str | None = None
    needs_key: bool = True
    """False where a key is sent if there is one."""
    url_variable: str | None = None
    """The vendor's own variable for another address."""
    url_of: Callable[[str], str] = str
    """How a setting or that variable names an address."""
    model_action: str = "Check the setting `model`."
    """What to do when the server has no such model; `{model}` is its name."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What is asked of a model."""

    prompt: str
    system: str
    max_tokens: int
    temperature: float


class DeclinedError(Exception):
    """The model or the vendor's filter will not answer; says how it put that."""


class ChatWire(Protocol):
    """How one vendor is asked for a text, for one model."""

    @property
    def optional(self) -> Mapping[str, str]:
        """Return the fields that may be left out, each with a pattern of words that refuse it."""

    def headers(self, key: str | None) -> Mapping[str, str]:
        """Return the headers that carry the key."""

    def ask(self, ask: Ask, *, without: AbstractSet[str]) -> Call:
        """Return the request, without fields that the server refused before."""

    def read(self, answer: object) -> Completion:
        """Return what was written.

        Raises:
            DeclinedError: it will not answer.
            KeyError, TypeError, IndexError, ValueError, AttributeError: of another shape.

        """


def section_of(answer: object, name: str) -> Mapping[str, object]:
    """Return an object inside the answer, empty where there is none."""
    inner = answer.get(name) if isinstance(answer, dict) else None
    return inner if isinstance(inner, dict) else {}


def count_of(usage: Mapping[str, object], *names: str) -> int | None:
    """Return the sum of the counts that are there; None where none is."""
    counts = [value for name in names if isinstance(value := usage.get(name), int)]
    return sum(counts) if counts else None
