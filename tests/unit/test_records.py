"""A record of ours behaves as a dataclass of the standard library does."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError, field
from typing import ClassVar

import pytest

from recollect.records import dataclass


@dataclass(frozen=True, slots=True)
class Ours:
    """A record."""

    KIND: ClassVar[str] = "record"
    path: str
    lines: tuple[int, int] = (1, 1)
    tags: list[str] = field(default_factory=list, compare=False)
    hidden: str = field(default="", repr=False, kw_only=True)

    @property
    def label(self) -> str:
        return self.path.upper()


@dataclasses.dataclass(frozen=True, slots=True)
class Theirs:
    """The same, by the standard library."""

    KIND: ClassVar[str] = "record"
    path: str
    lines: tuple[int, int] = (1, 1)
    tags: list[str] = field(default_factory=list, compare=False)
    hidden: str = field(default="", repr=False, kw_only=True)


@dataclass(slots=True)
class Counter:
    """A record that changes."""

    name: str
    count: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.count = len(self.name)


@dataclass(frozen=True, slots=True)
class Longer(Ours):
    """A record with more fields."""

    extra: int = 3


def test_it_reads_like_one_of_the_standard_library() -> None:
    ours, theirs = Ours("a.md", tags=["x"], hidden="s"), Theirs("a.md", tags=["x"], hidden="s")

    assert dataclasses.asdict(theirs) == dataclasses.asdict(ours)
    assert repr(theirs).replace("Theirs", "Ours") == repr(ours)
    assert [each.name for each in dataclasses.fields(Theirs)] == [
        each.name for each in dataclasses.fields(Ours)
    ]
    assert "A.MD" == ours.label
    assert "record" == Ours.KIND
    assert not hasattr(ours, "__dict__")


def test_equal_values_make_equal_records() -> None:
    assert Ours("a", tags=["x"]) == Ours("a", tags=["y"])
    assert Ours("a") != Ours("b")
    assert Ours("a") != Theirs("a")  # type: ignore[comparison-overlap]
    assert 1 == len({Ours("a"), Ours("a")})
    assert Ours("a", (2, 3)) == dataclasses.replace(Ours("a"), lines=(2, 3))


def test_a_frozen_record_refuses_a_change() -> None:
    record = Ours("a")

    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'path'"):
        record.path = "b"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'path'"):
        del record.path
    with pytest.raises(FrozenInstanceError):
        record.other = 1  # type: ignore[attr-defined]


def test_wrong_arguments_are_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"Ours.__init__\(\) missing 1 required positional"):
        Ours()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"takes from 2 to 4 positional arguments"):
        Ours("a", (1, 1), [], "hidden")  # type: ignore[call-arg]


def test_a_record_that_changes_counts_after_init_and_has_no_hash() -> None:
    counter = Counter("abc")
    counter.count += 1

    assert 4 == counter.count
    with pytest.raises(TypeError, match="unhashable"):
        hash(counter)


def test_a_record_inherits_fields() -> None:
    assert "Longer(path='a', lines=(1, 1), tags=[], extra=3)" == repr(Longer("a"))


def test_a_record_is_copied_and_pickled() -> None:
    record = Ours("a", (2, 3), ["x"])

    assert record == copy.deepcopy(record)
    assert record == pickle.loads(pickle.dumps(record))  # noqa: S301 - our own


def test_threads_may_make_the_first_instances_together() -> None:
    for _ in range(50):
        members = {"__annotations__": {"a": "int", "b": "int"}, "b": 2}
        record: type = dataclass(frozen=True, slots=True)(type("Fresh", (), members))

        with ThreadPoolExecutor(4) as threads:
            made = list(threads.map(record, range(4)))

        assert [f"Fresh(a={each}, b=2)" for each in range(4)] == [repr(each) for each in made]
