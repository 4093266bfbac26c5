"""Deciding what a sync has to do from stats alone: no file is read here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from recollect.ingest.walk import Found
    from recollect.types import Known, SourceKind


@dataclass(frozen=True, slots=True)
class Plan:
    """What to look at, what to forget, what to leave alone."""

    suspects: tuple[Found, ...]
    """New, or possibly changed: the digest will tell."""
    gone: tuple[Known, ...]
    unchanged: int


def make_plan(
    found: Sequence[Found],
    *,
    known: Mapping[tuple[SourceKind, str], Known],
    recipe: str,
    unreadable: Collection[str],
    force: bool,
) -> Plan:
    """Compare what is on disk with what is stored.

    Args:
        found: every file there is now.
        known: what the store remembers.
        recipe: identity of the chunking and term rules in force.
        unreadable: paths that could not be looked into; what is stored of them is kept.
        force: look at every file again.

    """
    suspects = tuple(
        each
        for each in found
        if force or not _is_same(each, known.get((each.source, each.path)), recipe)
    )
    present = {(each.source, each.path) for each in found}
    gone = tuple(
        each
        for key, each in known.items()
        if key not in present and not _is_inside(each.path, unreadable)
    )
    return Plan(suspects=suspects, gone=gone, unchanged=len(found) - len(suspects))


def _is_same(found: Found, known: Known | None, recipe: str) -> bool:
    return (
        known is not None
        and known.is_settled
        and known.stat == found.stat
        and known.recipe == recipe
    )


def _is_inside(path: str, folders: Collection[str]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)
