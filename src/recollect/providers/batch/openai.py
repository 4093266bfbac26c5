"""OpenAI's Batch API: within 24 hours, at half the price.

Format: platform.openai.com/docs/guides/batch, …/docs/api-reference/batch and …/files. A file holds
at most 50,000 lines and 200 MB; input and output files are kept for 30 days. A batch that expires
keeps the answers it has, and its other lines are in the error file as `batch_expired`.
"""

from __future__ import annotations

import base64
import binascii
import json
import struct
from typing import TYPE_CHECKING

from recollect.providers.batch.filed import Filed, FiledBatches
from recollect.providers.batch.jsonl import as_form, pick, pick_count, pick_list, pick_text
from recollect.providers.remote.retry import FOR_INDEXING
from recollect.providers.remote.wire import Call
from recollect.types import Role

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_OVER = frozenset({"completed", "failed", "expired", "cancelled"})
_MARK = "recollect"
_GOOD = range(200, 300)
_FLOAT_BYTES = 4
_MOST_REASONS = 3  # of a failure; a bad file has one a line


class OpenAiBatches(FiledBatches):
    """`/files` and `/batches`."""

    vendor = "openai"
    most_texts = 2000
    """Fewer than OpenAI takes: the answers of one batch, 8 to 70 KB each, are fetched at once, and
    accounts may queue few tokens."""
    window = "24h"

    def _line(self, digest: str, text: str) -> Mapping[str, object]:
        body = {
            **self._wire.ask([text], role=Role.DOCUMENT).body,
            "encoding_format": "base64",  # a quarter of the bytes to fetch
        }
        return {"custom_id": digest, "method": "POST", "url": "/v1/embeddings", "body": body}

    def _upload(self, content: bytes, *, mark: str) -> str:
        del mark
        body, kind = as_form(content)
        raw = self._sender().send(
            "POST", "files", content=body, headers={"content-type": kind}, patience=FOR_INDEXING
        )
        file = pick_text(json.loads(raw), "id")
        if not file:
            raise self._puzzled("no file's name")
        return file

    def _handing_in(self, *, file: str, mark: str) -> Call:
        return Call(
            "batches",
            {
                "input_file_id": file,
                "endpoint": "/v1/embeddings",
                "completion_window": self.window,
                "metadata": {_MARK: mark},
            },
        )

    def _described(self, shape: object) -> Filed:
        name, status = pick_text(shape, "id"), pick_text(shape, "status")
        if not name or not status:
            raise self._puzzled("something else")
        vectors, errors = pick_text(shape, "output_file_id"), pick_text(shape, "error_file_id")
        is_over = status in _OVER
        reasons = [pick_text(error, "message") for error in pick_list(shape, "errors", "data")]
        return Filed(
            name,
            mark=pick_text(shape, "metadata", _MARK),
            is_over=is_over,
            done=pick_count(shape, "request_counts", "completed"),
            vectors=vectors,
            errors=errors,
            failure="; ".join(reasons[:_MOST_REASONS]) or f"it is {status}"
            if is_over and not vectors and not errors
            else None,
        )

    def _read(self, line: object) -> tuple[str, Mapping[str, object] | str]:
        digest = pick_text(line, "custom_id")
        body = pick(line, "response", "body")
        if isinstance(body, dict) and pick(line, "response", "status_code") in _GOOD:
            return digest, {**body, "data": [_decoded(row) for row in pick_list(body, "data")]}
        for names in (
            ("error",),
            ("response", "body", "error"),
            ("response", "body"),
            ("response",),
        ):
            if reason := pick_text(line, *names, "message"):
                return digest, reason
        return digest, f"{self.vendor} gave no reason"

    def _page(self, shape: object) -> tuple[Sequence[object], str]:
        return (
            pick_list(shape, "data"),
            pick_text(shape, "last_id") if pick(shape, "has_more") is True else "",
        )

    def _list_path(self, after: str) -> str:
        return f"batches?limit=100&after={after}" if after else "batches?limit=100"

    def _batch_path(self, batch: str) -> str:
        return f"batches/{batch}"

    def _content_path(self, file: str) -> str:
        return f"files/{file}/content"


def _decoded(row: object) -> object:
    """Return a row with its vector as numbers: base64 holds them as little-endian float32."""
    packed = pick(row, "embedding")
    if not isinstance(row, dict) or not isinstance(packed, str):
        return row
    try:
        raw = base64.b64decode(packed, validate=True)
        return {**row, "embedding": struct.unpack(f"<{len(raw) // _FLOAT_BYTES}f", raw)}
    except (binascii.Error, struct.error):
        return row
