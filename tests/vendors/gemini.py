"""Google's format: ai.google.dev/api/embeddings, ai.google.dev/gemini-api/docs/embeddings.

Errors: google.aip.dev/193 and cloud.google.com/apis/design/errors; the quota's names as
ai.google.dev/gemini-api/docs/rate-limits counts them, per minute and per day.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.vendors.server import Request
    from tests.vendors.strict import Refused

MODELS = ("gemini-embedding-001", "gemini-embedding-2", "gemini-embedding-2-preview")
TASKS = {
    "RETRIEVAL_QUERY",
    "RETRIEVAL_DOCUMENT",
    "SEMANTIC_SIMILARITY",
    "CLASSIFICATION",
    "CLUSTERING",
    "QUESTION_ANSWERING",
    "FACT_VERIFICATION",
    "CODE_RETRIEVAL_QUERY",
}
STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    402: "FAILED_PRECONDITION",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    413: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}
MEDIA = {"image/png", "image/jpeg", "audio/mpeg", "audio/mp3", "audio/wav"}
REQUEST_BYTES = 20_000_000
PATH = re.compile(r"/models/([^/:?]+):batchEmbedContents$")


@dataclass
class GeminiFormat:
    seen: Mapping[str, str] = field(default_factory=dict)
    """What the model perceives in a media file, as words, by the SHA-256 of its bytes."""
    media: Counter[str] = field(default_factory=Counter)
    """How often each media file was sent, by its label."""

    def texts(self, request: Request) -> list[str]:
        return [self._perceived(one["content"]["parts"]) for one in requests_in(request)]

    def _perceived(self, parts: list[dict[str, Any]]) -> str:
        words = [part["text"] for part in parts if "text" in part]
        files = filter(None, map(_inline, parts))
        words += [self.seen.get(hashlib.sha256(file).hexdigest(), "") for file in files]
        return " ".join(words)

    def dimensions(self, request: Request) -> int:
        return int(requests_in(request)[0].get("outputDimensionality") or 3072)

    def answer(self, request: Request, vectors: list[list[float]]) -> object:
        self.media.update(labels_in(request))
        return {"embeddings": [{"values": vector} for vector in vectors]}

    def error(self, status: int, message: str) -> object:
        details = _details("PerMinute", retry_delay="0s") if status == 429 else []
        return _error(status, message, details)

    def is_authorised(self, request: Request, key: str | None) -> bool:
        return key is None or request.headers.get("x-goog-api-key") == key

    def refusal(self, request: Request) -> Refused | None:
        path = PATH.search(request.path)
        if path is None:
            return 404, f"no method at {request.path}"
        if (model := path[1]) not in MODELS:
            return 404, (
                f"models/{model} is not found for API version v1beta, or is not supported for "
                "embedContent. Call ListModels to see the list of available models."
            )
        if len(request.raw) > REQUEST_BYTES:
            return 413, "Request payload size exceeds the limit: 20971520 bytes."
        asked = requests_in(request)
        if not 1 <= len(asked) <= 100:
            return 400, (
                "* BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch"
            )
        problems = (_problem(one, model) for one in asked)
        return next(((400, problem) for problem in problems if problem), None)

    def spent(self) -> tuple[int, object]:
        """The quota of the day is gone; Google names a delay of seconds all the same."""
        message = "You exceeded your current quota, please check your plan and billing details."
        return 429, _error(429, message, _details("PerDay", retry_delay="34.07s"))

    def wrong_key(self) -> tuple[int, object]:
        details: list[dict[str, object]] = [
            {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "API_KEY_INVALID",
                "domain": "googleapis.com",
            }
        ]
        return 400, _error(400, "API key not valid. Please pass a valid API key.", details)


def requests_in(request: Request) -> list[dict[str, Any]]:
    given = request.body["requests"]
    assert isinstance(given, list)
    return given


def _problem(one: dict[str, Any], model: str) -> str | None:
    if one.get("model") != f"models/{model}":
        return "* EmbedContentRequest.model: unexpected model name format"
    task, dimensions = one.get("taskType"), one.get("outputDimensionality", 3072)
    if model == "gemini-embedding-001" and task is not None and task not in TASKS:
        return f"Invalid value at 'requests[0].task_type': {task}"
    if model != "gemini-embedding-001" and task is not None:
        return "task_type is not supported by this version"
    if not 128 <= dimensions <= 3072:
        return "output_dimensionality must be between 128 and 3072"
    return _bad_parts(one["content"]["parts"], model)


def labels_in(request: Request) -> list[str]:
    """Return the label of each media file in a request."""
    contents = [one["content"]["parts"] for one in requests_in(request)]
    return [parts[0]["text"] for parts in contents if any("inlineData" in part for part in parts)]


def _inline(part: dict[str, Any]) -> bytes:
    return base64.b64decode(part["inlineData"]["data"]) if "inlineData" in part else b""


def _bad_parts(parts: list[dict[str, Any]], model: str) -> str | None:
    files = [part["inlineData"] for part in parts if "inlineData" in part]
    if files and model == "gemini-embedding-001":
        return "This model only supports text input."
    if len(parts) - len(files) != 1 or len(files) > 1:
        return "several parts would be embedded as one"
    for file in files:
        if file.get("mimeType") not in MEDIA:
            return f"Unsupported MIME type: {file.get('mimeType')}"
        try:
            base64.b64decode(file["data"], validate=True)
        except (KeyError, binascii.Error):
            return "Invalid value at 'requests[0].content.parts[1].inline_data.data' (TYPE_BYTES)"
    return None


def _error(status: int, message: str, details: list[dict[str, object]]) -> object:
    named = STATUSES.get(status, "UNKNOWN")
    shape: dict[str, object] = {"code": status, "message": message, "status": named}
    return {"error": {**shape, "details": details} if details else shape}


def _details(window: str, *, retry_delay: str) -> list[dict[str, object]]:
    violation = {
        "quotaMetric": "generativelanguage.googleapis.com/embed_content_free_tier_requests",
        "quotaId": f"EmbedContentRequests{window}PerProjectPerModel-FreeTier",
        "quotaDimensions": {"location": "global", "model": "gemini-embedding-001"},
    }
    return [
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation]},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": retry_delay},
    ]
