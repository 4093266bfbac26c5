"""The vendors with a Batch API by name: one row each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.providers.batch.gemini import GeminiBatches
from recollect.providers.batch.openai import OpenAiBatches
from recollect.providers.batch.voyage import VoyageBatches

if TYPE_CHECKING:
    from collections.abc import Callable

    from recollect.providers.base import BatchApi
    from recollect.providers.batch.filed import Check, FiledBatches
    from recollect.providers.remote.sender import Sender
    from recollect.providers.remote.wire import Wire

_ROWS: dict[str, type[FiledBatches]] = {
    "openai": OpenAiBatches,
    "gemini": GeminiBatches,
    "voyage": VoyageBatches,
}


def open_batches(
    provider_name: str, *, sender: Callable[[], Sender], wire: Wire, model: str, check: Check
) -> BatchApi | None:
    """Return the vendor's Batch API, asking nothing yet; None where it has none."""
    row = _ROWS.get(provider_name)
    return None if row is None else row(sender, wire, model=model, check=check)
