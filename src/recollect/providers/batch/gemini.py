"""Gemini's Batch API: within 24 hours as a rule, at half the price.

Format: ai.google.dev/api/batch-api, ai.google.dev/api/embeddings#EmbedContentBatch and
ai.google.dev/gemini-api/docs/batch-api. A batch is an operation whose `metadata` describes it. At
most 100 batches at a time; files are kept for 48 hours, and a batch expires after as many.

Answers are matched by the key of their line, never by their place: the documented order does not
hold (github.com/googleapis/js-genai/issues/1207, …/python-genai/issues/1909).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from recollect.providers.batch.filed import Filed, FiledBatches
from recollect.providers.batch.jsonl import as_related, pick, pick_count, pick_list, pick_text
from recollect.providers.remote.retry import FOR_INDEXING
from recollect.providers.remote.wire import Call
from recollect.types import Role

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_OVER = ("SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED")
_MARK = "recollect-"
# Files are sent to and fetched from addresses beside the versioned one, not below it; the
# client resolves the dots before it asks.
_UPLOADS = "../upload/v1beta/files?uploadType=multipart"
_DOWNLOADS = "../download/v1beta"
_FILE_AT = (
    ("response", "responsesFile"),
    ("response", "output", "responsesFile"),
    ("metadata", "output", "responsesFile"),
    ("output", "responsesFile"),
)


class GeminiBatches(FiledBatches):
    """`models/…:asyncBatchEmbedContent` and `/batches`."""

    vendor = "gemini"
    most_texts = 1000
    """The answers of one batch, 10 to 60 KB each, are fetched at once; and the smallest accounts
    may queue half a million tokens."""

    def _line(self, digest: str, text: str) -> Mapping[str, object]:
        [request] = pick_list(self._wire.ask([text], role=Role.DOCUMENT).body, "requests")
        return {"key": digest, "request": request}

    def _upload(self, content: bytes, *, mark: str) -> str:
        body, kind = as_related(content, name=_MARK + mark)
        raw = self._sender().send(
            "POST", _UPLOADS, content=body, headers={"content-type": kind}, patience=FOR_INDEXING
        )
        file = pick_text(json.loads(raw), "file", "name")
        if not file:
            raise self._puzzled("no file's name")
        return file

    def _handing_in(self, *, file: str, mark: str) -> Call:
        model = self._wire.ask([""], role=Role.DOCUMENT).path.rpartition(":")[0]
        batch = {"displayName": _MARK + mark, "inputConfig": {"fileName": file}}
        return Call(f"{model}:asyncBatchEmbedContent", {"batch": batch})

    def _described(self, shape: object) -> Filed:
        batch = pick(shape, "metadata") or shape
        name = pick_text(shape, "name") or pick_text(batch, "name")
        state = pick_text(batch, "state")
        if not name or not state:
            raise self._puzzled("something else")
        shown = pick_text(batch, "displayName")
        is_over = state.endswith(_OVER) or pick(shape, "done") is True
        vectors = next(filter(None, (pick_text(shape, *names) for names in _FILE_AT)), "")
        reason = pick_text(shape, "error", "message") or f"it is {state}"
        return Filed(
            name,
            mark=shown.removeprefix(_MARK) if shown.startswith(_MARK) else "",
            is_over=is_over,
            done=pick_count(batch, "batchStats", "successfulRequestCount"),
            vectors=vectors,
            failure=reason if is_over and not vectors else None,
        )

    def _read(self, line: object) -> tuple[str, Mapping[str, object] | str]:
        digest = pick_text(line, "key")
        vector = pick(line, "response", "embedding")
        if vector is not None:
            return digest, {"embeddings": [vector]}
        reason = pick_text(line, "error", "message") or pick_text(line, "status", "message")
        return digest, reason or f"{self.vendor} gave no reason"

    def _page(self, shape: object) -> tuple[Sequence[object], str]:
        return pick_list(shape, "operations"), pick_text(shape, "nextPageToken")

    def _list_path(self, after: str) -> str:
        return f"batches?pageSize=100&pageToken={after}" if after else "batches?pageSize=100"

    def _batch_path(self, batch: str) -> str:
        return batch

    def _content_path(self, file: str) -> str:
        return f"{_DOWNLOADS}/{file}:download?alt=media"
