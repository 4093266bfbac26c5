"""Documents that clients push, whose bytes are on no other disk; tokens, and the queue of work."""

from __future__ import annotations

from datetime import UTC, datetime

from recollect.records import dataclass
from recollect.shape import Shape
from recollect.text.setting import user_setting, whole

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
