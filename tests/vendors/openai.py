"""OpenAI's format: platform.openai.com/docs/api-reference/embeddings, …/guides/error-codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.vendors.server import Request

DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}


class OpenAiFormat:
    def texts(self, request: Request) -> list[str]:
        assert request.path.endswith("/embeddings"), request.path
        given = request.body["input"]
        assert isinstance(given, list)
        return given

    def dimensions(self, request: Request) -> int:
        body = request.body
        model = str(body["model"])
        return int(str(body.get("dimensions") or DIMENSIONS.get(model, 8)))

    def answer(self, request: Request, vectors: list[list[float]]) -> object:
        tokens = sum(len(text) // 4 + 1 for text in self.texts(request))
        return {
            "object": "list",
            "data": [
                {"object": "embedding", "index": index, "embedding": vector}
                for index, vector in enumerate(vectors)
            ],
            "model": request.body["model"],
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        }

    def error(self, status: int, message: str) -> object:
        kinds = {401: "invalid_request_error", 429: "requests", 500: "server_error"}
        code = {401: "invalid_api_key", 429: "rate_limit_exceeded"}.get(status)
        return {
            "error": {
                "message": message,
                "type": kinds.get(status, "invalid_request_error"),
                "param": None,
                "code": code,
            }
        }

    def is_authorised(self, request: Request, key: str | None) -> bool:
        return key is None or request.headers.get("authorization") == f"Bearer {key}"
