"""Combines two entries with one id, which a merge leaves of a fact that one side changed.

    - Ada prefers dark mode <!-- f-06e5p3v8m1q0z by=owner -->
    - ~~Ada prefers dark mode~~ <!-- f-06e5p3v8m1q0z superseded-by=f-06e5p3v8m1q0y by=owner -->

Which side is newer is unknown, so what either side added counts: a successor, a detail, a tag. If
the words or the scope differ, they are two statements, and none of them may be lost.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

from recollect.errors import UsageError
from recollect.facts.record import NO_SUCCESSOR, Fact, derive_id

if TYPE_CHECKING:
    from collections.abc import Iterator

_DEFAULTS = {each.name: each.default for each in fields(Fact)}
_JOINED = frozenset({"tags", "supersedes"})


def merged(one: Fact, other: Fact) -> tuple[Fact, tuple[str, ...]] | None:
    """Return the combination of two facts with one id, and where only the first one counts.

    None if they state different things.
    """
    if (one.text, one.scope) != (other.text, other.scope):
        return None
    differing: list[str] = []
    taken: dict[str, object] = {}
    for name, own, given in _differences(one, other):
        if name in _JOINED:
            taken[name] = tuple(dict.fromkeys([*own, *given]))  # type: ignore[misc] # both tuples
        elif own in {_DEFAULTS[name], NO_SUCCESSOR} and given != _DEFAULTS[name]:
            taken[name] = given
        elif name == "valid_until" and None not in {own, given}:
            taken[name] = min(own, given)  # type: ignore[call-overload] # both moments
        elif name != "superseded_by" and given != _DEFAULTS[name]:
            differing.append(name)  # both successors stand: contradictions are told apart from this
    try:
        return replace(one, **taken), tuple(differing)  # type: ignore[arg-type] # fields of a Fact
    except UsageError:  # together they end before they begin
        return one, (*differing, *taken)


def renamed(fact: Fact) -> Fact:
    """Return a statement with a new id, because its own is already taken."""
    return replace(fact, id=derive_id(f"{fact.id} {fact.scope} {fact.text}"))


def _differences(one: Fact, other: Fact) -> Iterator[tuple[str, object, object]]:
    for name in _DEFAULTS:
        own, given = getattr(one, name), getattr(other, name)
        if own != given:
            yield name, own, given
