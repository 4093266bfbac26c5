"""Embeds texts through a vendor's Batch API: submit, come back later, collect, at less cost.

A batch may take a day, longer than a process lives. So each one is stored with its digests as soon
as it is submitted, and the next run goes on from there: it collects what is finished and submits
only texts that are in no batch. What a vendor refuses or loses is a value and never ends the run.

A submitted batch is billed, and no vendor here offers an idempotency key. So a batch is submitted
once and carries a mark, a digest of its contents. The vendor's list is searched for the mark before
submitting, which finds what a killed run left behind, and after a response that never came. One gap
remains: if the vendor accepts a batch, does not answer, and does not list it by the next attempt,
that batch is submitted twice.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import struct
from dataclasses import replace
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
from recollect.types import Degradation, Role, Step, digest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from recollect.ingest.vectors import CachedVectors
    from recollect.providers.base import Provider
    from recollect.stores.base import Store
    from recollect.types import Fingerprint, Progress, Vector

_POLL_SECONDS = 30.0  # before asking again
_PAGE = 1024  # texts fetched from the store at once
_GROUP = 256  # vectors stored in one step
_MOST_UNANSWERED = 2  # batches in a row without an answer: the rest is not asked about
_MOST_SETBACKS = 3  # such rounds in a row: the vendor is gone
_ONCE = replace(FOR_INDEXING, attempts=1)
_MOST_PAGES = 10  # of the vendor's list, newest batches first
_FIRST_BYTE = {"range": "bytes=0-0"}
_FILE_NAME = "recollect.jsonl"
_FILE_TYPE = "application/jsonl"
_OVER = frozenset({"completed", "failed", "expired", "cancelled"})
_MARK = "recollect"
_SUCCESS = range(200, 300)
_FLOAT_BYTES = 4
_MOST_REASONS = 3  # of a failure; a bad file has one per line
_INPUT = "input"  # the only field of a line for Voyage
_GEMINI_OVER = ("SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED")
_GEMINI_MARK = "recollect-"
_DOWNLOADS = "../download/v1beta"
_FILE_AT = (
    ("response", "responsesFile"),
    ("response", "output", "responsesFile"),
    ("metadata", "output", "responsesFile"),
    ("output", "responsesFile"),
)


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
    """Embed every text that has no vector, through batches of earlier runs and of this one.

    Args:
        store: lists the texts without a vector, and the batches of earlier runs.
        fingerprint: the space of the vectors.
        batches: the vendor's Batch API.
        vectors: where vectors are looked up first, and stored.
        progress: called with each step.
        wait: waits so many seconds; returns False to stop waiting.
        collect_only: submit nothing; only collect the batches of earlier runs.

    """
    run = _BatchRun(store, fingerprint, batches=batches, vectors=vectors, progress=progress)
    run.resume(collect_only=collect_only)
    while run.advance() and wait(_POLL_SECONDS):
        pass
    return run.finished()


class _BatchRun:
    """The batches as one run sees them."""

    def __init__(
        self,
        store: Store,
        fingerprint: Fingerprint,
        *,
        batches: OpenAiBatches,
        vectors: CachedVectors,
        progress: Progress,
    ) -> None:
        self._store = store
        self._fingerprint = fingerprint
        self._batches = batches
        self._vectors = vectors
        self._progress = progress
        self._report = Embedded()
        self._running: dict[str, frozenset[str]] = {}
        self._own: set[str] = set()
        """Batches that this run submitted."""
        self._refused: dict[str, str] = {}
        """Texts for which batches of this run returned no vector, and why: not sent again."""
        self._failed: dict[str, str] = {}
        """Texts of batches of this run that failed as a whole."""
        self._done_at_release = 0
        self._is_all_submitted = False
        self._setbacks = 0
        self._trouble: ProviderError | None = None
        """Why the last round got no further."""
        self._end: ProviderError | None = None
        """Why nothing more is submitted."""
        self._total = 0

    def resume(self, *, collect_only: bool) -> None:
        """Take over what earlier runs submitted."""
        self._is_all_submitted = collect_only
        self._running = notes.batches(self._store, self._fingerprint)

    def advance(self) -> bool:
        """Do all that can be done now; return whether there is something to wait for."""
        self._trouble = None
        try:
            self._collect_finished()
        except ProviderError as error:
            return self._set_back(error)
        try:
            self._submit_missing()
        except ProviderBusyError as error:
            # Often too many batches are running: there is room once one of them ends.
            if not self._running:
                return self._set_back(error)
            self._trouble = error
        except ProviderError as error:
            self._end = error
        self._setbacks = 0
        return bool(self._running)

    def finished(self) -> Embedded:
        """Return what was done, and why not more."""
        reasons = []
        action = (
            "Run `recollect index` again later: it collects what is finished and submits nothing "
            "twice."
        )
        error = self._end or self._trouble
        if error is not None:
            reasons.append(error.message)
            action = error.action
        elif not self._running:
            action = (
                "Run `recollect index` again; with remote.batch = false it embeds what is left "
                "directly."
            )
        if lost := self._failed | self._refused:
            why = next(iter(lost.values())).rstrip(".")
            reasons.append(f"{len(lost):,} texts came back without a vector ({why}).")
        if texts := sum(map(len, self._running.values())):
            reasons.append(f"The vendor has not finished {texts:,} texts yet.")
        if reasons:
            self._report.degradation = Degradation(" ".join(reasons), action)
        # The fault may be the text's or the vendor's: neither counts as an answer.
        self._report.is_complete = self._is_all_submitted and not reasons
        return self._report

    def _set_back(self, error: ProviderError) -> bool:
        """Record an error; return whether waiting may help."""
        self._trouble = error
        self._setbacks += 1
        return isinstance(error, ProviderBusyError) and self._setbacks < _MOST_SETBACKS

    def _collect_finished(self) -> None:
        """Visit every batch; one that cannot be fetched does not block the others."""
        running = 0
        unanswered = 0
        for batch, digests in list(self._running.items()):
            try:
                running += self._visit(batch, digests)
                unanswered = 0
            except ProviderBusyError as error:
                self._trouble = error
                unanswered += 1
                if unanswered == _MOST_UNANSWERED:
                    raise
        self._report_progress(running)
        if self._trouble is not None and unanswered == len(self._running):
            raise self._trouble

    def _visit(self, batch: str, digests: frozenset[str]) -> int:
        """Collect a finished batch; of an unfinished one return how many texts are done."""
        state = self._batches.look(batch)
        if not state.is_over:
            return state.done
        if state.failure is None:
            self._collect(batch, digests)
        elif batch in self._own:  # what failed in an earlier run is submitted again
            self._failed.update(dict.fromkeys(digests, state.failure))
        notes.drop_batch(self._store, self._fingerprint, batch)
        del self._running[batch]
        return 0

    def _collect(self, batch: str, digests: frozenset[str]) -> None:
        lost = dict.fromkeys(digests, "no answer came")
        group: dict[str, Vector] = {}
        for digest, outcome in self._batches.collect(batch):
            if digest not in lost:
                continue
            if isinstance(outcome, str):
                lost[digest] = outcome
                continue
            del lost[digest]
            group[digest] = outcome
            if len(group) == _GROUP:
                self._store_vectors(group)
        self._store_vectors(group)
        if batch in self._own:
            self._refused.update(lost)

    def _store_vectors(self, group: dict[str, Vector]) -> None:
        if group:
            self._vectors.put(list(group), np.stack(list(group.values())))
            self._report.done += len(group)
            group.clear()

    def _submit_missing(self) -> None:
        self._release_failed()
        if self._is_all_submitted or self._end is not None:
            return
        for texts in self._packed():
            batch = self._batches.submit(texts)
            notes.put_batch(self._store, self._fingerprint, batch, texts.keys())
            self._own.add(batch)
            self._running[batch] = frozenset(texts)
            self._report_progress(0)
        self._is_all_submitted = True

    def _release_failed(self) -> None:
        """Submit failed batches again once all others are over, if those got further.

        A vendor with a short queue fails the batches that do not fit, but not forever.
        """
        if self._failed and not self._running and self._report.done > self._done_at_release:
            self._failed.clear()
            self._done_at_release = self._report.done
            self._is_all_submitted = False

    def _packed(self) -> Iterator[dict[str, str]]:
        """Yield the texts that are in no batch, as many at once as a batch may hold."""
        taken = frozenset(self._failed).union(self._refused, *self._running.values())
        held: dict[str, str] = {}
        after = 0
        while page := self._store.missing(self._fingerprint, limit=_PAGE, after=after):
            after = page[-1].number
            wanted = [missing for missing in page if missing.digest not in taken]
            known = self._vectors.reuse([missing.digest for missing in wanted])
            self._report.reused += len(known)
            for missing in wanted:
                if missing.digest in known:
                    continue
                held[missing.digest] = missing.text
                if len(held) == self._batches.most_texts:
                    yield held
                    held = {}
        if held:
            yield held

    def _report_progress(self, running: int) -> None:
        done = self._report.done + self._report.reused
        self._total = max(self._total, done + sum(map(len, self._running.values())))
        if self._total:
            self._progress(Step("embed", min(done + running, self._total), self._total))


@dataclass(frozen=True, slots=True)
class BatchState:
    """A batch as the vendor describes it."""

    is_over: bool
    done: int = 0
    """Texts with a vector, as far as the vendor reports them."""
    failure: str | None = None
    """Why the batch as a whole ended without vectors."""
    name: str = ""
    mark: str = ""
    """Empty for batches of other programs."""
    vectors: str = ""
    """The file of results, once there is one."""
    errors: str = ""
    """The file of errors, if the vendor keeps them separately."""


def batch_api(provider: Provider) -> OpenAiBatches | None:
    """Return the Batch API of a provider's vendor; None if it has none."""
    if not isinstance(provider, RemoteProvider):
        return None
    kind = _VENDORS.get(provider.fingerprint.provider)
    return kind(provider) if kind else None


class OpenAiBatches:
    """`/files` and `/batches` of OpenAI; the other vendors differ from it in their formats.

    platform.openai.com/docs/guides/batch, …/docs/api-reference/batch and …/files. Within 24 hours,
    at half the price. A file holds at most 50,000 lines and 200 MB; files are kept for 30 days. A
    batch that expires keeps the results it has; its other lines are in the error file as
    `batch_expired`.
    """

    vendor = "openai"
    most_texts = 2000
    """Fewer than OpenAI allows: the results of one batch, 8 to 70 KB each, are fetched at once, and
    some accounts may queue few tokens."""
    window = "24h"
    uploads = "files"
    name_of_upload: tuple[str, ...] = ("id",)

    def __init__(self, provider: RemoteProvider) -> None:
        self._provider = provider
        self._listed: list[BatchState] | None = None

    def submit(self, texts: Mapping[str, str]) -> str:
        """Submit documents by digest and return the batch's name.

        Raises:
            ProviderError: the vendor did not accept it.

        """
        content = write_lines(
            self._line(digest, sendable(texts[digest])) for digest in sorted(texts)
        )
        words = self._submission(file="", mark="")
        mark = digest_of(
            json.dumps([self._provider.model, words.path, words.body]).encode() + content
        )
        earlier = self._earlier(mark)
        if earlier is not None:
            return earlier
        call = self._submission(file=self._upload(content, mark=mark), mark=mark)
        try:
            response = self._provider.sender().post(call.path, call.body, patience=_ONCE)
            return self._described(response).name
        except ProviderBusyError:
            self._listed = None
            earlier = self._earlier(mark)
            if earlier is None:
                raise
            return earlier

    def look(self, batch: str) -> BatchState:
        """Return the state of a batch; one that the vendor no longer knows has failed.

        Raises:
            ProviderError: the vendor could not be asked.

        """
        unknown = f"{self.vendor} does not know it"
        return self._find(batch) or BatchState(is_over=True, failure=unknown)

    def collect(self, batch: str) -> Iterator[tuple[str, Vector | str]]:
        """Yield for each digest its vector, or the reason why there is none.

        Raises:
            ProviderError: the vectors cannot be fetched.

        """
        found = self._find(batch)
        for file in (found.vectors, found.errors) if found else ():
            content = self._get(self._content_path(file), is_json=False) if file else None
            try:
                for line in read_lines(content or b""):
                    yield from self._result(line)
            except ValueError as error:
                raise self._unexpected("a file that is not JSON lines") from error

    def _result(self, line: object) -> Iterator[tuple[str, Vector | str]]:
        digest, response = self._read(line)
        if not digest:
            return
        if isinstance(response, str):
            yield digest, response
            return
        try:
            vector = self._provider.check(self._provider.api.read(response), count=1)[0]
        except (KeyError, TypeError, IndexError, ValueError):
            yield digest, f"{self.vendor} answered in an unexpected format."
        except VectorsRejectedError as error:
            yield digest, error.message
        else:
            yield digest, vector

    def _earlier(self, mark: str) -> str | None:
        """Return the batch with this mark that has, or will have, vectors to fetch."""
        if self._listed is None:
            self._listed = list(self._list())
        for listed in self._listed:
            if listed.mark == mark and (not listed.is_over or self._has_vectors(listed)):
                # If it fails after all, the same contents must become a new batch next time.
                self._listed.remove(listed)
                return listed.name
        return None

    def _has_vectors(self, batch: BatchState) -> bool:
        """Return whether a finished batch still has its results: vendors delete old ones."""
        if not batch.done or not batch.vectors:
            return False
        path = self._content_path(batch.vectors)
        return self._get(path, headers=_FIRST_BYTE, is_json=False) is not None

    def _list(self) -> Iterator[BatchState]:
        after = ""
        for _ in range(_MOST_PAGES):
            path = self._list_path(after)
            raw = self._provider.sender().send("GET", path, patience=FOR_INDEXING)
            descriptions, after = self._page(json.loads(raw))
            for description in descriptions:
                with contextlib.suppress(ProviderBusyError):  # other programs' batches of any kind
                    yield self._described(description)
            if not after:
                return

    def _find(self, batch: str) -> BatchState | None:
        raw = self._get(self._batch_path(batch))
        return None if raw is None else self._described(json.loads(raw))

    def _get(
        self, path: str, *, headers: Mapping[str, str] | None = None, is_json: bool = True
    ) -> bytes | None:
        """Return the content at a path; None if the vendor has nothing there."""
        try:
            return self._provider.sender().send(
                "GET", path, patience=FOR_INDEXING, headers=headers, is_json=is_json
            )
        except (ProviderSetupError, RequestRefusedError):
            # A wrong key is refused in the same way, but then the list is refused, too.
            self._provider.sender().send("GET", self._list_path(""), patience=FOR_INDEXING)
            return None

    def _unexpected(self, what: str) -> ProviderBusyError:
        return ProviderBusyError(
            f"{self.vendor} answered with {what} when asked for a batch.",
            action="Run `recollect index` again later; submitted batches are not lost.",
        )

    def _line(self, digest: str, text: str) -> Mapping[str, object]:
        """Return the line of one text."""
        body = {
            **self._provider.api.request([text], role=Role.DOCUMENT).body,
            "encoding_format": "base64",  # a quarter of the bytes to fetch
        }
        return {"custom_id": digest, "method": "POST", "url": "/v1/embeddings", "body": body}

    def _upload(self, content: bytes, *, mark: str) -> str:
        """Upload the file and return its name. Repeating this costs nothing."""
        body, kind = self._as_upload(content, mark=mark)
        headers = {"content-type": kind}
        raw = self._provider.sender().send(
            "POST", self.uploads, content=body, headers=headers, patience=FOR_INDEXING
        )
        file = pick_text(json.loads(raw), *self.name_of_upload)
        if not file:
            raise self._unexpected("no file name")
        return file

    def _as_upload(self, content: bytes, *, mark: str) -> tuple[bytes, str]:
        """Return body and content type of the upload of a file."""
        del mark
        return as_form(content)

    def _submission(self, *, file: str, mark: str) -> ApiCall:
        """Return the request that makes a batch of an uploaded file."""
        return ApiCall(
            "batches",
            {
                "input_file_id": file,
                "endpoint": "/v1/embeddings",
                "completion_window": self.window,
                "metadata": {_MARK: mark},
            },
        )

    def _described(self, description: object) -> BatchState:
        """Read the vendor's description of a batch.

        Raises:
            ProviderBusyError: it does not describe a batch.

        """
        name, status = pick_text(description, "id"), pick_text(description, "status")
        if not name or not status:
            raise self._unexpected("something else")
        vectors = pick_text(description, "output_file_id")
        errors = pick_text(description, "error_file_id")
        is_over = status in _OVER
        failure = None
        if is_over and not vectors and not errors:
            listed = pick_list(description, "errors", "data")
            reasons = [pick_text(error, "message") for error in listed]
            failure = "; ".join(reasons[:_MOST_REASONS]) or f"it is {status}"
        return BatchState(
            name=name,
            mark=pick_text(description, "metadata", _MARK),
            is_over=is_over,
            done=pick_count(description, "request_counts", "completed"),
            vectors=vectors,
            errors=errors,
            failure=failure,
        )

    def _read(self, line: object) -> tuple[str, Mapping[str, object] | str]:
        """Return a line's digest, and the response or the reason why there is none."""
        digest = pick_text(line, "custom_id")
        body = pick(line, "response", "body")
        if isinstance(body, dict) and pick(line, "response", "status_code") in _SUCCESS:
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

    def _page(self, page: object) -> tuple[Sequence[object], str]:
        """Return the batches of one page of the list, and the start of the next, if any."""
        has_more = pick(page, "has_more") is True
        return pick_list(page, "data"), pick_text(page, "last_id") if has_more else ""

    def _list_path(self, after: str) -> str:
        """Return the path of a page of the list."""
        return f"batches?limit=100&after={after}" if after else "batches?limit=100"

    def _batch_path(self, batch: str) -> str:
        """Return the path of a batch."""
        return f"batches/{batch}"

    def _content_path(self, file: str) -> str:
        """Return the path of a file's content."""
        return f"files/{file}/content"


class VoyageBatches(OpenAiBatches):
    """`/files` and `/batches` of Voyage, with the model and the role outside the file.

    docs.voyageai.com/docs/batch-inference, …/reference/batch. Within 12 hours, at two thirds of the
    price. Files and batches are like OpenAI's, but what applies to all lines is sent once, in
    `request_params`. At most 100,000 texts per batch and 100 batches at a time. A batch that runs
    out of time is `completed`; the lines that were not embedded are in its error file. Files are
    kept for 30 days.
    """

    vendor = "voyage"
    most_texts = 2000
    """Fewer than Voyage allows: the results of one batch, 20 to 40 KB each, are fetched at once."""
    window = "12h"

    def _line(self, digest: str, text: str) -> Mapping[str, object]:
        body = self._provider.api.request([text], role=Role.DOCUMENT).body
        return {"custom_id": digest, "body": {_INPUT: body[_INPUT]}}

    def _submission(self, *, file: str, mark: str) -> ApiCall:
        body = self._provider.api.request([""], role=Role.DOCUMENT).body
        params = {name: value for name, value in body.items() if name != _INPUT}
        call = super()._submission(file=file, mark=mark)
        return ApiCall(call.path, {**call.body, "request_params": params})


class GeminiBatches(OpenAiBatches):
    """`models/…:asyncBatchEmbedContent` and `/batches` of Gemini.

    ai.google.dev/api/batch-api, ai.google.dev/api/embeddings#EmbedContentBatch and
    ai.google.dev/gemini-api/docs/batch-api. Usually within 24 hours, at half the price. A batch is
    an operation whose `metadata` describes it. At most 100 batches at a time; files are kept, and
    batches expire, after 48 hours. Results are matched by the key of their line, never by position:
    the documented order does not hold (github.com/googleapis/js-genai/issues/1207,
    …/python-genai/issues/1909).
    """

    vendor = "gemini"
    most_texts = 1000
    """The results of one batch, 10 to 60 KB each, are fetched at once, and the smallest accounts
    may queue half a million tokens."""
    # Files are uploaded and downloaded outside the versioned address, not below it; the HTTP client
    # resolves the dots.
    uploads = "../upload/v1beta/files?uploadType=multipart"
    name_of_upload = ("file", "name")

    def _line(self, digest: str, text: str) -> Mapping[str, object]:
        [request] = pick_list(
            self._provider.api.request([text], role=Role.DOCUMENT).body, "requests"
        )
        return {"key": digest, "request": request}

    def _as_upload(self, content: bytes, *, mark: str) -> tuple[bytes, str]:
        return as_related(content, name=_GEMINI_MARK + mark)

    def _submission(self, *, file: str, mark: str) -> ApiCall:
        model = self._provider.api.request([""], role=Role.DOCUMENT).path.rpartition(":")[0]
        batch = {"displayName": _GEMINI_MARK + mark, "inputConfig": {"fileName": file}}
        return ApiCall(f"{model}:asyncBatchEmbedContent", {"batch": batch})

    def _described(self, description: object) -> BatchState:
        batch = pick(description, "metadata") or description
        name = pick_text(description, "name") or pick_text(batch, "name")
        state = pick_text(batch, "state")
        if not name or not state:
            raise self._unexpected("something else")
        shown = pick_text(batch, "displayName")
        is_over = state.endswith(_GEMINI_OVER) or pick(description, "done") is True
        vectors = next(filter(None, (pick_text(description, *names) for names in _FILE_AT)), "")
        reason = pick_text(description, "error", "message") or f"it is {state}"
        return BatchState(
            name=name,
            mark=shown.removeprefix(_GEMINI_MARK) if shown.startswith(_GEMINI_MARK) else "",
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

    def _page(self, page: object) -> tuple[Sequence[object], str]:
        return pick_list(page, "operations"), pick_text(page, "nextPageToken")

    def _list_path(self, after: str) -> str:
        return f"batches?pageSize=100&pageToken={after}" if after else "batches?pageSize=100"

    def _batch_path(self, batch: str) -> str:
        return batch

    def _content_path(self, file: str) -> str:
        return f"{_DOWNLOADS}/{file}:download?alt=media"


_VENDORS: dict[str, type[OpenAiBatches]] = {
    each.vendor: each for each in (OpenAiBatches, VoyageBatches, GeminiBatches)
}


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


def pick(value: object, *names: str) -> object:
    """Return what is under the nested names; None if nothing is."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def pick_text(value: object, *names: str) -> str:
    """Return the text under the names; empty if there is none."""
    found = pick(value, *names)
    return found if isinstance(found, str) else ""


def pick_list(value: object, *names: str) -> list[object]:
    """Return the list under the names; empty if there is none."""
    found = pick(value, *names)
    return found if isinstance(found, list) else []


def pick_count(value: object, *names: str) -> int:
    """Return the number under the names, also if it is written as text; 0 without one."""
    found = pick(value, *names)
    return int(found) if isinstance(found, (int, str)) and str(found).isdecimal() else 0


def sendable(text: str) -> str:
    """Return the text without lone surrogates: strict readers would refuse the whole file."""
    return text.encode("utf-8", "replace").decode("utf-8")


def write_lines(lines: Iterable[Mapping[str, object]]) -> bytes:
    """Return the lines as a file.

    In ASCII: some readers treat U+0085 and U+2028, which JSON allows in strings, as line ends.
    """
    return b"".join(json.dumps(line).encode("ascii") + b"\n" for line in lines)


def read_lines(content: bytes) -> Iterator[object]:
    """Yield the parsed lines.

    Raises:
        ValueError: the content is not JSON lines.

    """
    for line in content.splitlines():
        if line.strip():
            yield json.loads(line)


def as_form(content: bytes) -> tuple[bytes, str]:
    """Return body and content type of a form upload, as OpenAI and Voyage expect it."""
    return _multipart(
        "form-data",
        content,
        (b'content-disposition: form-data; name="purpose"', b"batch"),
        (
            f'content-disposition: form-data; name="file"; filename="{_FILE_NAME}"\r\n'
            f"content-type: {_FILE_TYPE}".encode(),
            content,
        ),
    )


def as_related(content: bytes, *, name: str) -> tuple[bytes, str]:
    """Return body and content type of an upload preceded by its description, as for Google."""
    about = {"file": {"displayName": name, "mimeType": _FILE_TYPE}}
    return _multipart(
        "related",
        content,
        (b"content-type: application/json; charset=utf-8", json.dumps(about).encode("ascii")),
        (f"content-type: {_FILE_TYPE}".encode(), content),
    )


def _multipart(kind: str, content: bytes, *parts: tuple[bytes, bytes]) -> tuple[bytes, str]:
    # No text contains its own digest, so the boundary never occurs in the content.
    boundary = f"recollect-{digest_of(content)[:32]}"
    line = f"--{boundary}".encode()
    body = b"".join(line + b"\r\n" + head + b"\r\n\r\n" + part + b"\r\n" for head, part in parts)
    return body + line + b"--\r\n", f"multipart/{kind}; boundary={boundary}"
