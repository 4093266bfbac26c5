"""Pushes a folder to a memory of a server: compares digests, and sends only what differs.

The folder wins: what was deleted in it is deleted there. Pages of facts are only added, because the
server may know more. Secrets are hidden if the setting `redact` says so, and a token is never sent
in the clear to another machine.
"""

from __future__ import annotations

import time
from dataclasses import field, replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx

from recollect.errors import RecollectError, UsageError
from recollect.facts.files import FACTS_FOLDER, FolderFiles
from recollect.facts.source import FactsSource
from recollect.ingest.pushed import MOST_DOCUMENT_BYTES, parse_path
from recollect.ingest.read import UnreadableError, read, unreadable
from recollect.ingest.walk import walk
from recollect.records import dataclass
from recollect.reports import Failure
from recollect.stores.ram import RamStore
from recollect.text.redact import redact
from recollect.types import digest_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from recollect.config.load import Setup
    from recollect.ingest.folders import Found

MOST_CHANGES = 100
_MOST_CHARS = 1_000_000  # in one request: escaped, it is still below the server's limit
_TRIES = 5  # of one request
_SECONDS = 60.0
_FIRST_WAIT_SECONDS = 0.5
_MOST_WAIT_SECONDS = 60.0
_LATER = frozenset({429, 502, 503, 504})
_CHANGED = frozenset({404, 412})
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class PushError(RecollectError):
    """A server does not accept what is pushed."""


@dataclass(frozen=True, slots=True)
class PushReport:
    """What was pushed."""

    sent: int
    deleted: int
    unchanged: int
    redacted: int
    """Documents whose secrets were hidden."""
    failed: tuple[Failure, ...] = ()


@dataclass(frozen=True, slots=True)
class _Local:
    """The documents of a folder as they are to be sent."""

    texts: Mapping[str, str]
    redacted: int
    failed: tuple[Failure, ...]

    def digest(self, path: str) -> str:
        """Return the ETag that the server gives to a text."""
        return digest_of(self.texts[path].encode())


@dataclass(slots=True)
class RemoteMemory:
    """A memory behind an address."""

    url: str
    """Such as https://memories.example/api/memories/ada."""
    token: str = field(repr=False)
    transport: httpx.BaseTransport | None = None
    """Replaces the network, for tests."""
    _client: httpx.Client = field(init=False, default=None)  # type: ignore[assignment]  # made below

    def __post_init__(self) -> None:
        """Refuse an address at which the token would be sent in the clear."""
        parts = urlsplit(self.url)
        is_private = parts.scheme == "https" or (parts.hostname or "") in _LOOPBACK
        if not parts.hostname or parts.query or "@" in parts.netloc or not is_private:
            raise UsageError(
                f"{parts.hostname or 'This'} is not the private address of a memory.",
                action="Give https://HOST/api/memories/AGENT, or http:// on this machine. The "
                "token goes into RECOLLECT_TOKEN.",
            )
        if not self.token.isascii() or not self.token.isprintable():
            raise UsageError(
                "The token contains invalid characters.",
                action="Set RECOLLECT_TOKEN to what `recollect server tokens create` printed.",
            )
        headers = {"Authorization": f"Bearer {self.token}"}
        self._client = httpx.Client(headers=headers, timeout=_SECONDS, transport=self.transport)

    def manifest(self) -> dict[str, str]:
        """Return the ETags of all documents, by their paths."""
        listed = self._ask("GET", "manifest")["documents"]
        return {str(each["path"]): str(each["etag"]) for each in listed}  # type: ignore[attr-defined]

    def change(self, changes: Sequence[Mapping[str, object]]) -> None:
        """Make several changes: all, or none."""
        self._ask("POST", "documents", {"changes": list(changes)})

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _ask(
        self, method: str, name: str, body: Mapping[str, object] | None = None
    ) -> dict[str, object]:
        """Send a request, again if the server asks to wait or does not answer."""
        wait_seconds = _FIRST_WAIT_SECONDS
        for attempt in range(_TRIES):
            is_last = attempt == _TRIES - 1
            try:
                answer = self._client.request(method, f"{self.url.rstrip('/')}/{name}", json=body)
            except httpx.TransportError as error:
                if is_last:
                    raise PushError(
                        f"{self.url} cannot be reached ({error}).",
                        action="Check the address and the network, then push again.",
                    ) from error
            else:
                if answer.status_code not in _LATER or is_last:
                    return _content(answer)
                wait_seconds = _asked_seconds(answer) or wait_seconds
            time.sleep(min(wait_seconds, _MOST_WAIT_SECONDS))
            wait_seconds *= 2
        raise AssertionError  # the last attempt returns or raises


def push(setup: Setup, remote: RemoteMemory, *, dry_run: bool = False) -> PushReport:
    """Make a memory on a server match the notes of a workspace, or only compare them."""
    local = _read_all(setup)
    stored = remote.manifest()
    changes = list(_changes(local, stored))
    if not local.texts and changes:
        raise UsageError(
            f"{setup.workspace} holds no memory files: everything would be deleted.",
            action="Name the folder with your notes.",
        )
    if not dry_run:
        for batch in _batches(changes):
            remote.change(batch)
    deleted = sum("delete" in each for each in changes)
    sent = len(changes) - deleted
    left = tuple(_left_alone(local, stored))
    return PushReport(
        sent=sent,
        deleted=deleted,
        unchanged=len(local.texts) - sent - len(left),
        redacted=local.redacted,
        failed=(*local.failed, *left),
    )


def _read_all(setup: Setup) -> _Local:
    config = setup.config
    notes = replace(config.ingest.walk, exclude=(*config.ingest.walk.exclude, FACTS_FOLDER))
    found, failures = walk(setup.workspace, options=notes)
    ledger = FolderFiles(setup.workspace / FACTS_FOLDER, inside=setup.workspace)
    pages, problems = FactsSource(ledger, store=RamStore()).find()
    failures += [each for each in problems if not each.is_entry]
    texts: dict[str, str] = {}
    redacted = 0
    for each in (*found, *pages):
        try:
            text = _text_of(each)
        except UnreadableError as error:
            failures.append(error.failure)
            continue
        if text is None:  # not sent, and deleted if it was
            continue
        shown = redact(text) if config.provider.remote.redact else text
        redacted += shown != text
        texts[each.path] = shown
    return _Local(texts, redacted, tuple(failures))


def _text_of(found: Found) -> str | None:
    """Return the text of a note as it is sent, None if it is private; raise UnreadableError."""
    document = read(found, now_ns=time.time_ns())
    if document.is_private:
        return None
    text = document.text
    try:
        parse_path(found.path)
        if len(text.encode()) <= MOST_DOCUMENT_BYTES:
            return text
    except UsageError:
        pass
    raise unreadable(
        found.path,
        "is too large to be pushed, or is not a plain path inside the workspace",
        "Divide, move or rename it.",
    )


def _is_page(path: str) -> bool:
    return path.startswith(f"{FACTS_FOLDER}/")


def _changes(local: _Local, stored: Mapping[str, str]) -> Iterator[dict[str, object]]:
    """Yield the changes to make on the server, each for the state that was just seen."""
    for path, text in local.texts.items():
        before = stored.get(path)
        if before is None:
            yield {"path": path, "text": text, "ifMatch": "new"}
        elif before != local.digest(path) and not _is_page(path):
            yield {"path": path, "text": text, "ifMatch": before}
    unread = {each.path for each in local.failed}
    for path, before in stored.items():
        if path not in local.texts and path not in unread and not _is_page(path):
            yield {"path": path, "delete": True, "ifMatch": before}


def _left_alone(local: _Local, stored: Mapping[str, str]) -> Iterator[Failure]:
    for path in local.texts:
        if _is_page(path) and path in stored and stored[path] != local.digest(path):
            yield Failure(
                path,
                "differs from the page of facts on the server, which was left as it is",
                "Add the facts that are missing there with `POST facts`.",
            )


def _batches(changes: Sequence[dict[str, object]]) -> Iterator[list[dict[str, object]]]:
    batch: list[dict[str, object]] = []
    chars = 0
    for each in changes:
        size = len(str(each.get("text", "")))
        if batch and (len(batch) == MOST_CHANGES or chars + size > _MOST_CHARS):
            yield batch
            batch, chars = [], 0
        batch.append(each)
        chars += size
    if batch:
        yield batch


def _content(answer: httpx.Response) -> dict[str, object]:
    try:
        body = answer.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise PushError(
            f"The server answered {answer.status_code}, which is not a response from Recollect.",
            action="Check the address: https://HOST/api/memories/AGENT.",
        )
    if answer.is_success:
        return body
    # Another client may have deleted what this one wants to delete.
    if answer.status_code in _CHANGED and answer.request.method == "POST":
        raise PushError("Another client has changed this memory meanwhile.", action="Push again.")
    error = body.get("error")
    error = error if isinstance(error, dict) else {}
    raise PushError(
        f"The server refuses it: {error.get('message', answer.status_code)}",
        action=str(error.get("action", "Ask its operator.")),
    )


def _asked_seconds(answer: httpx.Response) -> float | None:
    text = answer.headers.get("retry-after", "")
    return float(text) if text.isdecimal() else None
