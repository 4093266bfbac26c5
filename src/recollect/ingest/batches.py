"""Embeds texts through a vendor's Batch API: submit, come back later, collect, at less cost.

A batch may take longer than a process lives. So each one is stored with its digests as soon as it
is submitted, and the next run collects it. Texts it brings no vector for are embedded directly.

A submitted batch is billed, and no vendor here offers an idempotency key: a request that submits
one is never repeated at once. Only if the vendor's answer is lost, or the process killed before
storing it, is that batch submitted again.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import field, replace
from typing import TYPE_CHECKING

import numpy as np

from recollect.errors import (
    ProviderBusyError,
    ProviderError,
    ProviderSetupError,
    RequestRefusedError,
    VectorsRejectedError,
)
from recollect.providers.remote.pace import FOR_INDEXING
from recollect.providers.remote.provider import RemoteProvider
from recollect.providers.remote.server import ApiCall
from recollect.records import dataclass
from recollect.reports import Embedded
from recollect.stores import notes
from recollect.stores.base import SpaceTexts
from recollect.types import Degradation, Role, Step, digest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from recollect.ingest.spaces import CachedVectors
    from recollect.providers.base import Provider
    from recollect.stores.base import Store
    from recollect.types import Fingerprint, Progress, Vector

_POLL_SECONDS = 30.0  # before asking again
_PAGE = 1024  # texts fetched from the store at once
_MOST_SILENT = 2  # batches without an answer: the rest is not asked about
_ONCE = replace(FOR_INDEXING, attempts=1)
_FILE_NAME = "recollect.jsonl"
_OVER = ("completed", "failed", "expired", "cancelled")
_INPUT = "input"  # the only field of a line for Voyage


def embed_by_batch(  # noqa: PLR0913 - the parts that meet here
    store: Store,
    *,
    fingerprint: Fingerprint,
    batches: OpenAiBatches,
    vectors: CachedVectors,
    progress: Progress,
    wait: Callable[[float], bool],
    collect_only: bool = False,
) -> Embedded:
    """Embed texts without a vector through batches of all runs; `wait` returns False to stop."""
    run = _BatchRun(store, fingerprint, batches, vectors, progress, is_submitted=collect_only)
    run.running = notes.batches(store, fingerprint)
    while run.advance() and wait(_POLL_SECONDS):
        pass
    return run.finished()


@dataclass(slots=True)
class _BatchRun:
    """The batches as one run sees them."""

    store: Store
    fingerprint: Fingerprint
    batches: OpenAiBatches
    vectors: CachedVectors
    progress: Progress
    is_submitted: bool
    """Whether nothing is left to submit."""
    running: dict[str, frozenset[str]] = field(default_factory=dict)
    """The digests of each batch that is not collected yet."""
    tried: set[str] = field(default_factory=set)
    """Texts that this run submitted."""
    report: Embedded = field(default_factory=Embedded)
    trouble: ProviderError | None = None
    """Why the run ends early."""
    total: int = 0

    def advance(self) -> bool:
        """Do all that can be done now; return whether there is something to wait for."""
        try:
            self._collect_finished()
            self._submit_missing()
        except ProviderError as error:
            self.trouble = error
            return False
        return bool(self.running)

    def finished(self) -> Embedded:
        """Return what was done, and what the vendor has not finished."""
        if texts := sum(map(len, self.running.values())):
            reason = f"The vendor has not finished {texts:,} texts yet."
            action = (
                "Run `recollect index` again later: it collects what is finished and submits "
                "nothing twice."
            )
            if self.trouble is not None:
                reason, action = f"{self.trouble.message} {reason}", self.trouble.action
            self.report.degradation = Degradation(reason, action)
        return self.report

    def _collect_finished(self) -> None:
        """Collect what is finished; a batch that cannot be fetched does not block the others."""
        silent: list[ProviderBusyError] = []
        for batch, digests in list(self.running.items()):
            try:
                self._visit(batch, digests)
            except ProviderBusyError as error:
                silent.append(error)
                if len(silent) == _MOST_SILENT:
                    break
        self._report_progress()
        if silent:
            raise silent[-1]

    def _visit(self, batch: str, digests: frozenset[str]) -> None:
        file = self.batches.look(batch)
        if file is None:
            return
        found = {
            digest: vector for digest, vector in self.batches.collect(file) if digest in digests
        }
        if found:
            self.vectors.put(list(found), np.stack(list(found.values())))
            self.report.done += len(found)
        notes.drop_batch(self.store, self.fingerprint, batch)
        del self.running[batch]

    def _submit_missing(self) -> None:
        if self.is_submitted:
            return
        for texts in self._packed():
            try:
                batch = self.batches.submit(texts)
            except ProviderBusyError:
                if self.running:
                    return  # often too many are running: there is room once one ends
                raise
            notes.put_batch(self.store, self.fingerprint, batch, texts.keys())
            self.tried.update(texts)
            self.running[batch] = frozenset(texts)
            self._report_progress()
        self.is_submitted = True

    def _packed(self) -> Iterator[dict[str, str]]:
        """Yield the texts that are in no batch, as many at once as a batch may hold."""
        taken = self.tried.union(*self.running.values())
        held: dict[str, str] = {}
        texts, after = SpaceTexts(self.fingerprint), 0
        while page := self.store.missing(texts, limit=_PAGE, after=after):
            after = page[-1].number
            wanted = [missing for missing in page if missing.digest not in taken]
            known = self.vectors.reuse([missing.digest for missing in wanted])
            self.report.reused += len(known)
            for missing in wanted:
                if missing.digest in known:
                    continue
                held[missing.digest] = missing.text
                if len(held) == self.batches.most_texts:
                    yield held
                    held = {}
        if held:
            yield held

    def _report_progress(self) -> None:
        done = self.report.done + self.report.reused
        self.total = max(self.total, done + sum(map(len, self.running.values())))
        if self.total:
            self.progress(Step("embed", done, self.total))


def batch_api(provider: Provider) -> OpenAiBatches | None:
    """Return the Batch API of a provider's vendor; None if it has none."""
    if not isinstance(provider, RemoteProvider):
        return None
    kind = _VENDORS.get(provider.fingerprint.provider)
    return kind(provider) if kind else None


class OpenAiBatches:
    """`/files` and `/batches` of OpenAI: within 24 hours, at half the price.

    platform.openai.com/docs/guides/batch, …/docs/api-reference/batch and …/files. A batch that
    expires keeps the results it has.
    """

    vendor = "openai"
    most_texts = 2000
    """Fewer than vendors allow: the results of one batch, up to 70 KB each, are fetched at once,
    and some accounts may queue few tokens."""
    window = "24h"

    def __init__(self, provider: RemoteProvider) -> None:
        self._provider = provider

    def submit(self, texts: Mapping[str, str]) -> str:
        """Submit documents by digest and return the batch's name."""
        # Without lone surrogates: strict readers would refuse the whole file.
        sent = (texts[each].encode("utf-8", "replace").decode("utf-8") for each in sorted(texts))
        lines = map(self._line, sorted(texts), sent)
        # In ASCII: some readers treat U+0085 and U+2028, allowed in JSON strings, as line ends.
        content = b"".join(json.dumps(line).encode("ascii") + b"\n" for line in lines)
        call = self._submission(self._upload(content))
        response = self._provider.server.post(call.path, call.body, patience=_ONCE)
        return self._described(response)[0]

    def look(self, batch: str) -> str | None:
        """Return the file of results once a batch is over, or unknown: empty if it has none."""
        found = self._get(f"batches/{batch}")
        if found is None:
            return ""
        _, status, file = self._described(found)
        return file if status in _OVER else None

    def collect(self, file: str) -> Iterator[tuple[str, Vector]]:
        """Yield the vectors of a finished batch by digest; texts that got none are left out."""
        content = self._get(f"files/{file}/content", is_json=False) if file else None
        rows = content.splitlines() if isinstance(content, bytes) else []
        try:
            lines = [json.loads(row) for row in rows if row.strip()]
        except ValueError as error:
            raise self._unexpected("a file that is not JSON lines") from error
        for line in lines:
            # A text that was refused has no vector in its answer.
            with contextlib.suppress(
                KeyError, TypeError, IndexError, ValueError, VectorsRejectedError
            ):
                vectors = self._provider.api.read(line["response"]["body"])
                yield str(line["custom_id"]), self._provider.check(vectors, count=1)[0]

    def _get(self, path: str, *, is_json: bool = True) -> object:
        """Return what is at a path; None if the vendor has nothing there."""
        server = self._provider.server
        try:
            return server.send("GET", path, patience=FOR_INDEXING, is_json=is_json)
        except (ProviderSetupError, RequestRefusedError):
            # A wrong key is refused in the same way, but then the list is refused, too.
            server.send("GET", "batches?limit=1", patience=FOR_INDEXING)
            return None

    def _unexpected(self, what: str) -> ProviderBusyError:
        return ProviderBusyError(
            f"{self.vendor} answered with {what} when asked for a batch.",
            action="Run `recollect index` again later; submitted batches are not lost.",
        )

    def _upload(self, content: bytes) -> str:
        """Upload the file and return its name. Repeating this costs nothing."""
        # No text contains its own digest, so the boundary never occurs in the content.
        boundary = f"recollect-{digest_of(content)[:32]}"
        purpose = b'content-disposition: form-data; name="purpose"\r\n\r\nbatch'
        head = f'content-disposition: form-data; name="file"; filename="{_FILE_NAME}"'
        file_part = f"{head}\r\ncontent-type: application/jsonl\r\n\r\n".encode() + content
        body = b"".join(
            f"--{boundary}\r\n".encode() + part + b"\r\n" for part in (purpose, file_part)
        )
        uploaded = self._provider.server.send(
            "POST",
            "files",
            content=body + f"--{boundary}--\r\n".encode(),
            headers={"content-type": f"multipart/form-data; boundary={boundary}"},
            patience=FOR_INDEXING,
        )
        file = _text_in(uploaded, "id")
        if not file:
            raise self._unexpected("no file name")
        return file

    def _line(self, digest: str, text: str) -> Mapping[str, object]:
        """Return the line of one text."""
        body = self._provider.api.request([text], role=Role.DOCUMENT).body
        return {"custom_id": digest, "method": "POST", "url": "/v1/embeddings", "body": body}

    def _submission(self, file: str) -> ApiCall:
        """Return the request that makes a batch of an uploaded file."""
        return ApiCall(
            "batches",
            {
                "input_file_id": file,
                "endpoint": "/v1/embeddings",
                "completion_window": self.window,
            },
        )

    def _described(self, description: object) -> tuple[str, str, str]:
        """Return name, status and file of results in the vendor's description of a batch."""
        name, status, file = (
            _text_in(description, field) for field in ("id", "status", "output_file_id")
        )
        if not name or not status:
            raise self._unexpected("something else")
        return name, status, file


class VoyageBatches(OpenAiBatches):
    """`/files` and `/batches` of Voyage: within 12 hours, at two thirds of the price.

    docs.voyageai.com/docs/batch-inference, …/reference/batch. Like OpenAI's, but what applies to
    all lines, such as model and role, is sent once, in `request_params`.
    """

    vendor = "voyage"
    window = "12h"

    def _line(self, digest: str, text: str) -> Mapping[str, object]:
        body = self._provider.api.request([text], role=Role.DOCUMENT).body
        return {"custom_id": digest, "body": {_INPUT: body[_INPUT]}}

    def _submission(self, file: str) -> ApiCall:
        body = self._provider.api.request([""], role=Role.DOCUMENT).body
        params = {name: value for name, value in body.items() if name != _INPUT}
        call = super()._submission(file)
        return ApiCall(call.path, {**call.body, "request_params": params})


_VENDORS: dict[str, type[OpenAiBatches]] = {
    each.vendor: each for each in (OpenAiBatches, VoyageBatches)
}


def _text_in(value: object, name: str) -> str:
    """Return the text under a name; empty if there is none."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""
