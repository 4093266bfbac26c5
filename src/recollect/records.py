"""The `dataclass` decorator of the standard library, for programs that start often.

The one of the standard library compiles up to six methods for each class: 0.5 ms, and a search
loads 140 of them. Here a class is completed by its first instance, or when somebody asks for its
fields, and only its `__init__` is compiled. Options: frozen, slots, kw_only.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from operator import attrgetter
from threading import RLock
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass
else:

    def dataclass(cls: type | None = None, /, **options: bool) -> type:
        """Decorate a class as `dataclasses.dataclass` does."""
        return partial(dataclass, **options) if cls is None else _Deferred(cls, **options).cls


_FIELDS = "__dataclass_fields__"
_completing = RLock()


class _Deferred:
    """Stands in a class for the fields of a dataclass; reading it makes the class one."""

    def __init__(
        self, cls: type, *, frozen: bool = False, slots: bool = False, kw_only: bool = False
    ) -> None:
        self._frozen, self._kw_only = frozen, kw_only
        self._defaults: dict[str, object] = {}
        self.cls: Any = self._with_slots(cls) if slots else cls

        def first_init(instance: object, *values: object, **named: object) -> None:
            self._complete()
            self.cls.__init__(instance, *values, **named)

        self.cls.__init__ = first_init  # type: ignore[misc]  # replaced when it is first called
        setattr(self.cls, _FIELDS, self)

    def __get__(self, instance: object, owner: type) -> object:
        self._complete()
        return getattr(owner, _FIELDS)

    def _with_slots(self, cls: type) -> type:
        members = dict(vars(cls))
        names = [
            name
            for name, annotation in members.get("__annotations__", {}).items()
            if not annotation.startswith("ClassVar")
        ]
        # A slot and a default cannot both be in the class; the defaults wait here.
        self._defaults = {name: members.pop(name) for name in names if name in members}
        for made_by_type in ("__dict__", "__weakref__"):
            members.pop(made_by_type, None)
        members |= {"__slots__": names, "__getstate__": _state, "__setstate__": _restore}
        return type(cls)(cls.__name__, cls.__bases__, members)

    def _complete(self) -> None:
        cls = self.cls
        with _completing:
            if vars(cls).get(_FIELDS) is not self:
                return  # another thread was faster
            slots = {name: vars(cls)[name] for name in self._defaults}
            for name, default in self._defaults.items():
                setattr(cls, name, default)
            dataclasses.dataclass(cls, init=False, repr=False, eq=False, kw_only=self._kw_only)
            for name, slot in slots.items():
                setattr(cls, name, slot)
            fields = dataclasses.fields(cls)
            for name, method in _methods(cls, fields, frozen=self._frozen).items():
                setattr(cls, name, method)
            cls.__init__ = _compiled_init(cls, fields)  # last: another thread may call it at once


def _compiled_init(
    cls: Any,  # noqa: ANN401 - any class
    fields: tuple[dataclasses.Field[Any], ...],
) -> Callable[..., None]:
    """Return an `__init__` with a parameter for each field."""
    known: dict[str, Any] = {"_set": object.__setattr__, "_missing": dataclasses.MISSING}
    positional, keywords = ["self"], list[str]()
    lines = list[str]()
    for field in fields:
        name = field.name
        value, parameter = name, name
        if field.default_factory is not dataclasses.MISSING:
            known[f"_make_{name}"] = field.default_factory
            value = f"_make_{name}() if {name} is _missing else {name}"
            parameter = f"{name}=_missing"
        elif field.default is not dataclasses.MISSING:
            known[f"_default_{name}"] = field.default
            parameter = f"{name}=_default_{name}"
        if not field.init:
            value = parameter.partition("=")[2]
        else:
            (keywords if field.kw_only else positional).append(parameter)
        lines.append(f"  _set(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("  self.__post_init__()")
    parameters = ", ".join([*positional, *(["*", *keywords] if keywords else [])])
    body = "\n".join(lines) or "  pass"
    source = (
        f"def make({', '.join(known)}):\n def __init__({parameters}):\n{body}\n return __init__"
    )
    namespace: dict[str, Any] = {}
    exec(source, namespace)  # noqa: S102 - names of fields in our own code
    init: Callable[..., None] = namespace["make"](**known)
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _methods(
    cls: Any,  # noqa: ANN401 - any class
    fields: tuple[dataclasses.Field[Any], ...],
    *,
    frozen: bool,
) -> dict[str, object]:
    """Return the other methods of a dataclass, without those that the class defines."""
    names = frozenset(field.name for field in fields)
    shown = [field.name for field in fields if field.repr]
    compared = [field.name for field in fields if field.compare]
    values: Callable[[object], tuple[object, ...]] = (
        attrgetter(*compared)
        if len(compared) > 1  # it returns a single value bare
        else lambda self: tuple(getattr(self, name) for name in compared)
    )

    def represent(self: object) -> str:
        shown_values = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{type(self).__qualname__}({shown_values})"

    def equal(self: object, other: object) -> bool:
        is_alike = other.__class__ is self.__class__
        return values(self) == values(other) if is_alike else NotImplemented

    def digest(self: object) -> int:
        return hash(values(self))

    def refuse_to_set(self: object, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def refuse_to_delete(self: object, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    methods: dict[str, object] = {"__repr__": represent, "__eq__": equal}
    methods |= {"__hash__": digest if frozen else None}
    own = {name: member for name, member in vars(cls).items() if member is not None}
    methods = {name: method for name, method in methods.items() if name not in own}
    if frozen:
        methods |= {"__setattr__": refuse_to_set, "__delattr__": refuse_to_delete}
    return methods


def _state(record: Any) -> list[object]:  # noqa: ANN401 - any record
    """Return what pickle and copy take along: they cannot set the attributes of a frozen record."""
    return [getattr(record, field.name) for field in dataclasses.fields(record)]


def _restore(record: Any, state: list[object]) -> None:  # noqa: ANN401 - any record
    for field, value in zip(dataclasses.fields(record), state, strict=True):
        object.__setattr__(record, field.name, value)
