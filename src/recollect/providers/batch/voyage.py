"""Voyage's Batch API: within 12 hours, at two thirds of the price.

Format: docs.voyageai.com/docs/batch-inference, …/reference/batch. Files and batches are as
OpenAI's, but what applies to all lines is said once, in `request_params`. At most 100,000 texts a
batch and 100 batches at a time; a batch that runs out of time is `completed`, with the lines that
were not embedded in its error file. Files are kept for 30 days.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.providers.batch.openai import OpenAiBatches
from recollect.providers.remote.wire import Call
from recollect.types import Role

if TYPE_CHECKING:
    from collections.abc import Mapping

_OWN = "input"  # what a line says for itself


class VoyageBatches(OpenAiBatches):
    """`/files` and `/batches`, with the model and the role beside the file."""

    vendor = "voyage"
    most_texts = 2000
    """Fewer than Voyage takes: the answers of one batch, 20 to 40 KB each, are fetched at once."""
    window = "12h"

    def _line(self, digest: str, text: str) -> Mapping[str, object]:
        body = self._wire.ask([text], role=Role.DOCUMENT).body
        return {"custom_id": digest, "body": {_OWN: body[_OWN]}}

    def _handing_in(self, *, file: str, mark: str) -> Call:
        words = self._wire.ask([""], role=Role.DOCUMENT).body
        params = {name: value for name, value in words.items() if name != _OWN}
        call = super()._handing_in(file=file, mark=mark)
        return Call(call.path, {**call.body, "request_params": params})
