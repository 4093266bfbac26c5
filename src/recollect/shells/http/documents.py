"""Operations on pushed documents. An ETag is the digest of a text.

`If-Match: "ETAG"` says which one a request was made for, `If-None-Match: *` that there is none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, TypeVar, cast

from fastapi import Path, Query, Request
from pydantic import Field

from recollect.facts.files import FACTS_FOLDER
from recollect.hosting.host import MOST_PATH_CHARS, PushedChange, PushedDocument
from recollect.records import dataclass
from recollect.shape import Shape, json_of
from recollect.shells.http.errors import JsonResponse, ParameterError, RequestError
from recollect.shells.http.parameters import BodyParameters, Parameters
from recollect.shells.http.state import State

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.responses import Response

    from recollect.hosting.host import PushedBook
    from recollect.shells.hosted import HostedMemory
    from recollect.shells.http.state import ServerState

Answer = TypeVar("Answer")

MOST_CHANGES = 200
BODY_BYTES = 4 * 1024 * 1024
"""Bytes of a request with documents: escaped as JSON, a text may take twice its size."""
_TAG = re.compile(r'(?:W/)?"([!#-~]*)"')

DocumentPath = Annotated[str, Field(min_length=1, max_length=MOST_PATH_CHARS)]
# No longer than a body: what a document may have is counted in bytes, and refused with 413.
DocumentText = Annotated[str, Field(max_length=BODY_BYTES)]
_PATH_HELP = "The path of the document, such as memory/2026-02-01.md."
NamedPath = Annotated[DocumentPath, Path(description=_PATH_HELP)]


class ManifestParameters(Parameters):
    """Parameters of GET …/manifest."""

    deleted: bool = Field(
        default=False, description="List deleted documents instead, by the last version kept."
    )


class PurgeParameters(Parameters):
    """Parameters of DELETE …/versions/{path}."""

    keep_current: bool = Field(default=False, description="Delete only the earlier versions.")


class ReadParameters(Parameters):
    """Parameters of GET …/documents/{path}."""

    version: int | None = Field(None, ge=1, le=10**12, description="An earlier version.")


class PutParameters(BodyParameters):
    """Parameters of PUT …/documents/{path}."""

    text: DocumentText = Field(description="The whole document, as Markdown.")


class DocumentChange(Parameters):
    """A document to write or to delete."""

    path: DocumentPath = Field(description=_PATH_HELP)
    text: DocumentText | None = Field(None, description="The whole document, as Markdown.")
    delete: bool = Field(default=False, description="Delete it; then it has no text.")
    if_match: str | None = Field(
        None, max_length=200, description="The ETag that it must have; `new` if it must not exist."
    )


class ChangesParameters(BodyParameters):
    """Parameters of POST …/documents."""

    changes: list[DocumentChange] = Field(
        min_length=1, max_length=MOST_CHANGES, description="All of them are made, or none."
    )


@dataclass(frozen=True, slots=True)
class PushedText:
    """A pushed document with its text."""

    shape = Shape(merged="document")
    document: PushedDocument
    text: str


@dataclass(frozen=True, slots=True)
class PushedList:
    """Pushed documents, and the paths of those that were deleted."""

    shape = Shape(optional="deleted")
    documents: tuple[PushedDocument, ...]
    deleted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Purged:
    """A document that was deleted with its versions."""

    path: str
    versions: int


async def manifest(state: State, given: Annotated[ManifestParameters, Query()]) -> PushedList:
    """List all pushed documents with their ETags."""
    listed = await _pushed(
        state, lambda pushed: pushed.deleted() if given.deleted else pushed.listed()
    )
    return PushedList(tuple(each for each in listed if _may_open(state, each.path)))


async def get_document(
    state: State, path: NamedPath, given: Annotated[ReadParameters, Query()]
) -> Response:
    """Return a pushed document, or an earlier version of it."""
    _require_open(state, path)
    document, text = await _pushed(state, lambda pushed: pushed.read(path, version=given.version))
    return JsonResponse(json_of(PushedText(document, text)), headers={"ETag": _etag(document)})


async def put_document(
    state: State, request: Request, path: NamedPath, given: PutParameters
) -> Response:
    """Write a document; it is found at once."""
    _require_open(state, path)
    change = PushedChange(path, given.text.encode(), _expected(request))
    [written] = await _pushed(state, lambda pushed: pushed.write([change]))
    status = 201 if written.version == 1 else 200
    return JsonResponse(json_of(written), status=status, headers={"ETag": _etag(written)})


async def delete_document(state: State, request: Request, path: NamedPath) -> PushedList:
    """Delete a document; its earlier versions are kept."""
    _require_open(state, path)
    change = PushedChange(path, None, _expected(request))
    await _pushed(state, lambda pushed: pushed.write([change]))
    return PushedList((), (path,))


async def change_documents(state: State, given: ChangesParameters) -> PushedList:
    """Write and delete several documents: all, or none."""
    changes = []
    for each in given.changes:
        _require_open(state, each.path)
        if each.delete is not (each.text is None):
            raise ParameterError("A change has either a text or `delete`.", action="Give one.")
        content = None if each.text is None else each.text.encode()
        changes.append(PushedChange(each.path, content, _expected_by(each.if_match)))
    written = await _pushed(state, lambda pushed: pushed.write(changes))
    return PushedList(tuple(written), tuple(each.path for each in changes if each.content is None))


async def document_versions(state: State, path: NamedPath) -> PushedList:
    """List the versions of a document that are kept, the newest first."""
    _require_open(state, path)
    return PushedList(tuple(await _pushed(state, lambda pushed: pushed.versions(path))))


async def purge_document(
    state: State, path: NamedPath, given: Annotated[PurgeParameters, Query()]
) -> Purged:
    """Delete a document with all its versions; nothing of it is kept."""
    _require_open(state, path)
    purged = await _pushed(
        state, lambda pushed: pushed.purge(path, keep_current=given.keep_current)
    )
    return Purged(path, purged)


async def _pushed(state: ServerState, work: Callable[[PushedBook], Answer]) -> Answer:
    """Run a function with the documents of the memory."""
    memory = cast("HostedMemory", state.memory)  # only a server of many has these operations
    return await memory.run(lambda opened: work(opened.pushed))


def _may_open(state: ServerState, path: str) -> bool:
    """Return whether the whole of a document may be seen: pages of facts have many scopes."""
    return state.scopes.names is None or not path.startswith(f"{FACTS_FOLDER}/")


def _require_open(state: ServerState, path: str) -> None:
    """Refuse a page of facts to a token with scopes."""
    if not _may_open(state, path):
        raise RequestError(
            403,
            "scope",
            f"This token is for some scopes: it may not open the pages in {FACTS_FOLDER}.",
            action="Use the operations on facts.",
        )


def _expected(request: Request) -> frozenset[str | None] | None:
    """Return the digests that the condition of a request allows; None if it has none."""
    match, none_match = (request.headers.get(name) for name in ("if-match", "if-none-match"))
    if match is None and none_match in (None, "*"):
        return frozenset({None}) if none_match else None
    tag = _TAG.fullmatch(match or "")
    if tag is None or none_match is not None:
        raise ParameterError(
            "The condition cannot be read.", action='Send `If-Match: "ETAG"` or `If-None-Match: *`.'
        )
    return frozenset({tag[1]})


def _expected_by(tag: str | None) -> frozenset[str | None] | None:
    return None if tag is None else frozenset({None if tag == "new" else tag.strip('"')})


def _etag(document: PushedDocument) -> str:
    return f'"{document.digest}"'
