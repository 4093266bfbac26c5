"""The vendors' Batch APIs on loopback, to be plugged into a VendorServer as its route.

Formats: platform.openai.com/docs/api-reference/batch, docs.voyageai.com/docs/batch-inference,
ai.google.dev/api/batch-api. A desk is strict with what it is handed, answers out of order, and
counts what would have been paid for.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from tests.vendors.server import bag_of_words

if TYPE_CHECKING:
    from tests.vendors.server import Exchange

COMPLETED, EXPIRED, FAILED = "completed", "expired", "failed"
TOO_LATE = "This request could not be executed before the completion window expired."


@dataclass(slots=True)
class Handed:
    """A batch that was handed in."""

    name: str
    request: dict[str, Any]
    lines: list[dict[str, Any]]
    looks_left: int
    ending: str
    answers: list[dict[str, Any]] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        return self.looks_left <= 0


@dataclass(eq=False)
class Desk(ABC):
    """Takes files and batches. The fields up to `spoil` are the switches of a test."""

    looks_until_over: int = 0
    """How often a batch is still running when asked about."""
    ending: str = COMPLETED
    """An expired batch has embedded every second text."""
    refusals: dict[str, str] = field(default_factory=dict)
    """Why a text is refused, by the text."""
    busy_answers: int = 0
    """So many batches are neither made nor answered."""
    spoil: bool = False
    """Every vector is one number short."""
    files: dict[str, bytes] = field(default_factory=dict)
    batches: dict[str, Handed] = field(default_factory=dict)
    embedded: Counter[str] = field(default_factory=Counter)
    """How often each text was embedded, and so paid for."""

    def __call__(self, exchange: Exchange) -> bool:
        method, path = exchange.request.method, exchange.request.path
        split = urlsplit(path)
        return self.serve(exchange, method, split.path, parse_qs(split.query))

    @abstractmethod
    def serve(
        self, exchange: Exchange, method: str, path: str, query: dict[str, list[str]]
    ) -> bool: ...

    @abstractmethod
    def text_of(self, line: dict[str, Any]) -> str: ...

    @abstractmethod
    def dimensions_of(self, handed: Handed) -> int: ...

    @abstractmethod
    def good(self, handed: Handed, line: dict[str, Any], vector: list[float]) -> dict[str, Any]: ...

    @abstractmethod
    def bad(self, line: dict[str, Any], reason: str) -> dict[str, Any]: ...

    @abstractmethod
    def described(self, handed: Handed) -> dict[str, Any]: ...

    def keep_file(self, content: bytes) -> str:
        name = f"file-{len(self.files) + 1}"
        self.files[name] = content
        return name

    def take(self, exchange: Exchange, request: dict[str, Any], file: str) -> None:
        """Make a batch and say so, unless told to be busy."""
        if self.busy_answers > 0:
            self.busy_answers -= 1
            exchange.send_json(503, {"error": {"message": "overloaded"}})
            return
        lines = [json.loads(line) for line in self.files[file].splitlines()]
        name = f"batch-{len(self.batches) + 1}"
        handed = Handed(name, request, lines, self.looks_until_over, self.ending)
        self.batches[name] = handed
        if handed.ending != FAILED:
            self.embed(handed)
        exchange.send_json(200, self.described(handed))

    def embed(self, handed: Handed) -> None:
        dimensions = self.dimensions_of(handed) - self.spoil
        for place, line in enumerate(handed.lines):
            text = self.text_of(line)
            if text in self.refusals:
                handed.errors.append(self.bad(line, self.refusals[text]))
            elif handed.ending == EXPIRED and place % 2:
                handed.errors.append(self.bad(line, TOO_LATE))
            else:
                self.embedded[text] += 1
                handed.answers.append(self.good(handed, line, bag_of_words(text, dimensions)))
        handed.answers.reverse()

    def look(self, exchange: Exchange, name: str) -> None:
        handed = self.batches.get(name)
        if handed is None:
            exchange.send_json(404, {"error": {"message": f"No batch found with id '{name}'."}})
            return
        exchange.send_json(200, self.described(handed))
        handed.looks_left -= 1

    def fetch(self, exchange: Exchange, batch: str, *, errors: bool) -> None:
        handed = self.batches.get(batch)
        if handed is None:
            exchange.send_json(404, {"error": {"message": "No such File object"}})
            return
        lines = handed.errors if errors else handed.answers
        content = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        exchange.send(200, content, headers={"content-type": "application/octet-stream"})


class OpenAiDesk(Desk):
    window = "24h"
    keys = frozenset({"custom_id", "method", "url", "body"})

    def serve(
        self, exchange: Exchange, method: str, path: str, query: dict[str, list[str]]
    ) -> bool:
        if (method, path) == ("POST", "/v1/files"):
            name = self.keep_file(form_file(exchange))
            exchange.send_json(200, {"object": "file", "id": name, "purpose": "batch"})
        elif (method, path) == ("POST", "/v1/batches"):
            request = exchange.request.body
            assert "/v1/embeddings" == request["endpoint"]
            assert self.window == request["completion_window"]
            self.take(exchange, request, str(request["input_file_id"]))
        elif (method, path) == ("GET", "/v1/batches"):
            assert ["1"] == query["limit"]
            exchange.send_json(200, {"object": "list", "data": [], "has_more": False})
        elif method == "GET" and (found := re.fullmatch(r"/v1/batches/([^/]+)", path)):
            self.look(exchange, found[1])
        elif found := re.fullmatch(r"/v1/files/(output|error)-([^/]+)/content", path):
            self.fetch(exchange, found[2], errors=found[1] == "error")
        else:
            return False
        return True

    def text_of(self, line: dict[str, Any]) -> str:
        assert self.keys == set(line)
        [text] = line["body"]["input"]
        return str(text)

    def dimensions_of(self, handed: Handed) -> int:
        bodies = [line["body"] for line in handed.lines]
        assert 1 == len({body["model"] for body in bodies})
        return int(bodies[0].get("dimensions") or 1536)

    def good(self, handed: Handed, line: dict[str, Any], vector: list[float]) -> dict[str, Any]:
        row = {"object": "embedding", "index": 0, "embedding": vector}
        body = {"object": "list", "data": [row], "model": "m", "usage": {"total_tokens": 3}}
        return {
            "id": f"batch_req_{handed.name}",
            "custom_id": line["custom_id"],
            "response": {"status_code": 200, "request_id": "r", "body": body},
            "error": None,
        }

    def bad(self, line: dict[str, Any], reason: str) -> dict[str, Any]:
        if reason == TOO_LATE:
            error = {"code": "batch_expired", "message": reason}
            return {"custom_id": line["custom_id"], "response": None, "error": error}
        body = {"error": {"message": reason, "type": "invalid_request_error"}}
        response = {"status_code": 400, "request_id": "r", "body": body}
        return {"custom_id": line["custom_id"], "response": response, "error": None}

    def described(self, handed: Handed) -> dict[str, Any]:
        is_over, failed = handed.is_over, handed.ending == FAILED
        errors = [{"code": "token_limit_exceeded", "message": "Enqueued token limit reached"}]
        return {
            "id": handed.name,
            "object": "batch",
            "status": self.status_of(handed) if is_over else "in_progress",
            "errors": {"object": "list", "data": errors} if is_over and failed else None,
            "output_file_id": f"output-{handed.name}" if is_over and handed.answers else None,
            "error_file_id": f"error-{handed.name}" if is_over and handed.errors else None,
        }

    def status_of(self, handed: Handed) -> str:
        return handed.ending


class VoyageDesk(OpenAiDesk):
    window = "12h"
    keys = frozenset({"custom_id", "body"})

    def dimensions_of(self, handed: Handed) -> int:
        assert all({"input"} == set(line["body"]) for line in handed.lines)
        params = handed.request["request_params"]
        assert params["model"]
        assert "document" == params["input_type"]
        return int(params.get("output_dimension") or 1024)

    def bad(self, line: dict[str, Any], reason: str) -> dict[str, Any]:
        if reason == TOO_LATE:
            return super().bad(line, reason)
        response = {"status_code": 400, "message": reason}
        return {"custom_id": line["custom_id"], "response": response, "error": None}

    def status_of(self, handed: Handed) -> str:
        return COMPLETED if handed.ending == EXPIRED else handed.ending


def _parts(exchange: Exchange, kind: str) -> list[tuple[bytes, bytes]]:
    declared = exchange.request.headers["content-type"]
    prefix = f"multipart/{kind}; boundary="
    assert declared.startswith(prefix), declared
    boundary = b"--" + declared.removeprefix(prefix).encode()
    pieces = exchange.request.raw.split(boundary)
    assert b"" == pieces[0]
    assert b"--\r\n" == pieces[-1]
    parts = []
    for piece in pieces[1:-1]:
        head, _, body = piece.partition(b"\r\n\r\n")
        assert head.startswith(b"\r\n")
        assert body.endswith(b"\r\n")
        parts.append((head, body[:-2]))
    return parts


def form_file(exchange: Exchange) -> bytes:
    """Return the file of a form, as OpenAI's and Voyage's servers find it."""
    (purpose_head, purpose), (file_head, content) = _parts(exchange, "form-data")
    assert b'name="purpose"' in purpose_head
    assert b"batch" == purpose
    assert b'name="file"; filename="' in file_head
    return content
