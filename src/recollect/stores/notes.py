"""What a store remembers beside its documents: whose it is, open batches and refused texts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from recollect.stores.base import Store
    from recollect.types import Fingerprint

WORKSPACE = "workspace"
_CHECKOUT = "checkout"
_FORMER = "former "


def workspace_of(store: Store) -> str | None:
    """Return the workspace a store belongs to; None if it belongs to none yet."""
    return store.meta(WORKSPACE).get(WORKSPACE)


def claim(store: Store, workspace: str, *, checkout: str = "") -> str | None:
    """Record the workspace a store belongs to; return the previous one if it differs.

    `checkout` tells by what it is known after it was moved.
    """
    if checkout and store.meta(_CHECKOUT).get(_CHECKOUT) != checkout:
        store.put_meta(_CHECKOUT, checkout)
    previous = workspace_of(store)
    if previous == workspace:
        return None
    store.put_meta(WORKSPACE, workspace)
    return previous


def move(store: Store, *, checkout: str) -> str | None:
    """Return where a workspace was, if its checkout is this one and it is gone from there."""
    before = workspace_of(store)
    if before is None or store.meta(_CHECKOUT).get(_CHECKOUT) != checkout or Path(before).exists():
        return None
    store.put_meta(f"{_FORMER}{before}", before)
    return before


def former_places(store: Store) -> list[Path]:
    """Return where the workspace of a store was before it was moved."""
    return [Path(each) for each in store.meta(_FORMER).values()]


def batches(store: Store, fingerprint: Fingerprint) -> dict[str, frozenset[str]]:
    """Return the open batches of a space: the digests in each, by the batch's name."""
    key = _batch_key(fingerprint, "")
    found = store.meta(key)
    return {name.removeprefix(key): frozenset(text.split()) for name, text in found.items()}


def put_batch(store: Store, fingerprint: Fingerprint, name: str, digests: Collection[str]) -> None:
    """Remember a batch that was submitted."""
    store.put_meta(_batch_key(fingerprint, name), " ".join(sorted(digests)))


def drop_batch(store: Store, fingerprint: Fingerprint, name: str) -> None:
    """Forget a batch whose results are collected or lost."""
    store.put_meta(_batch_key(fingerprint, name), None)


def refused(store: Store, fingerprint: Fingerprint) -> frozenset[str]:
    """Return the digests of texts that the provider refused in the last full run."""
    key = _refused_key(fingerprint)
    return frozenset(store.meta(key).get(key, "").split())


def put_refused(store: Store, fingerprint: Fingerprint, digests: Collection[str]) -> None:
    """Replace the digests of refused texts."""
    store.put_meta(_refused_key(fingerprint), " ".join(sorted(digests)))


def _batch_key(fingerprint: Fingerprint, name: str) -> str:
    return f"batch {fingerprint}\n{name}"


def _refused_key(fingerprint: Fingerprint) -> str:
    return f"refused {fingerprint}"
