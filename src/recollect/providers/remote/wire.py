"""What differs between vendors: where they are, what they offer, and the words of the exchange."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from recollect.providers.prompts import Prompts
    from recollect.types import Role


@dataclass(frozen=True, slots=True)
class Model:
    """What is known of a model beforehand."""

    dimensions: int | None
    price: float | None = None
    """US dollars a million tokens, as published in autumn 2026: an estimate, not a bill."""


@dataclass(frozen=True, slots=True)
class Vendor:
    """Where a vendor's servers are and what they take."""

    name: str
    base_url: str
    default_model: str
    models: Mapping[str, Model]
    most_texts: int
    """A request."""
    key_variable: str | None = None
    """None where no key is wanted."""
    needs_key: bool = True
    """False where a key is sent if there is one."""
    url_variable: str | None = None
    """The vendor's own variable for another address."""
    url_of: Callable[[str], str] = str
    """How that variable's value names an address."""
    in_flight: int = 4
    model_action: str = "Check the setting `model`."
    start_action: str = ""
    """What to do when nothing answers, where it is a server of one's own."""
    """What to do when the server has no such model; `{model}` is its name."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request: a path below the base URL and a JSON body."""

    path: str
    body: Mapping[str, object] = field(default_factory=dict)


class Wire(Protocol):
    """How one vendor is asked for vectors, for one model."""

    @property
    def identity(self) -> str:
        """Return what of the request's wording moves the vectors: prompts, task types."""

    def headers(self, key: str | None) -> Mapping[str, str]:
        """Return the headers that carry the key."""

    def ask(self, texts: Sequence[str], *, role: Role) -> Call:
        """Return the request for these texts."""

    def read(self, answer: object) -> Sequence[Sequence[float]]:
        """Return the vectors in the order of the texts.

        Raises:
            KeyError, TypeError, IndexError, ValueError: the answer has another shape.

        """


def bearer(key: str | None) -> Mapping[str, str]:
    """Return the header that most vendors want the key in."""
    return {"authorization": f"Bearer {key}"} if key else {}


def listed_by_index(answer: object) -> Sequence[Sequence[float]]:
    """Return the vectors of a `data` list whose rows carry their `index`, as several vendors do."""
    rows = answer["data"]  # type: ignore[index]  # a wrong shape raises, which is the contract
    ordered = sorted(rows, key=lambda row: int(row["index"]))
    if [int(row["index"]) for row in ordered] != list(range(len(ordered))):
        raise ValueError("the answer's indexes are not those of the texts")
    return [row["embedding"] for row in ordered]


@dataclass(frozen=True, slots=True)
class ListWire:
    """A list of inputs in one JSON body: what most vendors take, with names of their own."""

    model: str
    prompts: Prompts
    dimensions: int | None
    path: str = "embeddings"
    dimensions_field: str = "output_dimension"
    input_types: Mapping[Role, str | None] = field(default_factory=dict)
    """The field `input_type`, where a server is told questions from passages."""
    constants: Mapping[str, object] = field(default_factory=dict)
    """Sent with every request."""
    vectors_of: Callable[[object], Sequence[Sequence[float]]] = listed_by_index

    @property
    def identity(self) -> str:
        """Return the prompts, and the input types where they are told."""
        types = [f"{role}={own}" for role, own in self.input_types.items() if own]
        return "-".join([self.prompts.identity, *types])

    def headers(self, key: str | None) -> Mapping[str, str]:
        """Return the bearer token."""
        return bearer(key)

    def ask(self, texts: Sequence[str], *, role: Role) -> Call:
        """Return the request for these texts."""
        body: dict[str, object] = {
            "model": self.model,
            "input": [self.prompts.apply(text, role=role) for text in texts],
            **self.constants,
        }
        if self.dimensions is not None:
            body[self.dimensions_field] = self.dimensions
        if input_type := self.input_types.get(role):
            body["input_type"] = input_type
        return Call(self.path, body)

    def read(self, answer: object) -> Sequence[Sequence[float]]:
        """Return the vectors in the order of the texts."""
        return self.vectors_of(answer)
