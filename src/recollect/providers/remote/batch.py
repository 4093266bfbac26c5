"""Batch APIs: upload a file with one text per line, fetch the vectors hours later, at less cost.

A submitted batch is billed, and no vendor here offers an idempotency key. So a batch is submitted
once and carries a mark, a digest of its contents. The vendor's list is searched for the mark before
submitting, which finds what a killed run left behind, and after a response that never came. One gap
remains: if the vendor accepts a batch, does not answer, and does not list it by the next attempt,
that batch is submitted twice.
"""

from __future__ import annotations

import contextlib
import json
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.errors import (
    ProviderBusyError,
    ProviderSetupError,
    RequestRefusedError,
    VectorsRejectedError,
)
from recollect.providers.base import BatchState
from recollect.providers.remote.pace import FOR_INDEXING
from recollect.records import dataclass
from recollect.types import digest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from recollect.providers.remote.provider import EmbeddingApi
    from recollect.providers.remote.retry import Sender
    from recollect.providers.remote.server import ApiCall
    from recollect.types import Vector, Vectors

    Check: TypeAlias = Callable[[Sequence[Sequence[float]], int], Vectors]
    """Returns that many rows as unit vectors, or raises VectorsRejectedError."""

_ONCE = replace(FOR_INDEXING, attempts=1)
_MOST_PAGES = 10  # of the vendor's list, newest batches first
_FIRST_BYTE = {"range": "bytes=0-0"}
_FILE_NAME = "recollect.jsonl"
_FILE_TYPE = "application/jsonl"


@dataclass(frozen=True, slots=True)
class VendorBatch:
    """A batch as the vendor describes it."""

    name: str
    mark: str
    """Empty for batches of other programs."""
    is_over: bool
    done: int = 0
    """Texts with a vector."""
    vectors: str = ""
    """The file of results, once there is one."""
    errors: str = ""
    """The file of errors, if the vendor keeps them separately."""
    failure: str | None = None


class FileBatches(ABC):
    """A Batch API; a subclass per vendor gives the format of requests and responses."""

    vendor: str
    most_texts: int

    def __init__(
        self, sender: Callable[[], Sender], api: EmbeddingApi, *, model: str, check: Check
    ) -> None:
        self._sender = sender
        self._api = api
        self._model = model
        self._check = check
        self._listed: list[VendorBatch] | None = None

    def submit(self, texts: Mapping[str, str]) -> str:
        content = write_lines(
            self._line(digest, sendable(texts[digest])) for digest in sorted(texts)
        )
        words = self._submission(file="", mark="")
        mark = digest_of(json.dumps([self._model, words.path, words.body]).encode() + content)
        earlier = self._earlier(mark)
        if earlier is not None:
            return earlier
        call = self._submission(file=self._upload(content, mark=mark), mark=mark)
        try:
            response = self._sender().post(call.path, call.body, patience=_ONCE)
            return self._described(response).name
        except ProviderBusyError:
            self._listed = None
            earlier = self._earlier(mark)
            if earlier is None:
                raise
            return earlier

    def look(self, batch: str) -> BatchState:
        found = self._find(batch)
        if found is None:
            return BatchState(is_over=True, done=0, failure=f"{self.vendor} does not know it")
        return BatchState(found.is_over, found.done, found.failure)

    def collect(self, batch: str) -> Iterator[tuple[str, Vector | str]]:
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
            vector = self._check(self._api.read(response), 1)[0]
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

    def _has_vectors(self, batch: VendorBatch) -> bool:
        """Return whether a finished batch still has its results: vendors delete old ones."""
        if not batch.done or not batch.vectors:
            return False
        path = self._content_path(batch.vectors)
        return self._get(path, headers=_FIRST_BYTE, is_json=False) is not None

    def _list(self) -> Iterator[VendorBatch]:
        after = ""
        for _ in range(_MOST_PAGES):
            path = self._list_path(after)
            raw = self._sender().send("GET", path, patience=FOR_INDEXING)
            descriptions, after = self._page(json.loads(raw))
            for description in descriptions:
                with contextlib.suppress(ProviderBusyError):  # other programs' batches of any kind
                    yield self._described(description)
            if not after:
                return

    def _find(self, batch: str) -> VendorBatch | None:
        raw = self._get(self._batch_path(batch))
        return None if raw is None else self._described(json.loads(raw))

    def _get(
        self, path: str, *, headers: Mapping[str, str] | None = None, is_json: bool = True
    ) -> bytes | None:
        """Return the content at a path; None if the vendor has nothing there."""
        try:
            return self._sender().send(
                "GET", path, patience=FOR_INDEXING, headers=headers, is_json=is_json
            )
        except (ProviderSetupError, RequestRefusedError):
            # A wrong key is refused in the same way, but then the list is refused, too.
            self._sender().send("GET", self._list_path(""), patience=FOR_INDEXING)
            return None

    def _unexpected(self, what: str) -> ProviderBusyError:
        return ProviderBusyError(
            f"{self.vendor} answered with {what} when asked for a batch.",
            action="Run `recollect index` again later; submitted batches are not lost.",
        )

    @abstractmethod
    def _line(self, digest: str, text: str) -> Mapping[str, object]:
        """Return the line of one text."""

    @abstractmethod
    def _upload(self, content: bytes, *, mark: str) -> str:
        """Upload the file and return its name. Repeating this costs nothing."""

    @abstractmethod
    def _submission(self, *, file: str, mark: str) -> ApiCall:
        """Return the request that makes a batch of an uploaded file."""

    @abstractmethod
    def _described(self, description: object) -> VendorBatch:
        """Read the vendor's description of a batch.

        Raises:
            ProviderBusyError: it does not describe a batch.

        """

    @abstractmethod
    def _read(self, line: object) -> tuple[str, Mapping[str, object] | str]:
        """Return a line's digest, and the response or the reason why there is none."""

    @abstractmethod
    def _page(self, page: object) -> tuple[Sequence[object], str]:
        """Return the batches of one page of the list, and the start of the next, if any."""

    @abstractmethod
    def _list_path(self, after: str) -> str:
        """Return the path of a page of the list."""

    @abstractmethod
    def _batch_path(self, batch: str) -> str:
        """Return the path of a batch."""

    @abstractmethod
    def _content_path(self, file: str) -> str:
        """Return the path of a file's content."""


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
