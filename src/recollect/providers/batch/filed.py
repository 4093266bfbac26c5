"""Batches handed in as a file, one text a line: what all vendors have in common.

A batch is paid for once it was handed in, and no vendor here offers a key that makes the request
safe to repeat. So it is sent once, the batch carries a mark of its contents, and the vendor's own
list is asked for the mark: before handing in, which finds what a killed run left behind, and after
an answer that did not come. What is left is a vendor that takes a batch, does not answer, and does
not list it by the time of the next attempt: that batch is handed in again.
"""

from __future__ import annotations

import contextlib
import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from recollect.errors import (
    ProviderBusyError,
    ProviderSetupError,
    RequestRefusedError,
    VectorsRejectedError,
)
from recollect.providers.base import BatchState
from recollect.providers.batch.jsonl import plain, read_lines, write_lines
from recollect.providers.remote.retry import FOR_INDEXING
from recollect.types import digest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from recollect.providers.remote.sender import Sender
    from recollect.providers.remote.wire import Call, Wire
    from recollect.types import Vector, Vectors

    Check: TypeAlias = Callable[[Sequence[Sequence[float]], int], Vectors]
    """Returns as many rows as unit vectors, or raises VectorsRejectedError."""

_ONCE = replace(FOR_INDEXING, attempts=1)
_MOST_PAGES = 10  # of the vendor's list, the newest batches first
_FIRST_BYTE = {"range": "bytes=0-0"}


@dataclass(frozen=True, slots=True)
class Filed:
    """A batch as the vendor describes it."""

    name: str
    mark: str
    """What it was marked with; empty for batches of other programs."""
    is_over: bool
    done: int = 0
    """Texts with a vector."""
    vectors: str = ""
    """The file of answers, once there is one."""
    errors: str = ""
    """The file of errors, where a vendor keeps them apart."""
    failure: str | None = None


class FiledBatches(ABC):
    """A vendor's Batch API, whatever the vendor."""

    vendor: str
    most_texts: int

    def __init__(
        self, sender: Callable[[], Sender], wire: Wire, *, model: str, check: Check
    ) -> None:
        self._sender = sender
        self._wire = wire
        self._model = model
        self._check = check
        self._listed: list[Filed] | None = None

    def submit(self, texts: Mapping[str, str]) -> str:
        """Hand in documents by the digest of each; return the batch's name.

        Where the vendor has a batch of the same contents already, that one's name is returned.

        Raises:
            ProviderError: the vendor did not take it.

        """
        content = write_lines(self._line(digest, plain(texts[digest])) for digest in sorted(texts))
        words = self._handing_in(file="", mark="")
        mark = digest_of(json.dumps([self._model, words.path, words.body]).encode() + content)
        earlier = self._earlier(mark)
        if earlier is not None:
            return earlier
        call = self._handing_in(file=self._upload(content, mark=mark), mark=mark)
        try:
            answer = self._sender().post(call.path, call.body, patience=_ONCE)
            return self._described(answer).name
        except ProviderBusyError:
            self._listed = None
            earlier = self._earlier(mark)
            if earlier is None:
                raise
            return earlier

    def look(self, batch: str) -> BatchState:
        """Ask how far it is; a batch that the vendor no longer knows is over and failed.

        Raises:
            ProviderError: the vendor could not be asked.

        """
        filed = self._filed(batch)
        if filed is None:
            return BatchState(is_over=True, done=0, failure=f"{self.vendor} does not know it")
        return BatchState(filed.is_over, filed.done, filed.failure)

    def collect(self, batch: str) -> Iterator[tuple[str, Vector | str]]:
        """Return for each digest its vector, or the reason why there is none.

        Texts whose answers the vendor no longer has are left out.

        Raises:
            ProviderError: the vectors cannot be fetched.

        """
        filed = self._filed(batch)
        for file in (filed.vectors, filed.errors) if filed else ():
            content = self._get(self._content_path(file), is_json=False) if file else None
            try:
                for line in read_lines(content or b""):
                    yield from self._outcome(line)
            except ValueError as error:
                raise self._puzzled("a file that does not hold JSON lines") from error

    def _outcome(self, line: object) -> Iterator[tuple[str, Vector | str]]:
        digest, answer = self._read(line)
        if not digest:
            return
        if isinstance(answer, str):
            yield digest, answer
            return
        try:
            vector = self._check(self._wire.read(answer), 1)[0]
        except (KeyError, TypeError, IndexError, ValueError):
            yield digest, f"{self.vendor} answered with an answer of another shape."
        except VectorsRejectedError as error:
            yield digest, error.message
        else:
            yield digest, vector

    def _earlier(self, mark: str) -> str | None:
        """Return the batch with this mark that has, or will have, vectors to fetch."""
        if self._listed is None:
            self._listed = list(self._list())
        for filed in self._listed:
            if filed.mark == mark and (not filed.is_over or self._is_there(filed)):
                # If it fails after all, the same contents are another batch the next time.
                self._listed.remove(filed)
                return filed.name
        return None

    def _is_there(self, filed: Filed) -> bool:
        """Tell whether a batch that is over still has vectors: vendors drop files after a while."""
        if not filed.done or not filed.vectors:
            return False
        path = self._content_path(filed.vectors)
        return self._get(path, headers=_FIRST_BYTE, is_json=False) is not None

    def _list(self) -> Iterator[Filed]:
        after = ""
        for _ in range(_MOST_PAGES):
            path = self._list_path(after)
            raw = self._sender().send("GET", path, patience=FOR_INDEXING)
            shapes, after = self._page(json.loads(raw))
            for shape in shapes:
                with contextlib.suppress(ProviderBusyError):  # other programs' batches, of any kind
                    yield self._described(shape)
            if not after:
                return

    def _filed(self, batch: str) -> Filed | None:
        raw = self._get(self._batch_path(batch))
        return None if raw is None else self._described(json.loads(raw))

    def _get(
        self, path: str, *, headers: Mapping[str, str] | None = None, is_json: bool = True
    ) -> bytes | None:
        """Return what is there; None where the vendor says that nothing is."""
        try:
            return self._sender().send(
                "GET", path, patience=FOR_INDEXING, headers=headers, is_json=is_json
            )
        except (ProviderSetupError, RequestRefusedError):
            # A key that is wrong is refused in the same way, and then the list is refused too.
            self._sender().send("GET", self._list_path(""), patience=FOR_INDEXING)
            return None

    def _puzzled(self, answer: str) -> ProviderBusyError:
        return ProviderBusyError(
            f"{self.vendor} answered with {answer} when asked for a batch.",
            action="Run `recollect index` again later; what was handed in is not lost.",
        )

    @abstractmethod
    def _line(self, digest: str, text: str) -> Mapping[str, object]:
        """Return one text's line of the file."""

    @abstractmethod
    def _upload(self, content: bytes, *, mark: str) -> str:
        """Upload the file and return its name. Repeating it costs nothing."""

    @abstractmethod
    def _handing_in(self, *, file: str, mark: str) -> Call:
        """Return the request that makes a batch of an uploaded file."""

    @abstractmethod
    def _described(self, shape: object) -> Filed:
        """Read a vendor's description of a batch.

        Raises:
            ProviderBusyError: it is none.

        """

    @abstractmethod
    def _read(self, line: object) -> tuple[str, Mapping[str, object] | str]:
        """Return a line's digest, and the answer in the wire's form or why there is none."""

    @abstractmethod
    def _page(self, shape: object) -> tuple[Sequence[object], str]:
        """Return the batches of a page of the list, and where the next page begins, if any."""

    @abstractmethod
    def _list_path(self, after: str) -> str:
        """Return the path of a page of the list."""

    @abstractmethod
    def _batch_path(self, batch: str) -> str:
        """Return the path of a batch."""

    @abstractmethod
    def _content_path(self, file: str) -> str:
        """Return the path of a file's content."""
