"""One row of the table of operations: what is asked at which path, with which parameters.

The row validates requests and describes them in /openapi.json, so the description cannot drift.
A new operation is an endpoint, its row beside it, and the name of the rows' tuple in table.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Generic, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.responses import Response

    from recollect.shells.http.kinds import Kind
    from recollect.shells.http.served import Served
    from recollect.shells.render.search import Json
    from recollect.shells.serving import ServedMemory

    Endpoint = Callable[["Call"], Awaitable[Json | Response]]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Where(StrEnum):
    """Where in a request a parameter stands."""

    QUERY = "query"
    PATH = "path"
    BODY = "body"


@dataclass(frozen=True, slots=True)
class Param(Generic[T_co]):
    """One parameter. Made by `required`, `optional` and `repeated`."""

    name: str
    kind: Kind[T_co]
    about: str
    default: T_co
    where: Where = Where.QUERY
    is_required: bool = False
    is_repeated: bool = False


def required(name: str, kind: Kind[T], about: str, *, where: Where = Where.QUERY) -> Param[T]:
    """Return a parameter that has to be given."""
    return Param(name, kind, about, cast(T, None), where, is_required=True)


def optional(
    name: str, kind: Kind[T], about: str, *, where: Where = Where.QUERY
) -> Param[T | None]:
    """Return a parameter that is None when it is not given."""
    return Param(name, cast("Kind[T | None]", kind), about, None, where)


def defaulted(
    name: str, kind: Kind[T], about: str, *, default: T, where: Where = Where.QUERY
) -> Param[T]:
    """Return a parameter that has a value when it is not given."""
    return Param(name, kind, about, default, where)


def repeated(
    name: str, kind: Kind[tuple[T, ...]], about: str, *, where: Where = Where.QUERY
) -> Param[tuple[T, ...]]:
    """Return a parameter that may be given several times; in a body it is a list."""
    return Param(name, kind, about, (), where, is_repeated=True)


@dataclass(frozen=True, slots=True)
class Operation:
    """What can be asked at one path by one method."""

    method: str
    path: str
    endpoint: Endpoint
    summary: str
    """One sentence."""
    params: tuple[Param[object], ...] = ()
    answer: Json = field(default_factory=lambda: {"type": "object"})
    """JSON schema of what it answers."""
    status: int = 200
    """Of an answer that is no error."""
    media: str = "application/json"
    errors: tuple[int, ...] = ()
    """Statuses that this operation may end with besides those that all have."""
    writes: bool = False
    """Changes memory: refused by a server that only reads."""
    is_open: bool = False
    """Needs no token, and no room among the requests under way."""
    seconds: float | None = None
    """How long it may take; None is the limit of all."""

    @property
    def has_body(self) -> bool:
        """Whether it takes a JSON body, if only an empty object."""
        return self.method == "POST"


@dataclass(frozen=True, slots=True)
class Call:
    """One validated request, as an endpoint gets it."""

    served: Served
    values: Mapping[str, object]

    def __getitem__(self, param: Param[T]) -> T:
        """Return the value of a parameter, or its default."""
        return cast(T, self.values.get(param.name, param.default))

    @property
    def memory(self) -> ServedMemory:
        """The memory that is served."""
        return self.served.memory
