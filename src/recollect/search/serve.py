"""Which vectors answer while an index changes its model: whole ones before new ones.

A question is embedded by one provider and compared in that provider's space alone. Until the space
that is wanted is complete, the one that was complete before serves, if its model can still be
asked; otherwise what there is of the new one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from recollect.types import Degradation, Leg

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recollect.providers.base import Provider
    from recollect.providers.chain import Chain
    from recollect.stores.base import Store
    from recollect.types import Fingerprint, Progress, Results


@dataclass(frozen=True, slots=True)
class Serving:
    """The provider to ask, and what the user should know of it."""

    provider: Provider | None
    degradation: Degradation | None = None
    """Why the provider that is wanted does not serve."""
    notice: str | None = None
    second: Provider | None = None
    """Whom to ask when the first does not answer."""


def serve(store: Store, *, chain: Chain, progress: Progress) -> Serving:
    """Return whose vectors answer now."""
    published = store.published()
    choice = chain.choose(published, progress=progress, retry=False)
    wanted = choice.provider
    if published is None or (wanted is None and choice.degradation is None):
        return Serving(wanted, choice.degradation)
    if wanted is not None and wanted.fingerprint == published:
        return Serving(wanted)
    former = chain.former(published)
    if isinstance(former, Degradation):
        notice = _under_way(store, wanted) if wanted is not None else None
        return Serving(wanted, choice.degradation, notice)
    if wanted is None:
        assert choice.degradation is not None  # noqa: S101 - tested above
        why = choice.degradation
        return Serving(former, Degradation(f"{why.reason} {_meanwhile(published)}", why.action))
    return Serving(
        former, notice=f"{_under_way(store, wanted)} {_meanwhile(published)}", second=wanted
    )


def finished(  # noqa: PLR0913 - all that is to be said of an answer
    results: Results,
    *,
    serving: Serving,
    trouble: Degradation | None,
    missed: Mapping[str, Degradation],
    notices: tuple[str, ...],
    explain: bool,
) -> Results:
    """Return the answer with all that is to be said of how it came about.

    Trouble of the provider that is set is told even where another one's vectors answer; so is what
    was to be searched with besides the question and could not be had.
    """
    degraded = {**(results.degraded or {}), **missed}
    why = serving.degradation or (trouble if serving.second is not None else None)
    if why is not None:
        degraded[Leg.VECTOR] = why
    hits = results.hits if explain else tuple(replace(hit, trace=None) for hit in results.hits)
    said = (*notices, serving.notice) if serving.notice is not None else notices
    return replace(results, hits=hits, degraded=degraded or None, notices=(*said, *results.notices))


def _under_way(store: Store, wanted: Provider) -> str:
    status = store.status(wanted.fingerprint)
    done = f"{status.vectors} of {status.chunks} chunks"
    return f"The index is to be embedded anew with {wanted.fingerprint.model}: {done} are done."


def _meanwhile(published: Fingerprint) -> str:
    return f"The vectors of {published.model} answer meanwhile."
