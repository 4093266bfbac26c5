"""Documents that clients push: the store holds their bytes, and they are on no other disk.

Also the tokens that clients show, and the queue of memories that have something to embed. These are
the roles of a store that serves many memories; PostgreSQL plays them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from recollect.records import dataclass
from recollect.shape import Shape
from recollect.text.setting import user_setting, whole

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from recollect.stores.base import Store

PUSHED = "pushed:"
"""Stands in the place of a workspace: the files of this memory are in the store."""
KEPT_VERSIONS = 10
"""Earlier versions of a document that are kept, as long as there is room for them."""


@dataclass(frozen=True, slots=True)
class PushedDocument:
    """What is known of a pushed document without its content."""

    shape = Shape(
        {"digest": "etag"},
        hidden="changed_ns",
        added="changed",
        moment=lambda moment: moment.isoformat(timespec="milliseconds"),
    )
    path: str
    version: int
    """Counts the writes of this path, from 1."""
    digest: str
    """Digest of its content."""
    size_bytes: int
    changed_ns: int
    """When it was written; later for every later version."""

    @property
    def changed(self) -> datetime:
        """When it was written."""
        return datetime.fromtimestamp(self.changed_ns / 10**9, tz=UTC)


@dataclass(frozen=True, slots=True)
class PushedChange:
    """A document to write or to delete."""

    path: str
    content: bytes | None
    """Content; None deletes the document."""
    expected: frozenset[str | None] | None = None
    """Digests that the stored document may have, None for a document that is not there; the whole
    is None if that does not matter."""


@dataclass(frozen=True, slots=True)
class MemoryLimits:
    """How much one memory of a server may hold and ask for."""

    documents: int = user_setting(
        "limits.documents", 10_000, whole(1, 10**9), "pushed documents of one memory"
    )
    megabytes: int = user_setting(
        "limits.megabytes",
        100,
        whole(1, 10**9),
        "size of the pushed documents of one memory; earlier versions may take as much again",
    )
    requests_per_minute: int = user_setting(
        "limits.requests_per_minute",
        600,
        whole(1, 10**9),
        "requests to one memory, per server",
    )


class PushedDocuments(Protocol):
    """The pushed documents of one memory."""

    def changing(self) -> AbstractContextManager[object]:
        """Make the changes of the body one transaction, which no other writer gets between."""

    def require_here(self) -> str | None:
        """Return what stands in the place of the memory's workspace; None if it is new.

        Raises:
            ElsewhereError: the memory is made from files of another machine.

        """

    def listed(self, *, start: str = "") -> list[PushedDocument]:
        """Return the documents whose paths start so, in the order of their paths."""

    def named(self, paths: Sequence[str]) -> list[PushedDocument]:
        """Return those of some documents that exist."""

    def content(self, path: str, *, version: int | None = None) -> tuple[PushedDocument, bytes]:
        """Return a document with its content.

        Raises:
            NotFoundError: there is no such document, or its version is not kept.

        """

    def contents(self, paths: Sequence[str]) -> dict[str, tuple[PushedDocument, bytes]]:
        """Return those of some documents that exist, with their contents, by path."""

    def versions(self, path: str) -> list[PushedDocument]:
        """Return the versions that are kept, the newest first; the current one is among them."""

    def deleted(self) -> list[PushedDocument]:
        """Return the last version of each document that is deleted, in the order of their paths."""

    def purge(self, path: str, *, keep_current: bool = False) -> int:
        """Delete a document with all its versions; return how many versions that were.

        Args:
            path: of the document, which may be deleted already.
            keep_current: delete only the earlier versions.

        """

    def restore(
        self, versions: Sequence[tuple[PushedDocument, bytes]], *, is_deleted: bool
    ) -> None:
        """Store a document with its versions as they are, in the place of what it had before.

        Args:
            versions: the newest first, all of the same path.
            is_deleted: whether even the newest is an earlier version.

        """

    def change(self, changes: Sequence[PushedChange]) -> list[PushedDocument]:
        """Write and delete documents: all of them, or none. Return those written.

        The memory is put into the queue of work. Earlier versions that no longer fit are dropped,
        the oldest first.

        Raises:
            ChangedError: a stored document is not one of those expected.
            StorageLimitError: the memory would hold more than it may.

        """

    def close(self) -> None:
        """Release the connection."""


@dataclass(frozen=True, slots=True)
class Token:
    """The right to use one memory."""

    shape = Shape({"agent": "memory"}, moment=lambda moment: moment.isoformat(timespec="seconds"))
    id: str
    agent: str
    label: str
    scopes: frozenset[str] | None
    """The scopes of facts that it may see, besides the global one; None for all."""
    is_read_only: bool
    created: datetime
    expires: datetime | None


class Tokens(Protocol):
    """The tokens of all memories of a store."""

    def add(self, token: Token, *, digest: bytes) -> None:
        """Store a new token; only the digest of its secret part is kept."""

    def listed(self, agent: str | None) -> list[Token]:
        """Return the tokens of one memory, or of all."""

    def find(self, token_id: str) -> tuple[Token, bytes] | None:
        """Return a token with the digest of its secret part."""

    def revoke(self, token_id: str) -> bool:
        """Delete a token; return False if there is none."""

    def close(self) -> None:
        """Release the connection."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One worker's promise to bring a memory up to date."""

    agent: str
    key: str
    """Key of this claim alone."""
    changes: int
    """How often the memory was put into the queue before the claim."""
    failures: int
    """How often that failed before, in a row."""


class WorkQueue(Protocol):
    """The memories that have something to read or to embed."""

    def add(self, agent: str) -> None:
        """Put a memory into the queue, also if a worker is at work on it."""

    def add_all(self) -> None:
        """Put every memory that has a token into the queue."""

    def claim(self, *, seconds: float) -> Claim | None:
        """Take the memory that has waited longest; None if none waits.

        A claim that is not renewed in time is free for others.
        """

    def renew(self, claim: Claim, *, seconds: float) -> bool:
        """Keep a claim for longer; return False if another worker has taken it."""

    def finish(self, claim: Claim) -> None:
        """Take the memory out of the queue, unless it changed since the claim."""

    def put_off(self, claim: Claim, *, seconds: float) -> None:
        """Give the claim back: the work failed, or was left, and is due again after so long."""

    def waiting(self) -> int:
        """Return how many memories are in the queue."""

    def check(self, *, patience: float) -> int:
        """Write to the database, and return how many memories are in the queue.

        Args:
            patience: seconds to wait for a connection, and for another writer.

        """

    def close(self) -> None:
        """Release the connection."""


class StoreHost(Protocol):
    """A store of many memories. Each call returns a handle for one thread, to be closed."""

    @property
    def location(self) -> str:
        """Where it is, without a password."""

    def store(self, agent: str) -> Store:
        """Return the store of one memory."""

    def pushed(self, agent: str) -> PushedDocuments:
        """Return the pushed documents of one memory."""

    def tokens(self) -> Tokens:
        """Return the tokens of all memories."""

    def queue(self) -> WorkQueue:
        """Return the queue of work."""

    def close(self) -> None:
        """Release the connections."""
